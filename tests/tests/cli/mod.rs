//! `keyhole check`, `contract`, `demo`, `setup`, and the command line itself.

mod check;
mod contract;
mod demo;
mod inject;
mod setup;
mod setup_example;
mod setup_key;
mod setup_page;

use keyhole_tests::World;

#[test]
fn version_is_the_packages() {
    World::new()
        .run(["--version"])
        .exits(0)
        .says(concat!("keyhole ", env!("CARGO_PKG_VERSION"), "\n"))
        .says_nothing_on_stderr();
}

#[test]
fn help_names_every_command_and_gives_examples() {
    let mut ran = World::new()
        .run(["--help"])
        .exits(0)
        .says_nothing_on_stderr();
    for text in [
        "serve",
        "check",
        "contract",
        "demo",
        "setup",
        "Examples:",
        "context-map.toml",
    ] {
        ran = ran.mentions(text);
    }
    for command in ["serve", "check", "contract", "demo", "setup"] {
        World::new()
            .run([command, "--help"])
            .exits(0)
            .mentions(&format!("Usage: keyhole {command}"))
            .says_nothing_on_stderr();
    }
}

#[test]
fn what_is_not_a_command_is_refused_with_2_and_nothing_on_stdout() {
    for arguments in [
        &["list-keys"][..],
        &[],
        &["serve", "--port", "80"],
        &["serve", "extra"],
        &["check", "--show-keys"],
        &["contract", "x"],
        &["serve", "--map"],
        &["setup", "key"],
        &["setup", "claude-code", "key", "a.md"],
    ] {
        let ran = World::new().run(arguments).exits(2).says("");
        let says = |text| ran.stderr.contains(text);
        assert!(says("keyhole --help") || says("Usage: keyhole"), "{ran:?}");
    }
}

#[test]
fn a_misspelt_word_gets_a_suggestion_out_of_our_own_list() {
    for (arguments, says) in [
        (
            &["chekc"][..],
            "there is no such command; did you mean check?",
        ),
        (
            &["check", "--jsno"],
            "there is an unknown argument; did you mean --json?",
        ),
        (&["setup", "claude-cod"], "did you mean claude-code?"),
        (
            &["check", "--color", "alway"],
            "--color <WHEN> is one of: auto, always, never; did you mean always?",
        ),
        (&["zzz"], "there is no such command\n"),
        (&["help", "chek"], "did you mean check?"),
        (&["check", "--mpa", "x"], "did you mean --map?"),
        (
            &["setup", "kye", "a.md"],
            "keyhole: too many words; write `keyhole setup key FILE`,",
        ),
        (
            &["setup", "claude-code", "key", "a.md"],
            "keyhole: too many words; write",
        ),
        (
            &["setup", "claude-code", "rules"],
            "or `keyhole setup CLIENT --bind NAME`\n",
        ),
        (&["check", "--json", "--json"], "keyhole: use --json once\n"),
        (
            &["serve", "--sealed", "--require-ticket"],
            "keyhole: use --sealed once, and not with --require-ticket\n",
        ),
        (
            &["setup", "key", "a.md", "--max-bytes", "1MB"],
            "keyhole: --max-bytes <BYTES> is a number of bytes, 1 to 8388608\n",
        ),
    ] {
        let ran = World::new().run(arguments).exits(2).says("");
        assert!(ran.stderr.contains(says), "{ran:#?}");
    }
}

/// Runs the program with its output to `redirected`.
#[cfg(target_os = "linux")]
fn in_shell(world: &World, words: &str) -> keyhole_tests::Ran {
    let mut shell = std::process::Command::new("/bin/sh");
    let program = keyhole_tests::binary();
    shell
        .args(["-c", &words.replace("keyhole", "\"$0\"")])
        .arg(program);
    shell
        .env("HOME", world.home())
        .env_remove("XDG_CONFIG_HOME");
    keyhole_tests::Ran::of(&mut shell, b"")
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_a_reader_that_has_seen_enough_is_not() {
    let world = World::new();
    for command in ["check", "--help", "contract", "setup", "demo"] {
        let ran = in_shell(&world, &format!("keyhole {command} >/dev/full")).exits(1);
        assert!(
            ran.stderr.starts_with("keyhole: cannot write: "),
            "{ran:#?}"
        );
        // The reader is gone before anything is written.
        let ran = in_shell(&world, &format!("{{ sleep 0.2; keyhole {command}; }} | :"));
        assert_eq!(ran.stderr, "", "{command}: {ran:#?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_fits_a_narrow_terminal() {
    let ran = in_shell(&World::new(), "COLUMNS=40 keyhole check --help").exits(0);
    let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 40, "{ran:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_on_a_terminal_says_that_it_waits_for_a_client_and_how_to_end_it() {
    let on_a_terminal =
        "command -v script >/dev/null || exit 77; script -qec \"$0 serve\" /dev/null";
    let ran = in_shell(&World::new(), on_a_terminal);
    if ran.exit == Some(77) {
        keyhole_tests::skipped("`script` is not here");
        return;
    }
    let _ = ran
        .mentions("keyhole: waiting for an MCP client on standard input;")
        .mentions("Ctrl-C ends it");
}

#[test]
fn without_a_home_check_exits_as_for_a_missing_map_and_says_what_to_set() {
    let mut check = std::process::Command::new(keyhole_tests::binary());
    let ran = keyhole_tests::Ran::of(check.arg("check").env_clear(), b"");
    let ran = ran.exits(2).says("");
    assert!(ran.stderr.contains("set HOME"), "{ran:#?}");
    let mut quiet = std::process::Command::new(keyhole_tests::binary());
    let ran = keyhole_tests::Ran::of(quiet.args(["check", "-q"]).env_clear(), b"");
    let _ = ran.exits(2).says("").says_nothing_on_stderr();
}

#[test]
fn a_server_that_finds_no_map_says_where_it_looked_and_nothing_of_the_user() {
    for (set, looked) in [
        (None, "~/.config/keyhole/context-map.toml"),
        (
            Some("elsewhere"),
            "$XDG_CONFIG_HOME/keyhole/context-map.toml",
        ),
    ] {
        for arguments in [&["serve"][..], &["serve", "--bind", "a"]] {
            let world = World::new();
            let world = match set {
                None => world,
                Some(set) => {
                    let set = world.path(set);
                    world.env("XDG_CONFIG_HOME", set)
                }
            };
            let ran = world.run(arguments).exits(0).says("");
            let said =
                format!("keyhole: map-missing: there is no context map at {looked}; create it;");
            // A server whose client hangs up at once may end before it has looked.
            assert!(
                ran.stderr.starts_with(&said) || (ran.stderr.is_empty() && arguments.len() == 1),
                "{ran:#?}"
            );
        }
    }
}
