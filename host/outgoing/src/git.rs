//! Runs git with limits. It is the one program that is started, and nothing of the project's
//! environment reaches it.

use crate::{Uncollected, budget::Budget, file, reach::Reach, scratch::Scratch};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, ioctl_fionbio, retry_on_intr},
    process::{Pid, Signal, kill_process_group},
};
use std::{
    fs::OpenOptions,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

/// Where git is looked for. A project can set `PATH` for a hook, so that does not count.
const GIT_PATHS: [&str; 4] = [
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
    "/bin/git",
];

/// All of git's environment besides `HOME`, `GIT_DIR` and `GIT_WORK_TREE`. `GIT_ALLOC_LIMIT` is the
/// largest piece of memory that it takes, twice what we read: a packed file of a few kilobytes can
/// hold gigabytes.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/bin:/bin"),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ALLOC_LIMIT", "128m"),
];

/// How git tells a difference: all lines that differ and none beside them, each file as a text, a
/// renamed file as such; and no program, no submodule.
pub(crate) const DIFF_OPTIONS: [&str; 9] = [
    "-p",
    "-U0",
    "-M",
    "--text",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    // The name of a submodule leaves, and a file may take its place. Nothing of it is read.
    "--ignore-submodules=dirty",
    "--submodule=short",
];

/// The memory that git may write to on Linux: half a gigabyte. With 128 MB, it cannot start the
/// threads that read 50,000 files.
#[cfg(target_os = "linux")]
const MAX_MEMORY: u64 = 512 << 20;

/// The bytes of the warnings and errors that are read: git may warn of the ends of lines of 50,000
/// files.
const MAX_ERRORS: usize = 8 << 20;

/// How long to wait before another look at whether git has ended, after its output has.
const PAUSE: Duration = Duration::from_millis(1);

/// The file in [`Scratch`] that is git's standard error.
const ERRORS_FILE: &str = "errors";

/// Git, in a folder of its own and a checkout of the project's.
#[derive(Debug)]
pub(crate) struct Git<'a> {
    /// Its `GIT_DIR`.
    pub(crate) scratch: &'a Scratch,
    /// Its `GIT_WORK_TREE`.
    pub(crate) top: &'a Path,
    /// What it may read.
    pub(crate) reach: &'a Reach,
    /// What is left for all runs.
    pub(crate) budget: &'a mut Budget,
}

impl Git<'_> {
    /// What git prints with these arguments and with `input` as its standard input.
    ///
    /// # Errors
    /// [`Uncollected::GitMissing`] if no git is there; [`Uncollected::TooSlow`] if the budget's
    /// time is over; [`Uncollected::TooMuch`] if its bytes or git's memory are used up;
    /// [`Uncollected::ObjectMissing`] or [`Uncollected::Unreadable`] if git fails, or prints an
    /// error.
    pub(crate) fn run(
        &mut self,
        arguments: &[&str],
        input: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Uncollected> {
        self.budget.time_left()?;
        // If anything below fails, git is ended when this value is dropped.
        let mut git = Running(self.start(arguments)?);
        let mut stdout = git.0.stdout.take().ok_or(Uncollected::Unreadable)?;
        let stdin = git.0.stdin.take().ok_or(Uncollected::Unreadable)?;
        let output = self.exchange(stdin, input.as_ref(), &mut stdout)?;
        let status = self.wait_for_end(&mut git.0)?;
        let errors = file::contents(&self.scratch.path().join(ERRORS_FILE), MAX_ERRORS)?;
        check_success(status, &errors.unwrap_or_default())?;
        Ok(output)
    }

    /// Starts the first git of [`GIT_PATHS`] that is there, and on Linux limits its memory.
    ///
    /// # Errors
    /// [`Uncollected::GitMissing`] if none is there; [`Uncollected::Unreadable`] if the first that
    /// is there does not start; and those of [`Self::command`].
    fn start(&self, arguments: &[&str]) -> Result<Child, Uncollected> {
        for program in GIT_PATHS {
            let mut command = self.command(program, arguments)?;
            match self.reach.run_within(|| command.spawn()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                started => {
                    let child = started?;
                    #[cfg(target_os = "linux")]
                    limit_memory(&child);
                    return Ok(child);
                }
            }
        }
        Err(Uncollected::GitMissing)
    }

    /// The command that runs the git at the path `program` with these arguments, in the checkout
    /// and with an environment of our own.
    ///
    /// Its errors go to a file, and are at first none. Its input and output go through pipes: they
    /// may be private, as a project's settings may be a link to any file, and others could read a
    /// file meanwhile.
    ///
    /// # Errors
    /// [`Uncollected::NoScratch`] if the file of errors cannot be opened.
    #[expect(clippy::disallowed_methods, reason = "the one program that is started")]
    fn command(&self, program: &str, arguments: &[&str]) -> Result<Command, Uncollected> {
        let mut emptied = OpenOptions::new();
        emptied.write(true).create(true).truncate(true);
        let errors = self.scratch.open(ERRORS_FILE, &emptied)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(ENVIRONMENT)
            .env("HOME", self.scratch.path())
            .env("GIT_DIR", self.scratch.path())
            .env("GIT_WORK_TREE", self.top)
            .current_dir(self.top)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0);
        Ok(command)
    }

    /// All of git's output, up to its end. Meanwhile `unread` is written to git's input: as much of
    /// it as git takes.
    ///
    /// # Errors
    /// [`Uncollected::TooSlow`] or [`Uncollected::TooMuch`] if the budget's time or bytes are used
    /// up; [`Uncollected::Unreadable`] if a pipe cannot be read or written.
    fn exchange(
        &mut self,
        stdin: ChildStdin,
        mut unread: &[u8],
        stdout: &mut ChildStdout,
    ) -> Result<Vec<u8>, Uncollected> {
        // A write takes what fits into the pipe, and does not wait.
        ioctl_fionbio(&stdin, true)?;
        let mut stdin = Some(stdin);
        let mut bytes = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let time = Timespec::try_from(self.budget.time_left()?).map_err(|_| Errno::INVAL)?;
            // Git sees the end of its input when the pipe is closed.
            if unread.is_empty() {
                stdin = None;
            }
            let mut ends = vec![PollFd::new(stdout, PollFlags::IN)];
            ends.extend(stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
            // If nothing is ready, the time is over: `time_left` refuses then at the next round.
            retry_on_intr(|| poll(&mut ends, Some(&time)))?;
            // First git's output, then its input if that is still open.
            let mut are_ready = ends.iter().map(|end| !end.revents().is_empty());
            let is_printed = are_ready.next() == Some(true);
            if are_ready.next() == Some(true)
                && let Some(pipe) = &mut stdin
            {
                unread = write_some(pipe, unread)?;
            }
            if !is_printed {
                continue;
            }
            let got = stdout.read(&mut buffer)?;
            if got == 0 {
                return Ok(bytes);
            }
            self.budget.take_bytes(got)?;
            bytes.extend_from_slice(buffer.get(..got).unwrap_or_default());
        }
    }

    /// Waits until git has ended, with a look each [`PAUSE`] (a millisecond), and returns how it
    /// ended.
    ///
    /// # Errors
    /// [`Uncollected::TooSlow`] if the budget's time is used up before.
    fn wait_for_end(&self, child: &mut Child) -> Result<ExitStatus, Uncollected> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            self.budget.time_left()?;
            thread::sleep(PAUSE);
        }
    }
}

/// Writes as much as fits into the pipe, and returns the bytes that are left: all of them if the
/// pipe is full, and none if git has closed the pipe, as it reads no more.
///
/// # Errors
/// Any other error of the write.
fn write_some<'b>(pipe: &mut ChildStdin, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
    match pipe.write(bytes) {
        Ok(count) => Ok(bytes.get(count..).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(&[]),
        Err(error) => Err(error),
    }
}

/// A git that is killed with all that it started when this value is dropped.
struct Running(Child);

impl Drop for Running {
    /// Ends git, and all that it has started, unless it has ended by itself.
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.0.try_wait() {
            // It has ended by itself.
            return;
        }
        let number = i32::try_from(self.0.id()).ok();
        if let Some(group) = number.and_then(Pid::from_raw) {
            // If it fails, git has ended meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Limits the memory of a program that was just started to [`MAX_MEMORY`]. macOS has no such limit.
/// If the limit cannot be set, the program runs without it.
#[cfg(target_os = "linux")]
fn limit_memory(child: &Child) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit {
        current: Some(MAX_MEMORY),
        maximum: Some(MAX_MEMORY),
    };
    let number = i32::try_from(child.id()).ok();
    if let Some(id) = number.and_then(Pid::from_raw) {
        // If it fails, an administrator's lower limit is there already.
        let _ = prlimit(Some(id), Resource::Data, limit);
    }
}

/// What git prints if it has too little memory: its allocator, the system, its limit.
const NO_MEMORY_TEXTS: [&str; 3] = ["ut of memory", "attempting to allocate", "mmap failed"];

/// What git prints if an object is not there.
const NO_OBJECT_TEXTS: [&str; 5] = [
    "unable to read",
    "ould not read",
    "bad object",
    "missing",
    "lazy fetching disabled",
];

/// Checks that git succeeded, and that its `errors` have no line that begins with `error:` or
/// `fatal:`.
///
/// # Errors
/// Otherwise, [`Uncollected::TooMuch`] if a signal ended git, or `errors` has one of
/// [`NO_MEMORY_TEXTS`]; [`Uncollected::ObjectMissing`] if it has one of [`NO_OBJECT_TEXTS`]; else
/// [`Uncollected::Unreadable`].
fn check_success(status: ExitStatus, errors: &[u8]) -> Result<(), Uncollected> {
    let text = String::from_utf8_lossy(errors);
    let has_error = text
        .lines()
        .any(|line| line.starts_with("error:") || line.starts_with("fatal:"));
    if status.success() && !has_error {
        return Ok(());
    }
    // Without a code, a signal ended git: the system sends one if memory is short.
    if status.code().is_none() || NO_MEMORY_TEXTS.iter().any(|part| text.contains(part)) {
        return Err(Uncollected::TooMuch);
    }
    if NO_OBJECT_TEXTS.iter().any(|part| text.contains(part)) {
        return Err(Uncollected::ObjectMissing);
    }
    Err(Uncollected::Unreadable)
}
