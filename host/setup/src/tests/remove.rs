//! What `remove` does after somebody changed, moved or linked a file: nothing is left silently.

use super::{Home, MAP, SETTINGS, User, YES, bind, files::lived_in, inject, wants};
use crate::{Outcome, Request, SetupError, What};
use std::{fs, os::unix::fs::symlink};

/// What it says.
#[track_caller]
fn removed(home: &Home, name: &str) -> String {
    let mut user = User::answers(&["y"]);
    let done = home.door(None, |door| door.remove(name, &mut user));
    assert!(matches!(done, Ok(Outcome::Done(_))), "{done:?}");
    user.seen
}

/// It changes nothing, also not the record, and says what to take away.
#[track_caller]
fn refused(home: &Home, name: &str, says: &str) {
    let all = home.everything();
    for _ in 0..2 {
        let error = home.remove(name).unwrap_err().to_string();
        assert!(error.starts_with("nothing is changed"), "{error}");
        assert!(error.ends_with(says), "{error}");
        assert_eq!(home.everything(), all);
    }
}

#[test]
fn a_table_that_the_user_added_lines_to_is_not_cut() {
    let home = Home::new();
    home.file("private/z.md", "z\n");
    let map = "roots = ['~/private']\n\n[bindings.z]\npath = '~/private/z.md'\n";
    home.file(MAP, map);
    home.given(&bind("claude-code", "x"));
    home.file(MAP, &(home.read(MAP) + "agents = ['rev']\nmax_bytes = 1\n"));
    refused(
        &home,
        "x",
        ": [bindings.x], path = \"~/private/identifiers.md\"",
    );
    // Then the user does what it says.
    home.file(MAP, map);
    assert!(!removed(&home, "x").contains("context-map"));
    assert_eq!(home.read(MAP), map);
    assert!(!home.path(SETTINGS).exists() && !home.path(".local").exists());
}

#[test]
fn an_agent_in_the_users_own_table_keeps_its_rules_until_it_is_taken_away() {
    let home = Home::new();
    let map = "roots = ['~/private']\n[keys.keyhole-privacy-catalog]\npath = '~/private/identifiers.md'\nagents = ['a:b']\n";
    home.file(MAP, map);
    let answers = ["y", "keyhole:privacy-scanner", "y"];
    home.install(&wants(What::Plugin), &mut User::answers(&answers))
        .unwrap();
    assert!(home.read(MAP).contains("withhold = true"));
    home.file(MAP, &(home.read(MAP) + "# hand\n"));
    refused(
        &home,
        "plugin",
        ": in [keys.keyhole-privacy-catalog], agents = [\"keyhole:privacy-scanner\"], withhold = true",
    );
    assert!(home.read(SETTINGS).contains("Read(~/private/**)"));
    home.file(MAP, &map.replace("['a:b']", "['a:b', 'c']"));
    removed(&home, "plugin");
    assert!(!home.path(SETTINGS).exists());
}

/// The table is the user's, so it is not what to take away.
#[test]
fn a_limit_in_the_users_own_binding_is_named_alone() {
    let home = Home::new();
    let map = "roots = ['~/private']\n[bindings.a]\npath = '~/private/identifiers.md'\n";
    home.file(MAP, map);
    home.install(&bind("codex", "a"), &mut User::answers(&["a", "y"]))
        .unwrap();
    let limited = home.read(MAP) + "# hand\n";
    home.file(MAP, &limited);
    refused(&home, "a", ": in [bindings.a], max_bytes = 40000");
    let own = limited.replace("max_bytes = 40000\n", "");
    home.file(MAP, &own);
    removed(&home, "a");
    assert_eq!(home.read(MAP), own);
}

#[test]
fn a_hooks_key_is_not_shown_by_a_refusal() {
    let home = Home::new();
    home.given(&inject("reviewer"));
    home.file(MAP, &(home.read(MAP) + "max_bytes = 1\n"));
    let says = ": [keys.…], path = \"~/private/identifiers.md\", agents = [\"reviewer\"]";
    refused(&home, "reviewer", says);
}

#[test]
fn a_run_that_stops_shows_no_key() {
    let home = Home::new();
    let mut user = User::answers(YES);
    let stopped = home.door(Some(20), |door| {
        door.install(&inject("reviewer"), &mut user)
    });
    let said = stopped.unwrap_err().to_string() + &user.seen;
    assert!(
        said.contains("stopped") && said.contains("+ [keys.…]"),
        "{said}"
    );
    assert!(!said.contains("k-"), "{said}");
}

#[test]
fn a_table_that_is_gone_already_is_no_reason_to_refuse() {
    let home = lived_in();
    let before = home.read(MAP);
    let install = || home.install(&bind("claude-code", "a"), &mut User::answers(YES));
    install().unwrap();
    let roots = "# mine\n\nroots = [\"~/notes\", \"~/private\"]\n\n";
    assert!(home.read(MAP).starts_with(roots));
    home.file(MAP, &before.replace("# mine\n\n", roots));
    install().unwrap();
    let seen = removed(&home, "a");
    assert_eq!(home.read(MAP), before.replace("# mine\n\n", roots));
    for root in ["~/notes", "~/private"] {
        assert!(
            seen.contains(&format!("{root} stays in its roots")),
            "{seen}"
        );
    }
    assert!(!home.path(".local").exists());
}

#[test]
fn what_was_moved_away_is_named_and_stays_in_the_record() {
    let home = lived_in();
    let before = home.everything();
    home.given(&bind("claude-code", "a"));
    let rename = |from: &str, to: &str| fs::rename(home.path(from), home.path(to)).unwrap();
    // The map may be in use where it is, so the rules stay.
    rename(".config", "old");
    refused(&home, "a", "take away yourself what setup wrote there");
    rename("old", ".config");
    rename(".claude", "old");
    let seen = removed(&home, "a");
    for file in [SETTINGS, ".claude/agents/a.md"] {
        let says = format!("{}: it is not there", home.path(file).display());
        assert!(seen.contains(&says), "{seen}");
    }
    rename("old", ".claude");
    removed(&home, "a");
    assert_eq!(home.everything(), before);
    assert!(!home.path(".local").exists());
}

#[test]
fn a_file_that_became_a_link_leaves_none_that_leads_nowhere() {
    let home = Home::new();
    home.given(&bind("claude-code", "a"));
    fs::rename(home.path(MAP), home.path("dotfile.toml")).unwrap();
    symlink(home.path("dotfile.toml"), home.path(MAP)).unwrap();
    let seen = removed(&home, "a");
    assert!(seen.contains("is a link now"), "{seen}");
    assert_eq!(home.read(MAP), "");
    home.given(&bind("claude-code", "a"));
}

#[test]
fn an_agent_that_the_user_made_an_own_one_stays_and_stays_known() {
    let home = Home::new();
    home.given(&bind("claude-code", "a"));
    home.file(".claude/agents/a.md", "my own text\n");
    for _ in 0..2 {
        let seen = removed(&home, "a");
        assert!(seen.contains("agents/a.md was changed"), "{seen}");
    }
    fs::remove_file(home.path(".claude/agents/a.md")).unwrap();
    let seen = removed(&home, "a");
    assert!(seen.contains("a.md: it is not there"), "{seen}");
    assert!(!home.path(".local").exists());
    assert!(matches!(home.remove("a"), Err(SetupError::NothingOf)));
}

/// It shows what goes, and nothing of what stays.
#[test]
fn what_another_name_needs_is_not_shown_as_going() {
    for changed in [false, true] {
        let home = lived_in();
        let change = || {
            if changed {
                let settings: serde_json::Value =
                    serde_json::from_str(&home.read(SETTINGS)).unwrap();
                home.file(SETTINGS, &settings.to_string());
            }
        };
        home.given(&bind("claude-code", "x"));
        let answers = ["keyhole:privacy-scanner", "y"];
        home.install(&wants(What::Plugin), &mut User::answers(&answers))
            .unwrap();
        change();
        let rule = "Read(~/private/**)";
        let seen = removed(&home, "x");
        for goes in ["- [bindings.x]", "mcp__x__load_context", "- name: x"] {
            assert!(seen.contains(goes), "{changed} {goes}: {seen}");
        }
        for stays in [rule, "roots", "[keys", "model", ".ssh"] {
            assert!(!seen.contains(stays), "{changed} {stays}: {seen}");
        }
        assert!(home.read(SETTINGS).contains(rule));
        change();
        let seen = removed(&home, "plugin");
        assert!(seen.contains(rule) && !seen.contains(".ssh"), "{seen}");
        assert!(!home.read(SETTINGS).contains(rule), "{changed}");
    }
}

#[test]
fn settings_of_which_a_part_is_not_there_as_it_was_are_named() {
    let home = lived_in();
    home.given(&bind("cursor", "a"));
    let file = ".cursor/mcp.json";
    home.file(
        file,
        &home.read(file).replace("\"serve\"", "\"-v\", \"serve\""),
    );
    let seen = removed(&home, "a");
    assert!(seen.contains("look whether a part"), "{seen}");
    assert!(home.read(file).contains("-v"));
}

/// Also if a client has written the file again since, or another name came in between.
#[test]
fn a_list_or_table_that_was_empty_before_is_not_taken_away() {
    for settings in [
        r#"{"permissions":{}}"#,
        r#"{"permissions":{"deny":[]}}"#,
        r#"{"permissions":{"allow":[],"deny":[]},"hooks":{}}"#,
        r#"{"hooks":{"SubagentStart":[]}}"#,
    ] {
        for names in [["a", "b", "c"], ["c", "b", "a"]] {
            let home = Home::new();
            home.file(SETTINGS, settings);
            home.given(&bind("claude-code", "a"));
            home.install(&bind("claude-code", "b"), &mut User::answers(&["b", "y"]))
                .unwrap();
            home.install(&inject("c"), &mut User::answers(&["c", "y"]))
                .unwrap();
            for name in names {
                home.file(SETTINGS, &(home.read(SETTINGS) + " "));
                home.remove(name).unwrap();
            }
            let left = home.read(SETTINGS).replace([' ', '\n'], "");
            assert_eq!(left, settings, "{names:?}");
        }
    }
}

#[test]
fn a_file_that_setup_made_goes_although_its_layout_was_changed() {
    let home = Home::new();
    home.given(&wants(What::Plugin));
    let changed = format!("\u{feff}{}\n", home.read(SETTINGS));
    home.file(SETTINGS, &changed);
    home.remove("plugin").unwrap();
    home.has_the_document_alone();
}

/// Also if a settings file in it was changed in between.
#[test]
fn a_folder_that_setup_made_goes_with_the_last_file_in_it() {
    for (client, settings) in [
        ("gemini-cli", None),
        ("opencode", Some(".config/opencode/opencode.json")),
    ] {
        for names in [["a", "b"], ["b", "a"]] {
            let home = Home::new();
            let before = home.everything();
            home.given(&bind(client, names[0]));
            if let Some(file) = settings {
                home.file(file, &(home.read(file) + " "));
            }
            let answers = [names[1], "y"];
            home.install(&bind(client, names[1]), &mut User::answers(&answers))
                .unwrap();
            home.remove("a").unwrap();
            home.remove("b").unwrap();
            assert_eq!(home.everything(), before, "{client} {names:?}");
        }
    }
}

/// A run stops at a folder that is read-only, and a second one does not.
#[test]
fn what_a_stopped_run_has_not_written_is_forgotten() {
    let home = Home::new();
    // The record takes nine steps.
    for steps in 8..14 {
        let install = |steps| {
            home.door(steps, |door| {
                door.install(&bind("claude-code", "a"), &mut User::answers(YES))
            })
        };
        install(Some(steps)).unwrap_err();
        install(None).unwrap();
        home.remove("a").unwrap();
        home.has_the_document_alone();
    }
}

#[test]
fn rules_that_two_names_share_go_with_the_second_although_the_first_ones_were_changed() {
    for names in [["plugin", "x"], ["x", "plugin"]] {
        let home = lived_in();
        let settings = home.read(SETTINGS);
        home.given(&wants(What::Plugin));
        home.file(SETTINGS, &(home.read(SETTINGS) + "\n"));
        // Only the own agent has tickets, whose folder needs a rule.
        let mut user = User::answers(&["y", "x", "y"]);
        home.install(&bind("claude-code", "x"), &mut user).unwrap();
        for name in names {
            assert!(home.read(SETTINGS).contains("Read(~/private/**)"));
            home.remove(name).unwrap();
        }
        assert_eq!(home.read(SETTINGS), settings.clone() + "\n", "{names:?}");
    }
}

/// Claude Code keeps what its agents read, and nothing denies it any more.
#[test]
fn remove_names_what_its_rules_have_denied_and_the_client_keeps() {
    let home = Home::new();
    home.given(&bind("claude-code", "a"));
    let mut user = User::answers(&["b", "y"]);
    home.install(&bind("claude-code", "b"), &mut user).unwrap();
    for (name, is_last) in [("a", false), ("b", true)] {
        let mut user = User::answers(&["y"]);
        home.door(None, |door| door.remove(name, &mut user))
            .unwrap();
        let says = "delete ~/.claude/projects/*/*/subagents.\n";
        assert_eq!(user.seen.contains(says), is_last, "{}", user.seen);
    }
}

/// A document's folder may have the name of the client's.
#[test]
fn remove_names_nothing_that_its_rules_have_not_denied() {
    let home = Home::new();
    home.file("projects/identifiers.md", "# Name\n");
    let own = r#"{"permissions":{"deny":["Read(~/.claude/projects/**/subagents/**)"]}}"#;
    home.file(SETTINGS, own);
    let request = Request {
        file: "~/projects/identifiers.md".into(),
        ..bind("claude-code", "a")
    };
    home.given(&request);
    assert!(home.read(SETTINGS).contains("Read(~/projects/**)"));
    assert!(!removed(&home, "a").contains("conversations"));
    assert_eq!(home.read(SETTINGS), own);
}
