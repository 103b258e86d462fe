//! The servers that are measured: how to start and call each.

use keyhole_benches::{
    client::{Client, of_key},
    files::{Files, LARGE_KEY, LARGE_NAME, SMALL_KEY, SMALL_NAME},
};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs, io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    /// Its version, as in the tables.
    pub(crate) version: &'static str,
    command: Vec<OsString>,
    /// Two pairs of sockets lead to it, as Node does, and not two pipes, as most clients do.
    has_sockets: bool,
    /// The params of `tools/call` for the small and for the large file.
    pub(crate) small: Value,
    pub(crate) large: Value,
    /// Whether it takes so long that it is measured in fewer rounds, with fewer calls.
    pub(crate) is_slow: bool,
}

pub(crate) const KEYHOLE: &str = "keyhole";
pub(crate) const TWIN: &str = "twin without the sandbox";
pub(crate) const PACKAGED: &str = "keyhole, as packaged";
pub(crate) const PACKAGED_TWIN: &str = "twin, packaged the same way";
pub(crate) const PYTHON: &str = "Python server";
pub(crate) const NPM: &str = "npm filesystem server";
pub(crate) const RUST: &str = "rust-mcp-filesystem";
pub(crate) const HYPER: &str = "hyper-mcp";

/// The places of the programs.
pub(crate) struct Programs {
    /// The folder with our own, built in one go.
    pub(crate) own: PathBuf,
    /// keyhole as it is packaged for this machine, if that is another build; the twin is
    /// next to it.
    pub(crate) packaged: Option<PathBuf>,
    /// The folder that `./x bench --peers` installs the others into.
    pub(crate) peers: Option<PathBuf>,
}

/// What is not measured, and why.
pub(crate) type Absent = Vec<(String, String)>;

/// All servers that are installed, and those that are not.
pub(crate) fn all(files: &Files, programs: &Programs) -> io::Result<(Vec<Server>, Absent)> {
    let own = |name: &str| programs.own.join(name);
    let [map, small, large] = [files.map(10), files.small(), files.large()];
    let keyhole = keyhole(KEYHOLE, &own("keyhole"), &map);
    let twin = ours(TWIN, &own("keyhole-twin"), &[&map]);
    let constant = own("keyhole-constant");
    let sockets = |name, server: &Server| Server {
        name,
        has_sockets: true,
        ..server.clone()
    };
    let mut servers = vec![
        keyhole.clone(),
        twin.clone(),
        ours(
            "constant answers (the ceiling)",
            &constant,
            &[&small, &large],
        ),
        sockets("keyhole, over sockets", &keyhole),
        sockets("twin, over sockets", &twin),
    ];
    let mut absent = Absent::new();
    match &programs.packaged {
        Some(program) => servers.extend([
            self::keyhole(PACKAGED, program, &map),
            ours(
                PACKAGED_TWIN,
                &program.with_file_name("keyhole-twin"),
                &[&map],
            ),
        ]),
        None => absent.push((PACKAGED.to_owned(), "not built".to_owned())),
    }
    if let Some(peers) = &programs.peers {
        for peer in others(files, peers)? {
            match peer.is_installed() {
                true => servers.push(peer),
                false => absent.push((peer.title(), "not installed".to_owned())),
            }
        }
    }
    Ok((servers, absent))
}

/// The servers that people use instead.
fn others(files: &Files, peers: &Path) -> io::Result<[Server; 4]> {
    let peer = |name, version, command: &[&Path], tool, paths: [&Path; 2]| {
        let [small, large] =
            paths.map(|path| json!({ "name": tool, "arguments": { "path": path } }));
        Server {
            name,
            version,
            command: command.iter().map(Into::into).collect(),
            has_sockets: false,
            small,
            large,
            is_slow: true,
        }
    };
    let (home, paths) = (files.home(), [&*files.small(), &files.large()]);
    let python = [
        peers.join("python/bin/python"),
        peers.join("server.py"),
        files.map(10),
    ];
    let module =
        peers.join("npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let (rust, hyper) = (
        peers.join("rust/bin/rust-mcp-filesystem"),
        peers.join("hyper/bin/hyper-mcp"),
    );
    // hyper-mcp has one plugin, which may read here. Its tools have the plugin's name in
    // theirs, and its paths are the plugin's.
    let plugin = peers.join("hyper.wasm");
    let (told, url) = (
        home.join("hyper-mcp.json"),
        format!("file://{}", plugin.display()),
    );
    let may = json!({ "allowed_paths": [format!("{}:/", home.display())] });
    let plugins = json!({ "plugins": { "files": { "url": url, "runtime_config": may } } });
    if plugin.exists() {
        fs::write(&told, plugins.to_string())?;
    }
    let hyper = [&hyper, Path::new("--config-file"), &told];
    let within = [Path::new(SMALL_NAME), Path::new(LARGE_NAME)];
    let read = "read_text_file";
    Ok([
        Server {
            small: of_key(SMALL_KEY),
            large: of_key(LARGE_KEY),
            ..peer(
                PYTHON,
                "(mcp 2.3.0)",
                &python.each_ref().map(|part| &**part),
                read,
                paths,
            )
        },
        peer(
            NPM,
            "2026.8.31",
            &[Path::new("node"), &module, home],
            read,
            paths,
        ),
        peer(RUST, "0.4.5", &[&rust, home], read, paths),
        peer(HYPER, "0.8.3", &hyper, "files-read_text_file", within),
    ])
}

/// keyhole, with this map.
pub(crate) fn keyhole(name: &'static str, program: &Path, map: &Path) -> Server {
    ours(
        name,
        program,
        &[Path::new("serve"), Path::new("--map"), map],
    )
}

fn ours(name: &'static str, program: &Path, arguments: &[&Path]) -> Server {
    let command = [program].into_iter().chain(arguments.iter().copied());
    Server {
        name,
        version: env!("CARGO_PKG_VERSION"),
        command: command.map(Into::into).collect(),
        has_sockets: false,
        small: of_key(SMALL_KEY),
        large: of_key(LARGE_KEY),
        is_slow: false,
    }
}

impl Server {
    /// Its name and version.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    fn is_installed(&self) -> bool {
        let mut parts = self.command.iter().map(Path::new);
        parts.all(|part| part.exists() || part.is_relative())
    }
}

/// A running server. Drop stops it.
pub(crate) struct Session {
    child: Child,
    client: Option<Client>,
    began: Instant,
    /// From before the start to the handshake's answer.
    pub(crate) handshake: Duration,
}

impl Session {
    /// Starts `server` and shakes hands.
    pub(crate) fn start(server: &Server) -> io::Result<Self> {
        let (program, arguments) = server
            .command
            .split_first()
            .ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stderr(Stdio::null());
        let sockets = match server.has_sockets {
            false => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                None
            }
            true => {
                let (to, stdin) = UnixStream::pair()?;
                let (from, stdout) = UnixStream::pair()?;
                command
                    .stdin(OwnedFd::from(stdin))
                    .stdout(OwnedFd::from(stdout));
                Some((OwnedFd::from(to), OwnedFd::from(from)))
            }
        };
        let began = Instant::now();
        let mut child = command.spawn()?;
        // This closes our copy of the server's ends.
        drop(command);
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = sockets
            .or_else(|| pipes.map(|(to, from)| (to.into(), from.into())))
            .ok_or(io::ErrorKind::BrokenPipe)?;
        let mut session = Self {
            child,
            client: None,
            began,
            handshake: Duration::ZERO,
        };
        session.client = Some(Client::new(to, from)?);
        session.handshake = session.began.elapsed();
        Ok(session)
    }

    /// Its client.
    pub(crate) fn client(&mut self) -> io::Result<&mut Client> {
        self.client.as_mut().ok_or(io::ErrorKind::BrokenPipe.into())
    }

    /// Calls the tool once. Returns the time since the start.
    pub(crate) fn check(&mut self, params: &Value, expected: &str) -> io::Result<Duration> {
        self.client()?.check(params, expected)?;
        Ok(self.began.elapsed())
    }

    /// The most memory that was resident at any time, in MiB. None if the system does not
    /// tell.
    pub(crate) fn peak(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib / 1024.0)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A server should end with its input. One that does not is killed.
        self.client = None;
        for _ in 0..20 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
