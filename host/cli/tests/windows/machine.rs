//! A machine that runs programs for Windows: this one, or wine.

use keyhole_tree::skipped;
use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Where the programs run, with their environment.
pub(crate) struct Machine {
    program: PathBuf,
    /// The program that runs them, if that is not the system; and its drive `C:`.
    wine: Option<(PathBuf, PathBuf)>,
    variables: Vec<(String, String)>,
}

/// A program's output.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The machine. If there is none, it prints that this test is skipped.
pub(crate) fn machine() -> Option<Machine> {
    let named = |name| env::var_os(name).map(PathBuf::from);
    let under_wine = || {
        let wine = named("KEYHOLE_WINE")?;
        let drive = named("WINEPREFIX")?.join("drive_c");
        Some((named("KEYHOLE_WINDOWS")?, Some((wine, drive))))
    };
    let found = match cfg!(windows) {
        true => Some((env!("CARGO_BIN_EXE_keyhole").into(), None)),
        false => under_wine(),
    };
    let Some((program, wine)) = found else {
        skipped("not on Windows (./x release windows runs it under wine)");
        return None;
    };
    Some(Machine {
        program,
        wine,
        variables: Vec::new(),
    })
}

impl Machine {
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A directory that nobody else may write to.
    pub(crate) fn place(&self) -> Place {
        let (above, seen) = match &self.wine {
            Some((_, drive)) => (drive.clone(), "C:".to_owned()),
            None => {
                let home = env::var("USERPROFILE").unwrap();
                (home.clone().into(), home)
            }
        };
        let directory = TempDir::with_prefix_in("keyhole-test-", above).unwrap();
        let name = directory.path().file_name().unwrap().to_str().unwrap();
        let seen = format!(r"{seen}\{name}");
        Place { directory, seen }
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = match &self.wine {
            Some((wine, _)) => {
                // Wine has its own value for APPDATA, so cmd sets the one that we want.
                let set = self
                    .variables
                    .iter()
                    .flat_map(|(name, value)| ["set".to_owned(), format!("{name}={value}&")]);
                let mut command = Command::new(wine);
                command.env("WINEDEBUG", "-all");
                if !self.variables.is_empty() {
                    command.args(["cmd", "/d", "/c"]).args(set);
                }
                command.arg(program);
                command
            }
            None => Command::new(program),
        };
        command
            .args(arguments)
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs Keyhole with this input, to its end. It runs again if an answer says to call
    /// again: on a busy machine, wine may take longer than a call may.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Ran {
        let late = [r#""code":"timed-out""#, r#""code":"busy""#];
        let mut ran = self.run_once(arguments, input);
        for _ in 1..10 {
            if !late.iter().any(|code| ran.out.contains(code)) {
                break;
            }
            ran = self.run_once(arguments, input);
        }
        ran
    }

    pub(crate) fn run_once(&self, arguments: &[&str], input: &str) -> Ran {
        self.run_program(self.program.to_str().unwrap(), arguments, input)
    }

    pub(crate) fn run_program(&self, program: &str, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(program, arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Makes a program of the system create a file and keep it open for writing, until this
    /// is dropped.
    pub(crate) fn hold_for_writing(&self, place: &Place, name: &str) -> Writer {
        // `more` waits for its input with the file open.
        let line = format!("more >> {}", place.path(name));
        let mut child = self.command("cmd", &["/d", "/c", &line]).spawn().unwrap();
        let stdin = child.stdin.take();
        while !place.here(name).exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it has not created {name}");
            thread::sleep(Duration::from_millis(10));
        }
        Writer { child, stdin }
    }
}

/// A program that has a file open.
pub(crate) struct Writer {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// A directory that is removed at the end.
pub(crate) struct Place {
    directory: TempDir,
    seen: String,
}

impl Place {
    /// A path in it, as the program under test sees it.
    pub(crate) fn path(&self, name: &str) -> String {
        match name {
            "" => self.seen.clone(),
            name => format!(r"{}\{name}", self.seen),
        }
    }

    /// The same, as these tests see it.
    pub(crate) fn here(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let file = self.here(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}
