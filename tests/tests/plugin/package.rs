//! The files of the package, and that they fit together: what the client's own
//! validation does not check.

use super::{
    AGENT, Package, decision, dist,
    guard::{BOUND, data, user},
    in_home, question, temporary,
};
use keyhole_tests::{Protocol, Ran, World, workspace};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// All files under `root`, relative to it.
pub(super) fn files(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                    found.insert(name.to_owned());
                }
            }
        }
    }
    found
}

/// The tool's name in the client, made from what the package says.
pub(super) fn tool(plugin: &Path) -> String {
    let name = json_of(&plugin.join(".claude-plugin/plugin.json"))["name"].clone();
    let servers = json_of(&plugin.join(".mcp.json"))["mcpServers"].clone();
    let servers: Vec<_> = servers.as_object().unwrap().keys().collect();
    let [server] = servers[..] else {
        panic!("one server: {servers:?}");
    };
    let world = World::new();
    let list = world.client().request("tools/list", json!({}));
    let tool = list.result()["tools"][0]["name"].as_str().unwrap();
    format!("mcp__plugin_{}_{server}__{tool}", name.as_str().unwrap())
}

#[test]
fn the_package_holds_what_it_should_and_its_manifest_has_the_sum_of_every_program() {
    let package = Package::shared();
    let plugin = package.plugin();
    let mut expected: BTreeSet<String> = "\
        .claude-plugin/icon.png .claude-plugin/plugin.json .gitattributes .mcp.json LICENSE-APACHE LICENSE-MIT LICENSE-SCOWL \
        README.md agents/privacy-scanner.md bin/keyhole commands/check.md contract/component.wit \
        contract/context.wit hooks/hooks.json hooks/register.ts manifest.sha256 start.sh"
        .split(' ')
        .map(str::to_owned)
        .collect();
    let servers = files(&plugin.join("server"));
    assert_eq!(servers.len(), 1);
    expected.extend(servers.iter().map(|name| format!("server/{name}")));
    assert_eq!(files(&plugin), expected);
    let beside = files(&package.marketplace().join(".claude-plugin"));
    assert_eq!(beside, ["marketplace.json".to_owned()].into());
    let own = servers.first().unwrap();
    let of_plugin = fs::read(plugin.join("server").join(own)).unwrap();
    let whole = package.marketplace().join("keyhole");
    assert!(
        fs::read(&whole).unwrap() == of_plugin,
        "the whole program is another"
    );
    let _ = Ran::of(Command::new(whole).arg("--version"), b"").exits(0);
    let manifest = fs::read_to_string(plugin.join("manifest.sha256")).unwrap();
    expected.retain(|name| name.starts_with("server/") || name.starts_with("contract/"));
    let sums = expected.iter().map(|name| {
        let sum = Sha256::digest(fs::read(plugin.join(name)).unwrap());
        format!("{sum:x}  {name}")
    });
    let sums: BTreeSet<_> = sums.collect();
    assert_eq!(sums, manifest.lines().map(str::to_owned).collect());
    // A copy made by packaging, not a second file in the repository.
    for name in files(&workspace().join("plugin")) {
        let source = fs::read(workspace().join("plugin").join(&name)).unwrap();
        assert_eq!(fs::read(plugin.join(&name)).unwrap(), source, "{name}");
    }
}

#[test]
fn the_interface_in_the_package_is_that_of_the_component_that_the_server_runs() {
    let package = Package::shared();
    let listing = package.plugin().join("contract/component.wit");
    assert_eq!(
        fs::read_to_string(listing).unwrap(),
        World::new().run(["contract"]).exits(0).stdout
    );
}

/// In a folder whose name breaks a command that does not quote it.
#[test]
fn the_commands_of_hooks_and_server_install_and_hand_out_what_the_guard_allowed() {
    let package = Package::shared();
    let plugin = package.plugin();
    let world = user(true);
    let run = |program: &str, arguments: &[String], input: &str| {
        let mut command = Command::new(program);
        let command = in_home(command.args(arguments), &world);
        let ran = Ran::of(command.env("CLAUDE_PLUGIN_ROOT", &plugin), input.as_bytes());
        ran.says_nothing_on_stderr().exits(0)
    };
    // A shell reads the hooks' commands.
    let hooks = json_of(&plugin.join("hooks/hooks.json"))["hooks"].clone();
    let each = |event: &str, input: &Value| -> Vec<Ran> {
        let groups = hooks[event].as_array().unwrap().iter();
        let commands = groups.map(|group| {
            let command = &group["hooks"].as_array().unwrap()[..];
            assert_eq!(command.len(), 1, "{event}");
            assert_eq!(command[0]["type"], "command");
            command[0]["command"].as_str().unwrap()
        });
        let unique: BTreeSet<_> = commands.collect();
        let run = |command: &str| run("sh", &["-c".into(), command.into()], &input.to_string());
        unique.into_iter().map(run).collect()
    };
    for ran in each("SessionStart", &json!({})) {
        let _ = ran.says("");
    }
    assert!(data(&world).join("manifest.sha256").exists());
    let mut asked = question("toolu_1", AGENT, BOUND);
    asked["cwd"] = "/".into();
    let [of_gate, ran] = &each("PreToolUse", &asked)[..] else {
        panic!("the gate and one guard")
    };
    assert_eq!(of_gate.stdout, "");
    assert_eq!(decision(ran), "allow");

    // The client itself replaces variables in those of the server.
    let server = json_of(&plugin.join(".mcp.json"))["mcpServers"]["context"].clone();
    let arguments = server["args"].as_array().unwrap().iter();
    let arguments = arguments.map(|word| {
        let word = word.as_str().unwrap();
        let word = word.replace("${CLAUDE_PLUGIN_ROOT}", plugin.to_str().unwrap());
        word.replace("${CLAUDE_PLUGIN_DATA}", data(&world).to_str().unwrap())
    });
    let arguments: Vec<_> = arguments.collect();
    let mut call = Protocol::Discover.call(1, "the-key-is-in-the-ticket");
    call["params"]["_meta"]["claudecode/toolUseId"] = "toolu_1".into();
    let command = server["command"].as_str().unwrap();
    let ran = run(command, &arguments, &format!("{call}\n"));
    assert_eq!(ran.json()["result"]["content"][0]["text"], "bound\n");

    asked["hook_event_name"] = "PostToolUse".into();
    let [ran] = &each("PostToolUse", &asked)[..] else {
        panic!("one guard")
    };
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_guard_is_asked_about_the_tool_and_the_gate_about_what_may_publish() {
    let package = Package::shared();
    let plugin = package.plugin();
    let hooks = json_of(&plugin.join("hooks/hooks.json"));
    let matchers = |event: &str| {
        let groups = hooks["hooks"][event].as_array().unwrap().iter();
        let matchers = groups.map(|group| group["matcher"].as_str().unwrap().to_owned());
        matchers.collect::<Vec<_>>()
    };
    // Before a call and after it; and the gate, which leaves all other tools to others.
    let mut before = matchers("PreToolUse");
    assert_eq!(before.pop().as_deref(), Some("Bash|Monitor|mcp__.*"));
    let matchers = matchers("PostToolUse");
    assert_eq!(before, matchers);
    // A gate that fails stops no call.
    let gate = &hooks["hooks"]["PreToolUse"][2]["hooks"][0];
    assert_eq!(gate.get("onFailure"), None);
    // Only plain characters, so that the client reads it as a name and not as a
    // pattern.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    assert!(matchers.concat().chars().all(plain));
    // The shared server's tool, and that of the server that the module registers.
    let module = fs::read_to_string(plugin.join("hooks/register.ts")).unwrap();
    let (_, own) = module.split_once("const OWN = '").unwrap();
    let own = format!("mcp__{}__load_context", own.split('\'').next().unwrap());
    assert_eq!(matchers, [tool(&plugin), own]);
}

#[test]
fn the_hook_at_the_scanners_start_is_for_it_alone_and_says_what_it_did_not_look_at() {
    // The package stays as long as this does.
    let package = Package::shared();
    let plugin = package.plugin();
    let hooks = json_of(&plugin.join("hooks/hooks.json"))["hooks"]["SubagentStart"].clone();
    assert_eq!(hooks.as_array().unwrap().len(), 1);
    assert_eq!(hooks[0]["matcher"], "keyhole:privacy-scanner");
    let world = user(true);
    let mut command = Command::new("sh");
    command.args(["-c", hooks[0]["hooks"][0]["command"].as_str().unwrap()]);
    let command = in_home(&mut command, &world).env("CLAUDE_PLUGIN_ROOT", &plugin);
    let ran = Ran::of(command, json!({ "cwd": "/" }).to_string().as_bytes()).exits(0);
    let answer = &ran.says_nothing_on_stderr().json()["hookSpecificOutput"];
    let handed = answer["additionalContext"].as_str().unwrap();
    assert!(
        handed.contains("\nnot looked at: no-repository: "),
        "{handed}"
    );
}

#[test]
fn packaging_replaces_a_package_and_nothing_else() {
    let package = Package::new();
    let before = files(&package.marketplace());
    fs::write(package.plugin().join("left over"), "").unwrap();
    let _ = dist(&package.marketplace()).exits(0);
    assert_eq!(files(&package.marketplace()), before);

    // A checkout has all but the manifest, and more.
    fs::remove_file(package.plugin().join("manifest.sha256")).unwrap();
    let precious = package.marketplace().join("precious");
    fs::write(&precious, "").unwrap();
    let _ = dist(&package.marketplace()).exits(1);
    assert!(precious.exists());
    fs::remove_dir_all(package.marketplace()).unwrap();
    fs::create_dir(package.marketplace()).unwrap();
    fs::write(&precious, "").unwrap();
    let _ = dist(&package.marketplace()).exits(1);
    let left = files(&package.marketplace());
    assert_eq!(left, ["precious".to_owned()].into());
}

#[test]
fn packaging_that_fails_leaves_all_as_it_was() {
    let package = Package::new();
    let all = || files(package.temp.path());
    let before = all();
    // Another system's program.
    let programs = temporary();
    fs::write(programs.path().join("keyhole-other"), "").unwrap();
    let fails = |out: &Path| {
        let mut x = Command::new("./x");
        x.current_dir(workspace());
        x.args(["release", "dist", "--servers"]);
        let ran = Ran::of(x.arg(programs.path()).arg("--out").arg(out), b"").exits(1);
        assert!(ran.stderr.contains("needs keyhole-"), "{ran:?}");
    };
    fails(&package.marketplace());
    fails(&package.temp.path().join("another"));
    assert_eq!(all(), before);
}
