//! The sandbox: one component, one call at a time in a store of its own.
//!
//! [`Sandbox::call`] is where the host hands over to the guest and takes the
//! answer back. What the guest can reach is all in `imports`, and what its file
//! calls answer in `files`; what it may use up, and what is believed of its answer,
//! in `instance`.

mod ahead;
mod embedded;
mod files;
mod granted;
mod imports;
mod instance;
pub(crate) mod lazy;

use crate::{code::Code, engine, grant::Grant, limits::Limits};
use ahead::Ahead;
use bindings::{ContextLoaderPre, exports::keyhole::context::loader::LoadError};
use cap_std::fs::Dir;
use imports::CallState;
use instance::{Brought, Used};
use std::{fmt, time::Instant};
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

#[cfg(target_os = "linux")]
use crate::os::opening_nothing;
#[cfg(target_os = "linux")]
use wasmtime::PoolingAllocationConfig;

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

/// What runs a call for a [`crate::Loader`]. If a user's files are read, it is the
/// [`Sandbox`]. The benches compare it with one that runs the same guest natively, and
/// tests use one over files in memory. `D` is the type of a grant's directory.
#[doc(hidden)]
pub trait Executor<D = Dir>: Send + Sync + 'static {
    /// Like [`Sandbox::call`].
    ///
    /// # Errors
    /// As [`Sandbox::call`].
    fn call(&self, key: &str, grant: Option<Grant<D>>, deadline: Instant) -> Result<String, Code>;

    /// Like [`Sandbox::interrupt`].
    fn interrupt(&self);

    /// Clears away what is left of calls, and prepares the next ones. The loader calls
    /// this after each call, on its thread, when the answer has been handed over.
    fn tidy(&self) {}
}

impl Executor for Sandbox {
    fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        let (answer, used) = self.run(key, grant, deadline);
        self.ahead.keep(used);
        answer
    }

    fn interrupt(&self) {
        Self::interrupt(self);
    }

    fn tidy(&self) {
        self.ahead.tidy(&self.component, self.limits);
    }
}

/// The component, loaded and linked, ready for calls. All calls share it. It holds code,
/// instances that no call has used yet, and instances that wait to be thrown away.
pub struct Sandbox {
    component: ContextLoaderPre<CallState>,
    limits: Limits,
    ahead: Ahead,
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
        Self::embedded_in(&Self::engine()?, limits)
    }

    /// An engine with the only configuration that precompiled images fit.
    ///
    /// # Errors
    /// [`SandboxError::Load`] if the machine cannot run it.
    pub fn engine() -> Result<Engine, SandboxError> {
        Engine::new(&engine::config()).map_err(SandboxError::Load)
    }

    /// The same engine, for a process that has no other thread yet, such as a server that
    /// starts: sooner.
    ///
    /// Wasmtime asks for the number of processors once for each of its pools, to share
    /// them out among threads; pools as small as ours it does not share out. The standard
    /// library looks for the answer in the control group's files, which takes a fifth of a
    /// millisecond. So it must not open them; then it counts the processors that the
    /// process may use.
    ///
    /// # Errors
    /// [`SandboxError::Load`] if the machine cannot run it.
    pub(crate) fn engine_alone() -> Result<Engine, SandboxError> {
        #[cfg(target_os = "linux")]
        let engine = {
            // The one file that an engine needs. It is opened once for the process, here.
            PoolingAllocationConfig::is_pagemap_scan_available();
            opening_nothing(Self::engine).map_err(|error| SandboxError::Load(error.into()))?
        };
        #[cfg(not(target_os = "linux"))]
        let engine = Self::engine();
        engine
    }

    /// The guest that was built with this program, in this engine.
    ///
    /// # Errors
    /// [`SandboxError`].
    pub(crate) fn embedded_in(engine: &Engine, limits: Limits) -> Result<Self, SandboxError> {
        let component = embedded::component(engine).map_err(SandboxError::Load)?;
        Self::linked(&component, limits, imports::link_embedded)
    }

    /// Any component, confined like the embedded one. For that one, fewer functions are
    /// linked. Tests use this to try hostile components.
    ///
    /// # Errors
    /// [`SandboxError::Contract`] if it imports more than we link, or does not export
    /// what we call.
    pub fn new(component: &Component, limits: Limits) -> Result<Self, SandboxError> {
        Self::linked(component, limits, imports::link)
    }

    fn linked(
        component: &Component,
        limits: Limits,
        link: fn(&mut Linker<CallState>) -> wasmtime::Result<()>,
    ) -> Result<Self, SandboxError> {
        let mut linker = Linker::new(component.engine());
        link(&mut linker).map_err(SandboxError::Contract)?;
        let component = linker
            .instantiate_pre(component)
            .and_then(ContextLoaderPre::new)
            .map_err(SandboxError::Contract)?;
        let ahead = Ahead::default();
        ahead.make(&component, limits);
        Ok(Self {
            component,
            limits,
            ahead,
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
    /// the contract. A guest that cuts a character gets [`Code::NotUtf8`]: the host cannot
    /// tell its answer from a file that is not UTF-8.
    pub fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        let (answer, used) = self.run(key, grant, deadline);
        used.throw_away();
        answer
    }

    fn run(
        &self,
        key: &str,
        grant: Option<Grant>,
        deadline: Instant,
    ) -> (Result<String, Code>, Used) {
        let made = self.ahead.take();
        let brought = Brought {
            key,
            grant,
            deadline,
        };
        instance::call(&self.component, self.limits, made, brought)
    }

    /// Stops every guest that is past its deadline. The others continue.
    pub fn interrupt(&self) {
        self.component.engine().increment_epoch();
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
