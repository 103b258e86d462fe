//! Every command that the documents give is run: here, unchanged, in a home with a map;
//! or by the file that [`COMMANDS`] names, and then that file really contains it. A
//! command that is not listed is a failure.

use super::{DOCUMENTS, blocks, quotes, read};
use crate::plugin::Package;
use Run::{Elsewhere, Here, Not};
use keyhole_tests::{Ran, World, binary, cargo, workspace};
use std::{collections::BTreeSet, env, fs, os::unix::fs::symlink, process::Command};

/// How a command is tested.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// Run here. It exits with this status, and its output contains this.
    Here(i32, &'static str),
    /// Run by this file, which contains these words.
    Elsewhere(&'static str, &'static str),
    /// Not run by any test, for this reason.
    Not(&'static str),
}

/// Standard input is at its end, so that a server ends too.
const COMMANDS: &[(&str, Run)] = &[
    // Commands for the whole project.
    ("./x demo", Elsewhere(".ci/run", "./x demo")),
    ("./x test", Elsewhere(".ci/run", "./x test --all")),
    ("./x test --all", Elsewhere(".ci/run", "./x test --all")),
    ("./x lint", Elsewhere(".ci/run", "./x lint")),
    ("./x deny", Elsewhere(".ci/run", "./x deny")),
    ("./x cross", Elsewhere(".ci/run", "./x cross")),
    ("./x installs", Elsewhere(".ci/run", "./x installs")),
    (
        "./x installs [PACKAGE]",
        Not("`./x installs` does the same with an unoptimised program"),
    ),
    (
        "./x packages",
        Elsewhere("packaging/cross.sh", "pack \"$1\""),
    ),
    (
        "./x packages [PACKAGE [OUT]]",
        Elsewhere("tests/packages/world.py", "packaging/packages"),
    ),
    (
        "./x arm",
        Not("it takes long; `./x cross` has a part of it"),
    ),
    ("./x windows", Not("it takes minutes, and wine")),
    (
        "./x dist --all",
        Elsewhere(".github/workflows/release.yml", "./x dist --all"),
    ),
    ("./x fuzz [SECONDS]", Elsewhere(".ci/run", "./x fuzz 20")),
    ("./x fuzz 1200", Elsewhere(".ci/run", "./x fuzz 20")),
    ("./x client", Elsewhere("x", "(client)")),
    ("./x clients", Elsewhere("x", "(clients)")),
    ("./x interop", Elsewhere("x", "(interop)")),
    (
        "./x dist",
        Elsewhere(".github/workflows/release.yml", "./x dist"),
    ),
    (
        "./x bundle [PACKAGE [OUT]]",
        Elsewhere("tests/interop/bundle.test.mjs", "bundle"),
    ),
    ("./x counts", Here(0, "unsafe in the program: 1\n")),
    (
        "./x test NAME",
        Not("it is `./x test` with cargo's own argument"),
    ),
    (
        "KEYHOLE_BIN=FILE ./x test",
        Not("it is `./x test` with another program"),
    ),
    ("./x setup", Elsewhere("x", "demo) setup;")),
    ("./x bless", Not("it changes files, after a look")),
    ("./x bench", Not("it takes long, and measures")),
    (
        "./x bench --short",
        Elsewhere(".ci/run", "./x bench --short"),
    ),
    ("./x model [SEEDS]", Not("it takes long")),
    ("./x orders [ORDERS]", Not("it takes long")),
    ("./x simulate [SEEDS]", Not("it takes long")),
    (
        "./x simulate --replay SEED",
        Not("SEED is no number; the line above plays many"),
    ),
    (
        "./x mutants --touched [BASE]",
        Elsewhere(".ci/run", "./x mutants --touched"),
    ),
    ("./x mutants [ROOM] [ARGS]", Not("it takes hours")),
    ("./x coverage", Not("it compiles the workspace again")),
    ("./x soak [CALLS]", Not("it takes long")),
    (".ci/run", Elsewhere(".github/workflows/ci.yml", ".ci/run")),
    (
        "cargo test --locked -p keyhole-tests --test outside NAME",
        Not("it runs this very program"),
    ),
    (
        "cargo test -p keyhole mcp",
        Not("it is a part of `./x test`"),
    ),
    (
        "cargo bench -p keyhole-benches --bench inside",
        Not("it measures; `./x lint` compiles it"),
    ),
    (
        "cargo run --locked -p keyhole -- contract",
        Not("`keyhole contract` with a build before it"),
    ),
    (
        "cargo install --locked --path host",
        Elsewhere(
            "tests/tests/docs/commands.rs",
            "fn the_install_command_installs",
        ),
    ),
    // Commands that users type.
    (
        "keyhole setup key ~/notes/identifiers.md",
        Here(0, "[keys.\"k-"),
    ),
    (
        "keyhole setup key FILE",
        Not("FILE is none; the line above has one"),
    ),
    (
        "keyhole setup key ~/private/house-rules.md --agent acme:reviewer",
        Here(0, "agents = [\"acme:reviewer\"]"),
    ),
    (
        // The map in this test has such a binding.
        "keyhole setup key ~/notes/identifiers.md --bind scanner-catalog",
        Elsewhere(
            "tests/tests/cli/setup.rs",
            "fn the_command_that_is_printed_for_the_map",
        ),
    ),
    ("keyhole setup", Here(0, "CLIENT ")),
    (
        "keyhole setup claude-code --bind scanner-catalog",
        Here(0, "Only the agent "),
    ),
    (
        "keyhole setup CLIENT --bind NAME",
        Not("CLIENT is none; the line above has one"),
    ),
    ("keyhole check", Here(0, "1 would be served")),
    ("keyhole contract", Here(0, "sha256:")),
    ("keyhole shell bash", Here(0, "keyhole")),
    ("keyhole serve", Here(0, "")),
    ("keyhole serve --agent NAME", Here(0, "")),
    ("keyhole serve --agent acme:reviewer", Here(0, "")),
    ("keyhole serve --bind scanner-catalog", Here(0, "")),
    (
        "keyhole serve --bind NAME",
        Not("NAME is no name; the line above is one"),
    ),
    (
        "keyhole serve --sealed",
        Elsewhere("host/tests/sealed/server.rs", "--sealed"),
    ),
    (
        "keyhole guard",
        Elsewhere("tests/tests/plugin/callers.rs", "guard"),
    ),
    (
        "\"$(ls -t ~/.claude/plugins/data/keyhole-keyhole/keyhole-* | head -n 1)\" check",
        Elsewhere("tests/client/11-readme.test.mjs", "block('sh')"),
    ),
    // Run with the real client.
    (
        "claude plugin marketplace add keyhole-mcp/keyhole@plugin",
        Elsewhere("tests/client/11-readme.test.mjs", "of commands"),
    ),
    (
        "claude plugin install keyhole@keyhole",
        Elsewhere("tests/client/11-readme.test.mjs", "of commands"),
    ),
    (
        "claude mcp add keyhole -- keyhole serve",
        Elsewhere(
            "tests/client/13-standalone.test.mjs",
            "claude mcp add keyhole -- keyhole serve",
        ),
    ),
    // Run with each installer.
    (
        "npx -y keyhole-mcp setup",
        Elsewhere(
            "tests/packages/test_npm.py",
            "\"npx\", \"-y\", NAME, \"setup\"",
        ),
    ),
    (
        "npm install -g keyhole-mcp",
        Elsewhere("tests/packages/test_npm.py", "\"npm\", \"install\", \"-g\""),
    ),
    (
        "uvx keyhole-mcp setup",
        Elsewhere("tests/packages/test_wheel.py", "NAME, \"setup\""),
    ),
    (
        "uv tool install keyhole-mcp",
        Elsewhere("tests/packages/test_wheel.py", "uv, \"tool\", \"install\""),
    ),
    (
        "pipx install keyhole-mcp",
        Elsewhere("tests/packages/test_wheel.py", "pipx, \"install\""),
    ),
    (
        "pip install keyhole-mcp",
        Elsewhere("tests/packages/test_wheel.py", "env/bin/pip\", \"install\""),
    ),
    (
        "brew install keyhole-mcp/tap/keyhole",
        Not("Homebrew is not here, and the page says so"),
    ),
    (
        "winget install KeyholeMCP.Keyhole",
        Not("winget is not here, and the page says so"),
    ),
    (
        "cargo binstall --git https://github.com/keyhole-mcp/keyhole keyhole",
        Not("it downloads a release, and the page says that it was never run"),
    ),
    (
        "docker run -i --rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --user \"$(id -u):$(id -g)\" -v ~/.config/keyhole:/home/.config/keyhole:ro -v ~/notes:/home/notes:ro ghcr.io/keyhole-mcp/keyhole:0.1.0 serve --bind scanner-catalog",
        Not("no engine is here; tests/packages/test_image.py runs the image's files so"),
    ),
    (
        "docker load",
        Not("no engine is here, and the page says so"),
    ),
    (
        "podman load",
        Not("no engine is here, and the page says so"),
    ),
    (
        "skopeo copy oci-archive:",
        Not("tests/packages/test_image.py reads the archive"),
    ),
    // For a release.
    (
        "sha256sum -c keyhole-plugin.tar.gz.sha256",
        Elsewhere(
            "packaging/cross.sh",
            "sum keyhole-plugin.tar.gz >keyhole-plugin.tar.gz.sha256",
        ),
    ),
    (
        "sha256sum -c manifest.sha256",
        Elsewhere(
            "tests/tests/docs/commands.rs",
            "fn the_sums_of_a_package_hold",
        ),
    ),
    (
        "gh attestation verify keyhole-plugin.tar.gz --repo keyhole-mcp/keyhole",
        Not("there is something to verify only once GitHub has made a release"),
    ),
    (
        "gh attestation verify keyhole.mcpb --repo keyhole-mcp/keyhole",
        Not("there is something to verify only once GitHub has made a release"),
    ),
];

/// The programs that a command begins with.
const PROGRAMS: [&str; 19] = [
    "./x",
    "brew",
    "cargo",
    "claude",
    "docker",
    "gh",
    "grep",
    "keyhole",
    "npm",
    "npx",
    "pip",
    "pipx",
    "podman",
    "sh",
    "sha256sum",
    "skopeo",
    "uv",
    "uvx",
    "winget",
];

/// The commands of a document: the lines of its shell blocks, and each quoted text that
/// begins with a program and continues.
fn commands(document: &str) -> Vec<String> {
    let text = read(document);
    let mut found = Vec::new();
    for block in blocks(&text, "sh").into_iter().chain(blocks(&text, "")) {
        let lines = block.lines().map(|line| line.split("  # ").next().unwrap());
        found.extend(lines.map(|line| line.trim().to_owned()));
    }
    found.extend(quotes(&text).into_iter().filter(|quoted| {
        let mut words = quoted.split(' ').skip_while(|word| {
            word.split_once('=')
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        });
        let program = words.next().unwrap_or_default();
        quoted == ".ci/run" || (PROGRAMS.contains(&program) && words.next().is_some())
    }));
    found
}

fn listed(command: &str) -> Option<Run> {
    let line = COMMANDS.iter().find(|(known, _)| *known == command);
    line.map(|(_, run)| *run)
}

#[test]
fn every_command_is_listed_and_every_one_that_is_listed_is_in_a_document() {
    let mut given = BTreeSet::new();
    for document in DOCUMENTS {
        for command in commands(document) {
            assert!(
                listed(&command).is_some(),
                "{document}: where is this run? {command}"
            );
            given.insert(command);
        }
    }
    for (command, _) in COMMANDS {
        assert!(given.contains(*command), "in no document: {command}");
    }
}

#[test]
fn what_is_run_elsewhere_stands_there() {
    for (command, run) in COMMANDS {
        if let Elsewhere(file, words) = run {
            assert!(
                read(file).contains(words),
                "{command}: not in {file}: {words}"
            );
        }
        if let Not(reason) = run {
            assert!(!reason.is_empty(), "{command}");
        }
    }
}

#[test]
fn what_can_be_run_here_does_what_is_said_of_it() {
    let world = World::new()
        .file(".config/keyhole/identifiers.md", "- Jane Q. Example\n")
        .directory("bin")
        .map(
            "[keys]\nk-2c1f8a96d0e34b57 = 'identifiers.md'\n\
             [bindings.scanner-catalog]\nkey = 'k-2c1f8a96d0e34b57'\n",
        );
    symlink(binary(), world.path("bin/keyhole")).unwrap();
    let path = format!(
        "{}:{}",
        world.path("bin").display(),
        env::var("PATH").unwrap()
    );
    let mut tried = 0;
    for (command, run) in COMMANDS {
        let Here(exit, says) = run else { continue };
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", command])
            .current_dir(workspace())
            .env("PATH", &path)
            .env("XDG_CONFIG_HOME", world.path(".config"));
        let ran = Ran::of(&mut shell, b"").exits(*exit).mentions(says);
        assert!(!ran.stdout.is_empty() || says.is_empty(), "{command}");
        tried += 1;
    }
    assert!(tried >= 8, "{tried}");
}

/// Unoptimised and into another folder, so that it is quick and changes nothing;
/// otherwise unchanged.
#[test]
fn the_install_command_installs() {
    let command = "cargo install --locked --path host";
    assert!(commands("SECURITY.md").contains(&command.to_owned()));
    let root = tempfile::tempdir().unwrap();
    // The target directory of this test, which contains the built program already.
    let this = env::current_exe().unwrap();
    let target = this.ancestors().nth(3).unwrap();
    let mut cargo = cargo();
    cargo
        .args(command.split(' ').skip(1))
        .args(["--debug", "--root"])
        .arg(root.path())
        .arg("--target-dir")
        .arg(target);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let version = Command::new(root.path().join("bin/keyhole"))
        .arg("--version")
        .output()
        .unwrap();
    assert!(version.stdout.starts_with(b"keyhole "), "{version:?}");
}

#[test]
fn the_sums_of_a_package_hold() {
    let command = "sha256sum -c manifest.sha256";
    assert!(commands("SECURITY.md").contains(&command.to_owned()));
    let package = Package::new();
    // macOS has the other command, as SECURITY.md says.
    let either = format!("{command} || shasum -a 256 -c manifest.sha256");
    let check = || {
        let mut shell = Command::new("/bin/sh");
        Ran::of(
            shell.args(["-c", &either]).current_dir(package.plugin()),
            b"",
        )
    };
    let _ = check().exits(0).mentions("contract/component.wasm: OK");
    fs::write(package.plugin().join("contract/context.wit"), "").unwrap();
    let _ = check().exits(1).mentions("contract/context.wit: FAILED");
}

/// The branches of `x`'s own table of commands.
fn branches() -> BTreeSet<String> {
    let script = fs::read_to_string(workspace().join("x")).unwrap();
    let (_, table) = script.split_once("\ncase $command in\n").unwrap();
    let names = table
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once(')'))
        .map(|(name, _)| name.to_owned());
    names
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase()))
        .collect()
}

#[test]
fn every_command_of_x_that_is_named_is_one_and_every_one_is_in_contributing() {
    let branches = branches();
    assert!(
        branches.contains("test") && branches.len() > 8,
        "{branches:?}"
    );
    for document in DOCUMENTS {
        for command in commands(document) {
            let mut words = command.split(' ').skip_while(|word| word.contains('='));
            if words.next() == Some("./x") {
                let name = words.next().unwrap();
                assert!(branches.contains(name), "{document}: {command}");
            }
        }
    }
    let contributing = read("CONTRIBUTING.md");
    for name in branches {
        assert!(contributing.contains(&format!("`./x {name}")), "{name}");
    }
}

#[test]
fn every_check_of_ci_is_in_contributings_table_of_them() {
    let name = |line: &str| line.split(' ').nth(1).unwrap().trim_matches('`').to_owned();
    let run = read(".ci/run");
    let checks: Vec<String> = run
        .lines()
        .filter(|line| line.starts_with("./x "))
        .map(name)
        .collect();
    let contributing = read("CONTRIBUTING.md");
    let table: Vec<String> = contributing
        .lines()
        .skip_while(|line| !line.starts_with("| CI's check |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.strip_prefix("| `"))
        .map(name)
        .collect();
    assert!(checks.len() > 3);
    assert_eq!(checks, table);
}
