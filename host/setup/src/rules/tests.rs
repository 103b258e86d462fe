use super::*;

#[test]
fn a_document_among_other_things_gets_a_rule_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    for folder in ["private", "notes", "a b", "odd(1)"] {
        fs::create_dir(home.join(folder)).unwrap();
        fs::write(home.join(folder).join("a.md"), "").unwrap();
    }
    fs::write(home.join("notes/other.txt"), "").unwrap();
    fs::write(home.join("a.md"), "").unwrap();
    let places = Places::find(&home, |_| None).unwrap();
    let rules = |file: &str| places.of_document(&home.join(file), &Denied::default());
    assert_eq!(rules("private/a.md").unwrap(), ["Read(~/private/**)"]);
    assert_eq!(rules("new/a.md").unwrap(), ["Read(~/new/**)"]);
    assert_eq!(rules("a b/a.md").unwrap(), ["Read(~/a b/**)"]);
    assert_eq!(rules("notes/a.md").unwrap(), ["Read(~/notes/a.md)"]);
    // Other notes are no documents, unless they are in the folder for these.
    fs::write(home.join("a b/other.md"), "").unwrap();
    assert_eq!(rules("a b/a.md").unwrap(), ["Read(~/a b/a.md)"]);
    fs::write(home.join("private/other.md"), "").unwrap();
    assert_eq!(rules("private/a.md").unwrap(), ["Read(~/private/**)"]);
    assert_eq!(rules("a.md").unwrap(), ["Read(~/a.md)"]);
    assert_eq!(rules("odd(1)/a.md"), None);
    std::os::unix::fs::symlink(home.join("private/a.md"), home.join("link.md")).unwrap();
    assert_eq!(
        rules("link.md").unwrap(),
        ["Read(~/link.md)", "Read(~/private/**)"]
    );
    let denied = Denied(vec!["Read(~/**)".to_owned()]);
    assert!(
        places
            .of_document(&home.join("a.md"), &denied)
            .unwrap()
            .is_empty()
    );
    let left = places.missing(&denied);
    assert!(
        left.iter().all(|rule| rule.contains("claude-*")),
        "{left:?}"
    );
}

#[test]
fn a_rule_is_told_for_a_new_file_behind_a_link_and_for_no_path_that_it_reads_otherwise() {
    let above = tempfile::tempdir().unwrap();
    let home = above.path().canonicalize().unwrap().join("a,b");
    fs::create_dir_all(home.join("d")).unwrap();
    std::os::unix::fs::symlink(home.join("d"), home.join("private")).unwrap();
    let places = Places::find(&home, |_| None).unwrap();
    let rules = places.of_document(&home.join("private/new.md"), &Denied::default());
    assert_eq!(rules.unwrap(), ["Read(~/private/**)", "Read(~/d/**)"]);
    for variable in ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR"] {
        let with = |folder: &str| {
            let set = |name: &str| (name == variable).then(|| folder.into());
            Places::find(&home, set).is_some()
        };
        assert!(with("/x/c 1") && !with("/x/c(1), y*"), "{variable}");
    }
}

/// The system, CLAUDE_CODE_TMPDIR, the temporary folder, and where the tasks are.
const FOLDERS: [(&str, &str, &str, &[&str]); 10] = [
    ("linux", "", "/tmp", &["/tmp/claude-*"]),
    ("linux", "", "/t", &["/t/claude-*"]),
    ("linux", "", "/t/claude-7", &["/t/claude-*"]),
    ("linux", "/x", "/t", &["/x/claude-*"]),
    ("linux", "/private/tmp", "/t", &["/private/tmp/claude-*"]),
    // The client takes no notice of TMPDIR there.
    (
        "macos",
        "",
        "/var/folders/zz/T/",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    ("macos", "/x", "/var/folders/zz/T/", &["/x/claude-*"]),
    (
        "macos",
        "/tmp/claude-501",
        "/tmp",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    (
        "macos",
        "/private/tmp/claude-501",
        "/tmp",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    (
        "macos",
        "/private/var/x",
        "/tmp",
        &["/var/x/claude-*", "/private/var/x/claude-*"],
    ),
];

#[test]
fn on_macos_the_tasks_are_in_tmp_whatever_tmpdir_says() {
    for (system, own, usual, folders) in FOLDERS {
        let found = folders_of_tasks(system, Some(PathBuf::from(own)), usual.into());
        let expected: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        assert_eq!(found, expected, "{system} {own:?} {usual}");
    }
    assert_eq!(
        folders_of_tasks("linux", None, "/t".into()),
        [PathBuf::from("/t/claude-*")]
    );
}
