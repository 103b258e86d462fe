//! What each kind of call takes along, and what it does not.

use crate::world::{World, call, everything, places};
use keyhole_outgoing::{Extra, Place, Remote, Sent, Takes, Uncollected, Wanted};
use std::{fs, path::PathBuf};

/// A push of these words.
fn push(words: &str) -> Wanted {
    Wanted {
        sends: Some(Sent::default()),
        ..call(words)
    }
}

/// A push of these words to a named remote.
fn push_to(remote: &str, words: &str) -> Wanted {
    Wanted {
        sends: Some(Sent {
            remote: Remote::Named(remote.to_owned()),
            ..Sent::default()
        }),
        ..call(words)
    }
}

/// A push of all branches and tags.
fn push_all() -> Wanted {
    Wanted {
        sends: Some(Sent {
            extra: Extra::Branches,
            ..Sent::default()
        }),
        ..Wanted::default()
    }
}

/// Before each: a file that has the word, and whose commit is pushed.
const BASE: &str =
    "printf 'one\ntwo\nWEXELMOOR\n' >a.txt; git commit -qam a; git push -q origin main";

/// A commit with the word on a branch of its own.
const OTHER: &str = "git checkout -q -b other; echo WEXELMOOR >>b.txt; git commit -qam x
    git checkout -q main";

/// A merge that does not know which of two contents to take. Both have a NUL.
const CONFLICT: &str = "git checkout -q -b f; printf '1\\0f\\n' >b.txt; git commit -qam x
    git checkout -q main; printf '2\\0m\\n' >b.txt; git commit -qam y
    git merge -q f >/dev/null 2>&1 || true";

/// The end of a merge.
const SOLVED: &str = "git add -A; git commit -qm m";

/// A merge of a file that one side has removed, with the word in what is left there.
const HALF: &str = "git checkout -q -b f; echo 1 >b.txt; git commit -qam x
    git checkout -q main; git rm -q b.txt; git commit -qm y
    git merge -q f >/dev/null 2>&1 || echo WEXELMOOR >b.txt";

/// A row: what it is, what was done before, the call, how often the word is told.
type Row = (&'static str, String, Wanted, usize);

/// Checks each row in a repository of its own.
fn check<const N: usize>(rows: [Row; N]) {
    for (name, before, wanted, times) in rows {
        let world = World::new();
        world.sh(BASE);
        world.sh(&before);
        let outgoing = world.collect(&wanted).unwrap();
        let found = places(&outgoing, "WEXELMOOR");
        assert_eq!(found.len(), times, "{name}: {found:?}");
    }
}

#[test]
fn staged_lines_are_told_at_every_call() {
    let row = |name, before: &str, times| (name, format!("{before}\ngit add -A"), call("x"), times);
    check([
        row("nothing of it", "echo y >>b.txt", 0),
        row("a line", "echo WEXELMOOR >>b.txt", 1),
        row(
            "two places",
            "(echo WEXELMOOR; cat b.txt; echo WEXELMOOR) >x; mv x b.txt",
            2,
        ),
        row("next to it", "printf 'ONE\ntwo\nWEXELMOOR\n' >a.txt", 0),
        row("a renamed file that has it", "git mv a.txt z.txt", 0),
        row(
            "a renamed file that has it now",
            "git mv a.txt z.txt; echo WEXELMOOR >>z.txt",
            1,
        ),
        row("taken out", "git rm -q a.txt", 0),
        row("a new name", "git mv a.txt WEXELMOOR", 1),
        row("a file's name", "echo 1 >WEXELMOOR.txt", 1),
        row(
            "an empty file's name",
            ">'a b/WEXELMOOR' || (mkdir 'a b'; >'a b/WEXELMOOR')",
            1,
        ),
        row(
            "a name that is quoted",
            "echo 1 >'\"\\WEXELMOOR\u{e9}\t'",
            1,
        ),
        row("binary", "printf '\\0\\1 WEXELMOOR \\0' >n.bin", 1),
        row("latin-1 beside it", "printf '\\351 WEXELMOOR' >n", 1),
        row("UTF-16", "printf 'x\nWEXELMOOR\n' | iconv -t UTF-16 >n", 1),
        row("CRLF", "printf 'WEXELMOOR\r\n' >n", 1),
        row(
            "without a last line's end",
            "printf 'b\nWEXELMOOR' >b.txt",
            1,
        ),
        row("a link's target", "ln -s /srv/WEXELMOOR l", 1),
        row(
            "the first commit",
            "rm -rf .git; git init -q; rm a.txt; echo WEXELMOOR >b.txt",
            1,
        ),
        row(
            "what looks like git's words",
            "printf 'diff --git a/x b/x\n@@ -0,0 +1,9 @@\nWEXELMOOR\n' >n",
            1,
        ),
    ]);
}

#[test]
fn what_git_adds_of_itself_is_told() {
    let row = |name, before: &str, wanted| (name, before.to_owned(), wanted, 1);
    let inner = "git init -q WEXELMOOR; git -C WEXELMOOR -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
    let staged = format!("{inner}; git add WEXELMOOR 2>/dev/null");
    let link = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),v";
    let replaced = format!("{link}; git commit -qm v; echo WEXELMOOR >v");
    check([
        row("the name of a repository in it", inner, everything()),
        row("the same, staged", &staged, call("commit")),
        row(
            "a file in the place of a submodule",
            &replaced,
            everything(),
        ),
        row(
            "a text behind a false mark of UTF-16",
            "printf '\\377\\376 WEXELMOOR\\n' >n",
            everything(),
        ),
        row(
            "the message of a squash",
            "git checkout -q -b f; echo 1 >b.txt; git commit -qam WEXELMOOR
            git checkout -q main; git merge -q --squash f >/dev/null",
            call("commit"),
        ),
    ]);
}

#[test]
fn what_the_repository_says_of_its_files_is_not_believed() {
    let undone = "echo '*.txt ident' >.gitattributes; git add -A; git commit -qm x
        echo '*.txt -ident' >.git/info/attributes; echo '$Id: WEXELMOOR $' >b.txt";
    check([(
        "an attribute that is undone",
        undone.to_owned(),
        everything(),
        1,
    )]);
    let world = World::new();
    world
        .sh("mkdir x; echo one >x/a; git add x; git commit -qm x; echo WEXELMOOR >>x/a; git add x");
    let tree = world.shell("r", "git rev-parse HEAD:x").output().unwrap();
    let object = String::from_utf8(tree.stdout).unwrap();
    let path = world.path("r/.git/index");
    let mut index = fs::read(&path).unwrap();
    // What it says of the trees comes behind the files, and says that `x` is as in HEAD.
    let parts = index.windows(4).rposition(|word| word == b"TREE").unwrap();
    index.truncate(parts);
    let mut said = b"\0-1 1\nx\x001 0\n".to_vec();
    for pair in object.trim_end().as_bytes().chunks(2) {
        let digits = std::str::from_utf8(pair).unwrap();
        said.push(u8::from_str_radix(digits, 16).unwrap());
    }
    index.extend(b"TREE");
    index.extend(u32::try_from(said.len()).unwrap().to_be_bytes());
    index.extend(said);
    index.extend([0; 20]);
    fs::write(&path, index).unwrap();
    let believed = world.shell("r", "git diff-index --cached HEAD").output();
    assert_eq!(believed.unwrap().stdout, b"");
    let outgoing = world.collect(&call("commit")).unwrap();
    assert_eq!(places(&outgoing, "WEXELMOOR").len(), 1);
}

#[test]
fn what_is_in_progress_is_sent() {
    let other = "git checkout -q -b f; echo 1 >b.txt; git commit -qam x
        echo WEXELMOOR >c; git add c; git commit -qm y; git rm -q c; git commit -qm z
        git checkout -q main; echo 2 >b.txt; git commit -qam m";
    let row = |name, command: &str| {
        let before = format!("{other}; {command} >/dev/null 2>&1 || true");
        (name, before, push("push origin HEAD"), 1)
    };
    check([
        row("a merge", "git merge f"),
        row("a rebase", "git checkout f && git rebase main"),
        row("picked commits", "git cherry-pick main..f"),
    ]);
}

#[test]
fn new_files_are_not_told_if_the_call_takes_only_changed_ones() {
    let changed = || Wanted {
        takes: Takes::Changed,
        ..Wanted::default()
    };
    let row = |name, before: &str, times| (name, before.to_owned(), changed(), times);
    check([
        row("changed", "echo WEXELMOOR >>b.txt", 1),
        row("new", "echo WEXELMOOR >n", 0),
        row("intent to add", "echo WEXELMOOR >n; git add -N n", 1),
        row("unmerged", HALF, 1),
    ]);
}

#[test]
fn what_no_word_names_from_the_calls_folder_counts_from_the_top() {
    let world = World::new();
    world
        .sh("mkdir -p web/src docs src; echo INTOP >docs/n; echo INTOP >src/n; echo IN >web/src/n");
    for (words, times) in [
        ("add docs", 1),
        ("add docs/*", 1),
        ("add src", 0),
        ("add n", 0),
    ] {
        let outgoing = world.collect_in("r/web", &call(words)).unwrap();
        assert_eq!(places(&outgoing, "INTOP").len(), times, "{words}");
    }
}

#[test]
fn changed_and_new_files_are_told_if_the_call_takes_them() {
    let all = || Wanted {
        takes: Takes::All,
        ..Wanted::default()
    };
    let row = |name, before: &str, wanted, times| (name, before.to_owned(), wanted, times);
    check([
        row("changed", "echo WEXELMOOR >>b.txt", all(), 1),
        row(
            "changed, not taken",
            "echo WEXELMOOR >>b.txt",
            call("commit -m x"),
            0,
        ),
        row(
            "changed, and named",
            "echo WEXELMOOR >>b.txt",
            call("commit b.txt"),
            1,
        ),
        row(
            "changed, beside a named one",
            "echo WEXELMOOR >>b.txt",
            call("commit a.txt"),
            0,
        ),
        row("new", "echo WEXELMOOR >n", all(), 1),
        row(
            "new, not taken",
            "echo WEXELMOOR >n; echo 1 >m",
            call("add m"),
            0,
        ),
        row(
            "new, in a named folder",
            "mkdir d; echo WEXELMOOR >d/n",
            call("add d/"),
            1,
        ),
        row(
            "new, beside a named folder",
            "mkdir d; echo WEXELMOOR >dd",
            call("add d"),
            0,
        ),
        row(
            "new, by a pattern",
            "mkdir d; echo WEXELMOOR >d/n",
            call("add d/*"),
            1,
        ),
        row(
            "new, by another pattern",
            "mkdir d e; echo WEXELMOOR >d/n",
            call("add e/*"),
            0,
        ),
        row(
            "new, by a roundabout way",
            "mkdir d; echo WEXELMOOR >n",
            call("add ./d/../n"),
            1,
        ),
        row(
            "new, and an empty word",
            "echo WEXELMOOR >n",
            call("commit -m  x"),
            0,
        ),
        row(
            "new, and words like a pattern",
            "echo WEXELMOOR >n",
            quoted("a * b"),
            0,
        ),
        row(
            "new and ignored",
            "echo n >.gitignore; echo WEXELMOOR >n",
            all(),
            0,
        ),
        row(
            "new and excluded",
            "echo n >>.git/info/exclude; echo WEXELMOOR >n",
            all(),
            0,
        ),
        row(
            "in a repository below",
            "git init -q d; echo WEXELMOOR >d/n",
            all(),
            0,
        ),
        row("a new file's name", "echo 1 >WEXELMOOR.txt", all(), 1),
        row("a new link's target", "ln -s /srv/WEXELMOOR l", all(), 1),
        row(
            "new, UTF-16",
            "printf 'x\nWEXELMOOR\n' | iconv -t UTF-16BE | (printf '\\376\\377'; cat) >n",
            all(),
            1,
        ),
        row("intent to add", "echo WEXELMOOR >n; git add -N n", all(), 1),
        row(
            "unmerged",
            &format!("{CONFLICT}; echo WEXELMOOR >b.txt"),
            all(),
            1,
        ),
        row("unmerged, removed by us", HALF, all(), 1),
        row("unmerged, not taken", HALF, call("commit"), 0),
    ]);
}

/// A call with one word.
fn quoted(word: &str) -> Wanted {
    Wanted {
        words: vec![word.to_owned()],
        ..Wanted::default()
    }
}

/// Git compares times by the second. It reads a file again that is as young as the index, so the
/// copy of the index needs the index's own time.
#[test]
fn a_file_that_changes_in_the_second_in_which_it_was_staged_is_told() {
    let world = World::new();
    world.sh("echo 'MOORWEXEL' >b.txt; git add b.txt; echo 'WEXELMOOR' >b.txt; sleep 1");
    let outgoing = world.collect(&everything()).unwrap();
    assert_eq!((outgoing.staged, outgoing.changed), (1, 1));
    assert_eq!(places(&outgoing, "WEXELMOOR").len(), 1);
}

#[test]
fn words_are_relative_to_the_calls_folder() {
    let world = World::new();
    world.sh("mkdir d; echo WEXELMOOR >d/n; echo 1 >n");
    for (folder, words, times) in [
        ("r/d", "add n", 1),
        ("r/d", "add ../n", 0),
        ("r/d", "add .", 1),
        ("r/d", "add ..", 1),
        ("r", "add d", 1),
        ("r", "add n", 0),
    ] {
        let outgoing = world.collect_in(folder, &call(words)).unwrap();
        let found = places(&outgoing, "WEXELMOOR");
        assert_eq!(found.len(), times, "{folder}: {words}");
    }
}

#[test]
fn a_commit_that_is_made_again_tells_its_message_and_changes() {
    let amend = || Wanted {
        amends: true,
        ..Wanted::default()
    };
    let row = |name, before: &str, wanted, times| (name, before.to_owned(), wanted, times);
    check([
        row(
            "its message",
            "git commit -q --allow-empty -m WEXELMOOR",
            amend(),
            1,
        ),
        row(
            "its changes",
            "echo WEXELMOOR >>b.txt; git commit -qam x",
            amend(),
            1,
        ),
        row(
            "not those before it",
            &format!("{UNPUSHED}; git commit -q --allow-empty -m x"),
            amend(),
            0,
        ),
        row(
            "the first one",
            "git checkout -q --orphan o; git commit -qm o",
            amend(),
            1,
        ),
        row(
            "before the first one",
            "git checkout -q --orphan o; git rm -rqf .",
            amend(),
            0,
        ),
        row(
            "not if it stays",
            "git commit -q --allow-empty -m WEXELMOOR",
            call("commit"),
            0,
        ),
    ]);
}

/// A commit with the word.
const UNPUSHED: &str = "echo WEXELMOOR >>b.txt; git commit -qam x";

#[test]
fn commits_that_no_remote_has_are_told_if_the_call_sends() {
    let row = |name, before: &str, wanted, times| (name, before.to_owned(), wanted, times);
    check([
        row("a commit", UNPUSHED, push("push"), 1),
        row("a commit, not sent", UNPUSHED, call("commit"), 0),
        row(
            "a message",
            "git commit -q --allow-empty -m WEXELMOOR",
            push("push"),
            1,
        ),
        row(
            "put in and taken out",
            &format!("{UNPUSHED}; git revert --no-edit HEAD >/dev/null"),
            push("push"),
            1,
        ),
        row(
            "never pushed",
            "git update-ref -d refs/remotes/origin/main",
            push("push"),
            1,
        ),
        row("another branch", OTHER, push("push origin other"), 1),
        row(
            "another branch, renamed there",
            OTHER,
            push("push origin +other:x"),
            1,
        ),
        row(
            "another branch, by its whole name",
            OTHER,
            push("push origin refs/heads/other"),
            1,
        ),
        row(
            "a branch that is not sent",
            OTHER,
            push("push origin main"),
            0,
        ),
        row("all branches", OTHER, push_all(), 1),
    ]);
}

#[test]
fn what_settings_add_to_a_push_is_told() {
    let tag = "git tag -a v1 -m WEXELMOOR";
    let row = |setting: &'static str, before: &str, times| {
        let script = format!("{before}\ngit config {setting}");
        (setting, script, push("push"), times)
    };
    check([
        row("push.default matching", OTHER, 1),
        row("push.default current", OTHER, 0),
        row("push.autoSetupRemote true", OTHER, 0),
        row("remote.origin.push 'refs/heads/*:refs/heads/*'", OTHER, 1),
        row("remote.Origin.mirror true", OTHER, 1),
        row("push.followTags true", OTHER, 0),
        row("push.followTags true", tag, 1),
        row("push.followTags false", tag, 0),
        row(
            "include.path x",
            &format!("{OTHER}; printf '[PUSH] default=matching' >.git/x"),
            1,
        ),
        row("include.path missing", OTHER, 0),
        row(
            "include.path ../../far",
            &format!("{OTHER}; touch ../far"),
            1,
        ),
        row("include.path '%(prefix)/x'", OTHER, 1),
        row("x.y z; printf '[[' >>.git/config", OTHER, 1),
        row("x.y z; mkdir .git/remotes", OTHER, 1),
    ]);
}

#[test]
fn names_and_tags_that_are_sent_are_told() {
    let row = |name, before: &str, wanted, times| (name, before.to_owned(), wanted, times);
    check([
        row(
            "a branch's name",
            "git branch WEXELMOOR",
            push("push origin WEXELMOOR"),
            1,
        ),
        row(
            "HEAD's branch's name",
            "git checkout -q -b a/WEXELMOOR",
            push("push"),
            1,
        ),
        row(
            "a name that is there",
            "git push -q origin main:a/WEXELMOOR; git checkout -q a/WEXELMOOR",
            push("push"),
            0,
        ),
        row(
            "a tag's message",
            "git tag -a v1 -m WEXELMOOR",
            push("push origin v1"),
            1,
        ),
        row(
            "a tag of a tag",
            "git tag -a v1 -m WEXELMOOR; git tag -a v2 v1 -m x 2>&1",
            push("push v2"),
            1,
        ),
        row("all tags", "git tag -a v1 -m WEXELMOOR", push_all(), 1),
        row(
            "a tag that is not sent",
            "git tag -a v1 -m WEXELMOOR",
            push("push"),
            0,
        ),
        row(
            "a tag of a commit elsewhere",
            "git checkout -q --detach; git commit -q --allow-empty -m WEXELMOOR
            git tag t; git checkout -q main",
            push("push origin t"),
            1,
        ),
        row(
            "notes",
            "git notes add -m WEXELMOOR",
            push("push origin refs/notes/commits"),
            1,
        ),
    ]);
}

#[test]
fn what_counts_as_published_is_what_the_remote_has() {
    let row = |name, before: &str, wanted, times| (name, before.to_owned(), wanted, times);
    check([
        row(
            "a packed branch that went on",
            &format!("git pack-refs --all; {UNPUSHED}"),
            push("push"),
            1,
        ),
        row(
            "a branch without a commit",
            "git checkout -q --orphan o",
            push("push"),
            1,
        ),
        row(
            "no commit at all",
            "rm -rf .git; git init -q",
            push("push"),
            0,
        ),
        row(
            "the rest of a shallow clone",
            "cd ..; rm -rf r; git clone -q --depth 1 file://$PWD/o r
                cd r; git config user.name A; git config user.email a@b
                echo WEXELMOOR >>b.txt; git commit -qam x",
            push("push"),
            1,
        ),
        row(
            "what the remote has",
            "git checkout -q -b f; echo y >>b.txt; git commit -qam x
            git rebase -q main",
            push("push origin f"),
            0,
        ),
        row(
            "a second remote",
            "git init -q --bare ../p; git remote add pub ../p; git push -q pub main
            echo WEXELMOOR >>b.txt; git commit -qam x; git push -q origin main",
            push_to("pub", "push pub main"),
            1,
        ),
        row(
            "either remote",
            "git init -q --bare ../p; git remote add pub ../p; git push -q pub main
            echo WEXELMOOR >>b.txt; git commit -qam x; git push -q origin main",
            push("push"),
            0,
        ),
        row(
            "HEAD at no branch",
            &format!("git checkout -q --detach; {UNPUSHED}"),
            push("push"),
            1,
        ),
        row("nothing to send", "true", push("push"), 0),
    ]);
}

#[test]
fn a_merge_tells_what_none_of_its_parents_has() {
    let row = |name, before: &str, times| (name, before.to_owned(), push("push"), times);
    check([
        row(
            "a conflict solved with it, after a NUL",
            &format!("{CONFLICT}\nprintf '3\\0WEXELMOOR\\n' >b.txt\n{SOLVED}"),
            1,
        ),
        row(
            "a branch's line",
            &format!("{OTHER}\ngit commit -q --allow-empty -m y; git merge -q other"),
            1,
        ),
        row(
            "a line of what is published",
            "git checkout -q -b f HEAD~1
            echo 1 >c; git add c; git commit -qm c
            git merge -q main",
            0,
        ),
        row(
            "a new file that no parent has",
            "git checkout -q -b f; git commit -q --allow-empty -m f
            git checkout -q main; git commit -q --allow-empty -m y; git merge -q --no-commit f
            echo 1 >WEXELMOOR; git add -A; git commit -qm m",
            1,
        ),
        row(
            "as one of its parents",
            "git checkout -q -b f; echo 1 >b.txt; git commit -qam f
            git checkout -q main; git commit -q --allow-empty -m y; git merge -q -s ours f",
            0,
        ),
        row(
            "three parents",
            "for b in f g
                do git checkout -q -b $b main; echo 1 >$b; git add $b; git commit -qm $b; done
            git checkout -q main; echo 1 >m; git add m; git commit -qm m
            git merge -q f g >/dev/null
            echo WEXELMOOR >>b.txt; git commit -q --amend -am m",
            1,
        ),
    ]);
}

#[test]
fn a_commits_own_people_are_no_part_of_its_message() {
    let commit = |author: &str, message: &str| {
        format!(
            "GIT_COMMITTER_NAME=WEXELMOOR git commit -q --allow-empty -s \
                --author='{author}' -m '{message}'"
        )
    };
    let row = |name, before: String, times| (name, before, push("push"), times);
    check([
        row("its committer", commit("X <x@x>", "x"), 0),
        row(
            "its author",
            commit("X WEXELMOOR <q@x>", "x\n\nReviewed-By: X WEXELMOOR <q@x>"),
            0,
        ),
        row(
            "another",
            commit("X <x@x>", "x\n\nReviewed-by: Y WEXELMOOR <y@y>"),
            1,
        ),
        row(
            "its address, which is another",
            commit("X <x@x>", "x\n\nAcked-by: X <x@WEXELMOOR>"),
            1,
        ),
        row(
            "in Latin-1",
            "git config i18n.commitEncoding ISO-8859-1
            printf '\\351 WEXELMOOR' | git commit -q --allow-empty -F -"
                .to_owned(),
            2,
        ),
        row("no such line", commit("X <x@x>", "by WEXELMOOR"), 1),
    ]);
}

#[test]
fn each_text_has_its_place() {
    let world = World::new();
    world.sh(
        "printf 'one\nA WEXEL\nMOOR\nthree\nWEXEL\n' >a.txt; git commit -qam WEXEL
        printf 'x\nWEXEL\n' >n; git tag -a v1 -m WEXEL; git branch WEXEL
        printf '\nWEXEL\n' >>b.txt; git add b.txt",
    );
    let mut wanted = everything();
    wanted.words = vec!["v1".to_owned(), "WEXEL".to_owned()];
    let outgoing = world.collect(&wanted).unwrap();
    let head = world
        .shell("r", "git rev-parse HEAD")
        .output()
        .unwrap()
        .stdout;
    let commit = String::from_utf8(head[..7].to_vec()).unwrap();
    let lines = |path: &str, first, commit: Option<&String>| Place::Lines {
        path: PathBuf::from(path),
        first,
        commit: commit.cloned(),
    };
    let expected = [
        lines("b.txt", 2, None),
        lines("n", 1, None),
        Place::Branch("WEXEL".to_owned()),
        Place::Message(commit.clone()),
        lines("a.txt", 2, Some(&commit)),
        lines("a.txt", 5, Some(&commit)),
        Place::TagMessage("v1".to_owned()),
    ];
    assert_eq!(places(&outgoing, "WEXEL"), expected);
    let all: Vec<&str> = outgoing
        .passages
        .iter()
        .map(|passage| &*passage.text)
        .collect();
    assert!(all.contains(&"A WEXEL\nMOOR\n"), "{all:?}");
    assert_eq!((outgoing.staged, outgoing.changed), (1, 0));
    assert_eq!((outgoing.new, outgoing.commits), (1, 1));
}

#[test]
fn a_tag_of_a_file_is_an_error() {
    let world = World::new();
    world.sh("git tag f HEAD:a.txt");
    assert_eq!(world.collect(&push("push f")), Err(Uncollected::Unreadable));
    assert!(world.collect(&push("push")).is_ok());
}

#[test]
fn without_a_folder_for_git_nothing_is_told() {
    let world = World::new();
    let repository = keyhole_outgoing::Repository::find(&world.path("r"));
    let here = world.path("missing");
    let told = repository
        .unwrap()
        .unwrap()
        .collect(&world.path("r"), &call("x"), &here);
    assert_eq!(told, Err(Uncollected::NoScratch));
}
