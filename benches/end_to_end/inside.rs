//! The sandbox in this process, compared with the same guest run natively.

use crate::measure::{microseconds, quantile};
use keyhole_benches::{
    Native,
    files::{Files, LARGE_NAME, SMALL_NAME, grant},
};
use keyhole_core::{
    Executor,
    limits::Limits,
    sandbox::{Sandbox, SandboxError},
};
use keyhole_walk::Handle;
use std::{
    error::Error,
    time::{Duration, Instant},
};

pub(crate) const NATIVE: &str = "native";
pub(crate) const SANDBOX: &str = "in the sandbox";

/// A sandbox for each size, since one keeps the memory that its calls have used.
pub(crate) struct Inside([Sandbox; 2]);

impl Inside {
    pub(crate) fn new() -> Result<Self, SandboxError> {
        let sandbox = || Sandbox::embedded(Limits::default());
        Ok(Self([sandbox()?, sandbox()?]))
    }

    /// The medians of one round, for each size, natively and in the sandbox. Both are
    /// measured in turn, so that a disturbance affects both.
    pub(crate) fn round(
        &self,
        files: &Files,
        calls: usize,
    ) -> Result<[Vec<f64>; 2], Box<dyn Error>> {
        let mut medians = [Vec::new(), Vec::new()];
        let sizes = [(SMALL_NAME, calls), (LARGE_NAME, calls.div_ceil(10))];
        for (sandbox, (name, calls)) in self.0.iter().zip(sizes) {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..calls {
                times[0].push(once(&Native, files, name)?);
                times[1].push(once(sandbox, files, name)?);
            }
            for (medians, mut times) in medians.iter_mut().zip(times) {
                medians.push(quantile(&mut times, 0.5));
            }
        }
        Ok(medians)
    }
}

/// The time from the open directory to the text, in microseconds.
fn once(
    guest: &impl Executor<Directory = Handle>,
    files: &Files,
    name: &str,
) -> Result<f64, Box<dyn Error>> {
    let grant = grant(files.home(), name)?;
    let began = Instant::now();
    // The key means nothing here: the grant decides.
    let text = guest.run("k-1", Some(grant), began + Duration::from_secs(5));
    let took = began.elapsed();
    text.map_err(|code| code.to_string())?;
    Ok(microseconds(took))
}
