//! The sandbox in this process, compared with the same guest run natively.

use crate::{measure::What, numbers::median};
use keyhole_benches::{
    Native,
    files::{Files, LARGE_NAME, SMALL_NAME, grant},
};
use keyhole_core::{
    Executor,
    limits::Limits,
    sandbox::{Sandbox, SandboxError},
};
use std::{
    error::Error,
    time::{Duration, Instant},
};

/// Names in the results.
pub(crate) const NATIVE: &str = "native, inside";
pub(crate) const SANDBOX: &str = "sandbox, inside";

/// What was measured, of which guest, and its median.
type Medians = Vec<(What, &'static str, f64)>;

/// A sandbox for each size, since one keeps the memory that its calls have used.
pub(crate) struct Inside([Sandbox; 2]);

impl Inside {
    pub(crate) fn new() -> Result<Self, SandboxError> {
        let sandbox = || Sandbox::embedded(Limits::default());
        Ok(Self([sandbox()?, sandbox()?]))
    }

    /// The medians of one round, in microseconds. Both are measured in turn, so that a
    /// disturbance affects both.
    pub(crate) fn round(&self, files: &Files, calls: usize) -> Result<Medians, Box<dyn Error>> {
        let mut results = Vec::new();
        for (sandbox, what, name, calls) in [
            (&self.0[0], What::Small50, SMALL_NAME, calls),
            (&self.0[1], What::Large50, LARGE_NAME, calls.div_ceil(10)),
        ] {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..calls {
                times[0].push(once(&Native, files, name)?);
                times[1].push(once(sandbox, files, name)?);
            }
            let [native, sandbox] = times.map(|mut times| median(&mut times));
            results.push((what, NATIVE, native.ok_or("no calls")?));
            results.push((what, SANDBOX, sandbox.ok_or("no calls")?));
        }
        Ok(results)
    }
}

/// The time from the open directory to the text, in microseconds.
fn once(
    guest: &impl Executor<Directory = cap_std::fs::Dir>,
    files: &Files,
    name: &str,
) -> Result<f64, Box<dyn Error>> {
    let grant = grant(files.home(), name)?;
    let began = Instant::now();
    // The key means nothing here: the grant decides.
    let text = guest.run("k-1", Some(grant), began + Duration::from_secs(5));
    let took = began.elapsed();
    text.map_err(|code| code.to_string())?;
    Ok(took.as_secs_f64() * 1e6)
}
