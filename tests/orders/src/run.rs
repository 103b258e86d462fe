//! One test in many orders.

use crate::shim::{
    clock::{self, Pace},
    std::{sync::begin_process, thread::refuse_some},
    tokio::{sync, task},
};
use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    scheduler::{
        DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler,
        UncontrolledNondeterminismCheckScheduler,
    },
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

thread_local! {
    static VIOLATED: Cell<Option<String>> = const { Cell::new(None) };
    static MET: RefCell<BTreeMap<&'static str, usize>> = const { RefCell::new(BTreeMap::new()) };
    static BROKEN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// An assertion for threads on which the host catches panics.
pub fn holds(it_does: bool, otherwise: impl FnOnce() -> String) {
    if !it_does {
        VIOLATED.set(Some(otherwise()));
    }
}

/// Notes that a run met this. See [`Scenario::meets`].
pub fn met(what: &'static str) {
    MET.with_borrow_mut(|met| *met.entry(what).or_insert(0_usize) += 1);
}

/// Whether this broken variant is switched on.
pub fn is_broken(name: &str) -> bool {
    BROKEN.get() == Some(name)
}

/// How many orders a test tries by default, half of them of each kind.
const SCHEDULES: usize = 1000;

/// The most orders that a test may need to find something broken: no more than it tries,
/// so that a fault of that kind would not pass.
const TO_FIND: usize = 1000;

/// What runs in each order.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    pub pace: Pace,
    pub play: fn(),
    /// What some orders have to meet. Otherwise the scenario tries less than it says.
    pub meets: &'static [&'static str],
}

impl Scenario {
    /// Tries it in random orders, and in orders in which a few threads are delayed at a
    /// few places, which is enough for most faults ("PCT").
    pub fn holds(self) {
        if let Ok(mut schedule) = env::var("KEYHOLE_ORDER") {
            // Shuttle prints it in several lines.
            schedule.retain(|c| c.is_ascii_hexdigit());
            let scheduler = ReplayScheduler::new_from_encoded(&schedule);
            self.run(scheduler, FailurePersistence::None);
            return;
        }
        let schedules = number("KEYHOLE_ORDERS", SCHEDULES);
        let seed = number("KEYHOLE_ORDERS_SEED", 1) as u64;
        let start = Instant::now();
        MET.take();
        let print = FailurePersistence::Print;
        self.run(
            RandomScheduler::new_from_seed(seed, schedules.div_ceil(2)),
            print.clone(),
        );
        self.run(
            PctScheduler::new_from_seed(seed, 3, schedules.div_ceil(2)),
            print,
        );
        println!(
            "{}: {schedules} orders in {:.1} s; met {:?}",
            self.name,
            start.elapsed().as_secs_f64(),
            MET.with_borrow(BTreeMap::clone),
        );
        let met = MET.take();
        for what in self.meets.iter().filter(|_| schedules >= SCHEDULES) {
            assert!(met.contains_key(what), "no order came to this: {what}");
        }
    }

    /// Plays some orders twice. They must go the same way: otherwise the output of a
    /// failure could not replay it.
    pub fn goes_the_same_way_again(self) {
        let random = RandomScheduler::new_from_seed(1, 50);
        let twice = UncontrolledNondeterminismCheckScheduler::new(random);
        self.run(twice, FailurePersistence::Print);
    }

    /// Tries it in every possible order, or in at most the first `most`.
    pub fn holds_in_all(self, most: Option<usize>) {
        let start = Instant::now();
        let tried = self.run(DfsScheduler::new(most, true), FailurePersistence::Print);
        println!(
            "{}: all {tried} orders in {:.1} s",
            self.name,
            start.elapsed().as_secs_f64()
        );
    }

    /// Tries it with something broken, which it has to find.
    pub fn finds(self, broken: &'static str) {
        let known = crate::breaks::BREAKS.iter().any(|it| it.name == broken);
        assert!(known, "no such variant: {broken}");
        BROKEN.set(Some(broken));
        let seed = number("KEYHOLE_ORDERS_SEED", 1) as u64;
        let half = TO_FIND / 2;
        let tried = Arc::new(AtomicUsize::new(0));
        let found = catch_unwind(AssertUnwindSafe(|| {
            let none = FailurePersistence::None;
            self.counted(
                RandomScheduler::new_from_seed(seed, half),
                none.clone(),
                &tried,
            );
            self.counted(PctScheduler::new_from_seed(seed, 3, half), none, &tried);
        }));
        BROKEN.set(None);
        let tried = tried.load(Ordering::Relaxed);
        assert!(found.is_err(), "not found in {tried} orders: {broken}");
        println!("{}: found in {tried} orders: {broken}", self.name);
    }

    fn run(
        self,
        by: impl shuttle::scheduler::Scheduler + 'static,
        on_failure: FailurePersistence,
    ) -> usize {
        let tried = Arc::new(AtomicUsize::new(0));
        self.counted(by, on_failure, &tried);
        tried.load(Ordering::Relaxed)
    }

    fn counted(
        self,
        by: impl shuttle::scheduler::Scheduler + 'static,
        on_failure: FailurePersistence,
        tried: &Arc<AtomicUsize>,
    ) {
        let mut config = Config::new();
        config.stack_size = 0x4_0000;
        config.failure_persistence = on_failure;
        config.max_steps = MaxSteps::FailAfter(50_000);
        let tried = Arc::clone(tried);
        let again = format!(
            "to see it again: KEYHOLE_ORDER='SCHEDULE' ./x test {}, with the last schedule above",
            self.name.replace(' ', "_")
        );
        let ran = catch_unwind(AssertUnwindSafe(|| {
            Runner::new(by, config).run(move || {
                tried.fetch_add(1, Ordering::Relaxed);
                task::forget_all();
                sync::forget_all();
                begin_process();
                VIOLATED.set(None);
                refuse_some(false);
                clock::start(self.pace);
                (self.play)();
                task::join_all();
                clock::stop();
                assert_eq!(VIOLATED.take(), None);
            })
        }));
        if let Err(panic) = ran {
            eprintln!("{again}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn number(variable: &str, otherwise: usize) -> usize {
    match env::var(variable) {
        Ok(number) => number.parse().unwrap(),
        Err(_) => otherwise,
    }
}
