//! One process, its three streams, and bounded waits for each.

use crate::PATIENCE;
use std::{
    env,
    io::{BufRead as _, BufReader, Read},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// A running program. It is killed on drop.
pub(crate) struct Process {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    lines: Option<Receiver<Vec<u8>>>,
    stderr: Receiver<Vec<u8>>,
}

impl Process {
    /// Starts `command` with pipes. Its stdout is read only when a test asks for it,
    /// its stderr from the start.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut from = child.stderr.take().expect("piped");
        let (to, stderr) = mpsc::channel();
        thread::spawn(move || {
            let mut all = Vec::new();
            from.read_to_end(&mut all).expect("stderr is read");
            // The test may have failed meanwhile.
            let _ = to.send(all);
        });
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            lines: None,
            stderr,
            child,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of stdout, with its newline, which only a last line can lack.
    /// None means the end. From the first call on, a thread reads stdout without
    /// waiting for the next call.
    pub(crate) fn line(&mut self) -> Result<Option<Vec<u8>>, &'static str> {
        if let Some(from) = self.stdout.take() {
            let (to, lines) = mpsc::channel();
            self.lines = Some(lines);
            thread::spawn(move || {
                let mut from = BufReader::new(from);
                loop {
                    let mut line = Vec::new();
                    from.read_until(b'\n', &mut line).expect("stdout is read");
                    if line.is_empty() || to.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        match self.lines.as_ref().expect("started").recv_timeout(PATIENCE) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err("stdout: nothing came, and it did not end"),
        }
    }

    /// Waits for the end. All of stdout is read first, as a client would.
    pub(crate) fn end(&mut self) -> Result<End, &'static str> {
        let mut stdout = Vec::new();
        while let Some(line) = self.line()? {
            stdout.push(line);
        }
        let stderr = self
            .stderr
            .recv_timeout(PATIENCE)
            .map_err(|_| "stderr did not end")?;
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                return Ok(End {
                    status,
                    stdout,
                    stderr: beside_the_wall(stderr),
                });
            }
            if began.elapsed() > PATIENCE {
                return Err("it closed its streams and did not exit");
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An emulator of Linux has neither Landlock nor filters, and a server there says so,
/// once and first. `./x release arm` sets the variable; no test is about that line there.
fn beside_the_wall(stderr: Vec<u8>) -> Vec<u8> {
    const SAID: &[u8] = b"keyhole: the wall is not whole on this system (";
    if env::var_os("KEYHOLE_EMULATED").is_none() || !stderr.starts_with(SAID) {
        return stderr;
    }
    let end = stderr.iter().position(|byte| *byte == b'\n');
    stderr[end.map_or(stderr.len(), |end| end + 1)..].to_vec()
}

pub(crate) struct End {
    pub(crate) status: ExitStatus,
    /// What was not taken before, line by line.
    pub(crate) stdout: Vec<Vec<u8>>,
    pub(crate) stderr: Vec<u8>,
}
