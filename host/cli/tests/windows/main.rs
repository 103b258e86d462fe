//! The program for Windows, tested from outside: on Windows itself, or under wine.
//!
//! On Windows, cargo builds it, and these tests run like any others. Elsewhere `./x
//! release windows` builds it and sets `KEYHOLE_WINDOWS` to it, and `KEYHOLE_WINE` to
//! the program that runs it; without these, each test prints that it is skipped.
//! docs/map.md lists what wine cannot show.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod machine;
/// What Windows accepts as a name, and the walk does not.
mod names;
/// What can be checked about the program without running it.
mod portable;
/// Tickets, and the guard that writes them.
mod tickets;
/// Who may write to the places that a map leads through.
mod trust;

use machine::{Machine, Place, machine};
use serde_json::{Value, json};

const KEY: &str = "k-3f9c27e1b6a84d05";

/// A map with one key.
fn map_of(path: &str) -> String {
    format!("[keys]\n\"{KEY}\" = '{path}'\n")
}

/// What a client sends to open a session and to call with these keys.
fn session(keys: &[&str]) -> String {
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for (index, key) in keys.iter().enumerate() {
        lines.push(
            json!({"jsonrpc": "2.0", "id": index + 1, "method": "tools/call", "params": {
                "name": "load_context", "arguments": {"key": key},
            }}),
        );
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The answer to the call with this number: content, or a code.
fn answer(out: &str, id: u64) -> Result<String, String> {
    let answers = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let found = |answer: &Value| answer["id"] == id;
    let answer: Value = answers.into_iter().find(found).expect(out);
    let result = &answer["result"];
    match result["isError"] == true {
        false => Ok(result["content"][0]["text"].as_str().unwrap().to_owned()),
        true => Err(result["structuredContent"]["code"]
            .as_str()
            .unwrap()
            .to_owned()),
    }
}

/// What a call with the one key gets if the map is this one.
fn load_by(machine: &Machine, place: &Place, map: String) -> Result<String, String> {
    place.write("map.toml", map);
    let map = place.path("map.toml");
    let ran = machine.run(&["serve", "--map", &map], &session(&[KEY]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    answer(&ran.out, 1)
}

/// What a call with the one key gets if the map leads to `path`.
fn load(machine: &Machine, place: &Place, path: &str) -> Result<String, String> {
    load_by(machine, place, map_of(path))
}

/// What `check` says of this map. It exits with `code`.
#[track_caller]
fn checked(machine: &Machine, map: &str, code: i32) -> String {
    let ran = machine.run(&["check", "--map", map], "");
    assert_eq!(ran.code, code, "{map}: {}", ran.out);
    ran.out
}

#[test]
fn content_comes_byte_for_byte_and_lines_end_as_the_protocol_says() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    let text = "a\r\nb\n\u{1a}\u{feff}é\r\r\n";
    place.write("notes/a.md", text);
    // Those of the map and of requests may end as lines do on Windows.
    let windows = |text: &str| text.replace('\n', "\r\n");
    place.write("map.toml", windows(&map_of(r"notes\a.md")));
    let requests = windows(&session(&[KEY, "k-guessed", KEY]));
    let ran = machine.run(&["serve", "--map", &place.path("map.toml")], &requests);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(!ran.out.contains('\r'), "{:?}", ran.out);
    assert_eq!(answer(&ran.out, 1).as_deref(), Ok(text));
    assert_eq!(answer(&ran.out, 2), Err("unknown-key".to_owned()));
    assert_eq!(answer(&ran.out, 3).as_deref(), Ok(text));
}

#[test]
fn the_map_is_in_appdata_and_check_and_setup_say_its_path_as_it_is() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("notes/a.md", "# A\n");
    let machine = machine
        .with("APPDATA", &place.path(""))
        .with("USERPROFILE", &place.path("home"));
    let ran = machine.run(&["check"], "");
    let map = place.path(r"keyhole\context-map.toml");
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains(&map), "{} {map}", ran.out);

    let made = machine.run(
        &["setup", "key", &place.path(r"notes\a.md"), "--bind", "it"],
        "",
    );
    assert_eq!((made.code, &*made.err), (0, ""));
    place.write("keyhole/context-map.toml", &made.out);
    let path = json!(place.path(r"notes\a.md"));
    assert!(made.out.contains(&format!("path = {path}")), "{}", made.out);

    let ran = machine.run(&["check", "--json"], "");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["map"], json!(map));

    let ran = machine.run(&["serve", "--bind", "it"], &session(&[]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = machine.run(&["setup", "claude-code", "--bind", "it"], "");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains(r"\\keyhole.exe"), "{}", said.out);
}

#[test]
fn roots_hold_what_lies_in_them_and_nothing_else() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("notes/a.md", "in");
    place.write("b.md", "out");
    for (path, gets) in [
        (r"notes\a.md", Ok("in")),
        (r"NOTES\a.md", Ok("in")),
        (r"notes\..\b.md", Err("outside-root")),
        ("b.md", Err("outside-root")),
    ] {
        let map = format!("roots = ['{}']\n{}", place.path("notes"), map_of(path));
        let gets = gets.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(load_by(&machine, &place, map), gets, "{path}");
    }
}

#[test]
fn what_windows_has_not_is_refused_and_said() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("a.md", "# A\n");
    place.write("map.toml", map_of("a.md"));
    let map = place.path("map.toml");
    let walled = machine.run(&["serve", "--require-wall", "--map", &map], "");
    assert_eq!(walled.code, 1);
    let said = walled.err;
    assert!(said.contains("asks for the whole wall"), "{said}");
    let said = checked(&machine, &map, 0);
    assert!(said.contains("wall: none on this system"), "{said}");
}

#[test]
fn while_another_program_writes_to_a_file_it_is_not_served() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    let writer = machine.hold_for_writing(&place, "a.md");
    assert_eq!(load(&machine, &place, "a.md"), Err("changed".to_owned()));
    drop(writer);
    place.write("a.md", "whole");
    assert_eq!(load(&machine, &place, "a.md").as_deref(), Ok("whole"));
}
