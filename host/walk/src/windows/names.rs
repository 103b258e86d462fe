//! Names on Windows: which ones mean themselves, and which mean something else.
//!
//! Windows accepts `C:\a`, `C:a`, `\a`, `\\server\share`, `\\?\…` and `\\.\…` as paths;
//! here only the first is a path. A walk begins above the drives, as it begins at `/` on
//! other systems, and the drive is the first name.

/// Names that are devices, even with something after a dot.
const DEVICES: [&str; 7] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];

/// The letter of a drive, if `name` is a letter and a colon.
pub(crate) fn drive(name: &str) -> Option<char> {
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some(letter), Some(':'), None) if letter.is_ascii_alphabetic() => Some(letter),
        _ => None,
    }
}

/// Whether this name in a directory means the same to every program. It does not if it
/// names a stream of a file (`a.md:x`) or a device (`NUL`, `com1.md`), if Windows cuts
/// off its end (`a.md.`, `a.md `), or if it has forbidden characters.
pub(crate) fn is_plain(name: &str) -> bool {
    let odd = |c: char| c < ' ' || "<>:\"/\\|?*".contains(c);
    !name.is_empty() && !name.ends_with(['.', ' ']) && !name.contains(odd) && !is_device(name)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let mut chars = stem.chars();
    let last = chars.next_back();
    DEVICES
        .iter()
        .any(|device| device.eq_ignore_ascii_case(stem))
        || (["COM", "LPT"]
            .iter()
            .any(|port| chars.as_str().eq_ignore_ascii_case(port))
            && last.is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c)))
}

/// The names in a path, the last one first, with the empty ones. A path that begins
/// with two separators is returned as one name, which no file can have.
pub(crate) fn split(path: &str) -> Vec<&str> {
    match path.chars().take(2).filter(|c| is_separator(*c)).count() {
        2 => vec![path],
        _ => path.rsplit(is_separator).collect(),
    }
}

/// Whether a path begins with a drive and its root.
pub(crate) fn is_from_drive(path: &str) -> bool {
    path.get(..2).is_some_and(|name| drive(name).is_some())
        && path
            .get(2..)
            .is_some_and(|rest| rest.starts_with(is_separator))
}

/// Whether the object that was opened as `name` has that name at the end of its `real`
/// path. If not, `name` is an 8.3 name (`SECRET~1.MD`). Case may differ for letters
/// that all of Windows' tables treat as the same.
pub(crate) fn is_called(name: &str, real: &str) -> bool {
    let last = real.rsplit(is_separator).next().unwrap_or_default();
    let fold = |text: &str| {
        text.chars()
            .flat_map(char::to_uppercase)
            .collect::<String>()
    };
    fold(name) == fold(last)
}

/// Whether a name may be an 8.3 name: Windows puts a `~` into those that it makes.
pub(crate) fn may_be_short(name: &str) -> bool {
    name.contains('~')
}

fn is_separator(c: char) -> bool {
    matches!(c, '\\' | '/')
}

#[cfg(test)]
mod tests;
