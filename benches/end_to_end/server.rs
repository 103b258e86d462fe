//! The servers that are measured: how to start and call each.

use crate::files::{Files, LARGE_KEY, LARGE_NAME, SMALL_KEY, SMALL_NAME};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The connection to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Two pipes, as most clients do.
    Pipes,
    /// Two pairs of sockets, as Node does.
    Sockets,
}

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    /// Its version, as in the tables.
    pub(crate) version: String,
    pub(crate) command: Vec<OsString>,
    pub(crate) streams: Streams,
    /// The params of `tools/call` for the small and for the large file.
    pub(crate) small: Value,
    pub(crate) large: Value,
    /// Whether it takes so long that it is measured in fewer rounds, with fewer calls.
    pub(crate) slow: bool,
}

pub(crate) const KEYHOLE: &str = "keyhole";
pub(crate) const TWIN: &str = "twin without the sandbox";
pub(crate) const CONSTANT: &str = "constant answers (the ceiling)";
pub(crate) const KEYHOLE_SOCKETS: &str = "keyhole, over sockets";
pub(crate) const TWIN_SOCKETS: &str = "twin, over sockets";
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
    /// The folder that `./x bench` installs the others into.
    pub(crate) peers: Option<PathBuf>,
}

/// All servers that are installed, and the names of those that are not, with the reason.
pub(crate) fn all(files: &Files, programs: &Programs) -> (Vec<Server>, Vec<(String, String)>) {
    let own = |name: &str| programs.own.join(name);
    let ours = env!("CARGO_PKG_VERSION");
    let mut servers = vec![
        keyhole(KEYHOLE, &own("keyhole"), &files.map(10)),
        with_keys(
            TWIN,
            ours,
            vec![own("keyhole-twin").into(), files.map(10).into()],
        ),
        with_keys(
            CONSTANT,
            ours,
            vec![
                own("keyhole-constant").into(),
                files.small().into(),
                files.large().into(),
            ],
        ),
    ];
    for (at, name) in [(0, KEYHOLE_SOCKETS), (1, TWIN_SOCKETS)] {
        servers.push(Server {
            name,
            streams: Streams::Sockets,
            ..servers[at].clone()
        });
    }
    let mut absent = Vec::new();
    match &programs.packaged {
        Some(program) => {
            servers.push(keyhole(PACKAGED, program, &files.map(10)));
            let twin = program.with_file_name("keyhole-twin");
            servers.push(with_keys(
                PACKAGED_TWIN,
                ours,
                vec![twin.into(), files.map(10).into()],
            ));
        }
        None => absent.push((PACKAGED.to_owned(), "not built".to_owned())),
    }
    if let Some(peers) = &programs.peers {
        let mut peer = |server: Server| match server
            .command
            .iter()
            .map(Path::new)
            .find(|part| part.is_absolute() && !part.exists())
        {
            None => servers.push(server),
            Some(_) => absent.push((
                format!("{} {}", server.name, server.version),
                "not installed".to_owned(),
            )),
        };
        peer(Server {
            slow: true,
            ..with_keys(
                PYTHON,
                "(mcp 2.3.0)",
                vec![
                    peers.join("python/bin/python").into(),
                    peers.join("server.py").into(),
                    files.map(10).into(),
                ],
            )
        });
        let module = "npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
        peer(with_paths(
            NPM,
            "2026.8.31",
            vec![
                "node".into(),
                peers.join(module).into(),
                files.home().into(),
            ],
            files,
        ));
        peer(with_paths(
            RUST,
            "0.4.5",
            vec![
                peers.join("rust/bin/rust-mcp-filesystem").into(),
                files.home().into(),
            ],
            files,
        ));
        // Its tools have the plugin's name in theirs, and its paths are the plugin's.
        let params = |file| {
            let arguments = json!({ "path": file });
            json!({ "name": "files-read_text_file", "arguments": arguments })
        };
        peer(Server {
            small: params(SMALL_NAME),
            large: params(LARGE_NAME),
            ..with_paths(
                HYPER,
                "0.8.3",
                vec![
                    peers.join("hyper/bin/hyper-mcp").into(),
                    "--config-file".into(),
                    files.hyper().into(),
                ],
                files,
            )
        });
    }
    (servers, absent)
}

/// keyhole, with this map.
pub(crate) fn keyhole(name: &'static str, program: &Path, map: &Path) -> Server {
    let command = vec![program.into(), "serve".into(), "--map".into(), map.into()];
    with_keys(name, env!("CARGO_PKG_VERSION"), command)
}

fn with_keys(name: &'static str, version: &str, command: Vec<OsString>) -> Server {
    let params = |key| json!({ "name": "load_context", "arguments": { "key": key } });
    Server {
        name,
        version: version.to_owned(),
        command,
        streams: Streams::Pipes,
        small: params(SMALL_KEY),
        large: params(LARGE_KEY),
        slow: false,
    }
}

fn with_paths(name: &'static str, version: &str, command: Vec<OsString>, files: &Files) -> Server {
    let params = |path| json!({ "name": "read_text_file", "arguments": { "path": path } });
    Server {
        name,
        version: version.to_owned(),
        command,
        streams: Streams::Pipes,
        small: params(files.small()),
        large: params(files.large()),
        slow: true,
    }
}
