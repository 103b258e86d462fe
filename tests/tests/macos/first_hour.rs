//! `./x release mac`, with stand-ins for macOS's programs. The program is the one under test.

use crate::plugin::{launcher::apple, temporary, to_package};
use keyhole_tests::{MARKER, Ran, copy_program, workspace, write_program};
use std::{fs, path::PathBuf, process::Command};
use tempfile::TempDir;

/// A home on a Mac, a package, and macOS's programs. Each of these notes that it ran.
struct Mac {
    temp: TempDir,
}

/// The programs, and what each prints.
const PROGRAMS: [(&str, &str); 11] = [
    ("brctl", ":"),
    ("claude", "echo 2.1.332"),
    ("codesign", "echo Signature=adhoc"),
    ("hdiutil", ":"),
    ("ls", "echo drwx------ \"$HOME\""),
    ("lsof", "echo keyhole /dev/null"),
    ("sleep", ":"),
    ("sw_vers", "echo ProductVersion: 26.1"),
    ("tccutil", ":"),
    ("xattr", ":"),
    // Nobody else's chmod knows access lists.
    (
        "chmod",
        "case $1 in +a | -N) exit ;; esac; exec /bin/chmod \"$@\"",
    ),
];

const CLOUD: &str = "Library/Mobile Documents/com~apple~CloudDocs";

impl Mac {
    fn new() -> Self {
        let mac = Self { temp: temporary() };
        let others = [
            "sh", "cargo", "cat", "cc", "date", "env", "id", "ln", "rustc", "strip", "tail",
        ];
        fs::create_dir(mac.path("home")).unwrap();
        apple::stand_in(&mac.path("home/tools"), &others);
        for (name, script) in PROGRAMS {
            let program = mac.path("home/tools").join(name);
            let _ = fs::remove_file(&program);
            let noted = format!("#!/bin/sh\necho {name} \"$@\" >>\"$HOME/../ran\"\n{script}\n");
            write_program(&program, &noted);
        }
        fs::create_dir_all(mac.path("home/Documents")).unwrap();
        fs::create_dir_all(mac.path("home").join(CLOUD)).unwrap();
        Ran::of(&mut to_package(&mac.path("dist")), b"").exits(0);
        copy_program(&mac.path("dist/plugin/server/keyhole-macos-aarch64"));
        mac
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn run(&self, answers: &str) -> Ran {
        let mut x = Command::new("./x");
        x.current_dir(workspace())
            .args(["release", "mac"])
            .arg(self.path("dist"))
            .env("HOME", self.path("home"))
            .env("PATH", self.path("home/tools"))
            .env_remove("XDG_CONFIG_HOME");
        Ran::of(&mut x, answers.as_bytes())
    }

    /// Which of these programs ran, and the home's files.
    fn left(&self) -> (String, Vec<PathBuf>) {
        let ran = fs::read_to_string(self.path("ran")).unwrap_or_default();
        let places = ["home", "home/Documents"].map(|name| self.path(name));
        let places = places.into_iter().chain([self.path("home").join(CLOUD)]);
        let files = places.flat_map(|place| fs::read_dir(place).unwrap());
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        (ran, files)
    }
}

/// What each of some steps must show, in their order.
const SEEN: [&str; 13] = [
    "ProductVersion: 26.1",
    "saw, status 1",
    "usage: sha256sum",
    "Signature=adhoc",
    "K --version",
    "keyhole 0.",
    "checked private/a.md",
    "1 would be served",
    "1 lines, 0 with /etc/hosts",
    "a second name",
    "start.sh\" \"$place/data\" install",
    "status 0",
    "By hand",
];

/// What runs only if the user allows it.
const ASKED: [&str; 3] = [
    "tccutil reset SystemPolicyDocumentsFolder",
    "brctl evict",
    "claude plugin install keyhole@keyhole",
];

#[test]
fn it_runs_each_step_and_leaves_nothing_and_does_no_more_than_the_user_allows() {
    for (answers, is_allowed, not_done) in [("", false, 4), ("y\ny\ny\nn\n", true, 1)] {
        let mac = Mac::new();
        let before = mac.left().1;
        let ran = mac.run(answers).exits(0);
        let mut rest = ran.stdout.as_str();
        for text in SEEN {
            let at = rest.find(text);
            let at = at.unwrap_or_else(|| panic!("no {text:?} in {rest}"));
            rest = &rest[at + text.len()..];
        }
        let count = |text| ran.stdout.matches(text).count();
        assert_eq!(count("\nnot done: "), not_done, "{ran:?}");
        assert_eq!(count("\nremoved\n") == 2, is_allowed, "{ran:?}");
        // The paths and names of the user's are not for an issue.
        assert!(!ran.stdout.contains(MARKER), "{}", ran.stdout);
        let (programs, files) = mac.left();
        assert_eq!(files, before);
        for asked in ASKED {
            let word = asked.split(' ').next().unwrap();
            let ran = programs.contains(if is_allowed { asked } else { word });
            assert_eq!(ran, is_allowed, "{programs}");
        }
        for made in ["hdiutil attach", "hdiutil detach", "chmod +a", "chmod -N"] {
            assert!(programs.contains(made), "{programs}");
        }
    }
}

#[test]
fn it_needs_a_mac_and_a_package_for_it() {
    let mac = Mac::new();
    fs::remove_file(mac.path("dist/plugin/server/keyhole-macos-aarch64")).unwrap();
    let _ = mac
        .run("")
        .exits(1)
        .only_complains("no program for this Mac");
    write_program(&mac.path("home/tools/uname"), "#!/bin/sh\necho Linux\n");
    let _ = mac.run("").exits(1).only_complains("x: this needs macOS");
    assert_eq!(mac.left().0, "");
}
