//! The sandbox: one component, a store for each call. `reach` has all that a guest can reach.

mod embedded;
mod reach;

use crate::{
    grant::{Executor, Grant},
    limits::Limits,
    refusal::Refusal,
};
use bindings::{ContextLoaderPre, exports::keyhole::context::loader::LoadError};
use keyhole_walk::{Handle, System, Walker};
use reach::CallState;
use std::{panic::catch_unwind, time::Instant};
use wasmtime::{
    Engine, Store, StoreLimitsBuilder, UpdateDeadline,
    component::{Component, Linker, ResourceTable},
};

pub use embedded::{COMPONENT, COMPONENT_WIT};

/// What `bindgen!` makes of the contract. Generated: its style is not ours.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::restriction,
    reason = "generated code"
)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "context-loader",
        with: { "wasi:filesystem/types.descriptor": crate::sandbox::reach::Descriptor },
        trappable_error_type: {
            "wasi:filesystem/types.error-code" => crate::sandbox::reach::FileError,
        },
        imports: { default: trappable },
    });
}

/// The component, loaded and linked. All calls share it: it holds code and no instance.
pub struct Sandbox {
    component: ContextLoaderPre<CallState>,
    limits: Limits,
}

/// Why the component could not be made ready: a limit of the system's, or an error of the build.
#[derive(Debug, thiserror::Error)]
#[error("cannot load the component: {0:#}")]
pub struct SandboxError(#[from] pub wasmtime::Error);

impl SandboxError {
    /// What a caller learns: [`Refusal::OutOfResources`] if the system gave no memory (errno 12 is
    /// ENOMEM), or none that code may run in; else [`Refusal::Internal`]. The errors of wasmtime
    /// are only texts, so this looks at the text.
    pub fn code(&self) -> Refusal {
        let text = format!("{:#}", self.0);
        if text.ends_with("(os error 12)") || text.contains("executable") {
            return Refusal::OutOfResources;
        }
        Refusal::Internal
    }
}

impl Sandbox {
    /// The guest that was built with this program.
    pub fn embedded(limits: Limits) -> Result<Self, SandboxError> {
        let component = embedded::component(&Self::engine()?)?;
        Self::new(&component, limits)
    }

    /// An engine with the only configuration that precompiled images fit.
    pub fn engine() -> Result<Engine, SandboxError> {
        Ok(Engine::new(&keyhole_engine::config())?)
    }

    /// Any component, confined like the embedded one: tests try hostile ones.
    pub fn new(component: &Component, limits: Limits) -> Result<Self, SandboxError> {
        let mut linker = Linker::new(component.engine());
        reach::link(&mut linker)?;
        let component = ContextLoaderPre::new(linker.instantiate_pre(component)?)?;
        Ok(Self { component, limits })
    }

    /// A store for one call, in which nothing is instantiated yet. It limits what the call may use:
    ///
    /// - memory and tables, to what the engine has for a guest: more is a trap;
    /// - handles, to [`Limits::handles`];
    /// - bytes that the guest passes to the host, to [`Limits::host_call_bytes`] and the size that
    ///   the granted file may have;
    /// - time: at each interrupt, a guest that is past `deadline` is stopped. Before `deadline`, it
    ///   goes on.
    fn store(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Store<CallState> {
        let max_bytes = grant.as_ref().map_or(0, |grant| grant.max_bytes);
        let mut table = ResourceTable::new();
        table.set_max_capacity(self.limits.handles);
        let state = CallState {
            limits: StoreLimitsBuilder::new().trap_on_grow_failure(true).build(),
            key: key.to_owned(),
            grant,
            walker: Walker::new(System).until(deadline),
            table,
            cause: None,
        };
        let mut store = Store::new(self.component.engine(), state);
        let bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        store.set_hostcall_fuel(bytes.saturating_add(self.limits.host_call_bytes));
        store.limiter(|state| &mut state.limits);
        store.set_max_component_handles(self.limits.handles);
        // The next interrupt raises the engine's epoch by one, and calls the function below.
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if is_past(deadline) {
                Ok(UpdateDeadline::Interrupt)
            } else {
                Ok(UpdateDeadline::Continue(1))
            }
        });
        store
    }
}

/// Whether the deadline has come.
fn is_past(deadline: Instant) -> bool {
    Instant::now() >= deadline
}

/// What a caller learns of a guest that ended with an error of wasmtime: after the deadline,
/// [`Refusal::TimedOut`], whatever the error is; before it, [`SandboxError::code`].
fn failed(error: wasmtime::Error, deadline: Instant) -> Refusal {
    if is_past(deadline) {
        return Refusal::TimedOut;
    }
    SandboxError(error).code()
}

impl Executor for Sandbox {
    type Directory = Handle;

    /// Runs the guest in a store of its own, and returns the text of the file.
    ///
    /// A guest that computes past `deadline` is stopped at the next [`Executor::interrupt`]. A read
    /// that hangs in the kernel cannot be stopped, so call this on a thread that can be abandoned.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`] if the call begins after `deadline`, or if the guest fails or refuses
    /// after it. Before it: [`Refusal::OutOfResources`] if the system has too little memory;
    /// [`Refusal::Internal`] after a trap, an exceeded limit, or a file larger than the grant
    /// allows; [`Refusal::NotUtf8`]; else why the host refused a file call, if the contract has no
    /// name for that; else what the guest says.
    fn run(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Refusal> {
        let max_bytes = grant.as_ref().map_or(0, |grant| grant.max_bytes);
        let mut store = self.store(key, grant, deadline);
        // The interrupt at the deadline may have been before this store was made. Then no other
        // follows that would stop this guest.
        if is_past(deadline) {
            return Err(Refusal::TimedOut);
        }
        // A new thread gets a stack for its signals, or wasmtime panics.
        catch_unwind(Engine::tls_eager_initialize).map_err(|_| Refusal::OutOfResources)?;
        let instance = self.component.instantiate(&mut store);
        let guest = instance.map_err(|error| failed(error, deadline))?;
        let loader = guest.keyhole_context_loader();
        let answer = loader.call_load(&mut store, key);
        match answer.map_err(|error| failed(error, deadline))? {
            // The guest checks this too, but the host does not rely on that.
            Ok(bytes) if bytes.len() as u64 > max_bytes => Err(Refusal::Internal),
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| Refusal::NotUtf8),
            // The deadline may have passed while the file settled.
            Err(_) if is_past(deadline) => Err(Refusal::TimedOut),
            Err(refusal) => {
                // The cause says more than the guest can: its contract has no name for the cause.
                let cause = store.data().cause;
                Err(cause.unwrap_or(refusal.into()))
            }
        }
    }

    fn interrupt(&self) {
        self.component.engine().increment_epoch();
    }
}

impl From<LoadError> for Refusal {
    fn from(refusal: LoadError) -> Self {
        match refusal {
            LoadError::UnknownKey => Self::UnknownKey,
            LoadError::NotMarkdown => Self::NotMarkdown,
            LoadError::OutsideRoot => Self::OutsideRoot,
            LoadError::NotFound => Self::NotFound,
            LoadError::NotAFile => Self::NotAFile,
            LoadError::PermissionDenied => Self::PermissionDenied,
            LoadError::TooLarge => Self::TooLarge,
            LoadError::Changed => Self::Changed,
            LoadError::Internal => Self::Internal,
        }
    }
}
