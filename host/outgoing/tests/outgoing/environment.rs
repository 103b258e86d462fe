//! What a project sets for hooks and shells reaches no git of ours.

use crate::world::{WORDS, World, everything, places};
use keyhole_outgoing::Repository;
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
