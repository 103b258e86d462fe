use super::*;
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
};

#[test]
fn a_text_is_written_so_that_each_format_reads_the_same() {
    for (text, quote, sh) in [
        ("/a/b", "\"/a/b\"", "/a/b"),
        ("/a b", "\"/a b\"", "'/a b'"),
        ("/o'd", "\"/o'd\"", r"'/o'\''d'"),
        ("/#: é", "\"/#: é\"", "'/#: é'"),
        (r#"a"&b"#, r#""a\"&b""#, r#"'a"&b'"#),
        (r"a b\", r#""a b\\""#, r"'a b\'"),
    ] {
        assert_eq!(quoted(text), quote);
        assert_eq!(quoted_for_sh(text), sh);
    }
}

#[test]
fn a_command_holds_only_what_each_shell_reads_as_itself() {
    for text in ["/a/B-9_.md", "/a%b@c+d:e", "acme:reviewer"] {
        assert_eq!(bare_word(text), Some(text));
    }
    let odd = "\u{1b}\u{7}\n\r\t\u{9b}\u{202e}\u{200b}\\ '\"$`;!*?{}()[]<>|&#^~=,é";
    for text in odd.chars().map(|c| format!("/a{c}b")) {
        assert_eq!(bare_word(&text), None, "{text:?}");
        assert_eq!(command(Path::new(&text), "check"), None);
    }
    for text in ["", "-rf", "%1", "~/a", "=a"] {
        assert_eq!(bare_word(text), None, "{text}");
    }
}

#[test]
fn a_command_changes_only_what_is_the_users_own_and_nobody_else_can_replace() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let at = |name: &str| home.join(name);
    fs::create_dir_all(at("real/in")).unwrap();
    fs::write(at("real/in/a.md"), "").unwrap();
    symlink("real", at("link")).unwrap();
    let is_word = |name: &str| word_to_change(&at(name)).is_some();
    for name in ["real/in/a.md", "real/in", "real/in/new/new.toml"] {
        assert!(is_word(name), "{name}");
    }
    for name in ["link", "link/in/a.md", "link/new.toml", "real/../real/in"] {
        assert!(!is_word(name), "{name}");
    }
    // It can be closed itself, and nothing in it.
    fs::set_permissions(at("real"), Permissions::from_mode(0o777)).unwrap();
    assert!(is_word("real"));
    for name in ["real/in", "real/in/a.md", "real/new.toml"] {
        assert!(!is_word(name), "{name}");
    }
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(at("real"), Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(at("real/in"), Some(12345), None).unwrap();
        assert!(!is_word("real/in") && !is_word("real/in/a.md"));
    } else {
        assert_eq!(word_to_change(Path::new("/etc/passwd")), None);
    }
}
