//! `host/src/map/resolve.rs`, as it was.

use crate::files::{Files, Handle};
use keyhole::{Location, walk::Fault};

const ATTEMPTS: usize = 3;

pub(super) fn resolve(
    files: &Files,
    location: &Location,
    roots: &[&str],
    path: &str,
) -> Result<(Handle, String), String> {
    let named = expand(location, path);
    for _ in 0..ATTEMPTS {
        let (directory, name) = locate(files, location, roots, &named)?;
        match files.open_without_links(&directory) {
            Ok(directory) => return Ok((directory, name)),
            Err(Fault::IsLink | Fault::Missing) => {}
            Err(fault) => return Err(format!("{fault:?}")),
        }
    }
    Err("outside-root".into())
}

fn locate(
    files: &Files,
    location: &Location,
    roots: &[&str],
    named: &str,
) -> Result<(String, String), String> {
    let real = files
        .canonicalize(named)
        .map_err(|fault| format!("{fault:?}"))?;
    let (directory, name) = real.rsplit_once('/').ok_or("not-a-file")?;
    if !name.ends_with(".md") {
        return Err("not-markdown".into());
    }
    let inside = |root: &&str| {
        let root = files.canonicalize(&expand(location, root));
        root.is_ok_and(|root| format!("{directory}/").starts_with(&format!("{root}/")))
    };
    if !roots.is_empty() && !roots.iter().any(inside) {
        return Err("outside-root".into());
    }
    Ok((directory.to_owned(), name.to_owned()))
}

fn expand(location: &Location, path: &str) -> String {
    let base = match path.strip_prefix("~/") {
        Some(rest) => location.home().unwrap().join(rest),
        None => location.directory().join(path),
    };
    base.to_str().unwrap().to_owned()
}
