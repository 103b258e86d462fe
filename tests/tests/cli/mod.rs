//! `keyhole check`, `contract`, `demo`, `setup`, and the command line itself.

mod check;
mod contract;
mod demo;
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
fn a_shell_and_man_are_told_of_every_command() {
    for what in ["bash", "fish", "zsh", "man"] {
        let mut ran = World::new()
            .run(["shell", what])
            .exits(0)
            .says_nothing_on_stderr();
        for text in [
            "keyhole", "serve", "check", "contract", "demo", "setup", "guard",
        ] {
            ran = ran.mentions(text);
        }
    }
    World::new().run(["shell", "tcsh"]).exits(2).says("");
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
        assert!(ran.stderr.contains("Usage: keyhole"), "{ran:?}");
    }
}
