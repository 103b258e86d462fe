use super::*;

/// The system, `CLAUDE_CODE_TMPDIR`, what the system's variables say, and where the tasks are.
/// Below /tmp they are always, too. On macOS, a link leads from /tmp and /var into /private.
const FOLDERS: [(&str, &str, &str, &str); 10] = [
    ("linux", "", "", "/tmp"),
    ("linux", "", "/t", "/t /tmp"),
    ("linux", "", "/tmp/claude-7", "/tmp"),
    ("linux", "/x", "/t", "/x /tmp"),
    ("linux", "/private/tmp", "", "/private/tmp /tmp"),
    // The client takes no notice of TMPDIR there.
    ("macos", "", "/var/folders/zz/T/", "/tmp"),
    ("macos", "/x", "/var/folders/zz/T/", "/x /tmp"),
    ("macos", "/tmp/claude-501", "/tmp", "/tmp"),
    ("macos", "/private/tmp/claude-501", "/tmp", "/tmp"),
    ("macos", "/private/var/x", "/tmp", "/var/x /tmp"),
];

#[test]
fn the_tasks_are_where_the_variables_say_and_in_tmp() {
    let set = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
    for (system, own, usual, folders) in FOLDERS {
        let found = folders_of_tasks(system, set(own), set(usual));
        let expected: Vec<_> = folders.split(' ').map(PathBuf::from).collect();
        assert_eq!(found, expected, "{system} {own:?} {usual}");
    }
}
