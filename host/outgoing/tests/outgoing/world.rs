//! A folder with a repository in it, what was pushed from there, and traps.

use keyhole_outgoing::{Outgoing, Place, Repository, Sent, Takes, Uncollected, Wanted};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};
use tempfile::TempDir;

/// The word in staged lines, in changed lines, in a commit that was not pushed, and in a message.
pub(crate) const WORDS: [&str; 4] = ["INSTAGED", "INCHANGED", "INCOMMIT", "INMESSAGE"];

/// The programs that a project may name. Each writes its name down.
const TRAPS: [&str; 17] = [
    "fsmonitor",
    "textconv",
    "external",
    "clean",
    "smudge",
    "process",
    "gpg",
    "pager",
    "alias",
    "hookpre",
    "hookindex",
    "sshcmd",
    "cred",
    "uploadpack",
    "proxy",
    "askpass",
    "editor",
];

/// A folder: the repository is in `r`, the traps in `t`, and their names in `fired`.
pub(crate) struct World(TempDir);

impl World {
    /// A repository in which all of one commit is pushed.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        let copy = format!(
            "cp -Rp {}/. . && git -C r update-index --refresh",
            template()
        );
        world.sh_in(".", &copy);
        world
    }

    /// A folder with traps, and without a repository.
    fn empty() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir(world.path("t")).unwrap();
        fs::create_dir(world.path("scratch")).unwrap();
        fs::write(world.path("fired"), "").unwrap();
        let fired = world.path("fired");
        for name in TRAPS {
            let trap = world.path("t").join(name);
            let script = format!("#!/bin/sh\necho {name} >>{}\ncat\n", fired.display());
            fs::write(&trap, script).unwrap();
            fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        }
        world
    }

    /// The same with the [`WORDS`]: two commits that were not pushed, staged and changed lines.
    pub(crate) fn with_words() -> Self {
        let world = Self::new();
        world.sh("echo INCOMMIT >>a.txt; git commit -qam second
            echo 4 >>b.txt; git commit -qam 'third INMESSAGE'
            echo INSTAGED >>a.txt; git add a.txt
            echo INCHANGED >>b.txt");
        world
    }

    /// A path in the world's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Runs a script in the repository. It knows `$T` and `$dir`.
    pub(crate) fn sh(&self, script: &str) {
        self.sh_in("r", script);
    }

    /// Runs a script in a folder of the world.
    pub(crate) fn sh_in(&self, folder: &str, script: &str) {
        let run = self.shell(folder, script).output().unwrap();
        assert!(run.status.success(), "{script}: {run:?}");
    }

    /// A shell with this script.
    pub(crate) fn shell(&self, folder: &str, script: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", script])
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.0.path())
            .env("T", self.path("t"))
            .env("dir", self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_MERGE_AUTOEDIT", "no")
            .stdin(Stdio::null());
        shell
    }

    /// The traps that have run since the last time.
    pub(crate) fn fired(&self) -> String {
        let fired = fs::read_to_string(self.path("fired")).unwrap();
        fs::write(self.path("fired"), "").unwrap();
        fired
    }

    /// What a call in the repository would publish.
    pub(crate) fn collect(&self, wanted: &Wanted) -> Result<Outgoing, Uncollected> {
        self.collect_in("r", wanted)
    }

    /// What a call in a folder would publish. Nothing stays of what that took.
    pub(crate) fn collect_in(
        &self,
        folder: &str,
        wanted: &Wanted,
    ) -> Result<Outgoing, Uncollected> {
        let here = self.path(folder);
        let scratch = self.path("scratch");
        let repository = Repository::find(&here)?.expect("a repository");
        let outgoing = repository.collect(&here, wanted, &scratch);
        assert_eq!(left(&scratch), 0, "git's folder is left");
        outgoing
    }
}

/// A folder with a repository `r` and what it is pushed to, which is made once.
fn template() -> &'static str {
    static MADE: OnceLock<()> = OnceLock::new();
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/outgoing");
    MADE.get_or_init(|| {
        let world = World::empty();
        world.sh_in(
            ".",
            "git init -q --bare -b main o && git init -q -b main r && cd r
            git config user.name Ann; git config user.email ann@example.com; git config gc.auto 0
            printf 'one\ntwo\nthree\n' >a.txt; echo b >b.txt
            git add -A && git commit -qm first
            git remote add origin ../o && git push -q origin main",
        );
        let copy = format!("rm -rf {folder}; mkdir {folder}; cp -Rp o r {folder}");
        world.sh_in(".", &copy);
    });
    folder
}

/// How many files are in a folder.
fn left(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// A call that takes all files and sends HEAD.
pub(crate) fn everything() -> Wanted {
    Wanted {
        takes: Takes::All,
        sends: Some(Sent::default()),
        ..Wanted::default()
    }
}

/// A call of these words that neither takes all files nor sends.
pub(crate) fn call(words: &str) -> Wanted {
    Wanted {
        words: words.split(' ').map(str::to_owned).collect(),
        ..Wanted::default()
    }
}

/// The places in which a word is told.
pub(crate) fn places(outgoing: &Outgoing, word: &str) -> Vec<Place> {
    let with_word = outgoing
        .passages
        .iter()
        .filter(|passage| passage.text.contains(word));
    with_word.map(|passage| passage.place.clone()).collect()
}

/// Whether this process may do as root does. Says what is skipped if not.
pub(crate) fn is_root(what: &str) -> bool {
    let id = Command::new("/usr/bin/id").arg("-u").output().unwrap();
    let is_root = id.stdout == b"0\n";
    if !is_root {
        eprintln!("skipped, not root: {what}");
    }
    is_root
}
