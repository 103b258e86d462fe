//! `keyhole check`: whether each entry of the map would load, and if not, why.

use keyhole_tests::{NOBODY, Ran, World, skipped};
use serde_json::Value;
use std::os::unix::fs::lchown;

const STRONG: &str = "k-7f3a9c55aa01beef";
const ALSO_STRONG: &str = "m-91c09c55aa01beef";

/// Two entries that load, and some that do not.
fn mixed() -> World {
    World::new()
        .file("a.md", "0123456789")
        .file("notes/b.md", "")
        .file("big.md", "0123456789")
        .file("run.sh", "#!/bin/sh\n")
        .directory("dir.md")
        .map(format!(
            "[keys]\n\
             {STRONG} = '~/a.md'\n\
             {ALSO_STRONG} = '~/notes/b.md'\n\
             n-12345678901234567890 = '~/gone.md'\n\
             tiny-key = {{ path = '~/big.md', max_bytes = 9 }}\n\
             p-12345678901234567890 = '~/run.sh'\n\
             q-12345678901234567890 = '~/dir.md'\n"
        ))
}

#[test]
fn a_map_whose_files_all_load_is_shown_and_exits_0() {
    World::new()
        .file("notes/a.md", "0123456789")
        .map(format!("[keys]\n{STRONG} = '~/notes/a.md'\n"))
        .run(["check"])
        .exits(0)
        .says(
            "map: HOME/.config/keyhole/context-map.toml\n\
             \n\
             RESULT    BYTES  LINE  PATH\n\
             ok           10     2  ~/notes/a.md\n\
             \n\
             1 of 1 would be served.\n",
        )
        .says_nothing_on_stderr();
}

#[test]
fn each_entry_that_would_not_load_says_why_and_exits_1() {
    mixed()
        .run(["check"])
        .exits(1)
        .mentions("not-found           -     4  ~/gone.md\n")
        .mentions("too-large           -     5  ~/big.md\n")
        .mentions("not-markdown        -     6  …\n")
        .mentions("not-a-file          -     7  ~/dir.md\n")
        .mentions("2 of 6 would be served.\n")
        .mentions("may be guessed: line 5\n")
        .mentions("a directory of its own: line 2\n")
        .says_nothing_on_stderr();
}

#[test]
fn a_file_that_lies_in_a_home_itself_or_above_is_warned_of_and_served() {
    let world = World::new()
        .file("notes/a.md", "a")
        .file("b.md", "b")
        .link("notes/link.md", "../b.md")
        .file("../c.md", "c")
        .map(
            "[keys]\n\
             k-7f3a9c55aa01bee1 = '~/notes/a.md'\n\
             k-7f3a9c55aa01bee2 = '~/b.md'\n\
             k-7f3a9c55aa01bee3 = '~/../c.md'\n\
             k-7f3a9c55aa01bee4 = '~/notes/link.md'\n",
        );
    let _ = world.run(["check"]).exits(0).mentions(
        "\nwarning: the file lies directly in your home, or above it: \
         `serve --sealed` would keep all of that directory readable; \
         move the file into a directory of its own: lines 3, 4, 5\n",
    );
}

#[test]
fn what_check_says_is_what_a_call_gets() {
    let world = mixed();
    let ran = world.run(["check", "--json"]);
    let report = ran.json();
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
fn a_missing_map_exits_2_and_says_where_it_belongs() {
    World::new()
        .run(["check"])
        .exits(2)
        .says(
            "error: map-missing: there is no map at \
             HOME/.config/keyhole/context-map.toml; create it, or name another with --map\n  \
             help: to make one, run this. Replace FILE by your Markdown file.\n\n\
             (umask 077; mkdir -p HOME/.config/keyhole &&\n  \
             keyhole setup key FILE >> HOME/.config/keyhole/context-map.toml)\n\n\
             If you have one elsewhere, move it:\n\n\
             (umask 077; mkdir -p HOME/.config/keyhole &&\n  \
             mv FILE HOME/.config/keyhole/context-map.toml)\n",
        )
        .says_nothing_on_stderr();
    let ran = World::new().run(["check", "--json"]).exits(2);
    let report = ran.json();
    assert_eq!(report["error"]["code"], "map-missing");
    assert_eq!(report["entries"], Value::Null);
}

#[test]
fn an_invalid_map_exits_2_and_points_at_the_place() {
    let world = World::new().map(format!("[keys]\n{STRONG} = '~/a.md'\n{STRONG} = 7\n"));
    world
        .run(["check"])
        .exits(2)
        .mentions("map-invalid")
        .mentions("HOME/.config/keyhole/context-map.toml:3\n")
        .conceals("7f3a")
        .says_nothing_on_stderr();
    let ran = world.run(["check", "--json"]).exits(2).conceals("7f3a");
    let report = ran.json();
    assert_eq!(report["error"]["code"], "map-invalid");
    assert_eq!(report["error"]["line"], 3);
    assert_eq!(report["error"].get("column"), None);
}

#[test]
fn another_map_can_be_named() {
    World::new()
        .file("a.md", "0123456789")
        .file("team/m.toml", format!("[keys]\n{STRONG} = '../a.md'\n"))
        .run(["check", "--map", "team/m.toml"])
        .exits(0)
        .mentions("map: HOME/team/m.toml\n")
        .mentions("../a.md\n")
        .says_nothing_on_stderr();
}

#[test]
fn there_are_no_colours_where_there_is_no_terminal_unless_asked_for() {
    let _ = mixed().run(["check"]).conceals("\u{1b}[");
    let _ = mixed()
        .env("CLICOLOR_FORCE", "1")
        .run(["check"])
        .mentions("\u{1b}[");
    // If the user asks for no colours, that wins.
    let _ = mixed()
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .run(["check"])
        .conceals("\u{1b}[");
}

/// What `check` prints for a missing map, typed as it stands.
#[test]
fn the_two_lines_that_make_a_map_make_one() {
    let world = World::new().file("my notes/a.md", "a");
    let said = world.run(["check"]).exits(2).stdout;
    let lines = said.split("\n\n").nth(1).unwrap();
    let _ = world
        .typed(&lines.replace("FILE", "~/'my notes/a.md'"))
        .exits(0);
    let _ = world
        .run(["check"])
        .exits(0)
        .mentions("1 of 1 would be served.\n");
}

#[test]
fn it_names_both_places_if_the_shells_map_is_not_at_the_usual_one() {
    let world = World::new();
    let set = world.path("xdg");
    let world = world.env("XDG_CONFIG_HOME", set);
    world
        .run(["check"])
        .exits(2)
        .mentions("there is no map at HOME/xdg/keyhole/context-map.toml;")
        .mentions("\nwarning: XDG_CONFIG_HOME is set here; a client that starts without it looks for HOME/.config/keyhole/context-map.toml\n")
        .says_nothing_on_stderr();
    let _ = world.map("").run(["check"]).exits(2).mentions(
        "move it:\n\n(umask 077; mkdir -p HOME/xdg/keyhole &&\n  \
         mv HOME/.config/keyhole/context-map.toml HOME/xdg/keyhole/context-map.toml)\n",
    );
}

#[test]
fn quiet_prints_nothing_and_verbose_says_which_walls_stand() {
    let world = World::new()
        .file("notes/a.md", "a")
        .map(format!("[keys]\n{STRONG} = '~/notes/a.md'\n"));
    let _ = world
        .run(["check", "-q"])
        .exits(0)
        .says("")
        .says_nothing_on_stderr();
    let _ = mixed().run(["check", "--quiet"]).exits(1).says("");
    let _ = world
        .run(["check", "-v"])
        .exits(0)
        .mentions("\nsecond wall: ");
    let _ = mixed().run(["check", "--color=always"]).mentions("\u{1b}[");
    let _ = mixed()
        .env("CLICOLOR_FORCE", "1")
        .run(["check", "--color=never"])
        .conceals("\u{1b}[");
}

/// The client's settings are not Keyhole's: their directory may be on a file system that
/// hangs.
#[test]
fn settings_of_the_client_that_hang_keep_no_check_from_ending() {
    let world = World::new().directory(".claude").map("");
    crate::hostile::ground::fifo(&world.path(".claude/settings.json"));
    let _ = world
        .run(["check", "--plugin", "/p/keyhole"])
        .mentions("permissions.deny in ~/.claude/settings.json: Read(");
}

/// Entries with a mistake each, in all but the last two.
const MISTAKES: [&str; 15] = [
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
];

/// What `check` says, without the line that follows on a kernel that lacks a wall.
fn said(ran: &Ran) -> &str {
    ran.stdout.split("second wall: ").next().unwrap()
}

#[test]
fn each_mistake_is_told_with_what_to_type_next() {
    let entries = MISTAKES.iter().enumerate();
    let entries = entries.map(|(line, entry)| format!("k-7f3a9c55aa01be{line:02} = {entry}\n"));
    let key_file = "[bindings.open]\nkey_file = '~/n/open.md'\n";
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
        .map(format!("[keys]\n{}{key_file}", entries.collect::<String>()));
    for (path, bits) in [
        ("n/open.md", 0o666),
        ("all here", 0o777),
        ("all here/group", 0o775),
        ("sticky", 0o1777),
    ] {
        world.mode(path, bits);
    }
    insta::assert_snapshot!(said(&world.run(["check"]).exits(1)));
    let ran = world.run(["check", "--json"]).exits(1);
    let report = ran.json();
    let bound = |entry: usize| report["entries"][entry]["bound"].as_bool();
    assert_eq!((bound(0), bound(14)), (Some(false), Some(true)));
}

/// What is printed for it, typed as it stands: for a file, and for the map.
#[test]
fn one_command_closes_all_directories_on_the_way() {
    for (open, also, exit) in [
        ("all here", "all here/group", 1),
        (".config/keyhole", ".config", 2),
    ] {
        let world = World::new()
            .file("all here/group/a.md", "a")
            .map(format!("[keys]\n{STRONG} = '~/all here/group/a.md'\n"));
        world.mode(open, 0o777);
        world.mode(also, 0o775);
        let said = world.run(["check"]).exits(exit).stdout;
        let (_, command) = said.split_once("un: ").unwrap();
        let _ = world.typed(command.lines().next().unwrap()).exits(0);
        let _ = world.run(["check"]).exits(0);
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
    let ran = world.run(["check", "--json"]).exits(1);
    let report = ran.json();
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!(warnings.last().unwrap()["line"], Value::Null);
}

#[test]
fn a_mistake_in_the_map_gets_what_to_write() {
    let mut all = String::new();
    for map in [
        "[keys.k]\npth = 'a.md'",
        "[key]",
        "max-bytes = 1",
        "root = ['/a']",
        "[keys.k]\npath = ~/a.md",
        "[keys.k]",
        "[keys.k]\npath = 'a.md'\nagents = 'x'",
        "[keys.k]\npath = '~root/a.md'",
        "[keys]\nk = 'a.md'\n[keys.k]\npath = 'b.md'",
    ] {
        let ran = World::new().map(map).run(["check"]).exits(2);
        all += &format!("{map}\n⇒ {}\n", said(&ran));
    }
    insta::assert_snapshot!(all);
    let _ = World::new()
        .map("#".repeat((1 << 20) + 1))
        .run(["check"])
        .exits(2)
        .mentions("has 1048577 bytes, and at most 1048576 are allowed; remove entries from it\n");
    // If no file has the name, it may be something else, such as a key.
    let ran = World::new().run(["check", "--map", "k-none"]).exits(2);
    assert_eq!(
        ran.stdout.lines().next(),
        Some("error: map-missing: there is no map where --map says; create it, or name another")
    );
    let _ = ran.conceals("k-none");
    let _ = World::new()
        .directory("n")
        .run(["check", "--map", "n"])
        .exits(2)
        .mentions("it is not a regular file; if it is a directory, add the file's name");
    let _ = World::new()
        .link(".config/keyhole/context-map.toml", "lost.toml")
        .run(["check"])
        .exits(2)
        .mentions("help: it is a link to lost.toml, where nothing is: make that file,");
    let _ = World::new()
        .map("")
        .run(["check"])
        .exits(0)
        .mentions("has no keys: every key is refused. `keyhole setup key FILE` prints one.\n");
}

#[test]
fn what_belongs_to_another_user_or_cannot_be_read_is_told_with_the_command() {
    let map = format!("[keys]\n{STRONG} = '~/n/a.md'\n");
    let world = World::new().file("n/a.md", "a").map(&map);
    world.mode("n/a.md", 0o000);
    let _ = world
        .unprivileged()
        .run(["check"])
        .exits(1)
        .mentions("\n  line 2: run: chmod u+r HOME/n/a.md\n");
    if !rustix::process::geteuid().is_root() {
        return skipped("not run as root");
    }
    let world = World::new().file("n/a.md", "a").map(&map);
    lchown(world.path("n/a.md"), Some(NOBODY), None).unwrap();
    let _ = world
        .run(["check"])
        .exits(1)
        .mentions("HOME/n/a.md belongs to another user. Run: sudo chown \"$USER\" HOME/n/a.md\n");
    lchown(world.home(), Some(NOBODY), None).unwrap();
    for arguments in [&["check"][..], &["setup", "claude-code"]] {
        let ran = world.run(arguments).says("");
        assert_eq!(
            ran.stderr,
            "keyhole: HOME, HOME, is another user's: run keyhole as that user, without sudo\n"
        );
        assert_ne!(ran.exit, Some(0));
    }
}

/// What the settings deny, and what is said of that.
#[test]
fn settings_that_deny_too_little_are_told_of() {
    let temporary = "Read(//tmp/claude-*/**)";
    let all = &*format!("\"Read(~/.claude/projects/**)\", \"{temporary}\"");
    let folder = "Read(FOLDER/**) with the folder of your file\n";
    let add = "Add to permissions.deny in ~/.claude/settings.json: ";
    for (deny, says) in [
        (
            "",
            &*format!("{add}Read(~/.claude/projects/**), {temporary}, {folder}"),
        ),
        (all, &*format!("{add}{folder}")),
        (&*format!("{all}, \"Read(~/private/**)\""), ""),
        (&*format!("{all}, \"Read(~/private/a.md)\""), ""),
        (&*format!("\"Read(~/**)\", \"{temporary}\""), ""),
        ("\"Read\"", ""),
        (&*format!("{all}, \"Read(~/other/**)\""), folder),
        ("]", "settings.json is not JSON; fix it, and check again\n"),
    ] {
        let world = World::new()
            .map("[keys]\nkeyhole-privacy-catalog = '~/private/a.md'\n")
            .file(
                ".claude/settings.json",
                format!("{{\"permissions\":{{\"deny\":[{deny}]}}}}"),
            );
        let ran = world.run(["check", "--plugin", "/p/keyhole"]).exits(1);
        match says {
            "" => drop(ran.conceals("deny").conceals("JSON")),
            says => drop(ran.mentions(says)),
        }
    }
    let world = World::new().map("").env("CLAUDE_CONFIG_DIR", "/c/d");
    let _ = world.run(["check", "--plugin", "/p/keyhole"]).mentions(
        "Add to permissions.deny in /c/d/settings.json: Read(//c/d/projects/**), Read(//tmp/",
    );
}
