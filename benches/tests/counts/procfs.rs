//! What Linux counts for a process or a thread, in its folder of `/proc`.

use std::{fs, io, path::Path};

/// How often it has touched a page that was not there.
pub(crate) fn page_faults(folder: &Path) -> u64 {
    let counts = fs::read_to_string(folder.join("stat")).unwrap();
    // Its name is in brackets, and may hold anything.
    let (_, behind) = counts.rsplit_once(") ").unwrap();
    behind.split(' ').nth(7).unwrap().parse().unwrap()
}

/// How often it has read. On some systems, only root sees that.
pub(crate) fn reads(folder: &Path) -> io::Result<u64> {
    number(&folder.join("io"), "syscr")
}

/// The number behind `name`, in a file.
pub(crate) fn number(file: &Path, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    let rest = rest.and_then(|rest| rest.strip_prefix(':'));
    Ok(rest
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap())
}
