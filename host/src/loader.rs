//! One call, end to end: map, resolution, sandbox, deadline.

use crate::{Code, limits::Limits};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a call gets: the file, and the call's place, which is given back when
/// this is dropped. Keep it until the answer is written.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    _place: Option<OwnedSemaphorePermit>,
}

/// Loads files for keys. Shared by all calls of a server.
#[derive(Debug)]
pub struct Loader {
    places: Arc<Semaphore>,
}

impl Loader {
    /// A loader with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limits.running)),
        }
    }

    /// The file that `key` stands for.
    ///
    /// # Errors
    /// Each [`Code`].
    pub async fn load(&self, key: &str) -> Result<Content, Code> {
        let _ = key;
        let _ = &self.places;
        Err(Code::Internal)
    }
}
