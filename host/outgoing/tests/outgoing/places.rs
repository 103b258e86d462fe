//! Which repository a folder belongs to, of each kind, and what is not one.

use crate::world::{WORDS, World, everything, places};
use keyhole_outgoing::{Repository, Uncollected};

/// What was found from a folder of the world: the top and the main checkout, relative to it.
fn found(world: &World, folder: &str) -> Option<(String, String)> {
    let repository = Repository::find(&world.path(folder)).unwrap()?;
    let all = world.path("");
    let shown = [repository.top(), repository.main_checkout()].map(|path| {
        let relative = path.strip_prefix(&all).unwrap();
        relative.display().to_string()
    });
    let [top, main] = shown;
    Some((top, main))
}

/// The same, as it is expected.
fn both(top: &str, main: &str) -> Option<(String, String)> {
    Some((top.to_owned(), main.to_owned()))
}

#[test]
fn a_folder_belongs_to_the_first_repository_above_it() {
    let world = World::new();
    world.sh("mkdir -p d/e; git init -q d/own; mkdir d/own/f; ln -s r/d/e ../link");
    assert_eq!(found(&world, "r"), both("r", "r"));
    assert_eq!(found(&world, "r/d/e"), both("r", "r"));
    assert_eq!(found(&world, "r/d/own/f"), both("r/d/own", "r/d/own"));
    assert_eq!(found(&world, "link"), both("r", "r"));
    assert_eq!(found(&world, "scratch"), None);
    assert_eq!(found(&world, "r/missing"), None);
}

#[test]
fn a_worktree_belongs_to_its_main_checkout() {
    let world = World::with_words();
    world.sh(
        "git worktree add -q ../w HEAD; echo INSTAGED >>../w/a.txt; git -C ../w add a.txt
        echo INCHANGED >>../w/b.txt; mkdir ../w/d",
    );
    assert_eq!(found(&world, "w/d"), both("w", "r"));
    let outgoing = world.collect_in("w", &everything()).unwrap();
    for word in WORDS {
        assert!(!places(&outgoing, word).is_empty(), "{word}");
    }
    assert_eq!(
        (outgoing.staged, outgoing.changed, outgoing.commits),
        (1, 1, 2)
    );
}

#[test]
fn a_submodule_and_a_checkout_with_its_folder_elsewhere_are_their_own() {
    let world = World::new();
    world.sh("git -c protocol.file.allow=always submodule -q add ../o s
        git clone -q --separate-git-dir ../elsewhere.git ../o ../c
        git -C s worktree add -q ../../sw HEAD");
    assert_eq!(found(&world, "r/s"), both("r/s", "r/s"));
    assert_eq!(found(&world, "c"), both("c", "c"));
    assert_eq!(found(&world, "sw"), both("sw", "r/.git/modules/s"));
}

#[test]
fn a_session_is_told_of_no_repository_that_is_elsewhere() {
    let world = World::new();
    world.sh("git -c protocol.file.allow=always submodule -q add ../o s
        git clone -q --separate-git-dir ../elsewhere.git ../o ../c
        git commit -qm s; git worktree add -q ../w HEAD; git clone -q --bare . ../bare
        git -C ../w -c protocol.file.allow=always submodule -q update --init
        git init -q ../private; git init -q ../link; rm -r ../link/.git; ln -s ../private/.git ../link
        git init -q ../common; echo ../../private/.git >../common/.git/commondir
        git init -q ../parts; rm -r ../parts/.git/refs ../parts/.git/objects
        ln -s ../../private/.git/refs ../../private/.git/objects ../parts/.git
        git init -q ../names; rm -r ../names/.git/refs; ln -s ../../private/.git/refs ../names/.git
        git init -q ../above; ln -s ../.. ../above/.git/modules; mkdir ../above/sub
        echo 'gitdir: ../../private/.git' >../above/sub/.git
        git init -q ../file; rm -r ../file/.git; echo 'gitdir: ../private/.git' >../file/.git");
    for (folder, is_own) in [
        ("r", true),
        ("r/s", true),
        ("w", true),
        ("w/s", true),
        ("bare", true),
        ("c", false),
        ("link", false),
        ("common", false),
        ("parts", false),
        ("names", false),
        ("above/sub", false),
        ("file", false),
    ] {
        let found = Repository::of_session(&world.path(folder));
        let told = found.map(|repository| repository.is_some());
        let expected = if is_own {
            Ok(true)
        } else {
            Err(Uncollected::Elsewhere)
        };
        assert_eq!(told, expected, "{folder}");
    }
}

#[test]
fn of_a_bare_repository_the_commits_are_told() {
    let world = World::with_words();
    world.sh("git clone -q --bare . ../bare; git -C ../bare worktree add -q ../bw 2>/dev/null");
    assert_eq!(found(&world, "bare"), both("bare", "bare"));
    assert_eq!(found(&world, "bare/refs"), both("bare", "bare"));
    assert_eq!(found(&world, "bw"), both("bw", "bare"));
    let outgoing = world.collect_in("bare", &everything()).unwrap();
    assert_eq!((outgoing.commits, outgoing.new, outgoing.staged), (3, 0, 0));
    assert_eq!(places(&outgoing, "INMESSAGE").len(), 1);
}

#[test]
fn git_goes_on_upwards_from_what_is_no_repository_and_so_do_we() {
    let world = World::new();
    world.sh("mkdir -p d/.git e/objects e/refs f; touch e/HEAD f/HEAD f/objects f/refs");
    assert_eq!(found(&world, "r/d"), both("r", "r"));
    assert_eq!(found(&world, "r/f"), both("r", "r"));
    assert_eq!(found(&world, "r/e"), both("r", "r"));
}

/// What HEAD may hold, as a format of `printf`.
const HEADS: [&str; 12] = [
    "ref: refs/heads/x\\n",
    "ref:refs/x",
    "ref: \\t\\r\\nrefs/x",
    "ref: \\302\\240refs/heads/x\\n",
    "ref: \\013refs/heads/x\\n",
    " ref: refs/heads/x\\n",
    "ref: heads/x\\n",
    "ref: %300srefs/heads/x\\n",
    "ref: %240srefs/heads/x\\n",
    "0123456789012345678901234567890123456789\\n",
    " 0123456789012345678901234567890123456789\\n",
    "012345678901234567890123456789012345678\\n",
];

#[test]
fn a_folder_is_a_bare_repository_if_its_head_is_one_for_git() {
    let world = World::new();
    world.sh("mkdir d d/refs d/objects");
    for head in HEADS {
        world.sh(&format!("printf '{head}' >d/HEAD"));
        is_found_as_by_git(&world, "r/d", head);
    }
    for link in ["refs/heads/x", "heads/x", "/dev/zero"] {
        world.sh(&format!("rm d/HEAD; ln -s {link} d/HEAD"));
        is_found_as_by_git(&world, "r/d", link);
    }
}

#[test]
fn a_repository_may_have_what_git_may_enter_in_place_of_its_folders() {
    let world = World::new();
    world.sh("mkdir d; cp .git/HEAD d; cd d; touch refs objects");
    for mode in ["644", "755", "711"] {
        world.sh(&format!("chmod {mode} d/refs d/objects"));
        is_found_as_by_git(&world, "r/d", mode);
    }
    world.sh("cd d; rm refs objects; mkdir refs objects");
    for mode in ["644", "755", "711"] {
        world.sh(&format!("chmod {mode} d/objects"));
        is_found_as_by_git(&world, "r/d", mode);
    }
}

/// Checks that git takes this folder for a repository of its own if and only if we do.
fn is_found_as_by_git(world: &World, folder: &str, name: &str) {
    let asked = world
        .shell(folder, "git rev-parse --absolute-git-dir")
        .output();
    let printed = String::from_utf8(asked.unwrap().stdout).unwrap();
    let is_own = printed.trim_end() == world.path(folder).to_str().unwrap();
    let (top, _) = found(world, folder).unwrap();
    assert_eq!(top == folder, is_own, "{name}: {printed}");
}

#[test]
fn a_worktree_has_its_branches_from_the_main_checkout() {
    let world = World::new();
    world.sh(
        "git worktree add -q ../w -b w; git -C ../w push -q origin w; cd ../w
        echo INCOMMIT >>a.txt; git commit -qam x; g=$(git rev-parse --git-dir)
        mkdir -p $g/refs/heads; git rev-parse HEAD~1 >$g/refs/heads/w",
    );
    let outgoing = world.collect_in("w", &everything()).unwrap();
    assert_eq!((outgoing.commits, outgoing.staged), (1, 0));
}

#[test]
fn a_branchs_name_goes_up_to_gits_blanks() {
    let world = World::new();
    world.sh("git checkout -q -b \"$(printf 'main\\302\\240')\"
        echo INCOMMIT >>a.txt; git commit -qam x");
    let outgoing = world.collect(&everything()).unwrap();
    assert_eq!((outgoing.commits, outgoing.staged), (1, 0));
}

#[test]
fn a_file_that_names_no_repository_is_an_error() {
    for content in [
        "",
        "nonsense",
        "gitdir: nowhere",
        "gitdir: ../g",
        "gitdir: ../o\\000x",
    ] {
        let world = World::new();
        world.sh(&format!("mv .git '../g '; printf '{content}' >.git"));
        let found = Repository::find(&world.path("r"));
        assert_eq!(found, Err(Uncollected::Unreadable), "{content}");
    }
    let world = World::new();
    world.sh("mv .git '../g '; printf 'gitdir: ../g \\n' >.git");
    assert_eq!(found(&world, "r"), both("r", "r"));
}

#[test]
fn where_names_are_not_in_files_it_is_said() {
    let world = World::new();
    let made = world
        .shell(".", "git init -q --ref-format=reftable t2")
        .status();
    if !made.unwrap().success() {
        eprintln!("skipped, an old git: reftable");
        return;
    }
    let told = world.collect_in("t2", &everything());
    assert_eq!(told, Err(Uncollected::Reftable));
}

#[test]
fn objects_with_sha_256_are_read() {
    let world = World::new();
    world.sh_in(
        ".",
        "git init -q -b main --object-format=sha256 s && cd s
        git config user.name A; git config user.email a@b
        echo INCOMMIT >a; git add a; git commit -qm INMESSAGE
        echo INSTAGED >>a; git add a; echo INCHANGED >>a",
    );
    let outgoing = world.collect_in("s", &everything()).unwrap();
    for word in WORDS {
        assert_eq!(places(&outgoing, word).len(), 1, "{word}");
    }
}

#[test]
fn a_folder_that_calls_itself_a_worktree_belongs_to_itself() {
    let world = World::new();
    world.sh("mkdir -p ../evil/.git; cp .git/HEAD ../evil/.git; echo ../../r/.git >../evil/.git/commondir");
    assert_eq!(found(&world, "evil"), both("evil", "evil"));
}

#[test]
fn nothing_is_read_behind_a_link_to_a_folder() {
    let world = World::new();
    world.sh(
        "mkdir ../far; echo INFAR >../far/n.txt; mkdir d; echo x >d/n.txt; git add d
        git commit -qm d; blob=$(git rev-parse HEAD:d/n.txt); rm -r d; ln -s ../far d
        git rm -q --cached d/n.txt
        printf '100644 %s 1\\td/n.txt\\n100644 %s 2\\td/n.txt\\n' $blob $blob |
            git update-index --index-info",
    );
    let outgoing = world.collect(&everything()).unwrap();
    assert!(places(&outgoing, "INFAR").is_empty(), "{outgoing:?}");
}

/// Git stores such a text as other bytes, and each clone shows it as it was.
#[test]
fn an_encoding_that_is_not_read_is_an_error() {
    for make in [
        "echo '*.txt working-tree-encoding=IBM037' >.gitattributes; echo IN >a.txt; git add a.txt",
        "echo '*.txt working-tree-encoding=UTF-7' >.gitattributes; echo IN >a.txt; git add a.txt",
        "echo '*.txt working-tree-encoding=IBM037' >.git/info/attributes; echo IN >a.txt; git add a.txt",
        "echo '*.txt working-tree-encoding=UTF-16LE' >.gitattributes; printf INSTAG >a.txt; git add a.txt",
        "echo '*.txt working-tree-encoding=IBM037' >.gitattributes; echo IN >a.txt; git add -A; git commit -qm x; git rm -q .gitattributes; git commit -qm y",
    ] {
        let world = World::new();
        world.sh(make);
        let outgoing = world.collect(&everything());
        assert_eq!(outgoing, Err(Uncollected::Encoded), "{make}");
    }
    let world = World::new();
    world.sh("echo '*.txt working-tree-encoding=UTF-16' >.gitattributes
        printf 'INSTAGED\\n' | iconv -t UTF-16 >a.txt; git add a.txt");
    let outgoing = world.collect(&everything()).unwrap();
    assert!(!places(&outgoing, "INSTAGED").is_empty(), "{outgoing:?}");
}

#[test]
fn settings_of_a_project_lead_to_no_file_elsewhere() {
    let world = World::new();
    world.sh("ln -s ../../far .git/config.worktree; echo '[x]' >../far");
    assert_eq!(world.collect(&everything()), Err(Uncollected::Elsewhere));
}

/// Git would look for a shortened name also in the repositories of which it has objects.
#[test]
fn only_a_whole_name_of_a_commit_is_taken_from_a_file() {
    let world = World::new();
    world.sh("git rev-parse HEAD >.git/MERGE_HEAD");
    assert!(world.collect(&everything()).is_ok());
    world.sh("git rev-parse --short=7 HEAD >.git/MERGE_HEAD");
    assert_eq!(world.collect(&everything()), Err(Uncollected::Unreadable));
}
