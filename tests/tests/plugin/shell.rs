//! The command that the plugin gives to a session's shell: what it says on a user's terminal, and
//! where it is. The rest is in `sessions/`.

use super::{Package, in_home};
use keyhole_tests::{Ran, World};
use std::{fs, path::Path, process::Command};

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_of_the_users_own_it_names_the_paths() {
    let world = World::new()
        .file("secret-place/a.md", "- private words\n")
        .map("[keys.keyhole-privacy-catalog]\npath = '~/secret-place/a.md'\nmax_bytes = 1\n");
    let (shown, _) = world.asked(["check", "--plugin", "/p"], &[]);
    assert!(shown.contains("~/secret-place/a.md"), "{shown}");
    assert!(shown.contains(": too-large, line 1\n"), "{shown}");
    let rules = "Read(~/secret-place/**), Read(~/secret-place/a.md), Bash(";
    assert!(shown.contains(rules), "{shown}");
    assert!(!shown.contains("terminal of your own"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_it_says_what_it_has_and_where_the_whole_program_is() {
    // The package stays as long as this does.
    let package = Package::shared();
    let plugin = package.plugin();
    let mut server = fs::read_dir(plugin.join("server")).unwrap();
    let whole = server.next().unwrap().unwrap().path();
    let path = std::env::var("PATH").unwrap();
    for (arguments, said) in [
        ("--help", "keyhole scan "),
        ("-h", "keyhole setup remove [NAME] "),
        ("--version", "\nmap format "),
        ("serve", "there are: keyhole check, "),
        ("setup claude-code", "there are: keyhole check, "),
        ("check --map x", "check takes --json"),
    ] {
        let typed = format!("exec \"$SMALL\" {arguments}");
        let world = World::new()
            .env("PATH", &path)
            .env("SMALL", plugin.join("bin/keyhole"))
            .through(["/bin/sh", "-c", &typed]);
        let (shown, _) = world.asked([""; 0], &[]);
        let end = format!("The whole program is {}", whole.display());
        assert!(shown.contains(said), "{arguments}: {shown}");
        assert!(shown.contains(&end), "{arguments}: {shown}");
    }
}

/// The one command, by its full path, for a user who has nothing but the plugin; in words if a
/// shell might read that path in its own way.
#[test]
fn without_a_map_a_session_is_told_the_command_that_makes_one_by_its_full_path() {
    let package = Package::shared();
    let odd = package.plugin();
    let world = World::new().file("private/identifiers.md", "- private words\n");
    let plain = world.outside("plugin");
    let copied = Command::new("cp")
        .args(["-R".as_ref(), odd.as_os_str(), plain.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let told = |plugin: &Path| {
        let mut server = fs::read_dir(plugin.join("server")).unwrap();
        let mut command = Command::new(server.next().unwrap().unwrap().path());
        let told = Ran::of(in_home(command.args(["check", "--brief"]), &world), b"").exits(0);
        let said = told.json()["systemMessage"].as_str().unwrap().to_owned();
        let (_, typed) = said.split_once("In a terminal, run: ").unwrap();
        typed.to_owned()
    };
    assert_eq!(
        told(&odd),
        "bin/keyhole setup plugin, in the plugin's folder"
    );
    let typed = told(&plain);
    assert!(
        typed.ends_with("/plugin/bin/keyhole setup plugin"),
        "{typed}"
    );
    let link = world.outside("keyhole");
    std::os::unix::fs::symlink(plain.join("bin/keyhole"), &link).unwrap();
    let ran = Ran::of(in_home(Command::new(&link).arg("contract"), &world), b"").exits(0);
    assert!(ran.stdout.contains("sha256:"), "{ran:?}");
    for (command, missing) in [(&link, "readlink"), (&plain.join("bin/keyhole"), "uname")] {
        let mut command = Command::new(command);
        let without = in_home(command.arg("contract"), &world).env("PATH", "/");
        let _ = Ran::of(without, b"").exits(2).only_complains(missing);
    }
    #[cfg(target_os = "linux")]
    {
        let typed = format!("{typed} --file ~/private/identifiers.md --dry-run");
        let world = world.env("PATH", std::env::var("PATH").unwrap());
        let (shown, _) = world.through(["/bin/sh", "-c", &typed]).asked([""; 0], &[]);
        let entry = "+ [keys.keyhole-privacy-catalog]";
        assert!(shown.contains(entry), "{shown}");
    }
}
