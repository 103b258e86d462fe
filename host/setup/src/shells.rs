//! Claude Code's own sandbox around each of its shells: what setup writes for it, whether it
//! holds, and what takes it down. What was seen of it stands in docs/shells.md.

use crate::json::{Change, RULES};
use keyhole_claude::{
    paths::{both, normal},
    rules::{Denied, Places},
    settings::Settings,
};
use serde_json::{Value, json};
use std::{
    env::split_paths,
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What `sandbox` must say: a shell is in it, no call leaves it, and the client does not start
/// without it.
pub(crate) const SWITCHES: [(&str, bool); 3] = [
    ("enabled", true),
    ("allowUnsandboxedCommands", false),
    ("failIfUnavailable", true),
];

/// What the question is about.
pub const COSTS: &str = "Claude Code can run each shell command in its own sandbox, where your file is not there. That costs something: `git add -A`, `git config`, docker and ssh fail, /tmp is read-only, and Claude may not edit its settings. On a machine or in a container that shares these settings and has no bubblewrap, Claude Code does not start. To undo it, take `sandbox` out of the settings. docs/shells.md says what to do about each.";

/// What is said once it is on: of the settings of an administrator, which hold more.
pub const STRONGER: &str = "A project that you open can switch this sandbox off in its own settings. An administrator can prevent that: docs/shells.md has the settings.";

/// Variables by which a project chooses what starts the sandbox, outside of it: the folders of
/// programs, the shell and what it runs first, and what is loaded into a program.
const OUTSIDE: &str =
    "PATH SHELL CLAUDE_CODE_SHELL BASH_ENV SHELLOPTS PS4 LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH";

const NO_SANDBOX: &str = "any shell command of the main conversation can read your files: Claude Code's own sandbox is off. `keyhole setup` says how to switch it on";
const IN_SANDBOX: &str = "The client's own sandbox is on (Claude Code 2.1.290 or newer)";
const NOT_THERE: &str =
    "It needs bubblewrap and socat: install both, as packages of your system, and run setup again.";
const NOT_ALLOWED: &str = "bubblewrap may not make what it needs here: docs/shells.md says how to allow it. Then run setup again.";

/// How the client starts bubblewrap (2.1.332): without a network, and inside once more,
/// with a filter of system calls.
const TRIAL: &str = "--new-session --die-with-parent --unshare-net --ro-bind / / --dev /dev --unshare-pid --proc /proc --seccomp 0 -- bwrap --unshare-user --unshare-pid --ro-bind / / true";
/// A filter that allows all: `BPF_RET`, `SECCOMP_RET_ALLOW` (linux/seccomp.h), as the processor
/// has it.
const FILTER: (u16, u32) = (0x06, 0x7fff_0000);

/// Whether the client can hold shells on this machine; or what the user has to do.
pub(crate) fn works(path: &OsStr) -> Result<(), &'static str> {
    // There it uses what the system has.
    if cfg!(target_os = "macos") {
        return Ok(());
    }
    let is_there = |name| split_paths(path).any(|folder| folder.join(name).is_file());
    if !is_there("bwrap") || !is_there("socat") {
        return Err(NOT_THERE);
    }
    let trial = Command::new("bwrap")
        .args(TRIAL.split(' '))
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let (code, value) = (FILTER.0.to_ne_bytes(), FILTER.1.to_ne_bytes());
    let filter = [&code[..], &[0; 2], &value].concat();
    let ended = trial.and_then(|mut trial| {
        // If it ends before it reads this, that counts.
        let _ = trial.stdin.take().map(|mut pipe| pipe.write_all(&filter));
        trial.wait()
    });
    let is_done = ended.is_ok_and(|status| status.success());
    is_done.then_some(()).ok_or(NOT_ALLOWED)
}

/// What setup adds to the settings, each with its place: the switches; the lists that keep agents'
/// conversations also from a shell that runs already, less what the client keeps of long outputs;
/// and rules that keep Claude from these settings.
pub(crate) fn settings(places: &Places) -> Vec<Change> {
    let folder = format!("{}/projects", places.shown);
    let outputs = format!("{folder}/**/tool-results/**");
    let add = |at: &[&'static str], comes| Change::new(at, Vec::new(), comes);
    let switches = SWITCHES.map(|(key, value)| add(&["sandbox", key], json!(value)));
    let lists = [("denyRead", folder), ("allowRead", outputs)];
    let lists = lists.map(|(key, path)| add(&["sandbox", "filesystem", key], json!([path])));
    let guards = [add(RULES, json!(places.guards()))];
    switches.into_iter().chain(lists).chain(guards).collect()
}

/// How the settings hold shells.
#[derive(Debug)]
pub struct Shells {
    /// Whether an administrator's do, which no other settings take down.
    pub(crate) are_managed: bool,
    /// What is missing of [`settings`].
    pub(crate) lacks: Vec<Change>,
    /// What lets a shell past, with its file. Empty if nothing does.
    pub(crate) weak: String,
}

impl Shells {
    /// `files` are those that shells are not to read. None if it is unknown which settings count.
    pub fn of(settings: &Settings, files: &[PathBuf]) -> Option<Self> {
        let places = settings.places.as_ref().ok()?;
        let shown = settings.rules_file()?;
        let (managed, home) = (&settings.managed, &*places.home);
        let all = || managed.iter().chain([&settings.value]);
        let mut lacks = self::settings(places);
        lacks.retain_mut(|change| {
            let pointer = change.pointer();
            let mut there = all().filter_map(|one| one.pointer(&pointer));
            let Value::Array(wanted) = &mut change.comes else {
                // Another value is told as what lets a shell past.
                return there.next().is_none();
            };
            let there: Vec<_> = there.filter_map(Value::as_array).flatten().collect();
            wanted.retain(|one| !there.contains(&one));
            !wanted.is_empty()
        });
        let has = |key: &str, wanted| {
            let pointer = format!("/sandbox/{key}");
            let mut values = managed.iter().map(|one| one.pointer(&pointer));
            values.any(|value| value == Some(&json!(wanted)))
        };
        let sets = |name| managed.iter().any(|one| one["env"][name].is_string());
        let rules = places.missing(&Denied::of(managed), files, false).rules;
        let are_managed = SWITCHES.iter().all(|(key, wanted)| has(key, *wanted))
            && has("filesystem/allowManagedReadPathsOnly", true)
            && OUTSIDE.split(' ').all(sets)
            && !rules.iter().any(|rule| rule.starts_with("Read("));
        let whose = "the administrator's settings";
        let managed = managed.iter().map(|one| (whose, home, one));
        let projects = settings.projects.iter();
        let unread = projects.clone().filter_map(|(shown, _, read)| {
            let why = read.as_ref().err().filter(|_| !are_managed)?;
            Some(format!("perhaps {shown}, which {why}"))
        });
        let projects = projects
            .filter_map(|(shown, here, read)| Some((&**shown, &**here, read.as_ref().ok()?)));
        let others = projects.chain([(&*shown, home, &settings.value)]);
        let all = managed.chain(others.filter(|_| !are_managed));
        let weak = all.filter_map(|of| weakening(of, home, files));
        let weak = weak.chain(unread).collect::<Vec<_>>().join("; ");
        Some(Self {
            are_managed,
            lacks,
            weak,
        })
    }

    /// Whether they are held, and by whose settings; or why not. `file` is where rules count.
    ///
    /// # Errors
    /// What lets a shell past.
    pub fn told(&self, file: &str) -> Result<String, String> {
        let is_switch = |change: &Change| change.at == ["sandbox", "enabled"];
        let lacks = self.lacks.iter().filter(|_| !self.are_managed);
        let missing = lacks.map(Change::by_hand).collect::<String>();
        let whose = if self.are_managed {
            "the administrator's settings keep shell commands from your files"
        } else {
            "your settings keep shell commands from your files, as long as no project's settings switch that off"
        };
        let past = "a shell command can get past Claude Code's own sandbox";
        match (&*self.weak, missing.trim_end().replace('\n', ", ")) {
            _ if self.lacks.iter().any(is_switch) => Err(NO_SANDBOX.to_owned()),
            ("", none) if none.is_empty() => Ok(format!("{IN_SANDBOX}: {whose}.")),
            ("", missing) => Err(format!("{past}. Add to {file}: {missing}")),
            (weak, _) => Err(format!("{past}, since these settings let it: {weak}")),
        }
    }
}

/// What in these settings lets a shell past the sandbox, to one of the files. Beside rules for a
/// file and its folder, only what names the file itself does.
fn weakening(of: (&str, &Path, &Value), home: &Path, files: &[PathBuf]) -> Option<String> {
    let (shown, here, settings) = of;
    let sandbox = &settings["sandbox"];
    let is_other = |(key, wanted): &&(&str, bool)| sandbox.get(key).is_some_and(|it| it != wanted);
    let switches = SWITCHES.iter().filter(is_other);
    let mut keys: Vec<_> = switches.map(|(key, _)| *key).collect();
    let excluded = sandbox["excludedCommands"].as_array();
    let excludes = excluded.is_some_and(|all| !all.is_empty());
    keys.extend(excludes.then_some("excludedCommands"));
    let filesystem = &sandbox["filesystem"];
    keys.extend((filesystem["disabled"] == true).then_some("filesystem.disabled"));
    let names_a_file = |entry: &Value| {
        let text = entry.as_str().unwrap_or_default();
        let path = match text.strip_prefix("~/") {
            Some(rest) => home.join(rest.trim_start_matches('/')),
            None => here.join(text.replacen("//", "/", 1)),
        };
        let forms = both(&normal(&path)).map(|form| format!("Read(/{})", form.display()));
        let mut files = files.iter().flat_map(|file| both(file));
        files.any(|file| {
            // `**` stands for any number of folders.
            let rules = (0..file.iter().count()).flat_map(|depth| {
                let between = format!("/{}", "*/".repeat(depth));
                let forms = forms.iter();
                forms.map(move |form| form.replace("/**/", &between))
            });
            Denied::new(rules.collect()).names(&file, home)
        })
    };
    let mut read = filesystem["allowRead"].as_array().into_iter().flatten();
    keys.extend(read.any(names_a_file).then_some("filesystem.allowRead"));
    let mut keys: Vec<_> = keys.iter().map(|key| format!("sandbox.{key}")).collect();
    if here == home {
        let on = sandbox["enabledPlatforms"].as_array();
        let is_off = on.is_some_and(|on| !on.contains(&json!(platform())));
        keys.extend(is_off.then(|| "sandbox.enabledPlatforms".to_owned()));
    } else {
        let names = settings["env"].as_object().into_iter().flatten();
        let names = names.map(|(name, _)| name).filter(|name| {
            let is_loaders = name.starts_with("LD_") || name.starts_with("BASH_FUNC_");
            is_loaders || *name == "HOME" || OUTSIDE.split(' ').any(|one| one == *name)
        });
        keys.extend(names.map(|name| format!("env.{name}")));
    }
    (!keys.is_empty()).then(|| format!("{} in {shown}", keys.join(", ")))
}

fn platform() -> &'static str {
    let kernel = fs::read_to_string("/proc/version").unwrap_or_default();
    if cfg!(target_os = "macos") {
        "macos"
    } else if kernel.to_lowercase().contains("microsoft") {
        "wsl"
    } else {
        "linux"
    }
}
