//! Anything may happen at any moment: calls begin, hang, are given up and answered late.

use super::{HUNG, World, burst, key, limits};
use crate::{code::Code, limits::Limits};
use proptest::{collection::vec, prelude::*};
use tokio::{
    runtime::Builder,
    task::{JoinSet, yield_now},
    time::advance,
};

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A call with one of [`SENT`].
    Call(usize),
    /// Whoever made that call does not want its answer any more.
    GiveUp(usize),
    /// Calls that run count as slow from now on.
    SlowAfter,
    /// Calls that run are answered, and those that wait are refused.
    Deadline,
}

/// What calls send: keys of files that hang and of one that does not, and a short one that
/// is wrong.
const SENT: [&str; 4] = [HUNG[0], HUNG[1], "honest.md", "k-wrong"];

fn sent(of: &str) -> String {
    match of {
        "k-wrong" => of.to_owned(),
        file => key(file),
    }
}

async fn play(events: Vec<Event>) {
    let limits = Limits {
        running: 2,
        waiting: 3,
        slow: 1,
        free_guesses: 1,
        waiting_guesses: 1,
        ..limits()
    };
    let world = World::new(limits);
    let mut calls: Vec<(usize, JoinSet<Result<String, Code>>)> = Vec::new();
    for event in events {
        match event {
            Event::Call(what) => calls.push((what, burst(&world, [sent(SENT[what])]))),
            Event::GiveUp(which) if which < calls.len() => calls[which].1.abort_all(),
            Event::GiveUp(_) => {}
            Event::SlowAfter => advance(limits.slow_after).await,
            Event::Deadline => advance(limits.deadline).await,
        }
        yield_now().await;
        let inside: usize = HUNG.iter().map(|file| world.files.inside(file)).sum();
        assert!(inside <= limits.threads(), "{inside} threads hang");
    }
    world.files.release();
    for (what, mut call) in calls {
        match call.join_next().await.unwrap() {
            Ok(Ok(text)) => assert_eq!(text, SENT[what]),
            Ok(Err(Code::UnknownKey)) => assert_eq!(SENT[what], "k-wrong"),
            Ok(Err(code)) => assert!(matches!(code, Code::Busy | Code::TimedOut), "{code:?}"),
            Err(end) => assert!(end.is_cancelled(), "{end}"),
        }
    }
    world.is_at_rest().await;
    assert_eq!(world.load(&key("honest.md")).await, Ok("honest.md".into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_call_gets_its_own_answer_by_its_deadline_and_nothing_is_held_afterwards(
        events in vec(
            prop_oneof![
                4 => (0..SENT.len()).prop_map(Event::Call),
                2 => (0..12_usize).prop_map(Event::GiveUp),
                2 => Just(Event::SlowAfter),
                1 => Just(Event::Deadline),
            ],
            1..24,
        ),
    ) {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(events));
    }
}
