//! Each shape of a file, and its bytes after.

use crate::{
    edit::{EditError, apply, undo},
    json,
    map::{self, Table},
};
use serde_json::{Value, json};

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const RULE: &str = r#"{ "permissions": { "deny": ["Read(~/p/**)"] } }"#;

#[track_caller]
fn merged(before: &str, wanted: &str, comments: bool) -> String {
    let changes = json::merge(before, &object(wanted), &Value::Null, comments).unwrap();
    let after = apply(before, &changes).unwrap();
    assert_eq!(undo(&after, &changes).unwrap(), before);
    // A second run changes nothing.
    assert_eq!(
        json::merge(&after, &object(wanted), &Value::Null, comments),
        Ok(Vec::new())
    );
    after
}

#[test]
fn a_json_file_of_each_shape_keeps_every_other_byte() {
    for (before, after) in [
        (
            "",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(~/p/**)\"\n    ]\n  }\n}\n",
        ),
        (
            "{}",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(~/p/**)\"\n    ]\n  }\n}",
        ),
        // Tabs, and no end of line at the end.
        (
            "{\n\t\"a\": 1\n}",
            "{\n\t\"a\": 1,\n\t\"permissions\": {\n\t\t\"deny\": [\n\t\t\t\"Read(~/p/**)\"\n\t\t]\n\t}\n}",
        ),
        // Four blanks, CRLF and a mark.
        (
            "\u{feff}{\r\n    \"permissions\": {\r\n        \"deny\": [\r\n            \"x\"\r\n        ]\r\n    }\r\n}\r\n",
            "\u{feff}{\r\n    \"permissions\": {\r\n        \"deny\": [\r\n            \"x\",\r\n            \"Read(~/p/**)\"\r\n        ]\r\n    }\r\n}\r\n",
        ),
        // In one line.
        (
            "{\"permissions\":{\"allow\":[],\"deny\":[\"x\"]},\"z\":[1, 2.50]}",
            "{\"permissions\":{\"allow\":[],\"deny\":[\"x\", \"Read(~/p/**)\"]},\"z\":[1, 2.50]}",
        ),
        (
            "{ \"permissions\": { \"deny\": [] } }\n",
            "{ \"permissions\": { \"deny\": [\n  \"Read(~/p/**)\"\n] } }\n",
        ),
        (
            "{\n  \"permissions\": {\n    \"deny\": [\n    ]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(~/p/**)\"\n    ]\n  }\n}\n",
        ),
    ] {
        assert_eq!(merged(before, RULE, false), after);
        assert_eq!(merged(before, RULE, true), after);
    }
    // Comments and a comma at the end.
    let before = "{\n  // mine\n  \"permissions\": {\n    \"deny\": [\n      \"x\", // why\n    ],\n  },\n}\n";
    let after = "{\n  // mine\n  \"permissions\": {\n    \"deny\": [\n      \"x\",\n      \"Read(~/p/**)\", // why\n    ],\n  },\n}\n";
    assert_eq!(merged(before, RULE, true), after);
}

#[test]
fn a_json_file_that_cannot_be_edited_safely_is_refused() {
    let refused = |text: &str, wanted: &str| {
        json::merge(text, &object(wanted), &Value::Null, false).unwrap_err()
    };
    for text in [
        "{",
        "{ \"a\": 1, }",
        "{ // x\n}",
        "{} {}",
        "nonsense",
        "{'a': 1}",
        "{\u{a0}}",
        "\u{c}{}",
    ] {
        assert_eq!(refused(text, RULE), EditError::Syntax("JSON"), "{text}");
    }
    for text in [
        "{ \"permissions\": {}, \"permissions\": {} }",
        "{ \"other\": { \"a\": 1, \"a\": 2 } }",
        "{ \"permissions\": {}, \"permission\\u0073\": {} }",
    ] {
        assert!(
            matches!(refused(text, RULE), EditError::Duplicate),
            "{text}"
        );
    }
    for text in [
        "[]",
        "1",
        "{ \"permissions\": [] }",
        "{ \"permissions\": { \"deny\": \"x\" } }",
        "{ \"permissions\": null }",
    ] {
        assert!(
            matches!(refused(text, RULE), EditError::Differs(_)),
            "{text}"
        );
    }
    let server =
        r#"{ "mcpServers": { "a": { "args": ["serve", "--bind", "a"], "command": "keyhole" } } }"#;
    let other = r#"{ "mcpServers": { "a": { "args": ["x"], "command": "y" } } }"#;
    assert!(matches!(refused(other, server), EditError::Differs(_)));
    // What setup wrote before, it changes.
    let new = server.replace("keyhole", "/opt/keyhole");
    let changes = json::merge(server, &object(&new), &object(server), false).unwrap();
    assert_eq!(apply(server, &changes).unwrap(), new);
    // A hook that it no longer needs gives way to the new one. A rule stays: another name may
    // need it.
    for (place, after) in [
        ("hooks", r#""c", "b""#),
        ("permissions", r#""a", "b", "c""#),
    ] {
        let list = |items: &str| format!(r#"{{ "{place}": {{ "x": [{items}] }} }}"#);
        let (old, new) = (list(r#""a", "b""#), list(r#""c""#));
        let changes = json::merge(&old, &object(&new), &object(&old), false).unwrap();
        assert_eq!(apply(&old, &changes).unwrap(), list(after));
    }
}

/// In opencode, the last line that matches counts.
#[test]
fn a_permission_that_a_later_line_undoes_is_refused() {
    let wanted = object(r#"{ "permission": { "x_*": "deny" } }"#);
    let merge = |lines: &str| {
        let text = format!("{{ \"permission\": {{ {lines} }} }}");
        json::merge(&text, &wanted, &Value::Null, true)
    };
    for lines in [
        r#""*": "allow", "x_*": "deny""#,
        r#""x_*": "deny", "bash": "ask", "y_*": "allow""#,
        r#""x_*": "deny", "*": "ask", "*_load_context": "deny""#,
    ] {
        assert_eq!(merge(lines), Ok(Vec::new()), "{lines}");
    }
    for lines in [
        r#""x_*": "deny", "*": "allow""#,
        r#""x_*": "deny", "x_load_contex?": "ask""#,
    ] {
        let undone = EditError::Undone("permission.x_*".to_owned());
        assert_eq!(merge(lines), Err(undone), "{lines}");
    }
}

#[test]
fn a_comment_beside_what_goes_stays() {
    let gone = object(r#"{ "deny": ["ours"] }"#);
    for (before, after) in [
        ("\"a\", // a\n  \"ours\"\n", "\"a\", // a\n  \n"),
        (
            "\"a\", // a\n  \"ours\", // b\n  \"b\"",
            "\"a\", // a\n   // b\n  \"b\"",
        ),
        ("\"a\", // a\n  \"ours\",\n  \"b\"", "\"a\", // a\n  \"b\""),
        ("\"ours\", // b\n  \"b\"", " // b\n  \"b\""),
        ("\"a\",\n  \"ours\", // b\n", "\"a\", // b\n"),
        ("\"ours\",\n", ""),
    ] {
        let list = |items: &str| format!("{{ \"deny\": [{items}], \"b\": 1 }}");
        let left = json::without(&list(before), &gone, &object(r#"{ "deny": [] }"#), true);
        assert_eq!(left, Ok(list(after)));
    }
}

#[test]
fn what_is_taken_out_of_changed_settings_is_ours_alone() {
    let wrote =
        object(r#"{ "permissions": { "deny": ["a", "b"] }, "mcp": { "x": { "y": [1] } } }"#);
    let kept = object(r#"{ "permissions": { "deny": ["b"] } }"#);
    for (before, after) in [
        (
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"a\",\n      \"b\",\n      \"c\"\n    ]\n  },\n  \"mcp\": { \"x\": { \"y\": [1] }, \"z\": 1 }\n}",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"b\",\n      \"c\"\n    ]\n  },\n  \"mcp\": { \"z\": 1 }\n}",
        ),
        (
            "{\"permissions\":{\"deny\":[\"c\",\"a\"]}}",
            "{\"permissions\":{\"deny\":[\"c\"]}}",
        ),
        ("\u{feff}{\"mcp\": {\"x\": {\"y\": [1]}}}", "\u{feff}{}"),
        (
            "{\"mcp\": {\"x\": {\"y\": [2]}}}",
            "{\"mcp\": {\"x\": {\"y\": [2]}}}",
        ),
    ] {
        assert_eq!(json::without(before, &wrote, &kept, false).unwrap(), after);
    }
}

fn table(kind: &str, name: &str, adds_roots: bool) -> Table {
    Table {
        kind: kind.to_owned(),
        name: name.to_owned(),
        fields: vec![
            ("path".to_owned(), json!("~/p/a.md")),
            ("max_bytes".to_owned(), json!(100)),
            ("agents".to_owned(), json!(["x"])),
        ],
        root: Some("~/p".to_owned()),
        held_by: vec!["~/".to_owned()],
        all_roots: adds_roots.then(|| ["~/p".to_owned()].into()),
    }
}

#[test]
fn a_map_of_each_shape_keeps_every_other_byte() {
    let whole = "[keys.a]\npath = \"~/p/a.md\"\nmax_bytes = 100\nagents = [\"x\"]\n";
    let crlf = whole.replace('\n', "\r\n");
    for (before, after) in [
        (String::new(), format!("roots = [\"~/p\"]\n\n{whole}")),
        // Comments at the top stay there, and those of a table with it.
        (
            "#:schema x.json\n# my map\n\n# about b\n[keys.b]\npath = '/b.md'\n".to_owned(),
            format!("#:schema x.json\n# my map\n\nroots = [\"~/p\"]\n\n# about b\n[keys.b]\npath = '/b.md'\n\n{whole}"),
        ),
        ("# nothing yet".to_owned(), format!("# nothing yet\nroots = [\"~/p\"]\n\n{whole}")),
        // CRLF, a mark, and a last line without an end.
        (
            "\u{feff}max_bytes = 1\r\n[keys]\r\n\"b\" = '/b.md' # b".to_owned(),
            format!("\u{feff}roots = [\"~/p\"]\r\n\r\nmax_bytes = 1\r\n[keys]\r\n\"b\" = '/b.md' # b\r\n\r\n{crlf}"),
        ),
        // Roots that are there.
        (
            "roots = [\n  \"~/q\", # q\n]\n".to_owned(),
            format!("roots = [\n  \"~/q\", \"~/p\", # q\n]\n\n{whole}"),
        ),
        ("roots = []\n".to_owned(), format!("roots = [\"~/p\"]\n\n{whole}")),
        // The same, but for a limit and an agent.
        (
            "roots = ['~/p']\n[keys.a]\npath = '~/p/a.md' # mine\nmax_bytes = 200 # limit\nagents = ['y']\n\n[bindings.c]\npath = '/c.md'\n".to_owned(),
            "roots = ['~/p']\n[keys.a]\npath = '~/p/a.md' # mine\nmax_bytes = 100 # limit\nagents = ['y', \"x\"]\n\n[bindings.c]\npath = '/c.md'\n".to_owned(),
        ),
        (
            "roots = ['~/p']\n[keys]\na = { path = '~/p/a.md' } # a\nb = '/b.md'\n".to_owned(),
            "roots = ['~/p']\n[keys]\na = { path = '~/p/a.md', max_bytes = 100, agents = [\"x\"] } # a\nb = '/b.md'\n".to_owned(),
        ),
        (
            "roots = ['~/p']\r\n[keys.a]\r\npath = '~/p/a.md' # a".to_owned(),
            "roots = ['~/p']\r\n[keys.a]\r\npath = '~/p/a.md' # a\r\nmax_bytes = 100\r\nagents = [\"x\"]".to_owned(),
        ),
    ] {
        let wanted = table("keys", "a", true);
        let changes = map::merge(&before, &wanted).unwrap();
        let merged = apply(&before, &changes).unwrap();
        assert_eq!(merged, after);
        assert_eq!(undo(&merged, &changes).unwrap(), before);
        assert_eq!(map::merge(&merged, &wanted), Ok(Vec::new()));
    }
    // A lower limit is another client's.
    let before = "roots = ['~/p']\n[keys.a]\npath = '~/p/a.md'\nmax_bytes = 50\nagents = ['x']\n";
    assert_eq!(
        map::merge(before, &table("keys", "a", true)),
        Ok(Vec::new())
    );
    // What the user said no to stays.
    let mut wanted = table("keys", "a", true);
    wanted.fields.push(("withhold".to_owned(), json!(true)));
    let before = "roots = ['~/p']\n[keys.a]\npath = '~/p/a.md'\nmax_bytes = 100\nagents = ['x']\n";
    for (said, changes) in [("", 1), ("withhold = false\n", 0), ("withhold = true\n", 0)] {
        let found = map::merge(&format!("{before}{said}"), &wanted).unwrap();
        assert_eq!(found.len(), changes, "{said}");
    }
    // Without roots, none come.
    let wanted = table("bindings", "a", false);
    let changes = map::merge("[keys.b]\npath = '/b.md'\n", &wanted).unwrap();
    let merged = apply("[keys.b]\npath = '/b.md'\n", &changes).unwrap();
    assert_eq!(
        merged,
        format!(
            "[keys.b]\npath = '/b.md'\n\n{}",
            whole.replace("keys", "bindings")
        )
    );
}

#[test]
fn a_map_that_cannot_be_edited_safely_is_refused() {
    let wanted = table("keys", "a", true);
    for (text, differs) in [
        ("[keys.a]\npath = '/other.md'\n", true),
        ("[keys]\na = '~/p/other.md'\n", true),
        ("roots = '~/p'\n", true),
        ("keys = 1\n", true),
        ("keys = { b = '/b.md' }\n", false),
        ("[keys]\na.path = '~/p/a.md'\n", false),
    ] {
        let error = map::merge(text, &wanted).unwrap_err();
        assert_eq!(
            matches!(error, EditError::Differs(_)),
            differs,
            "{text}: {error}"
        );
        assert_eq!(error == EditError::NotSafe, !differs, "{text}: {error}");
    }
    for text in ["[keys", "[keys.a]\n[keys.a]\n", "a = 1\na = 2\n"] {
        assert_eq!(
            map::merge(text, &wanted),
            Err(EditError::Syntax("TOML")),
            "{text}"
        );
    }
}
