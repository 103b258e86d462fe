//! What the host's own files need of the host's walk on Windows: the walk's own files.

#[path = "../../../host/src/walk/windows/api.rs"]
#[allow(
    dead_code,
    reason = "the host's own, and checked there; not all of it is used here"
)]
pub(crate) mod api;
#[path = "../../../host/src/walk/windows/names.rs"]
#[allow(
    dead_code,
    reason = "the host's own, and checked there; not all of it is used here"
)]
pub(crate) mod names;
#[path = "../../../host/src/walk/windows/time.rs"]
pub(crate) mod time;

pub(crate) mod windows {
    //! By the names that they have in the host.

    pub(crate) use super::{api, names, time::time};
}
