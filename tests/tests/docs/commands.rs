//! Every command that the documents give is run: here, as it stands, in a home with
//! a map; or where [`COMMANDS`] says. One that is not listed fails.

use super::{DOCUMENTS, blocks, quotes, read};
use crate::plugin::Package;
use keyhole_tests::{Ran, World, binary, cargo, workspace};
use std::{collections::BTreeSet, env, fs, os::unix::fs::symlink, process::Command};

/// A command on each line, and what becomes of it: `run` here, where it exits with this
/// status and says this among other things; `in` the file that runs it; or `not` run by
/// any test, for this reason. Standard input has ended, so that a server ends too.
const COMMANDS: &str = r#"
./x demo ⇒ in .ci/run
./x test ⇒ in .ci/run
./x test --all ⇒ in .ci/run
./x lint ⇒ in .ci/run
./x deny ⇒ in .ci/run
./x cross ⇒ in .ci/run
./x installs ⇒ in .ci/run
./x twice ⇒ not: it takes an hour; the workflow that releases compares two builds as well
./x twice [TARGET]... ⇒ not: it takes an hour; the workflow that releases compares two builds as well
./x installs [PACKAGE] ⇒ not: `./x installs` does the same with an unoptimised program
./x packages ⇒ in packaging/cross.sh
./x packages [PACKAGE [OUT]] ⇒ in tests/packages/world.py
./x arm ⇒ not: it takes long; `./x cross` has a part of it
./x windows ⇒ in .ci/run
./x dist --all ⇒ in .github/workflows/release.yml
./x fuzz [SECONDS] ⇒ in .ci/run
./x fuzz 1200 ⇒ in .ci/run
./x client ⇒ in x
./x clients ⇒ in x
./x interop ⇒ in x
./x dist ⇒ in .github/workflows/release.yml
./x bundle [PACKAGE [OUT]] ⇒ in tests/interop/bundle.test.mjs
./x counts ⇒ run 0 unsafe in the program: 1
./x test NAME ⇒ not: it is `./x test` with cargo's own argument
KEYHOLE_BIN=FILE ./x test ⇒ not: it is `./x test` with another program
./x setup ⇒ in x
./x bless ⇒ not: it changes files, after a look
./x bench ⇒ not: it takes long, and measures
./x bench --short ⇒ in .ci/run
./x model [SEEDS] ⇒ not: it takes long
./x orders [ORDERS] ⇒ not: it takes long
./x simulate [SEEDS] ⇒ not: it takes long
./x simulate --replay SEED ⇒ not: SEED is no number; the line above plays many
./x mutants --touched [BASE] ⇒ in .ci/run
./x mutants [ROOM] [ARGS] ⇒ not: it takes hours
./x coverage ⇒ not: it compiles the workspace again
./x soak [CALLS] ⇒ not: it takes long
.ci/run ⇒ in .github/workflows/ci.yml
cargo test --locked -p keyhole-tests --test outside NAME ⇒ not: it runs this very program
cargo test -p keyhole mcp ⇒ not: it is a part of `./x test`
cargo bench -p keyhole-benches --bench micro ⇒ not: it measures; `./x lint` compiles it
cargo run --locked -p keyhole -- contract ⇒ not: `keyhole contract` with a build before it
cargo install --locked --path host ⇒ in tests/tests/docs/commands.rs
keyhole setup key ~/notes/identifiers.md ⇒ run 0 [keys."k-
keyhole setup key FILE ⇒ not: FILE is none; the line above has one
keyhole setup key ~/private/house-rules.md --agent acme:reviewer ⇒ run 0 agents = ["acme:reviewer"]
keyhole setup key ~/notes/identifiers.md --bind scanner-catalog ⇒ in tests/tests/cli/setup.rs
keyhole setup ⇒ run 0 CLIENT
keyhole setup claude-code --bind scanner-catalog ⇒ run 0 Only the agent
keyhole setup CLIENT --bind NAME ⇒ not: CLIENT is none; the line above has one
keyhole check ⇒ run 0 1 would be served
keyhole contract ⇒ run 0 sha256:
keyhole shell bash ⇒ run 0 keyhole
keyhole serve ⇒ run 0
keyhole serve --agent NAME ⇒ run 0
keyhole serve --agent acme:reviewer ⇒ run 0
keyhole serve --bind scanner-catalog ⇒ run 0
keyhole serve --bind NAME ⇒ not: NAME is no name; the line above is one
keyhole serve --sealed ⇒ in tests/tests/sealed.rs
keyhole guard ⇒ in tests/tests/plugin/callers.rs
"$(ls -t ~/.claude/plugins/data/keyhole-keyhole/keyhole-* | head -n 1)" check ⇒ in tests/client/11-readme.test.mjs
claude plugin marketplace add keyhole-mcp/keyhole@plugin ⇒ in tests/client/11-readme.test.mjs
claude plugin marketplace add keyhole-mcp/keyhole@plugin-windows-x86_64 ⇒ not: no client for Windows is here, and the page says so
claude plugin install keyhole@keyhole ⇒ in tests/client/11-readme.test.mjs
claude mcp add keyhole -- keyhole serve ⇒ in tests/client/13-standalone.test.mjs
npx -y keyhole-mcp setup ⇒ in tests/packages/test_npm.py
npm install -g keyhole-mcp ⇒ in tests/packages/test_npm.py
uvx keyhole-mcp setup ⇒ in tests/packages/test_wheel.py
uv tool install keyhole-mcp ⇒ in tests/packages/test_wheel.py
pipx install keyhole-mcp ⇒ in tests/packages/test_wheel.py
pip install keyhole-mcp ⇒ in tests/packages/test_wheel.py
brew install keyhole-mcp/tap/keyhole ⇒ not: Homebrew is not here, and the page says so
winget install KeyholeMCP.Keyhole ⇒ not: winget is not here, and the page says so
cargo binstall --git https://github.com/keyhole-mcp/keyhole keyhole ⇒ not: it downloads a release, and the page says that it was never run
docker run -i --rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --user "$(id -u):$(id -g)" -v ~/.config/keyhole:/home/.config/keyhole:ro -v ~/notes:/home/notes:ro ghcr.io/keyhole-mcp/keyhole:0.2.0 serve --bind scanner-catalog ⇒ not: no engine is here; tests/packages/test_image.py runs the image's files so
docker load ⇒ not: no engine is here, and the page says so
podman load ⇒ not: no engine is here, and the page says so
skopeo copy oci-archive: ⇒ not: tests/packages/test_image.py reads the archive
sha256sum -c keyhole-plugin.tar.gz.sha256 ⇒ in packaging/cross.sh
sha256sum -c manifest.sha256 ⇒ in tests/tests/docs/commands.rs
gh attestation verify keyhole-plugin.tar.gz --repo keyhole-mcp/keyhole ⇒ not: there is something to verify only once GitHub has made a release
gh attestation verify keyhole.mcpb --repo keyhole-mcp/keyhole ⇒ not: there is something to verify only once GitHub has made a release
"#;

/// The commands and what becomes of them.
fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = COMMANDS.trim().lines();
    lines.map(|line| line.split_once(" ⇒ ").unwrap())
}

/// What a command begins with.
const PROGRAMS: &str = "./x brew cargo claude docker gh grep keyhole npm npx pip pipx podman sh \
     sha256sum skopeo uv uvx winget";

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
        quoted == ".ci/run"
            || (PROGRAMS.split(' ').any(|known| known == program) && words.next().is_some())
    }));
    found
}

#[test]
fn every_command_is_listed_and_every_one_that_is_listed_is_in_a_document() {
    let mut given = BTreeSet::new();
    for document in DOCUMENTS {
        for command in commands(document) {
            let is_listed = listed().any(|(known, _)| known == command);
            assert!(is_listed, "{document}: where is this run? {command}");
            given.insert(command);
        }
    }
    for (command, run) in listed() {
        assert!(given.contains(command), "in no document: {command}");
        if let Some(file) = run.strip_prefix("in ") {
            assert!(workspace().join(file).is_file(), "{command}: {file}");
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
    let bin = world.path("bin");
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let mut tried = 0;
    for (command, run) in listed() {
        let Some(expected) = run.strip_prefix("run ") else {
            continue;
        };
        let (exit, says) = expected.split_once(' ').unwrap_or((expected, ""));
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", command])
            .current_dir(workspace())
            .env("PATH", &path)
            .env("XDG_CONFIG_HOME", world.path(".config"));
        let ran = Ran::of(&mut shell, b"")
            .exits(exit.parse().unwrap())
            .mentions(says);
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
