//! `std`, with locks and threads that the scheduler controls.

pub use ::std::*;

pub mod sync {
    //! `std::sync`.

    use crate::shim::{Plain, choose, clock, others_first};
    use ::std::{
        cell::{Cell, RefCell},
        fmt,
        ops::{Deref, DerefMut},
        task::{Poll, Waker},
        time::Duration,
    };
    use shuttle::future::block_on;

    pub use ::std::sync::*;

    #[derive(Default)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    pub struct MutexGuard<'a, T> {
        guard: shuttle::sync::MutexGuard<'a, T>,
        of: &'a Mutex<T>,
    }

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        /// Never poisoned: a panic that is caught on one of shuttle's threads looks to all
        /// of them like their own. The host continues with a poisoned lock anyway.
        pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(MutexGuard { guard, of: self })
        }
    }

    impl<T> fmt::Debug for Mutex<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Mutex").finish_non_exhaustive()
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.guard
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.guard
        }
    }

    /// Our own, because shuttle's has no time. The scheduler chooses who wakes.
    #[derive(Default)]
    pub struct Condvar(Plain<Vec<Arc<Waiter>>>);

    #[derive(Default)]
    struct Waiter(Plain<(bool, Option<Waker>)>);

    impl Waiter {
        fn wake(&self) {
            let waker = {
                let mut state = self.0.lock();
                state.0 = true;
                state.1.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    #[derive(Clone, Copy, Debug)]
    pub struct WaitTimeoutResult(bool);

    impl WaitTimeoutResult {
        pub fn timed_out(self) -> bool {
            self.0
        }
    }

    impl Condvar {
        pub fn new() -> Self {
            Self::default()
        }

        pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
            let of = guard.of;
            let waiter = self.enter();
            drop(guard);
            block_on(woken(&waiter));
            of.lock()
        }

        pub fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            time: Duration,
        ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
            let of = guard.of;
            let waiter = self.enter();
            let sleep = clock::sleep(time);
            drop(guard);
            let timed_out = block_on(async {
                let sleep = ::std::pin::pin!(sleep);
                let woken = ::std::pin::pin!(woken(&waiter));
                ::tokio::select! {
                    biased;
                    () = woken => false,
                    () = sleep => true,
                }
            });
            // Nobody wakes it any more.
            self.0
                .lock()
                .retain(|waiting| !Arc::ptr_eq(waiting, &waiter));
            let guard = of.lock().unwrap_or_else(PoisonError::into_inner);
            Ok((guard, WaitTimeoutResult(timed_out)))
        }

        fn enter(&self) -> Arc<Waiter> {
            let waiter = Arc::new(Waiter::default());
            self.0.lock().push(Arc::clone(&waiter));
            waiter
        }

        pub fn notify_one(&self) {
            others_first();
            let waiting = self.0.lock().len();
            if waiting > 0 {
                let chosen = choose(waiting);
                let waiter = self.0.lock().remove(chosen);
                waiter.wake();
            }
        }

        pub fn notify_all(&self) {
            others_first();
            let waiting = ::std::mem::take(&mut *self.0.lock());
            for waiter in waiting {
                waiter.wake();
            }
        }
    }

    async fn woken(waiter: &Waiter) {
        ::std::future::poll_fn(|cx| {
            let mut state = waiter.0.lock();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    pub struct OnceLock<T> {
        value: ::std::sync::OnceLock<T>,
        waiting: Plain<Vec<Waker>>,
    }

    impl<T> OnceLock<T> {
        pub fn new() -> Self {
            Self {
                value: ::std::sync::OnceLock::new(),
                waiting: Plain::default(),
            }
        }

        pub fn get(&self) -> Option<&T> {
            others_first();
            self.value.get()
        }

        pub fn set(&self, value: T) -> Result<(), T> {
            others_first();
            self.value.set(value)?;
            let waiting = ::std::mem::take(&mut *self.waiting.lock());
            waiting.into_iter().for_each(Waker::wake);
            Ok(())
        }

        pub fn wait(&self) -> &T {
            others_first();
            let value = block_on(::std::future::poll_fn(|cx| {
                let value = self.value.get();
                if value.is_some() || ended() {
                    return Poll::Ready(value);
                }
                self.waiting.lock().push(cx.waker().clone());
                AT_END.with_borrow_mut(|waiting| waiting.push(cx.waker().clone()));
                Poll::Pending
            }));
            value.unwrap_or_else(|| ::std::panic::resume_unwind(Box::new(())))
        }
    }

    thread_local! {
        static ENDED: Cell<bool> = const { Cell::new(false) };
        static AT_END: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
    }

    fn ended() -> bool {
        ENDED.get()
    }

    /// Begins the process, which a run may do again.
    pub fn begin_process() {
        ENDED.set(false);
        AT_END.with_borrow_mut(Vec::clear);
    }

    /// Ends the process, and with it the threads that wait for ever: a run ends only
    /// when all its threads have ended.
    pub fn end_process() {
        ENDED.set(true);
        let waiting = AT_END.with_borrow_mut(::std::mem::take);
        waiting.into_iter().for_each(Waker::wake);
    }
}

pub mod thread {
    //! `std::thread`. The system refuses a thread if a run says so.

    use ::std::{
        cell::Cell,
        io,
        panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
        time::Duration,
    };

    pub use shuttle::thread::{JoinHandle, spawn, yield_now};

    thread_local! {
        static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// From now on, the system refuses some threads.
    pub fn refuse_some(refuse: bool) {
        REFUSED.set(refuse);
    }

    pub fn sleep(time: Duration) {
        shuttle::future::block_on(crate::shim::clock::sleep(time));
    }

    pub struct Builder(shuttle::thread::Builder);

    impl Builder {
        pub fn new() -> Self {
            Self(shuttle::thread::Builder::new())
        }

        pub fn name(self, name: String) -> Self {
            Self(self.0.name(name))
        }

        /// A thread that panics without a message ends alone. A panic with a message
        /// is a failed test.
        pub fn spawn(self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
            if REFUSED.get() && crate::shim::choose(2) == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let work = move || match catch_unwind(AssertUnwindSafe(work)) {
                Err(panic) if !panic.is::<()>() => resume_unwind(panic),
                _ => {}
            };
            self.0.spawn(work).map(drop)
        }
    }
}
