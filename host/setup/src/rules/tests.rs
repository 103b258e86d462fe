use super::*;

/// The rules for one file, or None if no rule can name it.
fn rules_of(places: &Places, file: &Path, denied: &Denied) -> Option<Vec<String>> {
    let all = places.missing(denied, &[file.to_owned()], None);
    let others = places.missing(denied, &[], None);
    let of_file = all.0.into_iter().filter(|rule| !others.0.contains(rule));
    all.1.is_empty().then(|| of_file.collect())
}

#[test]
fn a_file_among_other_things_gets_a_rule_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    for folder in ["private", "notes", "a b", "odd(1)", "blank "] {
        fs::create_dir(home.join(folder)).unwrap();
        fs::write(home.join(folder).join("a.md"), "").unwrap();
    }
    fs::write(home.join("notes/other.txt"), "").unwrap();
    fs::write(home.join("a.md"), "").unwrap();
    std::os::unix::fs::symlink(home.join("private/a.md"), home.join("link.md")).unwrap();
    let places = Places::find(&home, |_| None).unwrap();
    let of = |file: &str, denied: &Denied| {
        let rules = rules_of(&places, &home.join(file), denied);
        rules.map_or_else(|| "none".to_owned(), |rules| rules.join(" "))
    };
    let rules = |file: &str| of(file, &Denied::default());
    let both = "Read(~/private/**) Read(~/private/a.md)";
    for (file, said) in [
        ("private/a.md", both),
        ("new/a.md", "Read(~/new/**) Read(~/new/a.md)"),
        ("a b/a.md", "Read(~/a b/**) Read(~/a b/a.md)"),
        ("notes/a.md", "Read(~/notes/a.md)"),
        ("a.md", "Read(~/a.md)"),
        ("odd(1)/a.md", "none"),
        ("blank /a.md", "none"),
        ("link.md", &format!("Read(~/link.md) {both}")),
    ] {
        assert_eq!(rules(file), said, "{file}");
    }
    // Other notes are no files for agents, unless they are in the folder for these.
    fs::write(home.join("a b/other.md"), "").unwrap();
    assert_eq!(rules("a b/a.md"), "Read(~/a b/a.md)");
    fs::write(home.join("private/other.md"), "").unwrap();
    assert_eq!(rules("private/a.md"), both);
    // A folder's rule is none for the file by its name.
    let denied = Denied(vec!["Read(~/**)".to_owned()]);
    assert_eq!(of("private/a.md", &denied), "Read(~/private/a.md)");
    assert_eq!(of("odd(1)/a.md", &denied), "");
}

#[test]
fn a_rule_is_told_for_a_new_file_behind_a_link_and_for_no_path_that_it_reads_otherwise() {
    let above = tempfile::tempdir().unwrap();
    let home = above.path().canonicalize().unwrap().join("a,b");
    fs::create_dir_all(home.join("d")).unwrap();
    std::os::unix::fs::symlink(home.join("d"), home.join("private")).unwrap();
    let places = Places::find(&home, |_| None).unwrap();
    let all = [
        "Read(~/private/**)",
        "Read(~/private/new.md)",
        "Read(~/d/**)",
        "Read(~/d/new.md)",
    ];
    let rules = rules_of(&places, &home.join("private/new.md"), &Denied::default());
    assert_eq!(rules.unwrap(), all);
    for variable in ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "TMPDIR", "TEMP"] {
        let with = |folder: &str| {
            let set = |name: &str| (name == variable).then(|| folder.into());
            Places::find(&home, set)
                .map(drop)
                .map_err(|why| why.to_string())
        };
        assert_eq!(with("/x/c 1"), Ok(()));
        for folder in ["/x/c(1), y*", "x", "~/x", "./x", "/x /y"] {
            let why = with(folder).unwrap_err();
            assert!(why.starts_with(&format!("{variable} must be")), "{why}");
        }
    }
}

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
        let (missing, _) = places.missing(&Denied::default(), &[], None);
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
    let missing = |denied: &Denied| places.missing(denied, &[], Some(Path::new("/h/s"))).0;
    let narrow = missing(&Denied::default());
    assert!(places.too_wide(&Denied(narrow.clone())).is_none());
    assert!(missing(&Denied(narrow)).is_empty());
    let wide = [
        "Read(~/.claude/projects/**)",
        "Read(//tmp/claude-*/**)",
        "Read(~/s/**)",
        "Bash",
    ];
    let wide = Denied(wide.map(str::to_owned).to_vec());
    if cfg!(target_os = "linux") {
        assert!(missing(&wide).is_empty());
        assert!(places.wider(&wide).is_empty());
        assert!(places.too_wide(&wide).unwrap().contains("narrower"));
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
        let is_set = |name: &str| name == "CLAUDE_CONFIG_DIR" && !own.is_empty();
        let set = |name: &str| is_set(name).then(|| own.into());
        let places = Places::find(&home, set).unwrap();
        places.missing(&Denied::default(), &[], None).0
    };
    let linked = rules("");
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
    assert_eq!(
        rules_of(&places, &file, &Denied::default()).unwrap(),
        [
            "Read(~/private/**)".to_owned(),
            "Read(~/private/a.md)".to_owned(),
            format!("{real}/**)"),
            format!("{real}/a.md)"),
        ]
    );
    for own in ["/c/d", "/c/d/", "/c/./d", "/c/x/../d"] {
        assert_eq!(rules(own)[0], "Read(//c/d/projects/**/subagents/**)");
    }
}
