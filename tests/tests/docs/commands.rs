//! Every command of users that the documents give is run: here, as it stands, in a home
//! with a map; or where [`COMMANDS`] says. One that is not listed fails. Of `./x` and cargo,
//! this checks that there is what they name.

use super::{DOCUMENTS, blocks, quotes, read};
use keyhole_tests::{Ran, World, binary, workspace};
use std::{collections::BTreeSet, env, os::unix::fs::symlink, process::Command};

/// A command on each line, and what becomes of it: `run` here, where it exits with this
/// status and says this among other things; `in` the file that runs it; or `not` run by
/// any test, for this reason. Standard input has ended, so that a server ends too.
const COMMANDS: &str = r#"
./x help ⇒ run 0 usage: ./x COMMAND
./x release help ⇒ run 0 usage: ./x release COMMAND
./x counts ⇒ run 0 an hour:
keyhole setup key ~/notes/identifiers.md ⇒ run 0 [keys."k-
keyhole setup claude-code --bind house-rules ⇒ run 0 Only the agent house-rules
keyhole setup claude-code --bind NAME ⇒ not: NAME is none; the line above has one
keyhole setup key FILE ⇒ not: FILE is none; the line above has one
keyhole setup key ~/private/house-rules.md --agent acme:reviewer ⇒ run 0 agents = ["acme:reviewer"]
keyhole setup key ~/notes/identifiers.md --bind scanner-catalog ⇒ in tests/tests/cli/setup.rs
keyhole setup ⇒ run 0 CLIENT
keyhole setup claude-code --bind scanner-catalog ⇒ run 0 Only the agent
keyhole setup claude-code --inject reviewer ⇒ run 0 Only the agent reviewer
keyhole setup claude-code --inject identifier-scanner ⇒ run 0 Only the agent identifier-scanner
keyhole setup CLIENT --bind NAME ⇒ not: CLIENT is none; the line above has one
keyhole check ⇒ run 0 1 would be served
keyhole contract ⇒ run 0 sha256:
keyhole contract --wit ⇒ run 0 sha256:
keyhole serve ⇒ run 0
keyhole serve --agent NAME ⇒ run 0
keyhole serve --agent acme:reviewer ⇒ run 0
keyhole serve --bind scanner-catalog ⇒ run 0
keyhole serve --bind NAME ⇒ not: NAME is no name; the line above is one
keyhole serve --sealed ⇒ in tests/tests/sealed.rs
keyhole guard ⇒ in tests/tests/plugin/callers.rs
keyhole inject ⇒ in tests/tests/cli/inject.rs
claude plugin marketplace add keyhole-mcp/keyhole@plugin ⇒ in tests/client/11-readme.test.mjs
claude plugin marketplace add keyhole-mcp/keyhole@plugin-windows-x86_64 ⇒ not: no client for Windows is here, and the page says so
claude plugin install keyhole@keyhole ⇒ in tests/client/11-readme.test.mjs
claude plugin uninstall keyhole@keyhole ⇒ not: it takes away what the line above has installed
claude plugin marketplace add ./dist ⇒ in tests/client/harness/home.mjs
claude plugin marketplace add ./FOLDER ⇒ in tests/client/harness/home.mjs
npm install -g ./FILE ./FILE ⇒ in tests/packages/test_npm.py
uv tool install --offline --find-links FOLDER keyhole-mcp ⇒ in tests/packages/test_wheel.py
pip install --no-index --find-links FOLDER keyhole-mcp ⇒ in tests/packages/test_wheel.py
npx -y keyhole-mcp setup ⇒ in tests/packages/test_npm.py
npm install -g keyhole-mcp ⇒ in tests/packages/test_npm.py
uvx keyhole-mcp setup ⇒ in tests/packages/test_wheel.py
uv tool install keyhole-mcp ⇒ in tests/packages/test_wheel.py
pipx install keyhole-mcp ⇒ in tests/packages/test_wheel.py
pip install keyhole-mcp ⇒ in tests/packages/test_wheel.py
docker run -i --rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --user "$(id -u):$(id -g)" -v ~/.config/keyhole:/home/.config/keyhole:ro -v ~/notes:/home/notes:ro ghcr.io/keyhole-mcp/keyhole:0.3.0 serve --bind scanner-catalog ⇒ not: no engine is here; tests/packages/test_image.py runs the image's files so
docker load ⇒ not: no engine is here, and the page says so
podman load ⇒ not: no engine is here, and the page says so
skopeo copy oci-archive: ⇒ not: tests/packages/test_image.py reads the archive
grep -R ⇒ in tests/client/26-check.test.mjs
sha256sum -c keyhole-plugin.tar.gz.sha256 ⇒ in release/dist.sh
sha256sum -c manifest.sha256 ⇒ not: `plugin::launcher` has the plugin do the same
gh attestation verify keyhole-plugin.tar.gz --repo keyhole-mcp/keyhole ⇒ not: there is something to verify only once GitHub has made a release
gh attestation verify keyhole.mcpb --repo keyhole-mcp/keyhole ⇒ not: there is something to verify only once GitHub has made a release
"#;

/// The commands and what becomes of them.
fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = COMMANDS.trim().lines();
    lines.map(|line| line.split_once(" ⇒ ").unwrap())
}

/// What a command of users begins with.
const PROGRAMS: &str = "claude docker gh grep keyhole npm npx pip pipx podman sh sha256sum \
     skopeo uv uvx";

/// The words of a command, without variables that it sets.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split(' ').skip_while(|word| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    })
}

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
        let mut words = words(quoted);
        let program = words.next().unwrap_or_default();
        let mut known = PROGRAMS.split(' ').chain(["./x", "cargo"]);
        known.any(|known| known == program) && words.next().is_some()
    }));
    found
}

#[test]
fn every_command_is_run_somewhere_or_says_why_not() {
    let (own, of_release) = (branches("x"), branches("release/run.sh"));
    assert!(
        own.contains("test") && of_release.contains("dist"),
        "{own:?}"
    );
    for document in DOCUMENTS {
        for command in commands(document) {
            let words: Vec<&str> = words(&command).collect();
            let exists = match words[..] {
                ["./x", "release", name, ..] => name == "help" || of_release.contains(name),
                ["./x", name, ..] => name == "help" || own.contains(name),
                ["cargo", "install", .., "--path", path] => {
                    workspace().join(path).join("Cargo.toml").is_file()
                }
                ["cargo", ..] => true,
                _ => listed().any(|(known, _)| known == command),
            };
            assert!(exists, "{document}: where is this run? {command}");
        }
    }
    for (command, run) in listed() {
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

/// The branches of a script's own table of commands.
fn branches(script: &str) -> BTreeSet<String> {
    let script = read(script);
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
fn the_usage_of_x_lists_its_commands() {
    for script in ["x", "release/run.sh"] {
        let text = read(script);
        let (_, usage) = text.split_once("<<'USAGE'\n").unwrap();
        let (usage, _) = usage.split_once("\nUSAGE\n").unwrap();
        let mut listed: BTreeSet<String> = usage
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if script == "x" {
            // The other commands call it.
            listed.insert("setup".to_owned());
        }
        assert_eq!(listed, branches(script), "{script}");
    }
}
