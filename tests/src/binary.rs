//! Which program is tested, and the cargo that builds it.

use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The program under test: the one that `KEYHOLE_BIN` names. Without that variable,
/// this builds one, once a process, with the profile and in the target directory of
/// the running test.
///
/// # Panics
/// If it does not compile, or `KEYHOLE_BIN` names no file.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("KEYHOLE_BIN") {
        Some(named) => {
            let named = PathBuf::from(named);
            assert!(named.is_file(), "KEYHOLE_BIN names no file: {named:?}");
            named.canonicalize().expect("KEYHOLE_BIN's real path")
        }
        None => build(),
    })
}

/// Copies the program under test. Another process does it: while one thread here had the copy
/// open for writing, a child of another thread would hold it open too.
///
/// # Panics
/// If it cannot be copied.
pub fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(binary()).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "no copy");
}

/// Cargo, in this workspace.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace());
    // Cargo's variables for this test must not reach the next cargo.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        }) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The root of this workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests lie in the workspace")
}

/// Builds `keyhole` alone: together with other packages, it could get features
/// that we do not ship it with.
fn build() -> PathBuf {
    // <target directory>/<profile>/deps/<this test>
    let this = env::current_exe().expect("this test's path");
    let mut above = this.ancestors().skip(2);
    let profile = above.next().expect("a profile's directory");
    let target = above.next().expect("a target directory");
    let profile = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => panic!("{profile:?} is no profile's directory"),
    };
    let built = cargo()
        .args([
            "build",
            "--locked",
            "--package",
            "keyhole",
            "--bin",
            "keyhole",
        ])
        .args(["--message-format", "json-render-diagnostics"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "keyhole does not compile");
    String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "keyhole")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the program it built")
}
