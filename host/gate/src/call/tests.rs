//! Which calls may publish, and what of which folder.

use super::{At, Call, Part, call};
use keyhole_outgoing::{Extra, Remote, Takes};
use serde_json::{Value, json};
use std::path::Path;

fn at() -> At<'static> {
    At {
        folder: Path::new("/work"),
        home: Some(Path::new("/home/u")),
    }
}

fn bash(command: &str) -> Option<Call> {
    call("Bash", &json!({ "command": command }), at())
}

#[track_caller]
fn parts(command: &str) -> Vec<Part> {
    let found = bash(command);
    found
        .unwrap_or_else(|| panic!("nothing would be published: {command}"))
        .parts
}

#[test]
fn everyday_commands_are_not_compared() {
    for command in [
        "git status",
        "git diff --cached",
        "git log --oneline -20",
        "git add -A",
        "git fetch origin && git rebase origin/main",
        "git checkout -b feature/x",
        "git stash && cargo test && git stash pop",
        "cd ~/src/northwind && ls -la",
        "grep -rn Halcyon src/",
        "rg 'git push' docs",
        "cat docs/publish.md | head -50",
        "echo 'now run git push'",
        "cargo build --release 2>&1 | tail -5",
        "npm test -- --watch=false",
        "ssh kdvries-laptop uptime",
        "curl -fsSL https://example.org/install.sh -o install.sh",
        "curl -s -H 'Accept: application/json' -X GET https://api.example.org/v1/x",
        "scp host:/var/log/a.log .",
        "rsync -a --delete build/ /srv/www/",
        "docker build -t app . && docker run app",
        "psql -c \"select * from customers where name = 'Northwind'\"",
        "gh pr view 12 --comments",
        "gh issue list --label bug",
        "git log --grep commit",
        "git cat-file commit HEAD",
        "dotnet publish -c Release -o out",
        "./gradlew publishToMavenLocal :lib:publishToMavenLocal",
        "sbt publishLocal",
        "npx prisma@6 migrate deploy",
        "npx prisma db push",
        "pnpm exec drizzle-kit push",
        "git push --dry-run",
        "git push origin --delete old",
        "git push origin :old",
        "git stash push -m wip",
        "pytest -k upload",
        "cargo test upload",
        "npm test -- upload",
        "python upload.py publish",
        "mkdir -p upload",
        "gh api user",
        "gh pr -R o/r list",
        "gh search issues Halcyon",
        "gh run watch 7",
        "wget https://example.org/a.tgz",
        "rsync -a host:dir/ here -e ssh",
        "cat >push.sh <<'E'\ngit push\nE",
        "bash lint.sh; cat >push.sh <<'E'\ngit push; it's\nE",
        "bash -eu lint.sh <<'E'\ngit push\nE",
        "ssh -p 22 host 'cat >x' <<'E'\ngit push\nE",
    ] {
        assert_eq!(bash(command), None, "{command}");
    }
}

#[test]
fn commands_that_publish_are_compared_wherever_their_words_stand() {
    for command in PUBLISHING_COMMANDS {
        assert!(bash(command).is_some(), "{command}");
    }
    let monitor = call("Monitor", &json!({ "command": "git push" }), at());
    assert!(monitor.is_some());
}

/// Commands that publish. Each is compared, and the launcher starts the program for it.
const PUBLISHING_COMMANDS: [&str; 61] = [
    "git commit -m x",
    "GIT_DIR=x git commit",
    "/usr/bin/git push",
    "if true; then git push; fi",
    "sudo -u me git push origin main",
    "make && (cd sub && git commit -am x)",
    "jj commit -m x",
    "jj git push",
    "git send-email --to x 0001.patch",
    "gh pr create --fill",
    "gh issue comment 3 --body x",
    "gh api graphql -f query=x",
    "glab mr create",
    "gh release create v1 a.zip",
    "npm publish",
    "npx vsce publish",
    "python -m twine upload dist/*",
    "mvn clean deploy",
    "./gradlew :lib:publish",
    "./gradlew publishToMavenCentral",
    "dotnet nuget push a.nupkg",
    "npx vsce publish prisma",
    "git push -n --no-dry-run origin main",
    "P='git push'; eval \"$P\"",
    "npm --registry https://x publish",
    "gh release upload v1 a.zip",
    "pnpm --filter x publish",
    "gem push a.gem",
    "docker buildx build --push .",
    "gh repo create x --source=. --push",
    "gh pr close 3 --comment x",
    "gh api -X POST user/repos",
    "x \"$(git push)\"",
    "a 'git push",
    "cargo publish --dry-run",
    "twine upload dist/*",
    // The value of an option is no option.
    "git commit -am --help",
    "git push -o --dry-run origin main",
    "gh pr review -rb text",
    "gh label create text",
    "npx netlify deploy",
    "wget --post-file=a https://example.org",
    "rsync -a dist/ host:/srv --delete -e ssh",
    "bash -lc 'cd x && git push'",
    "bash <<E\ngit push\nE",
    "bash -euo pipefail <<E\ngit push\nE",
    "bash -s x <<E\ngit push\nE",
    "sudo sh - <<E\ngit push\nE",
    "ssh -p 22 host <<E\ngit push\nE",
    "ssh host bash -s <<E\ngit push\nE",
    "cat >a/x.sh <<E\ngit push\nE\nbash ./a/x.sh",
    "tee x.sh <<E; bash x.sh\ngit push\nE",
    "bash -c \"$(cat <<'E'\ngit push\nE\n)\"",
    "curl -X POST https://example.org -H 'a: b'",
    "curl -sd @a.json https://example.org",
    "curl --data-binary @a https://example.org",
    "curl -F file=@a https://example.org",
    "curl -sT a https://example.org",
    "scp a.txt host:dir/",
    "rsync -a ./ user@host:dir",
    "docker push registry.example/app",
];

#[test]
fn the_launcher_starts_the_program_for_each_call_that_publishes() {
    let launcher = include_str!("../../../../plugin/start.sh");
    let (_, rest) = launcher.split_once("case $question in\n").unwrap();
    let words: Vec<&str> = rest
        .lines()
        .next()
        .unwrap()
        .trim_end_matches(") ;;")
        .split(" | ")
        .map(|word| word.trim().trim_matches(['*', '\'']))
        .collect();
    for command in PUBLISHING_COMMANDS {
        let starts = words.iter().any(|word| command.contains(word));
        assert!(starts, "{command}");
    }
}

#[test]
fn of_a_servers_tools_those_that_send_are_compared_by_their_input() {
    let input = json!({ "title": "a", "labels": ["b", 7], "draft": true, "x": { "body": "c" } });
    for (tool, is_sending) in [
        ("mcp__github__create_issue", true),
        ("mcp__slack__chat_postMessage", true),
        ("mcp__plugin_x_y__UploadFile", true),
        ("mcp__github__issue_write", true),
        ("mcp__composio__GMAIL_SEND_EMAIL", true),
        ("mcp__linear__save_issue", true),
        ("mcp__slack__slack_schedule_message", true),
        ("mcp__mail__forward_email", true),
        ("mcp__supabase__deploy_edge_function", true),
        ("mcp__notion__API-append-block-children", true),
        ("mcp__atlassian__addWorklogToJiraIssue", true),
        ("mcp__atlassian__editjiraissue", true),
        ("mcp__maps__address_lookup", false),
        ("mcp__github__PRComment", true),
        ("mcp__ci__check_deployment", false),
        ("mcp__docs__insertText", true),
        ("mcp__trello__create_list", true),
        ("mcp__notion__notion-get-comments", false),
        ("mcp__atlassian__confluence_get_comments", false),
        ("mcp__atlassian__getConfluencePageFooterComments", false),
        ("mcp__filesystem__edit_file", false),
        ("mcp__github__list_issues", false),
        ("mcp__github__list_commits", false),
        ("mcp__slack__get_post", false),
        ("mcp__postgres__query", false),
        ("mcp__plugin_keyhole_context__load_context", false),
        ("mcp__create", false),
        ("Write", false),
    ] {
        assert_eq!(call(tool, &input, at()).is_some(), is_sending, "{tool}");
    }
    let found = call("mcp__github__create_issue", &input, at()).unwrap();
    let mut lines: Vec<&str> = found.text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["7", "a", "b", "body", "c"]);
    assert_eq!(found.parts[0].files, [""; 0]);
    assert_eq!(found.parts[0].folder, at().folder);
    assert_eq!(found.parts[0].wanted, None);
    let input = json!({ "path": "src/a.rs", "files": ["/srv/a", "~/b"] });
    let sent_files = |tool| call(tool, &input, at()).unwrap().parts.remove(0).files;
    assert_eq!(sent_files("mcp__x__add_comment"), ["/srv/a", "~/b"]);
    let all = ["/srv/a", "~/b", "src/a.rs"];
    assert_eq!(sent_files("mcp__x__uploadDocument"), all);
    assert_eq!(sent_files("mcp__x__create_attachment"), all);
    for input in [Value::Null, json!({}), json!({ "command": 7 })] {
        assert_eq!(call("Bash", &input, at()), None, "{input}");
    }
}

#[test]
fn the_folder_is_that_in_which_the_command_runs() {
    for (command, folders) in [
        ("git push", &["/work"][..]),
        ("cd sub && git push", &["/work/sub"]),
        ("cd ~/a; cd b; git push", &["/home/u/a/b"]),
        ("cd -- /srv/a && git push", &["/srv/a"]),
        ("cd && git push", &["/home/u"]),
        ("if cd x; then git push; fi", &["/work/x"]),
        ("git -C ../q -c a=b push", &["/q", "/work/../q"]),
        ("git -C '/srv/a b' push", &["/srv/a b"]),
        ("git commit -C HEAD", &["/work"]),
        ("pushd x; git push; popd", &["/work/x"]),
        ("(cd x && make) && git push", &["/work"]),
        ("cd a && git push \"$(cd b)\"", &["/work/a"]),
        ("cd a; x=`cd b`; git push", &["/work/a"]),
        ("D=x; cd $D/y && git push", &["/work/x/y"]),
        (
            "for d in a b; do git -C \"$d\" push; done",
            &["/work/a", "/work/b"],
        ),
        ("cd $HOME/a && git push", &["/home/u/a"]),
        ("cd x && cd - && git push", &["/work", "/work/x"]),
        ("cd $X && git push", &["/work"]),
        (
            "cd b; cd ../c; case $X in a) x;; esac; git push",
            &["/work/c", "/work/b/../c"],
        ),
        (
            "cd a && git push; cd ../b && git push",
            &["/work/a", "/work/b", "/work/a/../b"],
        ),
    ] {
        let parts = parts(command);
        let found: Vec<&Path> = parts.iter().map(|part| &*part.folder).collect();
        let expected: Vec<&Path> = folders.iter().map(Path::new).collect();
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn files_that_no_word_names_are_taken_by_the_words_that_add_them() {
    for (command, takes) in [
        ("git commit -m x", Takes::Named),
        ("git commit -am x", Takes::Changed),
        ("git commit -qsam x", Takes::Changed),
        ("git commit -m a", Takes::Named),
        ("git commit -ma", Takes::Named),
        ("git commit --amend --no-edit", Takes::Named),
        ("git commit -m \"$(cat <<E\nx\nE\n)\"", Takes::Named),
        ("git add -A && git commit -m x", Takes::All),
        ("git add . && git commit -m x", Takes::Named),
        ("git add -u && git commit -m x", Takes::Changed),
        ("git add \"$F\" && git commit -m x", Takes::All),
        ("git add src/a.rs && git commit -m 'all *'", Takes::Named),
        ("git commit -m x && git push -u origin main", Takes::Named),
        ("git add {a,b}.txt && git commit -m x", Takes::All),
        ("git add :/docs && git commit -m x", Takes::All),
        ("git add ':(top)x' && git commit -m x", Takes::All),
        (
            "git add --pathspec-from-file=l && git commit -m x",
            Takes::All,
        ),
        ("ls | xargs git add && git commit -m x", Takes::All),
        ("git add `ls` && git commit -m x", Takes::All),
        ("jj commit -m x", Takes::All),
        ("npm publish", Takes::All),
    ] {
        let wanted = parts(command)[0].wanted.clone().unwrap();
        assert_eq!(wanted.takes, takes, "{command}");
        assert_eq!(wanted.amends, command.contains("--amend"), "{command}");
    }
}

#[test]
fn commits_leave_if_the_call_pushes_or_sends() {
    use Extra::{Branches, Nothing, Tags};
    use Remote::{Any, Default, Named, Unknown};
    for (command, sent) in [
        ("git commit -m 'git push'", None),
        ("gh issue create -t x", None),
        ("git push", Some((Default, Nothing))),
        ("git commit -m x && git push", Some((Default, Nothing))),
        ("git push && git commit -m x", Some((Default, Nothing))),
        (
            "git push -q -o ci.skip origin main",
            Some((Named("origin".to_owned()), Nothing)),
        ),
        (
            "git push --force https://example.org/x",
            Some((Named("https://example.org/x".to_owned()), Nothing)),
        ),
        ("git push 2>&1 | tail -3", Some((Default, Nothing))),
        (
            "git push -u origin \"$(git branch --show-current)\"",
            Some((Named("origin".to_owned()), Nothing)),
        ),
        (
            "git push -u origin $(git branch --list | head -1)",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push >log origin main",
            Some((Named("origin".to_owned()), Nothing)),
        ),
        (
            "git commit -m \"$(cat <<'E'\nit's: a \"push\"\nE\n)\" && git push -u origin HEAD",
            Some((Named("origin".to_owned()), Nothing)),
        ),
        ("git push --tags", Some((Default, Tags))),
        ("git push --follow-tags", Some((Default, Tags))),
        ("git stash pop && git commit -am x", Some((Any, Nothing))),
        (
            "git cherry-pick -n 3f2a91c && git commit -m x",
            Some((Any, Branches)),
        ),
        ("git checkout -b f main && git commit -am x", None),
        (
            "git push origin heads/wip",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push origin tags/v1",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push origin 'refs/heads/*'",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push origin 3f2a91c:refs/heads/z",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push origin main :",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push origin @{-1}:y",
            Some((Named("origin".to_owned()), Branches)),
        ),
        (
            "git push origin HEAD~1:x +main :gone",
            Some((Named("origin".to_owned()), Nothing)),
        ),
        (
            "git push origin HEAD:refs/for/main",
            Some((Named("origin".to_owned()), Nothing)),
        ),
        (
            "git push --mirror pub",
            Some((Named("pub".to_owned()), Branches)),
        ),
        ("jj git push", Some((Default, Branches))),
        ("git push \"$R\" main", Some((Unknown, Nothing))),
        (
            "git push https://x:$(t)@y.example/z",
            Some((Unknown, Nothing)),
        ),
        ("git remote add o x && git push o", Some((Unknown, Nothing))),
        ("git remote -v && git push", Some((Default, Nothing))),
        (
            "gh repo create x --source=. --push",
            Some((Unknown, Nothing)),
        ),
        ("gh pr create", Some((Default, Nothing))),
        ("npm publish", Some((Default, Nothing))),
    ] {
        let parts = parts(command);
        let mut sends = parts.iter().map(|part| {
            let sent = part.wanted.as_ref()?.sends.clone()?;
            Some((sent.remote, sent.extra))
        });
        assert!(sends.any(|found| found == sent), "{command}");
    }
    assert_eq!(parts("git commit -m x && git push").len(), 1);
    assert_eq!(parts("gh gist create a.txt && git push").len(), 2);
    // Each remote may lack other commits.
    assert_eq!(parts("git push a && git push b && git push a").len(), 2);
}

#[test]
fn a_push_that_names_branches_sends_head_only_if_it_may_have_made_them() {
    for (command, only) in [
        ("git push origin v1", &["v1"][..]),
        ("git push -u origin main~1:x +v1 :gone", &["main", "v1"]),
        ("git -c a=b push origin HEAD", &["HEAD"]),
        ("git push origin v1 --follow-tags", &["v1"]),
        ("git push", &[]),
        ("git push origin", &[]),
        ("git push origin v1 3f2a91c:x", &[]),
        ("git tag -f v1 && git push origin v1", &[]),
        ("git commit -m x && git push origin v1", &[]),
        ("git subtree push --prefix a origin v1", &[]),
        ("git push $R v1", &["v1"]),
    ] {
        let wanted = parts(command)[0].wanted.clone().unwrap();
        assert_eq!(wanted.sends.unwrap().only, only, "{command}");
    }
}

#[test]
fn a_branch_that_is_only_deleted_is_not_named() {
    for (command, names) in [
        ("git branch -D wip; git push", &[][..]),
        ("git push origin --delete wip; git push", &[]),
        (
            "git push origin main :wip",
            &["origin", "/work/origin", "main", "/work/main"],
        ),
    ] {
        let wanted = parts(command)[0].wanted.clone().unwrap();
        let mut found = wanted.words;
        found.retain(|word| !word.ends_with("push"));
        let mut expected = names.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn each_word_may_name_a_file_or_a_branch() {
    for (command, names) in [
        ("git push origin +fix:main", &["fix", "main", "origin"][..]),
        ("git merge f && git push", &["f"]),
        ("git commit -F../msg", &["../msg"]),
        ("git commit --file=../msg", &["../msg"]),
    ] {
        let wanted = parts(command)[0].wanted.clone().unwrap();
        for name in names {
            assert!(wanted.words.iter().any(|word| word == name), "{name}");
        }
    }
    for (command, files) in [
        (
            "git commit -F ../msg a.txt",
            &["../msg", "/work/../msg"][..],
        ),
        ("git commit -F../msg", &["../msg", "/work/../msg"]),
        ("git commit --file=msg", &["msg", "/work/msg"]),
        (
            "git add -f a.key && git commit -m x",
            &["a.key", "/work/a.key"],
        ),
        ("git push origin main", &[]),
    ] {
        assert_eq!(parts(command)[0].files, files, "{command}");
    }
    for command in [
        "gh gist create a.txt",
        "curl -F 'f=@a.txt;type=text/plain' https://x",
        "curl -d@a.txt https://x",
        "curl -F 'f=<a.txt' https://x",
        "curl -T a.txt https://x",
        "scp a.txt host:",
    ] {
        let files = &parts(command)[0].files;
        assert!(files.iter().any(|file| file == "a.txt"), "{command}");
    }
}

#[test]
fn the_text_is_that_of_the_words_without_quotes_and_without_folders() {
    for (command, text) in [
        ("git commit -m 'for \"X\"'", "git commit -m for \"X\""),
        ("git commit -F - <<E\na\nb\nE", "git commit -F -\na\nb\n"),
        ("cd ~/src/northwind && git push", "git push"),
        ("git -C northwind push /home/u/b", "git push /b"),
        ("cd a && git commit -m a", "git commit -m a"),
        ("git commit -C x", "git commit -C x"),
        ("bash -c 'cd a && git push'", "bash -c cd a && git push"),
    ] {
        assert_eq!(bash(command).unwrap().text, text, "{command}");
    }
}

#[test]
fn a_command_that_names_more_than_is_looked_at_is_too_much() {
    for (command, is_too_much) in [
        ("git push r$i; ", true),
        ("cd d$i; git push; ", true),
        ("V=$i; git push $V$V; ", true),
        ("git add $i w$i; V$i=$V; git push; ", false),
        ("bash -c 'git push'; ", false),
    ] {
        let rows = (0..5_000).map(|i| command.replace("$i", &i.to_string()));
        let found = bash(&rows.collect::<String>());
        let told = found.is_some_and(|call| call.is_too_much);
        assert_eq!(told, is_too_much, "{command}");
    }
}
