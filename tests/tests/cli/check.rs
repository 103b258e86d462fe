//! `keyhole check`: whether each entry of the map would load, and if not, why.

use crate::docs::fenced;
use keyhole_tests::{NOBODY, World, skipped};
use serde_json::Value;
use std::os::unix::fs::lchown;
#[cfg(target_os = "linux")]
use {
    crate::wall::{NO_FILTER, NO_LANDLOCK, stands},
    keyhole_tests::lacking,
};

const STRONG: &str = "k-7f3a9c55aa01beef";
const ALSO_STRONG: &str = "m-91c09c55aa01beef";

/// Values of entries, most with a mistake each.
const ENTRIES: [&str; 23] = [
    "'~/n/a.MD'",
    "'~/n/list'",
    "'~/n'",
    "'~/n/d.md'",
    "'~/n/passwd.md'",
    "'~/n/dangling.md'",
    "'gone.md'",
    "'$HOME/n/a.md'",
    "{ path = '~/n/latin1.md', max_bytes = 4 }",
    "'~/n/huge.md'",
    "'~/n/latin1.md'",
    "'~/n/open.md'",
    "'~/n/link.md'",
    "'~/sticky/a.md'",
    "{ path = '~/empty/a.md', agents = ['x:y'] }",
    "'~/b.md'",
    "'~/../c.md'",
    "'~/n/up.md'",
    "\"~/n/\\u001b[2J\\u202e\u{e9}.md\"",
    // It has a key of the map in it, and so has what it leads to.
    "'~/n/tiny.md'",
    "'~/n/keyed.md'",
    "'~/n/good.md'",
    "\"~/n/good.md\\u00a0\"",
];

/// A map of these entries, an entry with a key that could be guessed, and a binding.
fn mixed() -> World {
    let entries = ENTRIES.iter().enumerate();
    let entries = entries.map(|(line, entry)| format!("k-7f3a9c55aa01be{line:02} = {entry}\n"));
    let world = World::new()
        .file("n/a.MD", "a")
        .file("n/list", "a")
        .directory("n/d.md")
        .link("n/passwd.md", "/etc/passwd")
        .link("n/dangling.md", "lost.md")
        .file("n/latin1.md", b"caf\xe9\n")
        .file("n/huge.md", vec![b'a'; (8 << 20) + 1])
        .file("n/open.md", "a")
        .file("all here/group/a.md", "a")
        .link("n/link.md", "../all here/group/a.md")
        .file("sticky/a.md", "a")
        .file("empty/a.md", " \n")
        .file("b.md", "b")
        .file("../c.md", "c")
        .link("n/up.md", "../b.md")
        .file("tiny/a.md", "a")
        .link("n/keyed.md", "../tiny/a.md")
        .file("n/good.md", "0123456789")
        .map(format!(
            "[keys]\n{}tiny = '~/n/good.md'\n[bindings.open]\npath = '~/n/open.md'\n",
            entries.collect::<String>()
        ))
        .arguments(["--agent", "x:y"]);
    for (path, bits) in [
        ("n/open.md", 0o666),
        ("all here", 0o777),
        ("all here/group", 0o775),
        ("sticky", 0o1777),
        ("tiny", 0o777),
    ] {
        world.mode(path, bits);
    }
    world
}

/// What a map without roots gets on Linux.
const NO_ROOTS: &str = "the map has no roots, so a server may read whatever you may. ";

/// What `check` says, without the lines that are about the system's own wall.
#[track_caller]
pub(crate) fn said(world: &World, arguments: &[&str], exit: i32) -> String {
    let ran = world.run(["check"].iter().chain(arguments)).exits(exit);
    let ran = ran.says_nothing_on_stderr();
    let lines = ran.stdout.split_inclusive('\n');
    let others = lines.filter(|line| !line.contains(NO_ROOTS) && !line.starts_with("wall: "));
    others.collect()
}

/// The first command that is printed.
fn command(said: &str) -> &str {
    let (_, command) = said.split_once("un: ").unwrap();
    command.lines().next().unwrap()
}

/// The report for programs, as it is on any kernel.
fn report(world: &World, exit: i32) -> String {
    let mut report = world.run(["check", "--json"]).exits(exit).json();
    assert!(report["second_wall"].is_object());
    if let Some(warnings) = report["warnings"].as_array_mut() {
        let told = |warning: &Value| warning["message"].as_str().unwrap().starts_with(NO_ROOTS);
        warnings.retain(|warning| !told(warning));
    }
    report["second_wall"] = "as it stands".into();
    format!("{report:#}\n")
}

#[test]
fn each_entry_that_would_not_load_is_told_with_the_next_step() {
    insta::assert_snapshot!(said(&mixed(), &[], 1));
}

#[test]
fn what_check_says_is_what_a_call_gets() {
    let world = mixed();
    let report = world.run(["check", "--json"]).json();
    let map = std::fs::read_to_string(world.map_path()).unwrap();
    let mut client = world.client();
    for entry in report["entries"].as_array().unwrap() {
        let line = usize::try_from(entry["line"].as_u64().unwrap()).unwrap();
        let line = map.lines().nth(line - 1).unwrap();
        let answer = client.load(line.split(' ').next().unwrap());
        match entry["code"].as_str() {
            Some(code) => answer.refused(code),
            None => assert_eq!(entry["bytes"], answer.text().unwrap().len()),
        }
    }
    client.end();
}

#[test]
fn the_json_has_its_stable_shape() {
    let world = World::new().file("n/a.md", "0123456789").map(format!(
        "[keys]\n{STRONG} = '~/n/a.md'\nshort = '~/n/gone.md'\n\
             {ALSO_STRONG} = {{ path = '~/n/a.md', max_bytes = 9, agents = ['x'] }}\n\
             [bindings.b]\npath = '~/n/a.md'\n"
    ));
    let entries = report(&world, 1);
    let invalid = World::new().map("[keys]\nk = { path = 'a.md', agent = ['x'] }");
    let (invalid, missing) = (report(&invalid, 2), report(&World::new(), 2));
    insta::assert_snapshot!(entries + &invalid + &missing);
}

/// Maps that cannot be used, and at the end some that can.
#[test]
fn a_mistake_in_the_map_gets_what_to_write() {
    let maps = [
        "[keys.k]\npth = 'a.md'",
        "[key]",
        "max-bytes = 1",
        "root = ['/a']",
        "[keys.k]\npath = ~/a.md",
        "[keys.k]",
        "[keys.k]\npath = 'a.md'\nagents = 'x'",
        "[keys.k]\npath = '~root/a.md'",
        "[keys]\nk = 'a.md'\n[keys.k]\npath = 'b.md'",
        "[keys]\nk = 'a.md'\nk = 7",
    ];
    let invalid = maps.map(|map| (map, World::new().map(map), &[][..], 2));
    let elsewhere = || {
        let world = World::new();
        let set = world.path("xdg");
        world.env("XDG_CONFIG_HOME", set)
    };
    let map = format!("[keys]\n{STRONG} = '../n/a.md'\n");
    let named = World::new()
        .file("n/a.md", "0123456789")
        .file("team/m.toml", map);
    let dangling = World::new().link(".config/keyhole/context-map.toml", "lost.toml");
    let large = World::new().map("#".repeat((1 << 20) + 1));
    let others = [
        ("none", World::new(), &[][..], 2),
        ("none, with XDG_CONFIG_HOME", elsewhere(), &[], 2),
        ("one in the other place", elsewhere().map(""), &[], 2),
        ("a link to nothing", dangling, &[], 2),
        ("one of a byte too many", large, &[], 2),
        // If no file has the name, it may be something else, such as a key.
        ("--map k-none", World::new(), &["--map", "k-none"], 2),
        ("--map n", World::new().directory("n"), &["--map", "n"], 2),
        ("an empty one", World::new().map(""), &[], 0),
        ("--map team/m.toml", named, &["--map", "team/m.toml"], 0),
    ];
    let mut all = String::new();
    for (map, world, arguments, exit) in invalid.into_iter().chain(others) {
        all += &format!("{map}\n⇒ {}\n", said(&world, arguments, exit));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn no_key_is_shown_wherever_it_stands() {
    let long = format!("[keys]\n{} = 1", "SECRET".repeat(1000));
    for map in [
        &b"[keys]\n'SECRET-SECRET-SECRET' = 'a.md'\nSECRET = 'gone.md'"[..],
        b"[keys]\nSECRET-SECRET-SECRET = '~/a.md'",
        b"[keys]\nSECRET = 'SECRET/a.md'",
        b"[keys]\n'~/a.md' = 'k-SECRET-SECRET'",
        b"[keys]\n'k' = { path = 'a.md', agents = ['x:y', 'k-SECRET'] }",
        b"[keys]\nsecret = 'a.md'\nshort = 'x/secret.md'\n[bindings.secret]\npath = 'a.md'",
        b"[keys]\nk = 'a.md'\n[bindings.SECRET]\npath = 'SECRET'",
        b"[bindings.b]\npath = 'SECRET'\ntitle = 'SECRET'\n[keys]\nk = 'b.md'",
        b"[bindings.b]\npath = 'SECRET/a.md'\n[keys]\nSECRET = 'a.md'",
        b"[bindings.b]\nkey_env = 'SECRET'",
        b"roots = ['/SECRET']\n[keys]\nk = 'a.md'",
        // In an invalid map.
        b"[SECRET]",
        b"SECRET = 'a.md'",
        b"[keys]\nSECRET = 'a.md'\nSECRET = 'b.md'",
        b"[keys]\n'SECRET = 'a.md'",
        b"[keys]\nSECRET = 1",
        b"[keys]\nSECRET.md = 'a.md'",
        b"[keys]\nSECRET\n",
        b"[keys]\nk = '''\nSECRET",
        b"[keys]\nSECRET\xff = 'a.md'",
        b"# SECRET \x00",
        b"max_bytes = SECRET",
        b"roots = [SECRET]",
        b"[keys]\nk = \"\\SECRET\"",
        b"[keys]\nk = {SECRET = 1}",
        b"[keys]\nk = {path = 'a.md', SECRET = 1}",
        b"[keys]\nk.SECRET = 1\nk = 1",
        b"[keys]\nk = 1\nk.SECRET = 1",
        b"[keys.SECRET]\n[keys.SECRET]",
        b"[bindings.SECRET]",
        b"[bindings.b]\nSECRET = 1",
        b"[bindings.b]\npath = 1979-SECRET",
        long.as_bytes(),
    ] {
        let world = World::new().file("a.md", "a").map(map);
        for arguments in [&["check"][..], &["check", "--json"]] {
            let ran = world.run(arguments).says_nothing_on_stderr();
            let shown = ran.stdout.to_lowercase();
            assert!(!shown.is_empty() && !shown.contains("secret"), "{ran:#?}");
        }
    }
}

#[test]
fn quiet_prints_nothing() {
    let _ = World::new().run(["check", "-q"]).exits(2).says("");
    let _ = mixed().run(["check", "--quiet"]).exits(1).says("");
}

#[cfg(target_os = "linux")]
#[test]
fn the_closing_line_says_which_walls_stand_if_not_all_do_or_if_asked() {
    let closes = |says: &str| {
        let ran = World::new().map("").run(["check", "-v"]).exits(0);
        let last = ran.stdout.split_inclusive('\n').next_back().unwrap();
        assert!(last.starts_with(&format!("wall: {says}")), "{last}");
    };
    if stands() {
        let cannot = "a server cannot write, make sockets, start programs or reach other processes, and reads";
        closes(&format!("{cannot} whatever you may (Landlock ABI "));
        let _ = World::new().map("").run(["check"]).conceals("wall: ");
        let rooted = World::new().directory("a").map("roots = ['~/a']\n");
        let _ = rooted
            .run(["check", "-v"])
            .mentions(&format!("{cannot} in the roots only (Landlock ABI "));
    }
    for (lacks, says) in [
        (
            &[NO_LANDLOCK][..],
            "not whole on this system (no Landlock, system-call filter)\n",
        ),
        (
            &[NO_LANDLOCK, NO_FILTER],
            "none on this system; only the sandbox holds a call\n",
        ),
    ] {
        lacking(lacks, || closes(says));
    }
}

/// Each warning that is about one entry, and its beginning.
const WARNINGS: [(&str, &str); 5] = [
    ("values", "withhold finds next to no value in the file"),
    ("empty", "the file is empty"),
    ("nul", "the file holds NUL characters"),
    (
        "guess",
        "can be guessed, and its entry has no agents; replace it",
    ),
    (
        "long",
        "the binding on line 1 has a name with which some clients",
    ),
];

/// What stands before the path, what after it, the file, its warnings, and the exit code. The
/// tool's answer stays what the file holds.
#[test]
fn an_entry_is_warned_of() {
    const NEXT: &str = "# Theo Blix\n# Example Street\n";
    let key = &*format!("keys.{STRONG}");
    let bound = "agents = ['x:y']\n";
    let withheld = &*format!("{bound}withhold = true\n");
    let (short, long) = ("a".repeat(41), "a".repeat(42));
    for (name, more, content, warned, exit) in [
        (key, "", "# A\n", "", 0),
        (key, withheld, NEXT, "values", 0),
        (key, withheld, "# Names\n- Theo Blix\n", "", 0),
        (key, bound, NEXT, "", 0),
        (key, "", "\u{feff}", "empty", 0),
        (key, "", "\u{feff}\u{200b}\u{2060}\r\n\u{a0}", "empty", 0),
        (key, "", "\0\0\0\0", "empty nul", 0),
        (key, "", "#\0 \0A\0\n\0", "nul", 0),
        (key, "", "# A\n-\0 \0B\0\n\0", "nul", 0),
        ("keys.hunter2-7f3a9c5", "", "a", "guess", 1),
        ("keys.hunter2hunter2hunter2", "", "a", "", 0),
        ("keys.aaaaaaaaaaaaaaaa", "", "a", "guess", 1),
        ("keys.k-7f3a8b11223344", "", "a", "", 0),
        ("keys.hunter2-7f3a9c5", bound, "a", "", 0),
        (&*format!("bindings.{short}"), "", "a", "", 0),
        (&*format!("bindings.{long}"), "", "a", "long", 0),
    ] {
        let map = format!("[{name}]\npath = '~/a.md'\n{more}");
        let world = World::new().file("a.md", content).map(map);
        let ran = world.run(["check"]).exits(exit).conceals("hunter2-7");
        let all = WARNINGS
            .iter()
            .filter(|(_, says)| ran.stdout.contains(says));
        let all: Vec<_> = all.map(|(warning, _)| *warning).collect();
        assert_eq!(all.join(" "), warned, "{name} {content:?} {ran:#?}");
        let report = world.run(["check", "--json"]).exits(exit).json();
        assert_eq!(report["ok"], exit == 0);
        if name == key && more.is_empty() {
            let mut client = world.client();
            client.load(STRONG).is(content);
            client.end();
        }
    }
}

/// Typed as they stand, for a file and for the map: the next check prints the next one.
#[test]
fn each_command_closes_one_directory_on_the_way() {
    for (open, also, exit) in [
        ("shared", "shared/group", 1),
        (".config", ".config/keyhole", 2),
    ] {
        let world = World::new()
            .file("shared/group/a.md", "a")
            .map(format!("[keys]\n{STRONG} = '~/shared/group/a.md'\n"));
        world.mode(open, 0o777);
        world.mode(also, 0o777);
        for closed in [open, also] {
            let said = said(&world, &[], exit);
            assert_eq!(command(&said), format!("chmod go-w HOME/{closed}"));
            let _ = world.typed(command(&said)).exits(0);
        }
        let _ = world.run(["check"]).exits(0);
    }
}

/// A shell might read it in its own way, or it is about something else than the user's own.
#[test]
fn without_a_safe_command_the_next_step_is_in_words() {
    for (file, open) in [
        ("my n/a.md", "my n/a.md"),
        ("link/a.md", "real/a.md"),
        ("link/a.md", "real"),
        ("a.md", "real"),
    ] {
        let world = World::new()
            .file("my n/a.md", "a")
            .file("real/a.md", "a")
            .link("link", "real")
            .link("a.md", "real/a.md")
            .map(format!("[keys]\n{STRONG} = '~/{file}'\n"));
        world.mode(open, 0o777);
        let _ = world
            .run(["check"])
            .exits(1)
            .mentions("line 2: others can write to HOME/")
            .mentions("; keep your file, or a copy of it, in a folder that only you can write to")
            .conceals("chmod");
    }
}

/// What is printed for it, typed as it stands.
#[test]
fn a_file_that_others_may_read_is_warned_of_with_the_command_that_closes_it() {
    let says = "warning: by its mode, a group or others may read the file: line 2\n";
    let group = World::new()
        .file("a.md", "a")
        .map(format!("[keys]\n{STRONG} = '~/a.md'\n"));
    group.mode("a.md", 0o660);
    // A group that only this user is in may write, and need not be shut out.
    let has_others = group.run(["check", "--json"]).json()["entries"][0]["ok"] == false;
    for (home, file, is_open) in [
        (0o755, 0o644, true),
        (0o750, 0o640, has_others),
        (0o755, 0o600, false),
        (0o700, 0o644, false),
        (0o710, 0o604, false),
    ] {
        let world = World::new()
            .file("n/a.md", "a")
            .map(format!("[keys]\n{STRONG} = '~/n/a.md'\n"));
        world.mode("..", 0o755);
        world.mode("n", 0o755);
        world.mode("", home);
        world.mode("n/a.md", file);
        let ran = world.run(["check"]).exits(0);
        assert_eq!(ran.stdout.contains(says), is_open, "{ran:#?}");
        if let Some((_, command)) = ran.stdout.split_once("\n  line 2: run: ") {
            let _ = world.typed(command.lines().next().unwrap()).exits(0);
        }
        let _ = world.run(["check"]).exits(0).conceals("may read the file");
    }
    // No command is about what a link leads to.
    let world = World::new()
        .file("n/a.md", "a")
        .link("a.md", "n/a.md")
        .map(format!("[keys]\n{STRONG} = '~/a.md'\n"));
    for (path, mode) in [("..", 0o755), ("", 0o755), ("n", 0o755), ("n/a.md", 0o644)] {
        world.mode(path, mode);
    }
    let _ = world.run(["check"]).mentions(says).conceals("chmod");
}

#[test]
fn a_file_or_a_map_in_another_encoding_is_to_be_saved_as_utf_8() {
    let map = format!("[keys]\n{STRONG} = '~/a.md'\n");
    let units = |text: &str| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let world = World::new().file("a.md", units("# caf\u{e9}\n")).map(&map);
    let says = "not-utf8: The file is not UTF-8 text. Save it as UTF-8.\n";
    let _ = world.run(["check"]).exits(1).mentions(says);
    for (map, says) in [
        (units(&map), "the map is not UTF-8"),
        ([map.as_bytes(), b"#\0 \0a\0\n\0"].concat(), "not TOML"),
    ] {
        let ran = World::new().map(map).run(["check"]).exits(2);
        let _ = ran.mentions(says);
    }
}

#[test]
fn the_folder_that_roots_lacks_is_named() {
    let world = World::new()
        .file("n/a.md", "a")
        .file("in/x", "")
        .link("in/a.md", "../n/a.md")
        .map(format!(
            "roots = ['~/in', '~/open']\n[keys]\n{STRONG} = '~/n/a.md'\n{ALSO_STRONG} = '~/in/a.md'\n"
        ))
        .directory("open");
    world.mode("open", 0o777);
    let says = "the file is HOME/n/a.md: add \"HOME/n\" to roots, or move the file\n";
    let _ = world
        .run(["check"])
        .exits(1)
        .mentions(&format!("  line 3: {says}  line 4: {says}"))
        .mentions("warning: no file in this root is served: others can write to HOME/open. Run: chmod go-w HOME/open\n");
    let report = world.run(["check", "--json"]).exits(1).json();
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!(warnings.last().unwrap()["line"], Value::Null);
    let map = format!("roots = ['~/private']\n[keys]\n{STRONG} = '~/a.md'\n");
    let world = World::new().file("a.md", "a").directory("private").map(map);
    let ran = world.run(["check"]).exits(1).conceals("to roots");
    let _ = ran.mentions("the file is HOME/a.md, directly in your home or above it");
}

#[test]
fn what_belongs_to_another_user_or_cannot_be_read_is_told() {
    let map = format!("[keys]\n{STRONG} = '~/n/a.md'\n");
    for (path, exit, says) in [
        ("n/a.md", 1, "\n  line 2: run: chmod u+r HOME/n/a.md\n"),
        ("n", 1, "\n  line 2: run: chmod u+rx HOME/n\n"),
        (
            ".config/keyhole/context-map.toml",
            2,
            ": run: chmod u+r HOME/.config/keyhole/context-map.toml\n",
        ),
        (
            ".config/keyhole",
            2,
            ": run: chmod u+rx HOME/.config/keyhole\n",
        ),
    ] {
        let world = World::new().file("n/a.md", "a").map(&map);
        world.mode(path, 0o000);
        let ran = world.unprivileged().run(["check"]).exits(exit);
        let _ = ran.mentions(says);
    }
    if !rustix::process::geteuid().is_root() {
        return skipped("not run as root");
    }
    let world = World::new().file("n/a.md", "a").map(&map);
    lchown(world.path("n/a.md"), Some(NOBODY), None).unwrap();
    let _ = world
        .run(["check"])
        .exits(1)
        .mentions("HOME/n/a.md belongs to another user; use another place\n");
    lchown(world.home(), Some(NOBODY), None).unwrap();
    for arguments in [&["check"][..], &["setup", "claude-code"]] {
        let ran = world.run(arguments).says("");
        assert_eq!(
            ran.stderr,
            "keyhole: HOME is another user's: run keyhole as that user, without sudo\n"
        );
        assert_ne!(ran.exit, Some(0));
    }
}

/// An agent may have two keys; the plugin's has one.
#[test]
fn an_entry_that_the_plugins_agent_never_loads_is_told_of() {
    let own = "keyhole-privacy-catalog";
    let never = "warning: the plugin's agent asks for the key keyhole-privacy-catalog only, so it never loads this file: line 1\n";
    let unknown = "the plugin's agent is keyhole:privacy-scanner.\n0 of 1 would be served.\n";
    for (kind, name, agent, exit, says) in [
        ("keys", own, "keyhole:privacy-scanner", 0, ""),
        ("keys", STRONG, "keyhole:privacy-scanner", 0, never),
        ("keys", own, "keyhole@market:privacy-scanner", 0, ""),
        ("keys", STRONG, "keyhole@market:privacy-scanner", 0, never),
        ("keys", own, "keyhole:privacy-scaner", 1, unknown),
        ("keys", STRONG, "keyhole@market:", 1, unknown),
        ("keys", STRONG, "x', 'keyhole:", 0, ""),
        ("keys", STRONG, "acme:reviewer", 0, ""),
        ("bindings", "b", "keyhole:privacy-scanner", 0, ""),
    ] {
        let world = World::new().file("a.md", "a").map(format!(
            "[{kind}.{name}]\npath = '~/a.md'\nagents = ['{agent}']\n"
        ));
        let ran = world.run(["check"]).exits(exit).mentions(says);
        assert_eq!(ran.stdout.contains(never), says == never, "{ran:#?}");
    }
}

/// Root has a home of its own, and no map in it.
#[test]
fn under_sudo_a_missing_map_is_not_to_be_made() {
    let advice = "under sudo, so it looked for another user's map: run it as yourself";
    for (variable, is_told) in [
        ("SUDO_USER", true),
        ("SUDO_UID", true),
        ("PKEXEC_UID", true),
        ("OTHER", false),
    ] {
        let world = World::new().env(variable, "1");
        let ran = world.run(["check"]).exits(2);
        assert_eq!(ran.stdout.contains(advice), is_told, "{ran:#?}");
        assert_eq!(ran.stdout.contains("setup"), !is_told, "{ran:#?}");
    }
}

/// Somebody unpacked it somewhere, and types its path.
#[test]
fn a_program_that_is_no_command_names_its_path_in_what_to_run() {
    let program = World::new().command([""; 0]).get_program().to_owned();
    let world = World::new().env("PATH", "/usr/bin");
    let path = format!("{} setup", program.to_str().unwrap());
    let _ = world.run(["check"]).exits(2).mentions(&path);
    let ran = world.typed("keyhole check").exits(2);
    assert!(
        ran.mentions(": keyhole setup")
            .stdout
            .contains("in a terminal")
    );
}

/// What the settings deny, beside what setup writes for the client's places, and what is said to
/// be missing. `MINE` is the file and its folder. What a rule means is in `keyhole_setup::rules`.
const DENIED: &str = r#"
| Bash(keyhole inject*), Bash(*/keyhole* inject*), Bash(keyhole serve*), Bash(*/keyhole* serve*), Bash(keyhole withhold*), Bash(*/keyhole* withhold*), Read(FILE) with the path of your file, Read(FOLDER/**) with the folder of your file
PROGRAMS, MINE |
"Bash", MINE |
"Bash(keyhole setup*)", "Bash(*keyhole*)", "Bash(*/keyhole* s*)", "Bash(keyhole inject*)", MINE | Bash(*/keyhole* inject*), Bash(keyhole serve*), Bash(*/keyhole* serve*), Bash(keyhole withhold*), Bash(*/keyhole* withhold*)
PROGRAMS, "Read(~/private/**)" | Read(FILE) with the path of your file
PROGRAMS, "Read(~/private/*.md)" | Read(FOLDER/**) with the folder of your file
PROGRAMS, "Read(~/private/)", "Read(~/[p]rivate/A.md)" |
PROGRAMS, "Read(/**/private/**)", "Read(/**/*.md)", "Read(~/pri**a.md)" | Read(FILE) with the path of your file, Read(FOLDER/**) with the folder of your file
"#;

/// What setup writes for the two places.
const NARROW: [&str; 13] = [
    "Read(~/.claude/projects/**/subagents/**)",
    "Bash(*grep*/.claude/projects*)",
    "Bash(*rg */.claude/projects*)",
    r"Bash(*/.claude/projects*\**)",
    "Bash(*/.claude/projects*?*)",
    "Bash(*/.claude/projects*[*)",
    "Read(//tmp/claude-*/**/tasks/a*.output)",
    "Bash(*/tasks/a*)",
    "Bash(*grep*/tmp/claude-*)",
    "Bash(*rg */tmp/claude-*)",
    r"Bash(*/tmp/claude-*\**)",
    "Bash(*/tmp/claude-*?*)",
    "Bash(*/tmp/claude-*[*)",
];

/// An agent with a server of its own, for the binding `b`.
const GUARDED: &str = "---
mcpServers: [{b: {command: keyhole, args: [serve, --bind, b, --require-ticket]}}]
hooks: {PreToolUse: [{hooks: [{command: keyhole, args: [guard, --bind, b]}]}]}
---
";

const TO_ADD: &str = "Add to permissions.deny in ~/.claude/settings.json: ";

#[test]
fn settings_that_deny_too_little_are_told_of() {
    let with = |deny: &str| {
        let settings = format!("{{\"permissions\":{{\"deny\":[{deny}]}}}}");
        let world = World::new().map("[keys]\nkeyhole-privacy-catalog = '~/private/a.md'\n");
        let world = world.file(".claude/settings.json", settings);
        world.run(["check", "--plugin", "/p/keyhole"]).exits(1)
    };
    let narrow = serde_json::to_string(&NARROW).unwrap();
    let narrow = narrow.trim_matches(['[', ']']);
    let _ = with("").mentions(&format!("{TO_ADD}{}, ", NARROW.join(", ")));
    for row in DENIED.trim_matches('\n').lines() {
        let (deny, says) = row.split_once('|').unwrap();
        let mine = r#""Read(~/private/**)", "Read(~/private/a.md)""#;
        let programs = ["inject", "serve", "withhold"]
            .map(|name| format!("\"Bash(keyhole {name}*)\", \"Bash(*/keyhole* {name}*)\""));
        let deny = [narrow, deny.trim()].join(",").replace("MINE", mine);
        let deny = deny.replace("PROGRAMS", &programs.join(", "));
        let ran = with(deny.trim_end_matches(','));
        let _ = match says.trim() {
            "" => ran.conceals("deny"),
            says => ran.mentions(&format!("{TO_ADD}{says}\n")),
        };
    }
    let elsewhere = World::new().map("").env("CLAUDE_CONFIG_DIR", "/c/d");
    let _ = elsewhere
        .env("TMPDIR", "/t/claude-7")
        .run(["check", "--plugin", "/p/keyhole"])
        .mentions("permissions.deny in /c/d/settings.json: Read(//c/d/projects/**/subagents/**), Bash(*grep*/d/projects*), ")
        .mentions(", Read(//t/claude-*/**/tasks/a*.output), ")
        // The client may be started without the variable.
        .mentions(" Read(//tmp/claude-*/**/tasks/a*.output), ");
    let linked = World::new()
        .file("dotfiles/a.md", "a")
        .link("private/a.md", "../dotfiles/a.md")
        .map("[keys]\nkeyhole-privacy-catalog = '~/private/a.md'\n");
    let _ = linked.run(["check", "--plugin", "/p/keyhole"]).mentions(
        "Read(FILE) with the path of your file, Read(FOLDER/**) with the folder of your file\n",
    );
}

/// The user's settings, those of the folder, what is said, and the exit codes for the plugin and
/// for an agent with a server of its own. `WITH` switches the
/// plugin on, and `ALL` denies all.
const SETTINGS: &str = r#"
{WITH, ALL} | {} | | 0 0
{"disableAllHooks": true, ALL} | {} | disableAllHooks is true in ~/.claude/settings.json, so no hook | 1 1
{WITH, ALL} | {"disableAllHooks": true} | disableAllHooks is true in .claude/settings.json of this folder | 1 1
{WITH, ALL} | {"enabledPlugins": {"keyhole@x": false}} | switches the plugin off | 1 0
{"permissions": {"ask": null}} | {} | permissions.ask must be a list | 1 0
{WITH, ALL,} | {} | is not JSON (line 1) | 1 0
"#;

#[test]
fn settings_that_are_not_loaded_or_switch_ours_off_are_told_of() {
    for row in SETTINGS.trim().lines() {
        let row = row.replace("ALL", r#""permissions": {"deny": ["Read", "Bash"]}"#);
        let row = row.replace("WITH", r#""enabledPlugins": {"keyhole@keyhole": true}"#);
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let world = World::new()
            .file("private/a.md", "- a line of it\n")
            .file(".claude/settings.json", cells[0])
            .file(".claude/agents/b.md", GUARDED)
            .file("p/.claude/settings.json", cells[1]);
        let entry = "path = '~/private/a.md'\n";
        let bound = format!("roots = ['~/private']\n[bindings.b]\n{entry}");
        let keyed = "[keys.keyhole-privacy-catalog]\nagents = ['keyhole:privacy-scanner']\n";
        for (map, command, exit) in [
            (format!("{bound}{keyed}{entry}"), " --plugin /p/keyhole", 0),
            (bound, "", 2),
        ] {
            world.write_map(map);
            let exit = cells[3][exit..=exit].parse().unwrap();
            let ran = world.typed(&format!("cd p && keyhole check{command}"));
            let ran = ran.exits(exit).conceals("rules are missing");
            if exit == 1 || !row.starts_with("{\"enabled") {
                let _ = ran.mentions(cells[2]);
            }
        }
    }
}

/// The agents of the map's entries, the file's length, the hook's command, and what is said.
const HANDED_OVER: &str = "
a | 10000 | keyhole inject --map MAP |
a | 10001 | keyhole inject --map MAP | the file on line 1 has 10001 characters
a | 0 | keyhole inject --map MAP | its file is empty
a a | 1 | keyhole inject --map MAP | lines 1 and 4 both name this agent
b | 1 | keyhole inject --map MAP | no entry of the map names this agent
x@y:a | 1 | keyhole inject --map MAP | no entry of the map names this agent
a | 1 | /gone/keyhole inject --map MAP | it starts /gone/keyhole, where nothing is
a | 1 | keyhole inject --map /gone/map.toml | it names a map that is not there
a | 1 | other --map MAP |
";

#[test]
fn a_hook_that_hands_over_nothing_fails_the_check() {
    for row in HANDED_OVER.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let agents = cells[0].split(' ').enumerate();
        let entries = agents.map(|(at, agent)| {
            format!("[keys.k-7f3a9c55aa01be{at}0]\npath = '~/n/a.md'\nagents = ['{agent}']\n")
        });
        let text = "a".repeat(cells[1].parse().unwrap());
        let world = World::new()
            .file("n/a.md", text)
            .map(entries.collect::<String>());
        let command = cells[2].replace("MAP", world.map_path().to_str().unwrap());
        let hook = serde_json::json!({ "type": "command", "command": command });
        let groups = serde_json::json!([{ "matcher": "^a$", "hooks": [hook] }]);
        let settings = serde_json::json!({ "hooks": { "SubagentStart": groups } });
        let world = world.file(".claude/settings.json", settings.to_string());
        let ran = world.run(["check"]).exits(i32::from(!cells[3].is_empty()));
        let _ = match cells[3] {
            "" => ran.conceals("SubagentStart"),
            says => ran
                .mentions("error: the SubagentStart hook for a in")
                .mentions(says),
        };
    }
}

/// All that an agent of Claude Code gets needs rules, whichever way it gets it; and only if that
/// client is here. They are a warning.
#[test]
fn check_names_the_rules_that_are_missing_for_each_agents_file() {
    let map = "roots = ['~/a', '~/b', '~/c', '~/d', '~/e']
[keys.k-7f3a9c55aa01beef]\npath = '~/a/a.md'\nagents = ['acme:reviewer']
[keys.m-91c09c55aa01beef]\npath = '~/b/b.md'
[bindings.c]\npath = '~/c/c.md'\nagents = ['c']
[bindings.b]\npath = '~/d/d.md'
[bindings.e]\npath = '~/e/e.md'\n";
    let with = |map: &str| {
        ["a", "b", "c", "d", "e"]
            .iter()
            .fold(World::new().map(map), |world, name| {
                world.file(&format!("{name}/{name}.md"), "- a line of it\n")
            })
    };
    let away = with(map);
    let _ = away.run(["check"]).exits(0).conceals("permissions.deny");
    let nobodys = with("roots = ['~/b']\n[keys]\nm-91c09c55aa01beef = '~/b/b.md'\n");
    let nobodys = nobodys.file(".claude/settings.json", "{}");
    let _ = nobodys.run(["check"]).exits(0).conceals("permissions.deny");
    let here = with(map).file(".claude/agents/any.md", GUARDED);
    let says = ["a", "c", "d"].map(|name| format!("Read(~/{name}/**), Read(~/{name}/{name}.md), "));
    let tickets = "Read(~/.local/state/keyhole/**), Bash(keyhole inject*)";
    let ran = here
        .run(["check"])
        .exits(0)
        .mentions(&format!("{}{tickets}", says.concat()));
    let _ = ran
        .conceals("~/b/**")
        .conceals("~/e/**")
        .mentions("In Claude Code 2.1.197, ");
    // In a session, no path of a file.
    let ran = here.run(["check", "--plugin", "/p/keyhole"]);
    let _ = ran.conceals("Read(~/a").mentions(
        "Read(FILE) with the path of your file, Read(FOLDER/**) with the folder of your file\n",
    );
    // With all that it says, it says nothing more; and there are no tickets without a server.
    let said = here.run(["check"]).stdout;
    let (_, rules) = said.split_once("settings.json: ").unwrap();
    let (rules, _) = rules.split_once('\n').unwrap();
    let rules: Vec<_> = rules.split(", ").collect();
    let deny = serde_json::json!({ "permissions": { "deny": rules } });
    let here = here.file(".claude/settings.json", deny.to_string());
    let _ = here.run(["check"]).exits(0).conceals("permissions.deny");
    let keys = with("[keys.k-7f3a9c55aa01beef]\npath = '~/a/a.md'\nagents = ['x']\n");
    let keys = keys.file(".claude/settings.json", "{}");
    let _ = keys
        .run(["check"])
        .mentions("Read(~/a/a.md)")
        .conceals(".local/state");
    // The rule for a folder counts for all its files, and is named once.
    let map = "roots = ['~/private']
[keys.k-7f3a9c55aa01beef]\npath = '~/private/a.md'\nagents = ['x']
[bindings.c]\npath = '~/private/c.md'\nagents = ['c']\n";
    let shared = ["a", "c"]
        .iter()
        .fold(World::new().map(map), |world, name| {
            world.file(&format!("private/{name}.md"), "- a line of it\n")
        });
    let _ = shared
        .file(".claude/settings.json", "{}")
        .run(["check"])
        .mentions("Read(~/private/**), Read(~/private/a.md), Read(~/private/c.md), Read(~/.local");
}

/// A session that is this agent gets the file.
#[test]
fn an_agent_whose_server_serves_any_caller_is_told_of_and_fails_the_check() {
    let setup = World::new()
        .run(["setup", "claude-code", "--bind", "a"])
        .stdout;
    let agent = fenced(&setup, |language| language == "markdown").remove(0);
    let old = "---\nname: a\nmcpServers: [{\"a\": {\"command\": \"keyhole\", \"args\": [\"serve\", \"--bind\", \"a\"]}}]\n---\nWork.\n";
    let without = agent.replacen("\"--require-ticket\", ", "", 1);
    let home = || {
        let map = "roots = ['~/private']\n[bindings.a]\npath = '~/private/a.md'\n";
        World::new().file("private/a.md", "a\n").map(map)
    };
    let gone = old.replace("keyhole", "/gone/keyhole");
    let other = old.replace("\"a\"]", "\"other\"]");
    let unguarded = "Keyhole's server without its hook and ticket";
    for (place, text, says, exit) in [
        (".claude/agents/a.md", &*agent, unguarded, 0),
        (".claude/agents/in here/a.md", old, unguarded, 1),
        (".claude/agents/a.md", &without, unguarded, 1),
        (
            ".claude/agents/a.md",
            &gone,
            "/gone/keyhole, where nothing is",
            1,
        ),
        (
            ".claude/agents/a.md",
            &other,
            "a binding that the map does not have",
            1,
        ),
        ("elsewhere/agents/a.md", old, unguarded, 1),
    ] {
        let world = home().file(place, text);
        let folder = place
            .starts_with("elsewhere")
            .then(|| world.path("elsewhere"));
        let world = world.env("CLAUDE_CONFIG_DIR", folder.unwrap_or_default());
        let ran = world.run(["check"]).exits(exit);
        match exit {
            0 => drop(ran.conceals(says)),
            _ => drop(ran.mentions(says).mentions("a.md in ")),
        }
        let json = world.run(["check", "--json"]).exits(exit).json();
        assert_eq!(json["ok"], exit == 0);
        assert_eq!(json["warnings"].to_string().contains(says), exit == 1);
    }
    // A project's, in its folder.
    let world = home().file("p/.claude/agents/a.md", old);
    let _ = world
        .typed("cd p && keyhole check")
        .exits(1)
        .mentions("a.md in .claude/agents starts");
}
