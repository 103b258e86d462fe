use super::{drive, is_called, is_from_drive, is_plain, may_be_short, split};

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
fn a_name_with_a_tilde_may_be_short_for_another() {
    assert!(may_be_short("PROGRA~1") && !may_be_short("program.md"));
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
    // The rest after the empty name is no drive either.
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
