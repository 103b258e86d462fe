//! Heads of agents' files, in the forms of YAML.

use super::*;

/// Each binding, and whether it is guarded.
fn found(head: &str) -> Vec<(String, bool)> {
    let text = format!("---\nname: a\n{head}\n---\nIt may run keyhole serve --bind x.\n");
    let agents = servers(Path::new("a.md"), &text).into_iter();
    agents.map(|agent| (agent.bind, agent.is_guarded)).collect()
}

#[test]
fn an_agent_is_guarded_if_its_hook_and_its_server_are_both_there() {
    let examples = crate::clients::named("claude-code").unwrap();
    let text = examples.parts[0].text;
    let head = text.split("---\n").nth(1).unwrap();
    let with = |change: &dyn Fn(&str) -> String| found(&change(head));
    let is = |guarded| vec![("scanner-catalog".to_owned(), guarded)];
    assert_eq!(with(&str::to_owned), is(true));
    for (what, with_what) in [
        ("\"--require-ticket\", ", ""),
        ("PreToolUse", "PostToolUse"),
        (
            "\"guard\", \"--bind\", \"scanner-catalog\"",
            "\"guard\", \"--bind\", \"other\"",
        ),
        (
            "\"guard\", \"--bind\"",
            "\"guard\", \"--after\", \"--bind\"",
        ),
        (
            "\"matcher\": \"mcp__scanner-catalog__load_context\"",
            "\"matcher\": \"Bash\"",
        ),
        ("\"timeout\": 20,", "\"timeout\": 20, \"async\": true,"),
        ("\nhooks: ", "\n# hooks: "),
    ] {
        assert!(head.contains(what), "{what}");
        assert_eq!(
            with(&|head| head.replace(what, with_what)),
            is(false),
            "{what}"
        );
    }
    let no_hooks = |head: &str| {
        let lines = head.lines().filter(|line| !line.starts_with("hooks:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(with(&no_hooks), is(false));
}

#[test]
fn it_is_found_in_each_form_of_yaml_and_nothing_else_is() {
    let server =
        "mcpServers:\n  - b:\n      type: stdio\n      command: /opt/keyhole\n      args:\n";
    // A comment starts nothing, and a name is no command.
    let commented =
        format!("{server}        [serve, --bind, b] # --require-ticket, PreToolUse guard --bind b");
    assert_eq!(found(&commented), [("b".to_owned(), false)]);
    let named = format!("{server}        [serve, --agent, guard, --bind, serve]");
    assert_eq!(found(&named), [("serve".to_owned(), false)]);
    for args in [
        "        - serve\n        - --bind\n        - b",
        "        [serve, '--bind', b]",
        "        [\"serve\", \"--bind=b\"]",
    ] {
        assert_eq!(
            found(&format!("{server}{args}")),
            [("b".to_owned(), false)],
            "{args}"
        );
    }
    for other in [
        "# mcpServers: [{b: {command: keyhole, args: [serve, --bind, b]}}]",
        "description: Explains how keyhole serve --bind b works.",
        "mcpServers: [{b: {command: python3, args: [serve, --bind, 127.0.0.1]}}]",
        "mcpServers: [{b: {command: keyhole, args: [serve]}}]",
        "description: Reads what keyhole is.",
    ] {
        assert_eq!(found(other), [], "{other}");
    }
}

#[test]
fn it_looks_into_folders_and_neither_a_pipe_nor_a_circle_of_links_holds_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let text = "--- \nmcpServers: [{b: {command: keyhole, args: [serve, --bind, b]}}]\n---\n";
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("a.md"), text).unwrap();
    fs::write(inner.join("a.txt"), text).unwrap();
    let link = std::os::unix::fs::symlink;
    link(folder.path(), inner.join("circle")).unwrap();
    // As from a folder of dotfiles.
    let agents = tempfile::tempdir().unwrap();
    link(folder.path(), agents.path().join("team")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(inner.join("pipe.md"))
        .status();
    assert!(made.unwrap().success());
    let found = own_agents(agents.path());
    let files: Vec<_> = found.into_iter().map(|agent| agent.file).collect();
    assert_eq!(files, [agents.path().join("team/inner/a.md")]);
    assert_eq!(own_agents(&folder.path().join("gone")), []);
}

#[test]
fn a_program_that_is_not_there_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("keyhole");
    fs::write(&there, "").unwrap();
    let there = there.to_str().unwrap();
    for (command, is_gone) in [
        ("command: /gone/keyhole", true),
        ("\"command\": \"/gone/a b/keyhole\"", true),
        ("command: '/gone/keyhole'", true),
        (&*format!("command: {there}"), false),
        ("command: keyhole", false),
        ("command: /gone/python3", false),
    ] {
        let text = format!(
            "---\nmcpServers: [{{b: {{{command}, args: [keyhole, serve, --bind, b]}}}}]\n---\n"
        );
        let agents = servers(Path::new("a.md"), &text);
        assert_eq!(agents[0].gone.is_some(), is_gone, "{command}");
    }
}

#[test]
fn a_hook_that_hands_an_agent_its_file_is_found_as_setup_writes_it() {
    let settings = |program: &str| crate::tests::hooked(program, "acme:a");
    let found = InjectHook::all(&settings("/gone/a b/keyhole")).remove(0);
    assert_eq!(found.agent, "acme:a");
    assert_eq!(found.map, Path::new("/h/it's/m.toml"));
    assert!(found.is_gone());
    assert!(!InjectHook::all(&settings("/bin/sh"))[0].is_gone());
    for other in [
        "null",
        "{\"hooks\": []}",
        "{\"hooks\": {\"SubagentStart\": [{\"hooks\": [{}]}]}}",
    ] {
        assert_eq!(InjectHook::all(&serde_json::from_str(other).unwrap()), []);
    }
}
