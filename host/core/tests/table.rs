//! The guest's one table of cases, through the embedded component: also for arm64 under
//! qemu.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests"
)]

use keyhole_cases::{Case, run_all};
use keyhole_core::{Executor as _, Grant, limits::Limits, sandbox::Sandbox};
use keyhole_walk::{Policy, System, Walker};
use std::{
    path::Path,
    time::{Duration, Instant},
};

#[test]
fn the_embedded_component_passes_every_case() {
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    run_all("the embedded component", |case, directory| {
        let grant = grant(case, directory);
        let deadline = Instant::now() + Duration::from_secs(60);
        sandbox
            .run(case.key(), grant, deadline)
            .map_err(|code| code.as_str().to_owned())
    });
}

/// The grant that the host would give in this case.
///
/// The host answers `find` only for the key of the call. So if the table has a
/// grant for another key, this call has none; and without a grant there is no
/// directory. Every case with an answer shows that the guest asks for its own key.
fn grant(case: &Case, directory: Option<&Path>) -> Option<Grant> {
    let granted = case.grant_for(case.key())?;
    let open = |path| {
        Walker::new(System)
            .walk(path, Policy::Directory)
            .unwrap()
            .handle
    };
    let directory = match directory {
        Some(path) => open(path),
        // This host's types do not allow a grant without a directory. The
        // closest case is a directory that was removed.
        None => {
            let gone = tempfile::tempdir().unwrap();
            open(gone.path())
        }
    };
    Some(Grant {
        directory,
        name: granted.name.clone(),
        max_bytes: granted.max_bytes,
    })
}
