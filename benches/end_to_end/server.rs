//! The servers that are measured: how to start and call each.

use keyhole_benches::{
    client::{Client, of_key},
    files::{Files, LARGE_KEY, LARGE_NAME, MANY, SMALL_KEY, SMALL_NAME},
};
use serde_json::{Value, json};
use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    version: &'static str,
    command: Vec<OsString>,
    /// Two pairs of sockets lead to it, as Node does, and not two pipes, as most clients do.
    has_sockets: bool,
    /// The params of `tools/call` for the small and for the large file.
    pub(crate) calls: [Value; 2],
    /// Whether it takes so long that it is measured in fewer rounds, with fewer calls.
    pub(crate) is_slow: bool,
}

pub(crate) const KEYHOLE: &str = "keyhole";
pub(crate) const TWIN: &str = "twin without the sandbox";
pub(crate) const PACKAGED: &str = "keyhole, as packaged";
pub(crate) const PYTHON: &str = "Python server";
pub(crate) const NPM: &str = "npm filesystem server";
pub(crate) const RUST: &str = "rust-mcp-filesystem";
pub(crate) const HYPER: &str = "hyper-mcp";

pub(crate) struct Programs {
    /// The folder with our own, built in one go.
    pub(crate) own: PathBuf,
    /// keyhole as it is packaged for this machine, if that is another build.
    pub(crate) packaged: Option<PathBuf>,
    /// The folder that `./x bench --peers` installs the others into.
    pub(crate) peers: Option<PathBuf>,
}

pub(crate) fn own(files: &Files, programs: &Programs) -> Vec<Server> {
    let (map, folder) = (files.map(10), &programs.own);
    let program = folder.join(KEYHOLE);
    let many = files.map(MANY);
    let many = self::keyhole(&format!("keyhole, {MANY} keys"), &program, &many);
    let keyhole = keyhole(KEYHOLE, &program, &map);
    let twin = Server::new(TWIN, [folder.join("keyhole-twin"), map.clone()]);
    let constant = folder.join("keyhole-constant");
    let constants = [constant, files.small(), files.large()];
    let constant = Server::new("constant answers (the ceiling)", constants);
    let over_sockets = Server {
        name: "keyhole, over sockets".to_owned(),
        has_sockets: true,
        ..keyhole.clone()
    };
    let mut servers = vec![keyhole, many, over_sockets, twin, constant];
    if let Some(program) = &programs.packaged {
        servers.push(self::keyhole(PACKAGED, program, &map));
    }
    servers
}

pub(crate) fn keyhole(name: &str, program: &Path, map: &Path) -> Server {
    let [serve, option] = ["serve", "--map"].map(Path::new);
    Server::new(name, [program, serve, option, map])
}

/// The servers that people use instead. They may not be installed.
pub(crate) fn peers(files: &Files, peers: &Path) -> io::Result<[Server; 4]> {
    let home = files.home();
    let reads = |tool: &str, paths: [&Path; 2]| {
        paths.map(|path| json!({ "name": tool, "arguments": { "path": path } }))
    };
    let (small, large) = (files.small(), files.large());
    let by_path = reads("read_text_file", [&small, &large]);
    let at = |name: &str| peers.join(name);
    let python = [at("python/bin/python"), at("server.py"), files.map(10)];
    let module = "npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    let npm = [PathBuf::from("node"), at(module), home.to_owned()];
    let rust = [at("rust/bin/rust-mcp-filesystem"), home.to_owned()];
    // hyper-mcp has one plugin, which may read here. Its tools have the plugin's name in
    // theirs, and its paths are the plugin's.
    let plugins = home.join("hyper-mcp.json");
    let url = format!("file://{}", peers.join("hyper.wasm").display());
    let may = json!({ "allowed_paths": [format!("{}:/", home.display())] });
    let files = json!({ "url": url, "runtime_config": may });
    fs::write(
        &plugins,
        json!({ "plugins": { "files": files } }).to_string(),
    )?;
    let option = "--config-file".into();
    let hyper = [at("hyper/bin/hyper-mcp"), option, plugins];
    let names = [SMALL_NAME, LARGE_NAME].map(Path::new);
    let by_name = reads("files-read_text_file", names);
    let peer = |name, version, command: &[PathBuf], calls: &[Value; 2]| Server {
        version,
        calls: calls.clone(),
        is_slow: true,
        ..Server::new(name, command)
    };
    Ok([
        peer(PYTHON, "(mcp 2.3.0)", &python, &by_key()),
        peer(NPM, "2026.8.31", &npm, &by_path),
        peer(RUST, "0.4.5", &rust, &by_path),
        peer(HYPER, "0.8.3", &hyper, &by_name),
    ])
}

fn by_key() -> [Value; 2] {
    [SMALL_KEY, LARGE_KEY].map(of_key)
}

impl Server {
    fn new<S: AsRef<OsStr>>(name: &str, command: impl IntoIterator<Item = S>) -> Self {
        let command = command.into_iter();
        Self {
            name: name.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            command: command.map(|word| word.as_ref().to_owned()).collect(),
            has_sockets: false,
            calls: by_key(),
            is_slow: false,
        }
    }

    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// The two ends of a stream: to read from, and to write to.
    fn stream(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        if self.has_sockets {
            let (from, to) = UnixStream::pair()?;
            return Ok((from.into(), to.into()));
        }
        let (from, to) = io::pipe()?;
        Ok((from.into(), to.into()))
    }
}

/// A running server. Drop stops it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) struct Session {
    server: Running,
    pub(crate) client: Client,
    pub(crate) began: Instant,
    /// From before the start to the handshake's answer.
    pub(crate) handshake: Duration,
}

impl Session {
    /// Starts `server` and shakes hands.
    pub(crate) fn start(server: &Server) -> io::Result<Self> {
        let mut words = server.command.iter();
        let mut command = Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
        let ((stdin, to), (from, stdout)) = (server.stream()?, server.stream()?);
        command.args(words).stdin(stdin).stdout(stdout);
        let began = Instant::now();
        let running = Running(command.stderr(Stdio::null()).spawn()?);
        // This closes our copy of the server's ends.
        drop(command);
        Ok(Self {
            server: running,
            client: Client::new(to, from)?,
            began,
            handshake: began.elapsed(),
        })
    }

    /// The most memory that was resident at any time, in MiB. None if the system does not
    /// tell.
    pub(crate) fn peak(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.0.id())).ok()?;
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib / 1024.0)
    }
}
