//! What a project sets for hooks and shells reaches no git of ours.

use crate::world::{WORDS, World, everything, places};
use keyhole_outgoing::{Repository, Uncollected};
use std::{env, fs, path::PathBuf, process::Command};

/// The variable that tells the child where the world is.
const HERE: &str = "KEYHOLE_TEST_FOLDER";

/// Plays the process whose environment is a project's. Alone, it does nothing.
#[test]
fn child() {
    let Some(folder) = env::var_os(HERE).map(PathBuf::from) else {
        return;
    };
    let here = folder.join("r");
    let repository = Repository::find(&here).unwrap().unwrap();
    let outgoing = repository.collect(&here, &everything(), &folder.join("scratch"));
    let outgoing = outgoing.unwrap();
    for word in WORDS {
        assert!(!places(&outgoing, word).is_empty(), "{word}");
    }
    fs::write(folder.join("told"), "").unwrap();
}

/// The variable that tells the child what is expected of a session's repository.
const SESSION: &str = "KEYHOLE_TEST_SESSION";

/// Plays a session's hook.
#[test]
fn sessions_child() {
    let Some(folder) = env::var_os(HERE).map(PathBuf::from) else {
        return;
    };
    let found = Repository::of_session(&folder.join("r"));
    let is_refused = found == Err(Uncollected::Elsewhere);
    assert_eq!(is_refused, env::var(SESSION).unwrap() == "refused");
    fs::write(folder.join("told"), "").unwrap();
}

#[test]
fn variables_that_have_git_use_other_files_are_refused_and_no_others() {
    let world = World::new();
    for (variable, expected) in [
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "refused"),
        ("GIT_ATTR_SOURCE", "refused"),
        ("GIT_COMMON_DIR", "refused"),
        ("GIT_DIR", "refused"),
        ("GIT_INDEX_FILE", "refused"),
        ("GIT_OBJECT_DIRECTORY", "refused"),
        ("GIT_REFERENCE_BACKEND", "refused"),
        ("GIT_SHALLOW_FILE", "refused"),
        ("GIT_WORK_TREE", "refused"),
        ("GIT_AUTHOR_NAME", "found"),
        ("GIT_CONFIG_COUNT", "found"),
        ("GIT_EDITOR", "found"),
        ("GIT_TERMINAL_PROMPT", "found"),
    ] {
        let run = Command::new(env::current_exe().unwrap())
            .args(["--exact", "environment::sessions_child"])
            .env(HERE, world.path(""))
            .env(SESSION, expected)
            .env(variable, "1")
            .output()
            .unwrap();
        let told = fs::remove_file(world.path("told"));
        assert!(told.is_ok(), "{variable}: {run:?}");
    }
}

#[test]
fn a_projects_variables_run_nothing_and_hide_nothing() {
    let world = World::with_words();
    let trap = |name: &str| world.path("t").join(name).display().to_string();
    let other = world.path("other").display().to_string();
    world.sh_in(".", "git init -q other; mkdir bin; cp t/alias bin/git");
    let pairs = [
        ("GIT_EXTERNAL_DIFF", trap("external")),
        ("GIT_PAGER", trap("pager")),
        ("PAGER", trap("pager")),
        ("GIT_SSH_COMMAND", trap("sshcmd")),
        ("GIT_ASKPASS", trap("askpass")),
        ("GIT_CONFIG_COUNT", "1".to_owned()),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor".to_owned()),
        ("GIT_CONFIG_VALUE_0", trap("fsmonitor")),
        (
            "GIT_CONFIG_PARAMETERS",
            format!("'core.fsmonitor={}'", trap("fsmonitor")),
        ),
        ("GIT_DIR", format!("{other}/.git")),
        ("GIT_WORK_TREE", other.clone()),
        ("GIT_INDEX_FILE", format!("{other}/index")),
        ("GIT_OBJECT_DIRECTORY", format!("{other}/.git/objects")),
        ("GIT_TRACE", format!("{other}/trace")),
        ("PATH", world.path("bin").display().to_string()),
        ("GIT_EXEC_PATH", world.path("bin").display().to_string()),
        ("GIT_TEMPLATE_DIR", other.clone()),
        ("GIT_CONFIG_GLOBAL", format!("{other}/config")),
        ("HOME", other.clone()),
    ];
    let mut cases: Vec<Vec<(&str, String)>> = vec![pairs.to_vec()];
    cases.extend(pairs.map(|pair| vec![pair]));
    world.fired();
    for variables in cases {
        let run = Command::new(env::current_exe().unwrap())
            .args(["--exact", "environment::child"])
            .env(HERE, world.path(""))
            .envs(variables.clone())
            .output()
            .unwrap();
        let told = fs::remove_file(world.path("told"));
        assert!(told.is_ok(), "{variables:?}: {run:?}");
        assert_eq!(world.fired(), "", "{variables:?}");
    }
    assert!(!world.path("other/trace").exists());
}

/// Plays a call that takes all files, and tells whether a file `i` is one of them.
#[test]
fn ignoring_child() {
    let Some(folder) = env::var_os(HERE).map(PathBuf::from) else {
        return;
    };
    let here = folder.join("r");
    let repository = Repository::find(&here).unwrap().unwrap();
    let outgoing = repository.collect(&here, &everything(), &folder.join("scratch"));
    let times = places(&outgoing.unwrap(), "INIGNORED").len();
    fs::write(folder.join("told"), times.to_string()).unwrap();
}

/// What was done before, a variable and its value beneath the world, and whether the file `i` is
/// told.
type Ignored = (&'static str, Option<(&'static str, &'static str)>, bool);

const IGNORED: [Ignored; 17] = [
    ("true", None, true),
    ("echo i >$h/.config/git/ignore", None, false),
    (
        "echo i >$h/x; ln -s ../../x $h/.config/git/ignore",
        None,
        true,
    ),
    (
        "mkdir -p $h/x/git; echo i >$h/x/git/ignore",
        Some(("XDG_CONFIG_HOME", "h/x")),
        false,
    ),
    (
        "echo i >$h/.ignore; git config -f $h/.gitconfig core.excludesFile '~/.ignore'",
        None,
        false,
    ),
    (
        "echo i >$h/list; git config -f $h/.gitconfig core.excludesFile '~/list'",
        None,
        true,
    ),
    (
        "echo i >$h/.config/git/ignore; git config -f $h/.gitconfig include.path x",
        None,
        true,
    ),
    (
        "echo i >$h/ignore; git config -f $h/.config/git/config core.excludesFile $h/ignore",
        None,
        false,
    ),
    (
        "echo i >$h/.config/git/ignore; git config -f $h/.gitconfig core.excludesFile '~/x'",
        None,
        true,
    ),
    (
        "echo i >x; git config -f $h/.gitconfig core.excludesFile x",
        None,
        true,
    ),
    (
        "echo i >$h/x; git config core.excludesFile $h/x",
        None,
        true,
    ),
    (
        "echo i >$h/.config/git/ignore; git config core.excludesFile /dev/null",
        None,
        true,
    ),
    (
        "echo i >$h/.config/git/ignore; git config include.path ../x",
        None,
        true,
    ),
    (
        "echo i >x; ln -s ../../../r/x $h/.config/git/ignore",
        None,
        true,
    ),
    (
        "echo i >$h/.config/git/ignore; echo '!i' >.git/info/exclude",
        None,
        true,
    ),
    ("mkfifo $h/.config/git/ignore", None, true),
    (
        "echo i >$h/.config/git/ignore",
        Some(("GIT_CONFIG_GLOBAL", "h/x")),
        true,
    ),
];

#[test]
fn what_the_users_git_ignores_is_not_new_and_no_project_chooses_it() {
    for (before, variable, is_told) in IGNORED {
        let world = World::new();
        world.sh(&format!(
            "h=$dir/h; mkdir -p $h/.config/git; echo INIGNORED >i; {before}"
        ));
        let mut child = Command::new(env::current_exe().unwrap());
        child
            .args(["--exact", "environment::ignoring_child"])
            .env(HERE, world.path(""))
            .env("HOME", world.path("h"))
            .env_remove("XDG_CONFIG_HOME");
        if let Some((name, folder)) = variable {
            child.env(name, world.path(folder));
        }
        let run = child.output().unwrap();
        let told = fs::read_to_string(world.path("told"));
        let times = if is_told { "1" } else { "0" };
        assert_eq!(told.as_deref().ok(), Some(times), "{before}: {run:?}");
    }
}
