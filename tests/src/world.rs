//! A home of its own for the program: files, a map, an environment.

use crate::{Answer, MARKER, Protocol, Ran, Session, binary, copy_program};
use keyhole_tree::{Tree, private_directory};
use rustix::process::geteuid;
use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs, iter,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

/// The number of a user and of a group that have no name and own nothing. It is not the
/// number that the system shows for unknown owners: that user trusts nothing.
pub const NOBODY: u32 = 54_320;

const MAP: &str = ".config/keyhole/context-map.toml";

/// The place where the program runs. Chained calls make it; later changes go
/// through `&self`, while servers run. Names of files are relative to the home.
#[must_use]
pub struct World {
    /// Holds the home, and what is outside it, until the last server has ended.
    tree: Arc<Tree>,
    home: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    arguments: Vec<OsString>,
    protocol: Protocol,
    through: Vec<OsString>,
    user: Option<u32>,
}

impl World {
    /// A home with nothing in it. The environment has only `HOME` and
    /// `XDG_CONFIG_HOME`.
    #[expect(clippy::new_without_default, reason = "a test says what it makes")]
    pub fn new() -> Self {
        let tree = Tree::named(&format!("keyhole-{MARKER}-"));
        let home = tree.path("home");
        private_directory(&home);
        let environment = BTreeMap::from([
            ("HOME".into(), home.clone().into()),
            ("XDG_CONFIG_HOME".into(), home.join(".config").into()),
        ]);
        Self {
            tree: Arc::new(tree),
            home,
            environment,
            arguments: Vec::new(),
            protocol: Protocol::Initialize,
            through: Vec::new(),
            user: None,
        }
    }

    /// With a file, and with its directories.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// With a map of the key `k-1` to a file of this content.
    pub fn with_k1(self, content: impl AsRef<[u8]>) -> Self {
        self.file("1.md", content).map("[keys]\nk-1 = '~/1.md'\n")
    }

    /// With an empty directory.
    pub fn directory(self, path: &str) -> Self {
        private_directory(&self.path(path));
        self
    }

    /// With a symbolic link. Its target is used as given.
    pub fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        self.tree.link(&format!("home/{path}"), target);
        self
    }

    /// With this map in its usual place.
    pub fn map(self, text: impl AsRef<[u8]>) -> Self {
        self.write_map(text);
        self
    }

    /// With a variable in the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .insert(name.into(), value.as_ref().to_owned());
        self
    }

    /// Without a home in the environment, and so without a place for the map.
    pub fn homeless(mut self) -> Self {
        self.environment.clear();
        self
    }

    /// With the plugin's data folder, `data`.
    pub fn plugin_data(self) -> Self {
        let data = self.path("data");
        self.directory("data").env("CLAUDE_PLUGIN_DATA", data)
    }

    /// With a further argument for `serve`.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// With further arguments for `serve`.
    pub fn arguments<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::argument)
    }

    /// With clients that speak `protocol`; `initialize` is the default.
    pub fn speaking(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// With a server that a shell starts after it has run `command`, such as `ulimit -n 9`.
    pub fn after(self, command: &str) -> Self {
        self.through(["/bin/sh", "-c", &format!("{command} && exec \"$0\" \"$@\"")])
    }

    /// With a server that this program starts. The program gets the server's command
    /// line after its own arguments.
    pub fn through<A: AsRef<OsStr>>(mut self, program: impl IntoIterator<Item = A>) -> Self {
        self.through = program
            .into_iter()
            .map(|argument| argument.as_ref().to_owned())
            .collect();
        self
    }

    /// With a server that does not have root's powers. If the tests run as root, this
    /// gives the home to another user, who runs the server; for any other user nothing
    /// changes. Call it when all files are made.
    pub fn unprivileged(self) -> Self {
        match geteuid().is_root() {
            true => self.run_by(NOBODY),
            false => self,
        }
    }

    /// With a server that this user runs, to whom the home then belongs. Only root can do
    /// this. Call it when all files are made.
    pub fn run_by(mut self, user: u32) -> Self {
        self.user = Some(user);
        self.mode("..", 0o711);
        // The built program may be in a place that only root can enter.
        copy_program(&self.outside("keyhole"));
        // Links themselves, too.
        let mut chown = Command::new("chown");
        chown.args(["-hR", &format!("{user}:{user}")]);
        let given = chown.arg(&self.home).status();
        assert!(given.is_ok_and(|status| status.success()), "root may do it");
        self
    }

    /// The home.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A path in the home.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.home.join(path)
    }

    /// A path that is not in the home.
    #[must_use]
    pub fn outside(&self, path: &str) -> PathBuf {
        self.home.with_file_name(path)
    }

    /// The map's usual place.
    #[must_use]
    pub fn map_path(&self) -> PathBuf {
        self.path(MAP)
    }

    /// Writes a file in place, and makes its directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.tree.write(&format!("home/{path}"), content);
    }

    /// Sets the mode of a file or directory.
    pub fn mode(&self, path: &str, mode: u32) {
        self.tree.mode(&format!("home/{path}"), mode);
    }

    /// Writes the map in place.
    pub fn write_map(&self, text: impl AsRef<[u8]>) {
        self.write(MAP, text);
    }

    /// Replaces the map by renaming another file, as careful editors do.
    pub fn replace_map(&self, text: impl AsRef<[u8]>) {
        self.write(".config/keyhole/new", text);
        fs::rename(self.path(".config/keyhole/new"), self.map_path()).expect("a rename");
    }

    /// Removes the map.
    pub fn remove_map(&self) {
        fs::remove_file(self.map_path()).expect("the map was there");
    }

    /// Starts a server, and a client that has said nothing yet.
    pub fn serve(&self) -> Session {
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        self.start(iter::once("serve".as_ref()).chain(arguments))
    }

    /// Starts any command, which waits for its input.
    pub fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Session {
        let home = Arc::clone(&self.tree);
        Session::start(&mut self.command(arguments), self.protocol, home)
    }

    /// Starts a server with a client that has shaken hands. If the test now takes the map
    /// away, the server does not say that it found none at its start.
    #[track_caller]
    pub fn client(&self) -> Session {
        let mut session = self.serve();
        let _ = session.handshake();
        session
    }

    /// What a client gets that calls once with `key`, and then ends its session in order.
    #[track_caller]
    pub fn load(&self, key: &str) -> Answer {
        let mut client = self.client();
        let answer = client.load(key);
        client.end();
        answer
    }

    /// A new world for each protocol, and a client that has shaken hands.
    pub fn in_each_protocol(make: impl Fn() -> Self) -> impl Iterator<Item = (Self, Session)> {
        Protocol::ALL.into_iter().map(move |protocol| {
            let world = make().speaking(protocol);
            let client = world.client();
            (world, client)
        })
    }

    /// The protocol of this world's clients.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Runs `keyhole` to its end.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Ran {
        self.run_with(arguments, b"")
    }

    /// The same with input.
    #[track_caller]
    pub fn run_with<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Ran {
        Ran::with_input(&mut self.command(arguments), input, self.home_in_utf8())
    }

    /// Types a text into a shell in which `keyhole` is a command. As in what the program
    /// prints to a test, `HOME` in it is the home.
    #[track_caller]
    pub fn typed(&self, text: &str) -> Ran {
        let bin = self.outside("bin");
        if !bin.exists() {
            fs::create_dir(&bin).expect("our own directory");
            symlink(binary(), bin.join("keyhole")).expect("a link");
        }
        let path = env::var("PATH").expect("a path");
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &text.replace("HOME", self.home_in_utf8())])
            .env_clear()
            .envs(&self.environment)
            .env("PATH", format!("{}:{path}", bin.display()))
            .current_dir(&self.home);
        Ran::with_input(&mut shell, b"", self.home_in_utf8())
    }

    pub(crate) fn home_in_utf8(&self) -> &str {
        self.home.to_str().expect("a home in UTF-8")
    }

    /// The command line of `keyhole` with these arguments, not started yet.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let program = match self.user {
            Some(_) => self.outside("keyhole"),
            None => binary().to_owned(),
        };
        let mut command = match &self.through[..] {
            [] => Command::new(program),
            [first, arguments @ ..] => {
                let mut command = Command::new(first);
                command.args(arguments).arg(program);
                command
            }
        };
        command
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .current_dir(&self.home);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }
}
