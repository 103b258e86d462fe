//! Names on Windows: which mean themselves, and which mean something else.
//!
//! Windows takes `C:\a`, `C:a`, `\a`, `\\server\share`, `\\?\…` and `\\.\…` for paths;
//! only the first is one here. The drives stand where `/` stands elsewhere: a walk
//! begins above them, and a drive is the first name.

/// Names that are devices, whatever is behind a dot.
const DEVICES: [&str; 7] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];

/// A drive's letter, if `name` is one and a colon.
pub(crate) fn drive(name: &str) -> Option<char> {
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some(letter), Some(':'), None) if letter.is_ascii_alphabetic() => Some(letter),
        _ => None,
    }
}

/// Whether a name in a directory means itself to every program. Not so are: a stream of
/// a file (`a.md:x`), a device (`NUL`, `com1.md`), what Windows cuts off (`a.md.`,
/// `a.md `), and what no name may hold.
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

/// The names in a path, last first; empty ones too. A path that begins with two
/// separators is a single name, which none can be.
pub(crate) fn split(path: &str) -> Vec<&str> {
    match path.chars().take(2).filter(|c| is_separator(*c)).count() {
        2 => vec![path],
        _ => path.rsplit(is_separator).collect(),
    }
}

/// Whether a path begins with a drive, and goes on from its root.
pub(crate) fn is_from_drive(path: &str) -> bool {
    path.get(..2).is_some_and(|name| drive(name).is_some())
        && path
            .get(2..)
            .is_some_and(|rest| rest.starts_with(is_separator))
}

/// Whether what was opened as `name` has this as its `real` path's last name. Another
/// one is an 8.3 name (`SECRET~1.MD`). Case may differ, as far as it is told alike in
/// all tables.
pub(crate) fn is_called(name: &str, real: &str) -> bool {
    let last = real.rsplit(is_separator).next().unwrap_or_default();
    let fold = |text: &str| {
        text.chars()
            .flat_map(char::to_uppercase)
            .collect::<String>()
    };
    fold(name) == fold(last)
}

/// Whether a name may be an 8.3 name: those that Windows makes have a `~`.
pub(crate) fn may_be_short(name: &str) -> bool {
    name.contains('~')
}

fn is_separator(c: char) -> bool {
    matches!(c, '\\' | '/')
}

#[cfg(test)]
mod tests {
    use super::{drive, is_called, is_from_drive, is_plain, split};

    #[test]
    fn a_name_that_means_something_else_is_none() {
        for name in [
            "",
            "a.md:x",
            "a.md::$DATA",
            ":x.md",
            "C:",
            "C:a.md",
            "a.md.",
            "a.md ",
            "a.md. .",
            "nul",
            "NUL.md",
            "nul .md",
            "Con.a.md",
            "com1.md",
            "COM¹.md",
            "lpt0",
            "LPT9.txt.md",
            "conin$",
            "CONOUT$.md",
            "aux.md",
            "a/b.md",
            "a\\b.md",
            "a*.md",
            "a?.md",
            "a\".md",
            "a<b.md",
            "a|b.md",
            "a\u{1}.md",
            "a\0.md",
        ] {
            assert!(!is_plain(name), "{name:?}");
        }
        for name in [
            "a.md", " a.md", ".md", "..a", "com.md", "com10.md", "comx.md", "nula.md", "é.md",
            "lpt.md", "a~1.md", "a b.md", "con-a.md",
        ] {
            assert!(is_plain(name), "{name:?}");
        }
    }

    #[test]
    fn only_a_path_from_a_drives_root_begins_with_a_drive() {
        for (path, first) in [
            (r"C:\a\b.md", "C:"),
            ("c:/a/b.md", "c:"),
            (r"C:a.md", "C:a.md"),
            (r"a\b.md", "a"),
            (r"\\server\share\a.md", r"\\server\share\a.md"),
            ("//server/share/a.md", "//server/share/a.md"),
            (r"\\?\C:\a.md", r"\\?\C:\a.md"),
            (r"\\.\C:\a.md", r"\\.\C:\a.md"),
            (r"/\?\C:\a.md", r"/\?\C:\a.md"),
            (r"\??\C:\a.md", ""),
            (r"\a.md", ""),
        ] {
            let names = split(path);
            assert_eq!(names.last(), Some(&first), "{path}");
            assert_eq!(drive(first).is_some(), is_from_drive(path), "{path}");
        }
        // What is left when the empty name is passed over is no drive either.
        assert_eq!(split(r"\??\C:\a.md"), ["a.md", "C:", "??", ""]);
        assert!(!is_from_drive("C:"));
        assert!(!is_from_drive("é:\\"));
        assert_eq!(drive("é:"), None);
        assert_eq!(split(r"C:\a\"), ["", "a", "C:"]);
    }

    #[test]
    fn a_short_name_is_not_what_a_file_is_called() {
        assert!(is_called("Notes.MD", r"\Users\jane\notes.md"));
        assert!(is_called("É~1.md", r"\é~1.md"));
        assert!(!is_called("SECRET~1.MD", r"\Users\jane\secret-notes.md"));
        assert!(!is_called("a.md", ""));
    }
}
