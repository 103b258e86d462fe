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
    let both = ["Read(~/private/**)", "Read(~/private/a.md)"];
    assert_eq!(rules("private/a.md").unwrap(), both);
    let new = ["Read(~/new/**)", "Read(~/new/a.md)"];
    assert_eq!(rules("new/a.md").unwrap(), new);
    let blank = ["Read(~/a b/**)", "Read(~/a b/a.md)"];
    assert_eq!(rules("a b/a.md").unwrap(), blank);
    assert_eq!(rules("notes/a.md").unwrap(), ["Read(~/notes/a.md)"]);
    // Other notes are no documents, unless they are in the folder for these.
    fs::write(home.join("a b/other.md"), "").unwrap();
    assert_eq!(rules("a b/a.md").unwrap(), ["Read(~/a b/a.md)"]);
    fs::write(home.join("private/other.md"), "").unwrap();
    assert_eq!(rules("private/a.md").unwrap(), both);
    assert_eq!(rules("a.md").unwrap(), ["Read(~/a.md)"]);
    assert_eq!(rules("odd(1)/a.md"), None);
    std::os::unix::fs::symlink(home.join("private/a.md"), home.join("link.md")).unwrap();
    let linked = ["Read(~/link.md)", both[0], both[1]];
    assert_eq!(rules("link.md").unwrap(), linked);
    // A folder's rule is none for the file by its name.
    let denied = Denied(vec!["Read(~/**)".to_owned()]);
    let of = |file: &str| places.of_document(&home.join(file), &denied).unwrap();
    assert_eq!(of("private/a.md"), ["Read(~/private/a.md)"]);
    assert!(of("odd(1)/a.md").is_empty());
    let left = places.missing(&denied).unwrap();
    assert!(
        left.iter()
            .all(|rule| rule.contains("/tasks/a") || rule.contains("tmp/claude-*")),
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
    let all = [
        "Read(~/private/**)",
        "Read(~/private/new.md)",
        "Read(~/d/**)",
        "Read(~/d/new.md)",
    ];
    assert_eq!(rules.unwrap(), all);
    for variable in ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR"] {
        let with = |folder: &str| {
            let set = |name: &str| (name == variable).then(|| folder.into());
            Places::find(&home, set).is_some()
        };
        assert!(with("/x/c 1") && !with("/x/c(1), y*"), "{variable}");
    }
}

/// The system, `CLAUDE_CODE_TMPDIR`, what the system's variables say, and where the tasks are.
/// Below /tmp they are always, too.
const FOLDERS: [(&str, &str, &str, &[&str]); 10] = [
    ("linux", "", "", &["/tmp/claude-*"]),
    ("linux", "", "/t", &["/t/claude-*", "/tmp/claude-*"]),
    ("linux", "", "/tmp/claude-7", &["/tmp/claude-*"]),
    ("linux", "/x", "/t", &["/x/claude-*", "/tmp/claude-*"]),
    (
        "linux",
        "/private/tmp",
        "",
        &["/private/tmp/claude-*", "/tmp/claude-*"],
    ),
    // The client takes no notice of TMPDIR there.
    (
        "macos",
        "",
        "/var/folders/zz/T/",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    (
        "macos",
        "/x",
        "/var/folders/zz/T/",
        &["/x/claude-*", "/tmp/claude-*", "/private/tmp/claude-*"],
    ),
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
        &[
            "/var/x/claude-*",
            "/private/var/x/claude-*",
            "/tmp/claude-*",
            "/private/tmp/claude-*",
        ],
    ),
];

#[test]
fn the_tasks_are_where_the_variables_say_and_in_tmp() {
    let set = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
    for (system, own, usual, folders) in FOLDERS {
        let found = folders_of_tasks(system, set(own), set(usual));
        let expected: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        assert_eq!(found, expected, "{system} {own:?} {usual}");
    }
    // The first that is not empty.
    for (set, first) in [
        (&[("TMPDIR", ""), ("TMP", "/b"), ("TEMP", "/c")][..], "/b"),
        (&[("TEMP", "/c")], "/c"),
        (&[("TMPDIR", "/a/./x/../"), ("TMP", "/b")], "/a"),
        (&[("CLAUDE_CODE_TMPDIR", "/d"), ("TMPDIR", "/a")], "/d"),
        (&[("CLAUDE_CODE_TMPDIR", ""), ("TMPDIR", "")], "/tmp"),
    ] {
        let variable = |name: &str| {
            let set = set.iter().find(|(set, _)| *set == name);
            set.map(|(_, value)| OsString::from(value))
        };
        let places = Places::find(Path::new("/h"), variable).unwrap();
        let missing = places.missing(&Denied::default()).unwrap();
        let rule = format!("Read(/{first}/claude-*/**/tasks/a*.output)");
        let rules: Vec<_> = missing
            .iter()
            .filter(|rule| rule.contains(".output"))
            .collect();
        if cfg!(target_os = "linux") {
            assert_eq!(*rules[0], rule, "{missing:?}");
            assert_eq!(
                *rules[rules.len() - 1],
                "Read(//tmp/claude-*/**/tasks/a*.output)"
            );
        }
    }
}

/// The wide rules are enough.
#[test]
fn who_denies_all_of_a_place_needs_no_narrower_rule() {
    let places = Places::find(Path::new("/h"), |_| None).unwrap();
    let narrow = places.missing(&Denied::default()).unwrap();
    assert!(places.too_wide(&Denied(narrow.clone())).is_none());
    assert!(places.missing(&Denied(narrow)).unwrap().is_empty());
    let wide = ["Read(~/.claude/projects/**)", "Read(//tmp/claude-*/**)"];
    let wide = Denied(wide.map(str::to_owned).to_vec());
    if cfg!(target_os = "linux") {
        assert!(places.missing(&wide).unwrap().is_empty());
        assert!(places.too_wide(&wide).unwrap().contains("narrower"));
    }
}

/// The narrow rule and the wide one.
#[test]
fn a_rule_about_transcripts_is_one_for_the_clients_own_folder() {
    let set = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| "/c/d".into());
    let usual = Places::find(Path::new("/h"), |_| None).unwrap();
    let moved = Places::find(Path::new("/h"), set).unwrap();
    for (rule, is_usual, is_moved) in [
        ("Read(~/.claude/projects/**/subagents/**)", true, false),
        ("Read(~/.claude/projects/**)", true, false),
        ("Read(//c/d/projects/**/subagents/**)", false, true),
        ("Read(~/projects/**)", false, false),
        ("Read(~/projects/**/subagents/**)", false, false),
        ("Read(~/.claude/projects/x/**)", false, false),
    ] {
        let found = [&usual, &moved].map(|one| one.is_about_transcripts(rule));
        assert_eq!(found, [is_usual, is_moved], "{rule}");
    }
}

/// Rules are written as the client compares them.
#[test]
fn a_place_is_named_as_it_is_and_by_what_it_leads_to() {
    let above = tempfile::tempdir().unwrap();
    let home = above.path().canonicalize().unwrap();
    fs::create_dir_all(home.join("dotfiles/claude")).unwrap();
    std::os::unix::fs::symlink("dotfiles/claude", home.join(".claude")).unwrap();
    let rules = |own: &str| {
        let set = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| own.into());
        Places::find(&home, set)?.missing(&Denied::default())
    };
    let linked = rules("").unwrap();
    for folder in [".claude", "dotfiles/claude"] {
        let rule = format!("Read(~/{folder}/projects/**/subagents/**)");
        assert!(linked.contains(&rule), "{linked:?}");
    }
    // A home that is a link, with two documents.
    fs::create_dir_all(home.join("real/private")).unwrap();
    std::os::unix::fs::symlink("real", home.join("me")).unwrap();
    for file in ["a.md", "b.md"] {
        fs::write(home.join("real/private").join(file), "").unwrap();
    }
    let places = Places::find(&home.join("me"), |_| None).unwrap();
    let file = home.join("me/private/a.md");
    let real = format!("Read(/{}/real/private", home.display());
    let rules_of = places.of_document(&file, &Denied::default()).unwrap();
    assert_eq!(
        rules_of,
        [
            "Read(~/private/**)".to_owned(),
            "Read(~/private/a.md)".to_owned(),
            format!("{real}/**)"),
            format!("{real}/a.md)"),
        ]
    );
    for own in ["/c/d", "/c/d/", "/c/./d", "/c/x/../d"] {
        assert_eq!(
            rules(own).unwrap()[0],
            "Read(//c/d/projects/**/subagents/**)"
        );
    }
    for own in ["c/d", "~/c", "./c"] {
        assert_eq!(rules(own), None, "{own}");
    }
}
