use super::*;
use serde_json::json;
use std::fs;

fn home(settings: impl AsRef<[u8]>) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for folder in [".claude/plugins", "p/.claude", "etc/managed-settings.d"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    fs::write(home.path().join(".claude/settings.json"), settings).unwrap();
    let copy = json!([{ "installPath": home.path() }]);
    let installed = json!({ "plugins": { "keyhole@x": copy } });
    let plugins = home.path().join(".claude/plugins");
    fs::write(
        plugins.join("installed_plugins.json"),
        installed.to_string(),
    )
    .unwrap();
    fs::write(plugins.join("known_marketplaces.json"), r#"{"x": {}}"#).unwrap();
    home
}

fn read(home: &tempfile::TempDir) -> Settings {
    let (home, project) = (home.path(), home.path().join("p"));
    Settings::of(
        Places::find(home, &|_| None),
        Some(&project),
        &home.join("etc"),
    )
}

/// The file, what it holds, what stops working by it, and words.
const OFF: &str = include_str!("off.txt");

#[test]
fn what_is_switched_off_is_told_with_whom_it_hits() {
    for row in OFF.lines() {
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
        let stopped = faults.iter().flat_map(Fault::ways);
        let ways: Vec<_> = stopped
            .map(|way| format!("{way:?}").to_lowercase())
            .collect();
        let ways = ways.join(" ");
        assert_eq!(
            ways,
            cells[2].trim_end_matches(" |").replace('-', ""),
            "{row}"
        );
        let all: Vec<_> = faults.iter().map(ToString::to_string).collect();
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
        let mut rules = places.missing(&settings.denied(), &files, false).rules;
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

#[test]
fn what_several_settings_say_of_servers_counts_together() {
    let home = home(r#"{"allowedMcpServers": [{"serverName": "a"}]}"#);
    let etc = home.path().join("etc/managed-settings.json");
    let mut listed = json!({ "allowedMcpServers": [{ "serverName": "keyhole_privacy_scanner" }] });
    fs::write(&etc, listed.to_string()).unwrap();
    let needs = [Fault::ServersNeedMods, Fault::ManagedElsewhere];
    assert_eq!(read(&home).faults(&["a"]), needs);
    listed["allowManagedMcpServersOnly"] = true.into();
    fs::write(&etc, listed.to_string()).unwrap();
    assert!(
        read(&home)
            .faults(&["a"])
            .contains(&Fault::OwnServersNotAllowed)
    );
}

#[test]
fn a_project_with_too_many_names_is_told() {
    let home = home("{}");
    let commands = home.path().join("p/.claude/commands/a");
    fs::create_dir_all(&commands).unwrap();
    assert!(read(&home).links.is_empty());
    for number in 0..1_000 {
        fs::write(commands.join(format!("{number}.md")), "").unwrap();
    }
    let links = read(&home).links;
    assert_eq!(links.len(), 1);
    assert!(links[0].is_outward, "{links:?}");
    assert!(links[0].shown.contains("past the first 1000"), "{links:?}");
}
