//! A machine on which the plugin is installed.

use super::super::temporary;
use keyhole_tests::{MARKER, NOBODY, Ran, copy_program, workspace, write_program};
use std::{
    collections::BTreeSet, env, fs, os::unix::process::CommandExt as _, path::PathBuf,
    process::Command,
};
use tempfile::TempDir;

/// The one table of systems, of which the launcher has a copy.
const SYSTEMS: &str = include_str!("../../../../release/systems.txt");

/// The plugin's names for its servers, and what `uname -sm` says where they run.
pub(crate) fn servers() -> Vec<(&'static str, Vec<String>)> {
    let rows = SYSTEMS.lines().filter(|line| !line.starts_with('#'));
    let servers: Vec<_> = rows
        .map(|row| row.split_whitespace().collect::<Vec<_>>())
        .map(|row| {
            let systems = row[2].split(',').map(|system| system.replace('-', " "));
            (row[0], systems.collect())
        })
        .collect();
    assert!(!servers.is_empty());
    servers
}

/// Copies of the plugin, and a data folder that they share.
pub(crate) struct Machine {
    pub(crate) temp: TempDir,
    data: PathBuf,
    pub(crate) shell: Vec<&'static str>,
    pub(crate) nobody: bool,
}

impl Machine {
    /// With a copy of the plugin whose servers say `v1`.
    pub(crate) fn new() -> Self {
        let temp = temporary();
        let machine = Self {
            data: temp.path().join("data"),
            temp,
            shell: vec!["sh"],
            nobody: false,
        };
        machine.release("v1");
        fs::create_dir(machine.temp.path().join("shims")).unwrap();
        machine
    }

    pub(crate) fn root(&self, version: &str) -> PathBuf {
        self.temp.path().join(version)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.data.clone()
    }

    /// With the data folder in another place.
    pub(crate) fn with_data(self, data: PathBuf) -> Self {
        Self { data, ..self }
    }

    /// Makes a copy of the plugin with servers that say `version`.
    pub(crate) fn release(&self, version: &str) {
        let root = self.root(version);
        let mut cp = Command::new("cp");
        cp.arg("-R").args([&workspace().join("plugin"), &root]);
        assert!(cp.status().unwrap().success());
        fs::create_dir(root.join("server")).unwrap();
        for (name, _) in servers() {
            let script = format!(
                "#!/bin/sh\n\
                 if [ \"$1\" = tickets ]; then exec mkdir -p \"$CLAUDE_PLUGIN_DATA/tickets\"; fi\n\
                 read line\necho {version} {name} \"$line\" \"$@\"\n"
            );
            self.replace_server(version, name, &script);
        }
    }

    pub(crate) fn replace_server(&self, version: &str, name: &str, script: &str) {
        let server = self.root(version).join("server").join(name);
        write_program(&server, script);
        self.sum(version);
    }

    /// This machine's own server of `version`.
    pub(crate) fn server(&self, version: &str) -> PathBuf {
        self.root(version).join("server").join(own())
    }

    /// With the real program as this machine's own server of `version`.
    pub(crate) fn make_real(&self, version: &str) {
        // The built program itself may be in a place that only root can enter.
        copy_program(&self.server(version));
        self.sum(version);
    }

    /// Writes the manifest as packaging does.
    pub(crate) fn sum(&self, version: &str) {
        let sum = "if command -v sha256sum >/dev/null; then sha256sum server/*; \
                   else shasum -a 256 server/*; fi >manifest.sha256";
        let summed = Command::new("sh")
            .args(["-c", sum])
            .current_dir(self.root(version))
            .status();
        assert!(summed.unwrap().success());
    }

    /// Replaces a command by a script.
    pub(crate) fn shim(&self, command: &str, script: &str) {
        let shim = self.temp.path().join("shims").join(command);
        write_program(&shim, &format!("#!/bin/sh\n{script}\n"));
    }

    pub(crate) fn remove_shims(&self) {
        for shim in fs::read_dir(self.temp.path().join("shims")).unwrap() {
            fs::remove_file(shim.unwrap().path()).unwrap();
        }
    }

    pub(crate) fn command(&self, version: &str, arguments: &[&str]) -> Command {
        let shims = self.temp.path().join("shims");
        let path = format!("{}:{}", shims.display(), env::var("PATH").unwrap());
        let mut command = Command::new(self.shell[0]);
        command
            .args(&self.shell[1..])
            .arg(self.root(version).join("start.sh"))
            .arg(self.data())
            .args(arguments)
            .current_dir("/")
            .env_clear()
            .env("PATH", path);
        if self.nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    pub(crate) fn start(&self, version: &str, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(version, arguments), b"input\n")
    }

    /// Asserts that the server of `version` runs.
    #[track_caller]
    pub(crate) fn runs(&self, version: &str) {
        let line = format!("{version} {} input serve --require-ticket\n", own());
        let ran = self.start(version, &["serve", "--require-ticket"]);
        ran.says_nothing_on_stderr().says(&line).exits(0);
    }

    /// Asserts that the session's hook of `version` does all that it should.
    #[track_caller]
    pub(crate) fn installs(&self, version: &str) {
        let ran = self.start(version, &["install"]);
        ran.says_nothing_on_stderr().says("").exits(0);
        assert_eq!(self.manifest(), self.own_manifest(version));
    }

    pub(crate) fn manifest(&self) -> Vec<u8> {
        fs::read(self.data().join("manifest.sha256")).unwrap_or_default()
    }

    pub(crate) fn own_manifest(&self, version: &str) -> Vec<u8> {
        fs::read(self.root(version).join("manifest.sha256")).unwrap()
    }

    /// Asserts that nothing can be started, with one clear line. If the guard could not
    /// start, this denies the call.
    #[track_caller]
    pub(crate) fn fails(&self, line: &str) {
        self.refuses(line);
        for (command, status) in [("serve", 1), ("guard", 2)] {
            let ran = self.start("v1", &[command]).says("").exits(status);
            assert_eq!(ran.stderr, format!("keyhole: {line}\n"), "{command}");
        }
    }

    /// Asserts that the session's hook fails with one clear line, and does not count as
    /// done.
    #[track_caller]
    pub(crate) fn refuses(&self, line: &str) {
        let before = self.manifest();
        let ran = self.start("v1", &["install"]).says("").exits(1);
        assert_eq!(ran.stderr, format!("keyhole: {line}\n"));
        assert!(!ran.stderr.contains(MARKER));
        assert_eq!(self.manifest(), before);
    }

    pub(crate) fn installed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.data()).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<String> = names.collect();
        names.into_iter().collect()
    }
}

pub(crate) fn own() -> &'static str {
    let name = format!("keyhole-{}-{}", env::consts::OS, env::consts::ARCH);
    let mut names = servers().into_iter().map(|(name, _)| name);
    names
        .find(|own| *own == name)
        .unwrap_or_else(|| panic!("no plugin for {name}"))
}

pub(crate) fn real(command: &str) -> PathBuf {
    env::split_paths(&env::var_os("PATH").unwrap())
        .map(|directory| directory.join(command))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("no {command} on this machine"))
}
