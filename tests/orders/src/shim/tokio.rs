//! `tokio`, as far as the host uses it.

pub use crate::either as select;
pub use ::tokio::{io, pin};

/// tokio's `select`, if it is `biased`. If it is not, the scheduler chooses which of two
/// is polled first: tokio would use its own random numbers, which no replay could repeat.
#[macro_export]
macro_rules! either {
    (biased; $($branches:tt)*) => { ::tokio::select! { biased; $($branches)* } };
    (
        $one:pat = $first:expr => $then:block
        $other:pat = $second:expr => $or:block
    ) => {
        match $crate::shim::choose(2) {
            0 => ::tokio::select! { biased; $one = $first => $then $other = $second => $or },
            _ => ::tokio::select! { biased; $other = $second => $or $one = $first => $then },
        }
    };
}

pub mod task {
    //! `tokio::task`.

    use ::std::cell::RefCell;
    use shuttle::future::{JoinHandle, block_on};

    thread_local! {
        static TASKS: RefCell<Vec<JoinHandle<()>>> = const { RefCell::new(Vec::new()) };
    }

    pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        let task = shuttle::future::spawn(task);
        TASKS.with_borrow_mut(|tasks| tasks.push(task));
    }

    pub fn forget_all() {
        // The tasks of a run that failed no longer exist.
        TASKS
            .with_borrow_mut(::std::mem::take)
            .into_iter()
            .for_each(::std::mem::forget);
    }

    /// Waits until all spawned tasks have ended.
    pub fn join_all() {
        while let Some(task) = TASKS.with_borrow_mut(Vec::pop) {
            block_on(task).unwrap();
        }
    }
}

pub mod time {
    //! `tokio::time`.

    pub use crate::shim::clock::{Instant, sleep_until};
    use ::std::{pin::pin, time::Duration};

    #[derive(Debug)]
    pub struct Elapsed;

    pub async fn timeout<T>(time: Duration, wait: impl Future<Output = T>) -> Result<T, Elapsed> {
        timeout_at(Instant::now() + time, wait).await
    }

    /// Takes a result that is ready even if it is late, as tokio's does.
    pub async fn timeout_at<T>(
        until: Instant,
        wait: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let (wait, late) = (pin!(wait), pin!(sleep_until(until)));
        ::tokio::select! {
            biased;
            done = wait => Ok(done),
            () = late => Err(Elapsed),
        }
    }
}

pub mod sync {
    //! `tokio::sync`: tokio's own, with a step of the scheduler before each of its steps.

    use crate::shim::others_first;
    use ::std::{
        cell::RefCell,
        marker::PhantomData,
        sync::{Arc, Weak},
    };
    use ::tokio::sync as real;

    pub use real::{AcquireError, Mutex, TryAcquireError};

    pub mod mpsc {
        //! `tokio::sync::mpsc`.
        pub use ::tokio::sync::mpsc::*;
    }

    pub mod oneshot {
        //! `tokio::sync::oneshot`.
        pub use ::tokio::sync::oneshot::{Receiver, error};

        #[derive(Debug)]
        pub struct Sender<T>(::tokio::sync::oneshot::Sender<T>);

        pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
            let (sender, receiver) = ::tokio::sync::oneshot::channel();
            (Sender(sender), receiver)
        }

        impl<T> Sender<T> {
            pub fn send(self, value: T) -> Result<(), T> {
                crate::shim::others_first();
                self.0.send(value)
            }
        }
    }

    #[derive(Debug)]
    pub struct Notify(real::Notify);

    impl Notify {
        pub fn new() -> Self {
            Self(real::Notify::new())
        }

        pub fn notify_one(&self) {
            others_first();
            self.0.notify_one();
        }

        pub async fn notified(&self) {
            others_first();
            self.0.notified().await;
        }
    }

    thread_local! {
        /// Each semaphore of the run, and how many permits it began with.
        static ALL: RefCell<Vec<(Weak<real::Semaphore>, usize)>> = const { RefCell::new(Vec::new()) };
    }

    pub fn forget_all() {
        ALL.with_borrow_mut(Vec::clear);
    }

    /// How many semaphores there are. Each gate has one, for instance.
    pub fn semaphores() -> usize {
        ALL.with_borrow(|all| all.iter().filter(|(it, _)| it.strong_count() > 0).count())
    }

    /// How many permits are missing, or too many, compared with the start.
    pub fn permits_out() -> usize {
        ALL.with_borrow(|all| {
            let out = |(it, permits): &(Weak<real::Semaphore>, usize)| {
                let it = it.upgrade()?;
                Some(permits.abs_diff(it.available_permits()))
            };
            all.iter().filter_map(out).sum()
        })
    }

    #[derive(Debug)]
    pub struct Semaphore(Arc<real::Semaphore>);

    /// With the lifetime of tokio's, which nothing here uses.
    #[derive(Debug)]
    pub struct SemaphorePermit<'a> {
        #[expect(dead_code, reason = "held, not read")]
        permit: OwnedSemaphorePermit,
        of: PhantomData<&'a Semaphore>,
    }

    #[derive(Debug)]
    pub struct OwnedSemaphorePermit(Option<real::OwnedSemaphorePermit>);

    impl Drop for OwnedSemaphorePermit {
        fn drop(&mut self) {
            others_first();
            drop(self.0.take());
        }
    }

    fn owned(permit: real::OwnedSemaphorePermit) -> OwnedSemaphorePermit {
        OwnedSemaphorePermit(Some(permit))
    }

    impl Semaphore {
        pub fn new(permits: usize) -> Self {
            let semaphore = Arc::new(real::Semaphore::new(permits));
            ALL.with_borrow_mut(|all| all.push((Arc::downgrade(&semaphore), permits)));
            Self(semaphore)
        }

        pub fn available_permits(&self) -> usize {
            others_first();
            self.0.available_permits()
        }

        pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
            others_first();
            let permit = Arc::clone(&self.0).try_acquire_owned().map(owned)?;
            Ok(SemaphorePermit {
                permit,
                of: PhantomData,
            })
        }

        pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
            others_first();
            let permit = Arc::clone(&self.0).acquire_owned().await.map(owned)?;
            Ok(SemaphorePermit {
                permit,
                of: PhantomData,
            })
        }

        pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
            others_first();
            Arc::clone(&self.0).try_acquire_owned().map(owned)
        }

        pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
            others_first();
            Arc::clone(&self.0).acquire_owned().await.map(owned)
        }

        pub async fn acquire_many_owned(
            self: Arc<Self>,
            permits: u32,
        ) -> Result<OwnedSemaphorePermit, AcquireError> {
            others_first();
            let all = Arc::clone(&self.0).acquire_many_owned(permits);
            all.await.map(owned)
        }
    }
}
