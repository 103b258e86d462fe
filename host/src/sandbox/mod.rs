//! The sandbox: one component, one call at a time in a store of its own.
//!
//! [`Sandbox::call`] is where the host starts the guest and takes its answer. `imports`
//! has everything that the guest can reach, and `files` the answers of its file calls;
//! `store`, here, sets what it may use up.

mod embedded;
pub(crate) mod engine;
mod files;
mod granted;
mod imports;
pub(crate) mod lazy;

use crate::{Code, Grant, limits::Limits};
use bindings::{ContextLoader, ContextLoaderPre, exports::keyhole::context::loader::LoadError};
use cap_std::fs::Dir;
use imports::CallState;
use std::{fmt, time::Instant};
use wasmtime::{
    Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline,
    component::{Component, Linker},
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
        path: "../wit",
        world: "context-loader",
        with: { "wasi:filesystem/types.descriptor": crate::sandbox::files::Descriptor },
        trappable_error_type: {
            "wasi:filesystem/types.error-code" => crate::sandbox::files::Refusal,
        },
        imports: { default: trappable },
    });
}

/// What runs a call for a [`crate::Loader`]. It is the [`Sandbox`] wherever a user's
/// files are read; the benches compare it with one that runs the same guest natively,
/// and tests use one over files in memory. `D` is the type of a grant's directory.
#[doc(hidden)]
pub trait Executor<D = Dir>: Send + Sync + 'static {
    /// Like [`Sandbox::call`].
    ///
    /// # Errors
    /// As [`Sandbox::call`].
    fn call(&self, key: &str, grant: Option<Grant<D>>, deadline: Instant) -> Result<String, Code>;

    /// Like [`Sandbox::interrupt`].
    fn interrupt(&self);
}

impl Executor for Sandbox {
    fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        Self::call(self, key, grant, deadline)
    }

    fn interrupt(&self) {
        Self::interrupt(self);
    }
}

/// The component, loaded and linked, ready for calls. All calls share it: it holds code
/// and no state.
pub struct Sandbox {
    engine: Engine,
    component: ContextLoaderPre<CallState>,
    limits: Limits,
}

/// Why the component could not be made ready. The error is about the build, not about a
/// user's file, so it may contain anything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The engine refused its configuration or the image, which was made by another
    /// version, with other settings, or for another machine.
    #[error("cannot load the component: {0:#}")]
    Load(wasmtime::Error),
    /// The component imports an interface that we do not link, or does not export the
    /// loader.
    #[error("the component does not fit the contract: {0:#}")]
    Contract(wasmtime::Error),
}

impl Sandbox {
    /// The guest that was built with this program.
    ///
    /// # Errors
    /// [`SandboxError`], on a machine that cannot run the image.
    pub fn embedded(limits: Limits) -> Result<Self, SandboxError> {
        let engine = Self::engine()?;
        let component = embedded::component(&engine).map_err(SandboxError::Load)?;
        Self::new(&component, limits)
    }

    /// An engine with the only configuration that precompiled images fit.
    ///
    /// # Errors
    /// [`SandboxError::Load`] if the machine cannot run it.
    pub fn engine() -> Result<Engine, SandboxError> {
        Engine::new(&engine::config()).map_err(SandboxError::Load)
    }

    /// Any component, confined exactly like the embedded one. Tests use this to try
    /// hostile components.
    ///
    /// # Errors
    /// [`SandboxError::Contract`] if it imports more than we link, or does not export
    /// what we call.
    pub fn new(component: &Component, limits: Limits) -> Result<Self, SandboxError> {
        let engine = component.engine().clone();
        let mut linker = Linker::new(&engine);
        imports::link(&mut linker).map_err(SandboxError::Contract)?;
        let component = linker
            .instantiate_pre(component)
            .and_then(ContextLoaderPre::new)
            .map_err(SandboxError::Contract)?;
        Ok(Self {
            engine,
            component,
            limits,
        })
    }

    /// Runs one call: the guest is asked for `key`, and can reach only `grant`.
    ///
    /// Blocks for as long as the guest and the file system take. A guest that computes
    /// past `deadline` is stopped at the next [`Sandbox::interrupt`]. A read that hangs
    /// in the kernel cannot be stopped, so call this on a thread that can be abandoned.
    ///
    /// # Errors
    /// The guest's own refusal as its [`Code`]; [`Code::TimedOut`]; and
    /// [`Code::Internal`] for a trap, an exceeded limit or an answer that breaks
    /// the contract.
    pub fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        let max_bytes = grant.as_ref().map_or(0, |grant| grant.max_bytes);
        let mut store = self.store(key, grant, max_bytes, deadline);
        let failed = |_| {
            if Instant::now() >= deadline {
                Code::TimedOut
            } else {
                Code::Internal
            }
        };
        // The deadline and its interrupt may already have passed, and no other may
        // follow.
        if Instant::now() >= deadline {
            return Err(Code::TimedOut);
        }
        let guest: ContextLoader = self.component.instantiate(&mut store).map_err(failed)?;
        let answer = guest
            .keyhole_context_loader()
            .call_load(&mut store, key)
            .map_err(failed)?;
        match answer {
            // The guest knows the limit, but the host checks it too.
            Ok(text) if text.len() as u64 > max_bytes => Err(Code::Internal),
            Ok(text) => Ok(text),
            // The guest may have waited for the file until then.
            Err(_) if Instant::now() >= deadline => Err(Code::TimedOut),
            Err(LoadError::Internal) if store.data().out_of_resources => Err(Code::OutOfResources),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Stops every guest that is past its deadline. The others continue.
    pub fn interrupt(&self) {
        self.engine.increment_epoch();
    }

    /// A fresh store: it contains nothing of any other call.
    fn store(
        &self,
        key: &str,
        grant: Option<Grant>,
        max_bytes: u64,
        deadline: Instant,
    ) -> Store<CallState> {
        let bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let state = CallState::new(
            key,
            grant,
            self.store_limits(),
            self.limits.handles,
            deadline,
        );
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limits);
        store.set_max_component_handles(self.limits.handles);
        // How much one call to the host, or the answer, may carry out of the guest.
        store.set_hostcall_fuel(bytes.saturating_add(self.limits.host_call_bytes));
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if Instant::now() >= deadline {
                Ok(UpdateDeadline::Interrupt)
            } else {
                Ok(UpdateDeadline::Continue(1))
            }
        });
        store
    }

    fn store_limits(&self) -> StoreLimits {
        StoreLimitsBuilder::new()
            .memory_size(self.limits.memory_bytes)
            .memories(1)
            .tables(self.limits.tables)
            .table_elements(self.limits.table_elements)
            .instances(self.limits.instances)
            .trap_on_grow_failure(true)
            .build()
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl From<LoadError> for Code {
    fn from(refusal: LoadError) -> Self {
        match refusal {
            LoadError::UnknownKey => Self::UnknownKey,
            LoadError::NotMarkdown => Self::NotMarkdown,
            LoadError::OutsideRoot => Self::OutsideRoot,
            LoadError::NotFound => Self::NotFound,
            LoadError::NotAFile => Self::NotAFile,
            LoadError::PermissionDenied => Self::PermissionDenied,
            LoadError::TooLarge => Self::TooLarge,
            LoadError::NotUtf8 => Self::NotUtf8,
            LoadError::Changed => Self::Changed,
            LoadError::Internal => Self::Internal,
        }
    }
}
