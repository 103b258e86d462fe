//! What depends on the system. Each is a function of the system's name (`env::consts::OS`),
//! so that what macOS does is tested elsewhere too.

#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
};

const EPERM: i32 = 1;

/// What to do if [`keeps`].
pub(super) const KEPT: &str = "macOS does not let this app read it, whatever its mode: allow the app in System Settings under Privacy & Security, or move the file to ~/private";

/// Whether the system keeps the app that started us from a file, as macOS does in
/// Documents, Desktop, Downloads and cloud folders. A mode gives another error. It opens
/// nothing elsewhere.
pub(super) fn keeps<T>(system: &str, open: impl FnOnce() -> io::Result<T>) -> bool {
    let error = || open().err()?.raw_os_error();
    system == "macos" && error() == Some(EPERM)
}

/// Where Claude Code keeps what its tasks print, in each spelling for which it needs a
/// rule. `own` is its variable `CLAUDE_CODE_TMPDIR`, `usual` the system's temporary folder.
/// It sets both for its own shell, to the folder itself.
pub(super) fn folders_of_tasks(system: &str, own: Option<PathBuf>, usual: PathBuf) -> Vec<PathBuf> {
    let is_macos = system == "macos";
    let usual = if is_macos { "/tmp".into() } else { usual };
    let above = own
        .filter(|set| !set.as_os_str().is_empty())
        .unwrap_or(usual);
    let name = above.file_name().unwrap_or_default().to_string_lossy();
    let folder = match above.parent() {
        Some(parent) if name.starts_with("claude-") => parent.join("claude-*"),
        _ => above.join("claude-*"),
    };
    // On macOS, /tmp and /var are links into /private. Nobody has seen which of both paths
    // the client compares with a rule.
    let plain = folder
        .strip_prefix("/private")
        .map(|rest| Path::new("/").join(rest));
    let plain = plain.ok().filter(|_| is_macos).unwrap_or(folder);
    let is_linked = is_macos && ["/tmp", "/var"].iter().any(|link| plain.starts_with(link));
    let real = plain
        .strip_prefix("/")
        .map(|rest| Path::new("/private").join(rest));
    let real = real.ok().filter(|_| is_linked);
    [Some(plain), real].into_iter().flatten().collect()
}
