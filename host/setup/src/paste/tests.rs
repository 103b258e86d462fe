use super::*;
use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    process::Command,
};

#[test]
fn a_text_is_written_so_that_each_format_and_shell_reads_the_same() {
    for (text, script, yaml, shell) in [
        ("/a/b", "'/a/b'", "/a/b", "/a/b"),
        ("/a b", "'/a b'", "\"/a b\"", "'/a b'"),
        ("/o'd", "\"/o'd\"", "\"/o'd\"", r"'/o'\''d'"),
        ("/#: é", "'/#: é'", "\"/#: é\"", "'/#: é'"),
        ("~/a", "'~/a'", "\"~/a\"", "'~/a'"),
        ("=a", "'=a'", "\"=a\"", "'=a'"),
        (r#"a"&b"#, r#"'a"&b'"#, r#""a\"&b""#, r#"'a"&b'"#),
        ("a%b%", "'a%b%'", "\"a%b%\"", "a%b%"),
        (r"a b\", r#""a b\\""#, r#""a b\\""#, ""),
    ] {
        assert_eq!(script_text(text), script);
        assert_eq!(yaml_text(text), yaml);
        assert_eq!(shell_word(text).unwrap_or_default(), shell, "{text}");
    }
}

/// What a name may hold, and no reader sees as it is, or a shell reads in its own way.
const NEVER: [&[u8]; 12] = [
    b"\x1b]52;c;cm0gLXJmIH4=\x07",
    b"a\x07",
    b"a\nb",
    b"a\rb",
    b"a\tb",
    "\u{9b}2J".as_bytes(),
    "\u{85}".as_bytes(),
    "a\u{202e}b".as_bytes(),
    "a\u{200b}b".as_bytes(),
    "a\u{2028}b".as_bytes(),
    b"\xff",
    b"a\\b",
];
const QUOTED: [&str; 12] = [
    "a b", "o'd", "\"", "$HOME", "`id`", "$(id)", "a;id", "!!", "*", "{a,b}", "é", "-rf",
];

#[test]
fn no_command_holds_what_a_reader_cannot_see_and_each_shell_reads_the_name_itself() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    for name in NEVER {
        let path = folder.join(OsStr::from_bytes(name));
        fs::write(&path, "").unwrap();
        assert_eq!(word(&path), None, "{name:?}");
        assert_eq!(command(&path, "check"), None, "{name:?}");
    }
    for shell in ["sh", "bash", "zsh", "fish"] {
        for name in QUOTED {
            let path = folder.join(name);
            fs::write(&path, "").unwrap();
            let line = format!("printf %s {}", word(&path).unwrap());
            #[expect(clippy::disallowed_methods, reason = "a test starts the shells")]
            let ran = Command::new(shell).args(["-c", &line]).output();
            let Ok(ran) = ran else {
                keyhole_tree::skipped(format_args!("no {shell} here"));
                break;
            };
            assert_eq!(ran.stdout, path.as_os_str().as_bytes(), "{shell}: {line}");
        }
    }
}

#[test]
fn a_command_names_nothing_that_a_link_leads_to_and_no_endless_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    fs::create_dir(folder.join("real")).unwrap();
    symlink("real", folder.join("link")).unwrap();
    fs::write(folder.join("real/a.md"), "").unwrap();
    assert!(word(&folder.join("real/a.md")).is_some());
    assert_eq!(word(&folder.join("link/a.md")), None);
    assert_eq!(word(&folder.join("link")), None);
    assert_eq!(word(&folder.join("a/".repeat(2100))), None);
    // Another user's, or root's, is not the user's own to change.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(folder.join("real"), Some(12345), None).unwrap();
        assert_eq!(word(&folder.join("real/a.md")), None);
        assert_eq!(word(&folder.join("real")), None);
    } else {
        assert_eq!(word(Path::new("/etc/passwd")), None);
    }
}
