//! Which program is tested, and the cargo that builds it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The program under test: the one that `KEYHOLE_BIN` names. Without that variable,
/// this builds one, once a process, with the profile and in the target directory of
/// the running test.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("KEYHOLE_BIN") {
        Some(named) => fs::canonicalize(named).expect("KEYHOLE_BIN names a file"),
        None => build("--bin", "keyhole").join("keyhole"),
    })
}

/// Copies the program under test. Another process does it: while one thread here had the copy
/// open for writing, a child of another thread would hold it open too.
pub fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(binary()).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "no copy");
}

/// Writes a script that may be run, in another process for the same reason.
pub fn write_program(to: &Path, script: &str) {
    let write = "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\"";
    let mut sh = Command::new("/bin/sh");
    let written = sh.args(["-c", write]).arg(to).arg(script).status();
    assert!(written.is_ok_and(|status| status.success()), "no script");
}

/// Cargo, in this workspace.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace());
    // Cargo's variables for this test must not reach the next cargo.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
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

/// The example that shows a session of the program that its argument names.
pub fn demo() -> &'static Path {
    static DEMO: OnceLock<PathBuf> = OnceLock::new();
    DEMO.get_or_init(|| build("--example", "demo").join("examples/demo"))
}

/// Builds this target of `keyhole` alone: together with other packages, the program could
/// get features that we do not ship it with. Returns the profile's directory.
fn build(kind: &str, name: &str) -> PathBuf {
    // <target directory>/<profile>/deps/<this test>
    let this = env::current_exe().expect("this test's path");
    let built = this.ancestors().nth(2).expect("a profile's directory");
    let profile = match built.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => panic!("{built:?} is no profile's directory"),
    };
    let status = cargo()
        .args(["build", "--locked", "--package", "keyhole"])
        .args([kind, name, "--profile", profile, "--target-dir"])
        .arg(built.parent().expect("a target directory"))
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{name} does not compile"
    );
    built.to_owned()
}
