//! No program of a project runs, and what leaves is read all the same, or it is said that it could
//! not be.

use crate::world::{WORDS, World, everything, is_root, places};
use keyhole_outgoing::Uncollected;
use std::{
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

/// What a project may do to its own repository: a name, the script, and what is told.
struct Setup {
    name: &'static str,
    script: &'static str,
    told: Result<(), Uncollected>,
}

/// A row in which all is read.
const fn read(name: &'static str, script: &'static str) -> Setup {
    Setup {
        name,
        script,
        told: Ok(()),
    }
}

/// A row in which it is said why not.
const fn said(name: &'static str, script: &'static str, why: Uncollected) -> Setup {
    Setup {
        name,
        script,
        told: Err(why),
    }
}

const SETUPS: [Setup; 57] = [
    read("nothing", "true"),
    read(
        "core.fsmonitor",
        r#"git config core.fsmonitor "$T/fsmonitor""#,
    ),
    read(
        "core.fsmonitor=true (daemon)",
        "git config core.fsmonitor true",
    ),
    read(
        "files that a monitor found unchanged",
        r#"git config core.fsmonitor "$T/fsmonitor"
        git update-index --fsmonitor; git update-index --fsmonitor-valid b.txt"#,
    ),
    read(
        "textconv (.gitattributes)",
        r#"echo '*.txt diff=d' >.gitattributes
        git config diff.d.textconv "$T/textconv""#,
    ),
    read(
        "diff.d.command (info/attributes)",
        r#"echo '*.txt diff=d' >.git/info/attributes
        git config diff.d.command "$T/external""#,
    ),
    read(
        "filter clean/smudge/process",
        r#"echo '*.txt filter=f' >.gitattributes
        git config filter.f.clean "$T/clean"; git config filter.f.smudge "$T/smudge"
        git config filter.f.process "$T/process"; git config filter.f.required true"#,
    ),
    read(
        "gpg.ssh.program",
        r#"git config log.showSignature true; git config gpg.format ssh
        git config gpg.ssh.program "$T/gpg"; git config gpg.ssh.allowedSignersFile /dev/null"#,
    ),
    read(
        "core.pager",
        r#"git config core.pager "$T/pager"; git config pager.log "$T/pager"
        git config pager.diff-index "$T/pager"; git config interactive.diffFilter "$T/pager""#,
    ),
    read(
        "alias",
        r#"git config alias.log "!$T/alias"; git config alias.diff-index "!$T/alias""#,
    ),
    read(
        "core.hooksPath",
        r#"mkdir "$dir/h"
        for h in post-index-change pre-auto-gc reference-transaction post-checkout
        do cp "$T/hookpre" "$dir/h/$h"; done; git config core.hooksPath "$dir/h""#,
    ),
    read(
        ".git/hooks",
        "for h in post-index-change reference-transaction
        do cp \"$T/hookindex\" .git/hooks/$h; done",
    ),
    said(
        "promisor, ssh, blob missing",
        r#"git config core.sshCommand "$T/sshcmd"
        git config remote.origin.url ssh://x/y; git config remote.origin.promisor true
        git config remote.origin.partialclonefilter blob:none
        git config extensions.partialClone origin; git config core.repositoryformatversion 1
        git config credential.helper "$T/cred"
        rm -f .git/objects/$(git rev-parse HEAD:a.txt | sed 's,^..,&/,')"#,
        Uncollected::ObjectMissing,
    ),
    said(
        "promisor uploadpack, missing",
        r#"git config remote.origin.uploadpack "$T/uploadpack"
        git config remote.origin.promisor true; git config extensions.partialClone origin
        git config core.repositoryformatversion 1
        rm -f .git/objects/$(git rev-parse HEAD:a.txt | sed 's,^..,&/,')"#,
        Uncollected::ObjectMissing,
    ),
    said(
        "core.worktree",
        "git config core.worktree /nonexistent",
        Uncollected::Elsewhere,
    ),
    said(
        "core.worktree beside",
        "cp -R . ../w; rm -r ../w/.git; git config core.worktree ../../w",
        Uncollected::Elsewhere,
    ),
    read("core.worktree here", "git config core.worktree .."),
    read(
        ".git is a file",
        r#"mv .git "$dir/g"; echo "gitdir: $dir/g" >.git"#,
    ),
    read(
        ".git is a file with a relative path",
        "mv .git ../g; echo 'gitdir: ../g' >.git",
    ),
    read(".git is a link", "mv .git ../g; ln -s ../g .git"),
    read(
        "config.worktree",
        r#"git config extensions.worktreeConfig true
        printf '[core]\n\tfsmonitor = %s\n' "$T/fsmonitor" >.git/config.worktree"#,
    ),
    read(
        "a message that says it is UTF-16",
        "git config i18n.commitEncoding UTF-16LE; git reset -q --soft HEAD~1
        git commit -qm INMESSAGE",
    ),
    read(
        "a message that says it is EBCDIC",
        "git config i18n.commitEncoding IBM037; git reset -q --soft HEAD~1
        git commit -qm INMESSAGE",
    ),
    said(
        "split index",
        "git update-index --split-index",
        Uncollected::Unreadable,
    ),
    read(
        "a file that the index calls unchanged",
        "git update-index --assume-unchanged b.txt",
    ),
    read(
        "a file that a sparse checkout leaves out",
        "git update-index --skip-worktree b.txt; git config core.sparseCheckout true
        echo '/*' >.git/info/sparse-checkout",
    ),
    read(
        "both of these",
        "git update-index --assume-unchanged b.txt; git update-index --skip-worktree b.txt",
    ),
    read(
        "untracked cache",
        "git update-index --untracked-cache; git status >/dev/null",
    ),
    read("packed refs and objects", "git gc -q"),
    read(
        "alternates",
        r#"git init -q --bare "$dir/alt"; mv .git/objects/?? "$dir/alt/objects/"
        echo "$dir/alt/objects" >.git/objects/info/alternates"#,
    ),
    read(
        "relative alternates",
        r#"git init -q --bare "$dir/alt"
        mv .git/objects/?? "$dir/alt/objects/"
        echo ../../../alt/objects >.git/objects/info/alternates"#,
    ),
    read("replace refs", "git replace HEAD HEAD~2"),
    read(
        "grafts",
        "echo \"$(git rev-parse HEAD) $(git rev-parse origin/main)\" >.git/info/grafts",
    ),
    read("shallow at HEAD~1", "git rev-parse HEAD~1 >.git/shallow"),
    read("core.bare=true", "git config core.bare true"),
    read(
        "format version 99",
        "git config core.repositoryformatversion 99",
    ),
    read("config does not parse", "printf 'garbage[[' >>.git/config"),
    read(
        "attribute -diff (binary)",
        "echo '*.txt -diff' >.gitattributes",
    ),
    read(
        "attribute -diff of its own",
        "echo '* -diff' >.git/info/attributes",
    ),
    read(
        "diff.* of the output",
        "git config diff.noprefix true; git config diff.context 5
        git config color.ui always; git config diff.wordRegex .
        git config diff.orderFile /dev/null; git config diff.ignoreSubmodules all",
    ),
    read(
        "log.* of the output",
        "git config log.diffMerges off; git config log.follow true
        git config format.pretty %h; git config log.excludeDecoration x
        git config diff.algorithm patience",
    ),
    said(
        "core.attributesFile",
        r#"git config core.attributesFile "$dir/attrs"
        echo '*.txt diff=d' >"$dir/attrs"; git config diff.d.textconv "$T/textconv""#,
        Uncollected::Elsewhere,
    ),
    said(
        "commit.template",
        "echo x >../list; git config commit.template ../list",
        Uncollected::Elsewhere,
    ),
    read(
        "commit.template of the project",
        "echo x >t; git config commit.template t",
    ),
    said(
        "a folder that leads to the repository",
        "mkdir sub; ln -s ../.git sub/.git; echo x >sub/a",
        Uncollected::Unreadable,
    ),
    said(
        "a folder with a file that leads to the repository",
        "mkdir sub; echo 'gitdir: ../.git' >sub/.git; echo x >sub/a",
        Uncollected::Unreadable,
    ),
    said(
        "a prepared message that is a link",
        "ln -s ../a.txt .git/MERGE_MSG",
        Uncollected::Unreadable,
    ),
    read(
        "editors, askpass, trailer",
        r#"git config core.alternateRefsCommand "$T/alias"
        git config core.gitProxy "$T/proxy"; git config core.askPass "$T/askpass"
        git config core.editor "$T/editor"; git config sequence.editor "$T/editor"
        git config trailer.x.command "$T/editor"; git config notes.displayRef 'refs/notes/*'"#,
    ),
    read(
        "mailmap.file=/dev/zero",
        "git config mailmap.file /dev/zero",
    ),
    read(
        "mailmap.file=a FIFO",
        r#"mkfifo "$dir/fifo"; git config mailmap.file "$dir/fifo""#,
    ),
    read(
        "an included FIFO",
        r#"mkfifo "$dir/fifo"; git config include.path "$dir/fifo""#,
    ),
    read(
        "diff driver without attributes",
        r#"printf '[diff "d"]\n\tcommand=%s\n' "$T/external" \
        >>.git/config; mkdir x"#,
    ),
    read(
        "a tag and a branch of one name",
        "git tag main HEAD~2; git tag HEAD HEAD~2",
    ),
    read(
        "a commit graph that lies",
        "git commit-graph write --reachable 2>/dev/null
        chmod u+w .git/objects/info/commit-graph; echo x >.git/objects/info/commit-graph",
    ),
    read(
        "alternates of alternates",
        "git clone -q --shared . ../b1; git clone -q --shared ../b1 ../b2
        mv .git/objects ../objects.old; mkdir -p .git/objects/info
        echo \"$(cd ../b2 && pwd)/.git/objects\" >.git/objects/info/alternates
        mkdir ../old; cp -R .git/HEAD .git/refs ../old; mv ../objects.old ../old/objects
        echo \"$(cd ../old && pwd)/objects\" >../b1/.git/objects/info/alternates",
    ),
    said(
        "alternates that are not there",
        "echo /nonexistent >.git/objects/info/alternates",
        Uncollected::Unreadable,
    ),
    said(
        "a branch without its commit",
        "o=$(git rev-parse HEAD | tr 0-9a-f a-f0-9); echo $o >.git/refs/heads/main",
        Uncollected::ObjectMissing,
    ),
];

/// What a plain git would run: to see that the traps are traps.
const PLAIN: &str = "git status; git diff; git diff --cached; git log -p -2; git fetch; true";

/// How long a plain git may take, which a FIFO stops.
const PATIENCE: Duration = Duration::from_secs(3);

#[test]
fn no_program_of_a_project_runs_and_what_leaves_is_read() {
    for setup in SETUPS {
        let world = World::with_words();
        world.sh(setup.script);
        world.fired();
        let name = setup.name;
        let told = world.collect(&everything());
        assert_eq!(world.fired(), "", "{name}");
        assert_eq!(
            told.as_ref().map(|_| ()).map_err(|why| *why),
            setup.told,
            "{name}"
        );
        for word in WORDS {
            if let Ok(outgoing) = &told {
                assert!(!places(outgoing, word).is_empty(), "{name}: {word}");
            }
        }
    }
}

#[test]
fn the_traps_would_run() {
    let mut runs = Vec::new();
    for setup in SETUPS
        .into_iter()
        .filter(|setup| setup.script.contains("$T"))
    {
        let world = World::with_words();
        world.sh(setup.script);
        world.fired();
        let mut plain = world.shell("r", PLAIN);
        plain.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = plain.spawn().unwrap();
        let end = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
        if !world.fired().is_empty() {
            runs.push(setup.name);
        }
    }
    assert!(runs.len() >= 8, "{runs:?}");
}

#[test]
fn a_repository_of_another_owner_is_read_and_runs_nothing() {
    if !is_root("a repository of another owner") {
        return;
    }
    let world = World::with_words();
    world.sh(r#"git config core.fsmonitor "$T/fsmonitor"; chown -R nobody "$dir/r""#);
    world.fired();
    let outgoing = world.collect(&everything()).unwrap();
    assert_eq!(world.fired(), "");
    for word in WORDS {
        assert!(!places(&outgoing, word).is_empty(), "{word}");
    }
}
