//! The real server behind its wall, the twin without it, their files, and a client.

use crate::{LARGE, SMALL, procfs};
use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

/// Whether a server has its wall.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Keyhole,
    Twin,
}

impl Kind {
    /// Both are built beside this test, unless `KEYHOLE_COUNTED` names another folder.
    ///
    /// # Panics
    /// If the program is not there. It would be wrong to pass without it.
    pub(super) fn program(self) -> PathBuf {
        let named = env::var_os("KEYHOLE_COUNTED").filter(|named| !named.is_empty());
        let folder = named.map_or_else(
            || {
                let this = env::current_exe().unwrap();
                this.ancestors().nth(2).unwrap().to_owned()
            },
            PathBuf::from,
        );
        let program = folder.join(match self {
            Self::Keyhole => "keyhole",
            Self::Twin => "keyhole-twin",
        });
        assert!(
            program.is_file(),
            "{program:?} is not built: cargo build -p keyhole -p keyhole-benches --bins"
        );
        program
    }

    pub(super) fn serve(self, map: &Path) -> Command {
        let mut command = Command::new(self.program());
        if let Self::Keyhole = self {
            command.args(["serve", "--map"]);
        }
        command.arg(map);
        command
    }
}

/// Which file a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Note {
    Small,
    Large,
    /// As small, but with three more directories on the way.
    Far,
}

impl Note {
    const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Far];

    fn key(self) -> String {
        format!("k-{self:?}-2c1f8a96d0e34b57").to_lowercase()
    }

    fn text(self) -> String {
        let bytes = match self {
            Self::Small | Self::Far => SMALL,
            Self::Large => LARGE,
        };
        // With line ends and quotes, which JSON has to escape.
        let mut text =
            "- Jane Q. Example, called \"JQ\", 12 Sample Street, Springfield\n".repeat(1 << 15);
        text.truncate(bytes.try_into().unwrap());
        text
    }
}

/// A folder with a map in it, and notes. Another folder deep below has the same.
pub(super) struct Files {
    /// Removes it.
    _home: TempDir,
    real: PathBuf,
}

/// The directories on the way to what lies deep.
const DEEP: [&str; 3] = ["a", "b", "c"];

impl Files {
    /// So many more lead to one that lies deep.
    pub(super) const DEEPER: u32 = DEEP.len() as u32;

    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        let files = Self { _home: home, real };
        fs::create_dir_all(files.deep()).unwrap();
        for note in Note::ALL {
            fs::write(files.note(note), note.text()).unwrap();
        }
        for folder in [files.home(), &files.deep()] {
            files.write_map(&folder.join("map.toml"), 0);
        }
        files
    }

    pub(super) fn home(&self) -> &Path {
        &self.real
    }

    fn deep(&self) -> PathBuf {
        self.home().join(DEEP.iter().collect::<PathBuf>())
    }

    /// How many directories, `/` among them, lead to a file in it.
    pub(super) fn depth(&self) -> u32 {
        self.home().components().count().try_into().unwrap()
    }

    pub(super) fn map(&self) -> PathBuf {
        self.home().join("map.toml")
    }

    pub(super) fn deep_map(&self) -> PathBuf {
        self.deep().join("map.toml")
    }

    /// A map with so many more keys.
    pub(super) fn map_of(&self, keys: u64) -> PathBuf {
        let map = self.home().join(format!("map-{keys}.toml"));
        self.write_map(&map, keys);
        map
    }

    fn note(&self, note: Note) -> PathBuf {
        match note {
            Note::Far => self.deep(),
            Note::Small | Note::Large => self.home().to_owned(),
        }
        .join(format!("{note:?}.md"))
    }

    fn write_map(&self, map: &Path, keys: u64) {
        let mut text = String::from("[keys]\n");
        for note in Note::ALL {
            text += &format!("\"{}\" = \"{}\"\n", note.key(), self.note(note).display());
        }
        for key in 0..keys {
            text += &format!("\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n");
        }
        fs::write(map, text).unwrap();
    }
}

/// An MCP client of the server that these lead to.
pub(super) struct Client {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    /// The handshake is over then.
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> Self {
        let mut client = Self {
            to,
            // So large that it never keeps the server waiting.
            from: BufReader::with_capacity(2 << 20, from),
            next: 0,
        };
        client.ask(
            "initialize",
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"counts","version":"1"}}"#,
        );
        client.hear();
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// One call after the other.
    pub(super) fn calls(&mut self, calls: u32, note: Note) {
        (0..calls).for_each(|_| self.flood(1, note));
    }

    /// This many calls at once.
    pub(super) fn flood(&mut self, calls: u32, note: Note) {
        let params = format!(
            r#"{{"name":"load_context","arguments":{{"key":"{}"}}}}"#,
            note.key()
        );
        (0..calls).for_each(|_| self.ask("tools/call", &params));
        for _ in 0..calls {
            let answer = self.hear();
            let served = answer.contains(r#""isError":false"#);
            assert!(served && answer.contains("Jane"), "{answer:.300}");
        }
    }

    fn ask(&mut self, method: &str, params: &str) {
        let id = self.next;
        self.next += 1;
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
    }

    fn say(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        assert!(self.from.read_line(&mut line).unwrap() > 0, "it has ended");
        line
    }
}

/// A server that runs, and what the system says of it.
pub(super) struct Running {
    process: Child,
    client: Option<Client>,
}

impl Running {
    pub(super) fn start(kind: Kind, map: &Path) -> Self {
        let mut process = kind
            .serve(map)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take(), process.stdout.take());
        Self {
            process,
            client: Some(Client::new(to.unwrap(), from.unwrap())),
        }
    }

    pub(super) fn client(&mut self) -> &mut Client {
        self.client.as_mut().unwrap()
    }

    fn procfs(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.process.id()))
    }

    /// How often it has read.
    pub(super) fn reads(&self) -> io::Result<u64> {
        procfs::reads(&self.procfs())
    }

    /// The most memory that it has had at a time, in KiB.
    pub(super) fn peak(&self) -> u64 {
        procfs::number(&self.procfs().join("status"), "VmHWM").unwrap()
    }

    /// How often it has touched a page that was not there.
    pub(super) fn page_faults(&self) -> u64 {
        procfs::page_faults(&self.procfs())
    }

    /// How often one of its threads has gone to sleep.
    pub(super) fn sleeps(&self) -> u64 {
        fs::read_dir(self.procfs().join("task"))
            .unwrap()
            .map(|thread| thread.unwrap().path().join("status"))
            .map(|status| procfs::number(&status, "voluntary_ctxt_switches").unwrap())
            .sum()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.client.take());
        let _ = self.process.wait();
    }
}
