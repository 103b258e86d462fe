//! The sandbox in this process, compared with the same guest run natively.

use crate::{files::Files, numbers::quantile};
use cap_std::fs::Dir;
use keyhole::{
    Code, Grant,
    limits::Limits,
    sandbox::{Executor, Sandbox},
};
use keyhole_benches::Native;
use std::{
    error::Error,
    fs::File,
    time::{Duration, Instant},
};

/// The key means nothing here: the grant decides.
const KEY: &str = "k-2c1f8a96d0e34b57";

/// Medians of one round, in microseconds.
pub(crate) struct Round {
    pub(crate) native_small: f64,
    pub(crate) native_large: f64,
    pub(crate) sandbox_small: f64,
    pub(crate) sandbox_large: f64,
    /// A small file after large ones, whose memory the sandbox wipes.
    pub(crate) sandbox_small_after_large: f64,
}

/// A sandbox for each size, since one keeps the memory that its calls have used.
pub(crate) struct Inside {
    small: Sandbox,
    large: Sandbox,
}

impl Inside {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            small: Sandbox::embedded(Limits::default())?,
            large: Sandbox::embedded(Limits::default())?,
        })
    }

    /// Measures both in turn, so that a disturbance affects both.
    pub(crate) fn round(&self, files: &Files, calls: usize) -> Result<Round, Box<dyn Error>> {
        let (small, large) = (calls, calls.div_ceil(10));
        let [native_small, sandbox_small] = turns(&self.small, files, "small.md", small)?;
        let [native_large, sandbox_large] = turns(&self.large, files, "large.md", large)?;
        let [_, sandbox_small_after_large] = turns(&self.large, files, "small.md", small)?;
        Ok(Round {
            native_small,
            native_large,
            sandbox_small,
            sandbox_large,
            sandbox_small_after_large,
        })
    }
}

fn turns(
    sandbox: &Sandbox,
    files: &Files,
    name: &str,
    calls: usize,
) -> Result<[f64; 2], Box<dyn Error>> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..calls {
        times[0].push(once(&Native, files, name)?);
        times[1].push(once(sandbox, files, name)?);
    }
    let [native, sandbox] = times.map(|mut times| quantile(&mut times, 0.5));
    Ok([native.ok_or("no calls")?, sandbox.ok_or("no calls")?])
}

/// The time from the open directory to the text, in microseconds.
fn once(guest: &impl Executor, files: &Files, name: &str) -> Result<f64, Box<dyn Error>> {
    let grant = Grant {
        directory: Dir::from_std_file(File::open(files.home())?),
        name: name.to_owned(),
        max_bytes: 1 << 20,
    };
    let began = Instant::now();
    let text = guest.call(KEY, Some(grant), began + Duration::from_secs(5));
    let took = began.elapsed();
    // As the server does, when the answer has been handed over.
    guest.tidy();
    text.map_err(|code: Code| code.to_string())?;
    Ok(took.as_secs_f64() * 1e6)
}
