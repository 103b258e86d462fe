use super::*;
use serde_json::json;

/// Files that 2.1.197 or 2.1.332 does not load, and the key that is named.
const NOT_LOADED: &str = r#"
[] | the file
{"permissions": null} | permissions
{"permissions": []} | permissions
{"permissions": {"ask": null}} | permissions.ask
{"permissions": {"allow": "Read"}} | permissions.allow
{"permissions": {"deny": {}}} | permissions.deny
{"permissions": {"additionalDirectories": [1]}} | permissions.additionalDirectories
{"permissions": {"defaultMode": "bogus"}} | permissions.defaultMode
{"permissions": {"defaultMode": null}} | permissions.defaultMode
{"permissions": {"disableBypassPermissionsMode": true}} | permissions.disableBypassPermissionsMode
{"permissions": {"blockReadsOutsideWorkingDirectories": "yes"}} | permissions.blockReadsOutsideWorkingDirectories
{"env": null} | env
{"env": []} | env
{"enabledPlugins": []} | enabledPlugins
{"enabledPlugins": {"a@b": "true"}} | enabledPlugins.a@b
{"enabledPlugins": {"a@b": null}} | enabledPlugins.a@b
{"enabledPlugins": {"a@b": [1]}} | enabledPlugins.a@b
{"sandbox": true} | sandbox
{"sandbox": {"enabled": null}} | sandbox.enabled
{"sandbox": {"excludedCommands": "x"}} | sandbox.excludedCommands
{"sandbox": {"filesystem": {"denyRead": [1]}}} | sandbox.filesystem.denyRead
{"disableAllHooks": "true"} | disableAllHooks
{"disableAllHooks": null} | disableAllHooks
{"hooks": [{}]} | hooks
{"hooks": {"PreToolUse": {}}} | hooks.PreToolUse
{"hooks": {"PreToolUse": ["x"]}} | hooks.PreToolUse.hooks
{"hooks": {"PostToolUse": [{"matcher": "x"}]}} | hooks.PostToolUse.hooks
{"hooks": {"PreToolUse": [{"matcher": 1, "hooks": []}]}} | hooks.PreToolUse.matcher
{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": 1}]}]}} | hooks.PreToolUse.hooks.command
{"hooks": {"Stop": [{"hooks": [{"command": "true"}]}]}} | hooks.Stop.hooks.type
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": "5"}]}]}} | hooks.Stop.hooks.timeout
{"x": 1,} | is not JSON (line 1)
{
"x": /* y */ 1} | is not JSON (line 2)
"#;

/// Files that both clients load.
const LOADED: &str = r#"
{}
{"permissions": {"deny": [1, "read", "Read("], "foo": 1, "defaultMode": "dontAsk"}}
{"permissions": {"disableAutoMode": "disable"}}
{"env": {"A": 1, "B": null, "C": {}}}
{"enabledPlugins": {"a@b": ["1"], "ab": true, "c@d": []}}
{"sandbox": {"foo": 1}}
{"hooks": null}
{"hooks": []}
{"hooks": "x"}
{"hooks": {"Foo": 1, "PreToolUse": null, "PostToolUse": {}, "SubagentStart": "x"}}
{"model": null, "cleanupPeriodDays": "x"}
{"x": "\ud83d", "y": "\uD83D\ude00\\ud83d\udc00", "z": "\\", "x": 2}
"#;

fn home(settings: impl AsRef<[u8]>) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for folder in [".claude", "p/.claude", "etc/managed-settings.d"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    fs::write(home.path().join(".claude/settings.json"), settings).unwrap();
    home
}

fn read(home: &tempfile::TempDir) -> Settings {
    let (home, project) = (home.path(), home.path().join("p"));
    Settings::of(
        Places::find(home, |_| None),
        Some(&project),
        &home.join("etc"),
    )
}

#[test]
fn a_file_that_the_client_does_not_load_is_named_with_the_key_and_no_other_is() {
    for row in NOT_LOADED.trim().split_inclusive("\n{") {
        let row = format!("{{{}", row.trim_end_matches('{').trim_start_matches('{'));
        let row = row
            .strip_prefix("{[")
            .map_or(row.clone(), |rest| format!("[{rest}"));
        let Some((text, key)) = row.trim().split_once(" | ") else {
            continue;
        };
        let settings = read(&home(text));
        let faults = settings.faults(&[]);
        assert_eq!(faults.len(), 1, "{text}");
        assert!(faults[0].text.contains(key), "{text}: {}", faults[0].text);
        assert!(
            !faults[0].ways.is_empty() && settings.value.is_null(),
            "{text}"
        );
    }
    for text in LOADED.trim().lines().chain([""]) {
        let settings = read(&home(text));
        assert_eq!(settings.faults(&[]), [], "{text}");
        assert_eq!(settings.value.is_null(), text.is_empty(), "{text}");
    }
}

/// As other programs save it.
#[test]
fn a_mark_says_which_encoding_a_file_has() {
    let text = r#"{"x": 1}"#;
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, value) in [
        (
            [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat(),
            json!({ "x": 1 }),
        ),
        ([&b"\xff\xfe"[..], &units].concat(), json!({ "x": 1 })),
        (b"\xef\xbb\xbf".to_vec(), Value::Null),
    ] {
        let settings = read(&home(bytes));
        assert_eq!((settings.value, settings.faults), (value, vec![]));
    }
    for bytes in [[&b"\xff\xfe"[..], &units[1..]].concat(), b"\xff".to_vec()] {
        assert!(read(&home(bytes)).faults[0].text.contains("is not JSON"));
    }
}

/// The file, what it holds, what stops working by it, and words.
const OFF: &str = r#"
user | {"disableAllHooks": true} | plugin agent inject | in ~/.claude/settings.json
project | {"disableAllHooks": true} | plugin agent inject | settings.json of this folder
local | {"disableAllHooks": true} | plugin agent inject | settings.local.json of this folder
local | {"enabledPlugins": {"keyhole@x": false}} | plugin | switches the plugin off
admin | {"disableAllHooks": true} | plugin agent inject | managed-settings.json
more | {"allowManagedHooksOnly": true} | plugin agent inject | allowManagedHooksOnly
admin | {"allowedMcpServers": []} | plugin agent | allowedMcpServers
admin | {"allowedMcpServers": [{"serverName": "b"}]} | plugin agent | allowedMcpServers
admin | {"allowedMcpServers": [{"serverName": "a"}]} | - |
admin | {"allowedMcpServers": [{"serverCommand": ["/x/keyhole", "serve"]}]} | - |
servers | {} | plugin agent | managed-mcp.json
admin | {"strictKnownMarketplaces": []} | plugin | strictKnownMarketplaces
admin | {"strictKnownMarketplaces": [{"source": "github", "repo": "x/keyhole"}]} | - |
admin | {"allowManagedPermissionRulesOnly": true} | rules | no deny rule of yours counts
admin | {"strictPluginOnlyCustomization": true} | agent inject | your own hooks
admin | {"strictPluginOnlyCustomization": ["agents"]} | agent | your own agents are off
admin | {"strictPluginOnlyCustomization": ["mcp"]} | agent | the servers of your own agents
admin | {"strictPluginOnlyCustomization": ["hooks"]} | agent inject | your own hooks
admin | {"strictPluginOnlyCustomization": ["skills"]} | - |
admin | {"pluginConfigs": {"cc-plugin-sec-default@builtin": {"options": {"allowManagedModsOnly": true}}}} | - | mods are off
admin | { | - | is not JSON (line 1), so what an administrator decided there is unknown
user | {"allowManagedHooksOnly": true} | - |
project | {"disableAllHooks": true, "env": null} | - |
"#;

#[test]
fn what_is_switched_off_is_told_with_whom_it_hits() {
    for row in OFF.trim().lines() {
        let cells: Vec<_> = row.split(" | ").collect();
        let file = match cells[0] {
            "user" => ".claude/settings.json",
            "project" => "p/.claude/settings.json",
            "local" => "p/.claude/settings.local.json",
            "more" => "etc/managed-settings.d/1.json",
            "servers" => "etc/managed-mcp.json",
            _ => "etc/managed-settings.json",
        };
        let home = home("{}");
        fs::write(home.path().join(file), cells[1]).unwrap();
        let settings = read(&home);
        let faults = settings.faults(&["a"]);
        let stopped: Vec<_> = faults
            .iter()
            .filter(|fault| !fault.ways.is_empty())
            .collect();
        let ways = stopped.iter().map(|fault| format!("{:?}", fault.ways));
        let ways: String = ways.map(|ways| ways.to_lowercase()).collect();
        let ways = ways.trim_matches(['[', ']']).replace(',', "");
        assert_eq!(
            ways,
            cells[2].trim_end_matches(" |").replace('-', ""),
            "{row}"
        );
        let all: Vec<_> = faults.iter().map(|fault| &*fault.text).collect();
        let all = all.join("\n");
        assert!(all.contains(cells.get(3).unwrap_or(&"")), "{row}: {all}");
        assert_eq!(
            all.contains("MDM"),
            !settings.managed.is_empty(),
            "{row}: {all}"
        );
    }
}

#[test]
fn rules_of_an_administrator_count_and_alone_if_they_say_so() {
    let home = home(r#"{"permissions": {"deny": ["Read(~/a.md)"]}}"#);
    let etc = home.path().join("etc/managed-settings.json");
    let missing = || {
        let settings = read(&home);
        let files = ["a.md", "b.md"].map(|name| home.path().join(name));
        let places = settings.places.as_ref().unwrap();
        let (mut rules, _) = places.missing(&settings.denied(), &files, None);
        rules.retain(|rule| rule.contains(".md"));
        rules
    };
    assert_eq!(missing(), ["Read(~/b.md)"]);
    let deny = json!({ "permissions": { "deny": ["Read(~/b.md)"] } });
    fs::write(&etc, deny.to_string()).unwrap();
    assert_eq!(missing(), [""; 0]);
    let mut only = deny;
    only["allowManagedPermissionRulesOnly"] = true.into();
    fs::write(&etc, only.to_string()).unwrap();
    assert_eq!(missing(), ["Read(~/a.md)"]);
}
