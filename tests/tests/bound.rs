//! `serve --bind NAME`: a server for one context, which shows no key.

use crate::surface::shown;
use keyhole_tests::{Answer, MARKER, Protocol, Session, World};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
};

const KEY: &str = "k-hunter2-9c55aa01beef";

/// A world with one binding among others, and other files.
fn world() -> World {
    World::new()
        .file("a.md", "# A\n")
        .file("b.md", "another")
        .map(format!(
            "[keys]\n\
             {KEY} = '~/a.md'\n\
             k-other-9c55aa01beef = '~/b.md'\n\
             k-agents-9c55aa01beef = {{ path = '~/b.md', agents = ['acme:reviewer'] }}\n\
             [bindings.scanner-catalog]\n\
             key = '{KEY}'\n\
             title = 'Identifiers to look for'\n\
             description = 'Names and numbers that must not leave the project.'\n\
             [bindings.plain]\n\
             key = 'k-other-9c55aa01beef'\n\
             [bindings.from-file]\n\
             key_file = '~/secret/key'\n\
             [bindings.from-env]\n\
             key_env = 'CATALOG_KEY'\n\
             [bindings.for-reviewer]\n\
             key = 'k-agents-9c55aa01beef'\n"
        ))
}

fn bound(world: World, name: &str) -> World {
    world.argument("--bind").argument(name)
}

fn load(client: &mut Session) -> Answer {
    client.request("tools/call", json!({ "name": "load_context" }))
}

fn tools(protocol: Protocol, name: &str) -> Answer {
    let world = bound(world().speaking(protocol), name);
    let mut client = world.client();
    let answer = client.request("tools/list", json!({}));
    client.end();
    answer
}

#[test]
fn tools_of_2025() {
    insta::assert_snapshot!(shown(&tools(Protocol::Initialize, "scanner-catalog")));
}

#[test]
fn tools_of_2026() {
    insta::assert_snapshot!(shown(&tools(Protocol::Discover, "scanner-catalog")));
}

#[test]
fn tools_where_the_map_says_nothing_of_the_binding() {
    insta::assert_snapshot!(shown(&tools(Protocol::Initialize, "plain")));
}

#[test]
fn the_handshake_is_that_of_the_general_server() {
    for protocol in Protocol::ALL {
        let general = world().speaking(protocol).serve().handshake();
        let bound = bound(world().speaking(protocol), "plain")
            .serve()
            .handshake();
        assert_eq!(general.result(), bound.result());
    }
}

/// All that a bound server offers. It must not offer anything that is not in this
/// list: whoever adds something has to add it here, or this test fails.
#[test]
fn nothing_is_on_a_bound_surface_that_is_not_admitted_here() {
    const BEFORE_AND_IN_2025: [&str; 5] = [
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "tools/call",
    ];
    const METHODS: [&str; 30] = [
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "sampling/createMessage",
        "roots/list",
        "elicitation/create",
        "tasks/list",
        "tasks/get",
        "tasks/cancel",
        "tasks/result",
        "tasks/update",
        "subscriptions/listen",
        "subscriptions/list",
        "bindings/list",
        "keys/list",
        "server/info",
        "rpc.discover",
        "load_context",
        "",
    ];
    for protocol in Protocol::ALL {
        let world = bound(world().speaking(protocol), "plain");
        let mut client = world.client();
        for method in METHODS {
            let answer = client.request(method, json!({}));
            let found = answer.message()["error"]["code"] != -32601;
            // In 2026-07-28 there is no session, so neither of these.
            let gone = protocol == Protocol::Discover && ["initialize", "ping"].contains(&method);
            if !BEFORE_AND_IN_2025.contains(&method) {
                assert!(!found, "{protocol:?} {method}: {:?}", answer.message());
            } else if !gone {
                assert!(found, "{protocol:?} {method}: {:?}", answer.message());
            }
        }
        client.end();

        let answer = tools(protocol, "plain");
        let [tool] = &answer.result()["tools"].as_array().unwrap()[..] else {
            panic!("one tool: {:?}", answer.message());
        };
        let fields: Vec<&String> = tool.as_object().unwrap().keys().collect();
        assert_eq!(
            fields,
            [
                "_meta",
                "annotations",
                "description",
                "inputSchema",
                "name",
                "title"
            ]
        );
        assert_eq!(tool["name"], "load_context");
        assert_eq!(
            tool["inputSchema"],
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        );
    }
}

#[test]
fn a_call_without_arguments_gets_the_one_document() {
    for protocol in Protocol::ALL {
        let world = bound(world().speaking(protocol), "scanner-catalog");
        let mut client = world.client();
        load(&mut client).is("# A\n");
        let empty = json!({ "name": "load_context", "arguments": {} });
        client.request("tools/call", empty).is("# A\n");
        client.end();
    }
}

#[test]
fn any_argument_is_refused_and_a_right_key_too() {
    let world = bound(world(), "scanner-catalog");
    let mut client = world.client();
    for arguments in [
        json!({ "key": KEY }),
        json!({ "key": "k-other-9c55aa01beef" }),
        json!({ "key": null }),
        json!({ "binding": "plain" }),
        json!([]),
        json!("plain"),
    ] {
        let params = json!({ "name": "load_context", "arguments": arguments });
        let answer = client.request("tools/call", params);
        answer.error(-32602);
        assert!(!answer.message().to_string().contains(MARKER));
    }
    client
        .request("tools/call", json!({ "name": "load_other" }))
        .error(-32602);
    load(&mut client).is("# A\n");
    client.end();
}

#[test]
fn the_key_may_come_from_a_file_or_the_environment() {
    let world = world().file("secret/key", format!("{KEY}\n"));
    let world = bound(world, "from-file");
    let mut client = world.client();
    load(&mut client).is("# A\n");
    client.end();

    let world = self::world().env("CATALOG_KEY", KEY);
    let world = bound(world, "from-env");
    let mut client = world.client();
    load(&mut client).is("# A\n");
    client.end();
}

#[test]
fn what_becomes_of_the_map_counts_at_the_next_call() {
    let world = bound(world().file("secret/key", KEY), "scanner-catalog");
    let mut client = world.client();
    load(&mut client).is("# A\n");
    let shown = client.request("tools/list", json!({})).result().clone();

    // The binding stands for another key, with other words.
    world.replace_map(
        "[keys]\nk-b = '~/b.md'\n[bindings.scanner-catalog]\nkey = 'k-b'\ntitle = 'Other'\n",
    );
    load(&mut client).is("another");
    // Its key leaves the map.
    world.replace_map("[keys]\n[bindings.scanner-catalog]\nkey = 'k-b'\n");
    load(&mut client).refused("unknown-key");
    // The binding leaves the map.
    world.replace_map("[keys]\nk-b = '~/b.md'\n");
    load(&mut client).refused("unknown-key");
    // The binding's key file does not exist.
    world.replace_map("[bindings.scanner-catalog]\nkey_file = '~/none'\n");
    load(&mut client).refused("unknown-key");
    world.replace_map("no map");
    load(&mut client).refused("map-invalid");
    world.remove_map();
    load(&mut client).refused("map-missing");
    world.write_map(format!(
        "[keys]\n{KEY} = '~/a.md'\n[bindings.scanner-catalog]\nkey_file = '~/secret/key'\n"
    ));
    load(&mut client).is("# A\n");

    // A client's user agreed to what was shown: it stays until a restart.
    assert_eq!(client.request("tools/list", json!({})).result(), &shown);
    client.end();
}

#[test]
fn a_key_that_is_bound_to_agents_needs_the_agent_here_too() {
    let world = bound(world(), "for-reviewer");
    let mut client = world.client();
    load(&mut client).refused("unknown-key");
    client.end();
    let world = self::world().argument("--agent").argument("acme:reviewer");
    let world = bound(world, "for-reviewer");
    let mut client = world.client();
    load(&mut client).is("another");
    client.end();
}

#[cfg(target_os = "linux")]
#[test]
fn a_sealed_server_can_be_bound() {
    let world = world().file("secret/key", KEY).argument("--sealed");
    let world = bound(world, "from-file");
    let mut client = world.client();
    load(&mut client).is("# A\n");
    // All of the map is as it was at the start, also the key's file.
    world.remove_map();
    world.write("secret/key", "k-other-9c55aa01beef");
    load(&mut client).is("# A\n");
    world.write("a.md", "new");
    load(&mut client).is("new");
    client.end();
}

#[test]
fn without_its_binding_a_server_refuses_each_call_until_the_map_has_it() {
    let map = format!("[keys]\n{KEY} = '~/a.md'\n[bindings.later]\nkey = '{KEY}'\n");
    let of_another = map.replace("later", "of-others");
    for (world, code, says) in [
        (
            self::world().map(of_another),
            "unknown-key",
            "has no binding of the name given",
        ),
        (self::world().map(""), "unknown-key", "has no binding"),
        (
            World::new().file("a.md", "# A\n"),
            "map-missing",
            "map-missing",
        ),
        (
            self::world().map("bindings = 1"),
            "map-invalid",
            "map-invalid",
        ),
    ] {
        let world = bound(world, "later");
        let mut client = world.client();
        let shown = client.request("tools/list", json!({})).result().clone();
        load(&mut client).refused(code);
        world.replace_map(&map);
        load(&mut client).is("# A\n");
        // The surface stays as it was, and tells nothing.
        let still = client.request("tools/list", json!({}));
        assert_eq!(still.result(), &shown);
        client.hang_up();
        let ended = client.ended();
        assert_eq!(ended.exit, Some(0));
        let stderr = ended.stderr;
        assert!(stderr.contains(says), "{stderr}");
        for secret in [KEY, "later", "of-others", "context-map", "/"] {
            assert!(!stderr.contains(secret), "{stderr}");
        }
        let shown = shown.to_string();
        assert!(!shown.contains("later") && !shown.contains(KEY), "{shown}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_sealed_server_whose_map_has_no_such_binding_does_not_start() {
    for (world, says) in [
        (world(), "has no binding of the name given"),
        (World::new(), "map-missing"),
        (World::new().map("bindings = 1"), "map-invalid"),
    ] {
        let ended = bound(world.argument("--sealed"), "none").serve().ended();
        assert_eq!((ended.exit, ended.messages), (Some(1), Vec::<Value>::new()));
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
        for secret in [KEY, "scanner-catalog", "none", "context-map", "/"] {
            assert!(!ended.stderr.contains(secret), "{}", ended.stderr);
        }
    }
}

#[test]
fn a_name_that_no_binding_can_have_and_a_key_for_no_binding_are_refused() {
    for arguments in [
        &["serve", "--bind", "No Name"][..],
        &["serve", "--key-env", "KEY"],
        &["serve", "--bind", "plain", "--key-env", "KEY", "--sealed"],
    ] {
        let _ = world().run(arguments).exits(2);
    }
}

#[test]
fn nothing_shown_or_refused_tells_a_key_or_a_path() {
    let world = bound(world(), "from-file");
    let mut client = world.client();
    for answer in [
        client.request("tools/list", json!({})),
        load(&mut client),
        client.request("tools/call", json!({ "name": KEY })),
    ] {
        let said = answer.message().to_string();
        assert!(
            !said.contains(MARKER) && !said.contains("secret/key"),
            "{said}"
        );
    }
    client.end();
}

#[test]
fn check_says_of_each_binding_whether_it_would_be_served() {
    let ran = world()
        .run(["check", "--json"])
        .exits(1)
        .says_nothing_on_stderr();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let bindings = report["bindings"].as_array().unwrap();
    let told: Vec<_> = bindings
        .iter()
        .map(|b| (b["name"].as_str().unwrap(), b["ok"].clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("scanner-catalog", json!(true)),
            ("plain", json!(true)),
            ("from-file", json!(false)),
            ("from-env", json!(null)),
            ("for-reviewer", json!(true)),
        ]
    );
    let _ = world()
        .run(["check"])
        .exits(1)
        .mentions("from-file        its key_file cannot be read (entity not found); create it, or fix its path or permissions\n")
        .mentions("from-env         its key_env is not set here")
        .conceals(KEY);
    // A variable that only the client sets is not an error here.
    let _ = world()
        .file("secret/key", KEY)
        .run(["check"])
        .exits(0)
        .mentions("scanner-catalog  ok\n");
    let _ = world()
        .file("secret/key", "k-nowhere")
        .run(["check"])
        .exits(1)
        .mentions("from-file        its key has no entry under [keys]; add one, or fix the key\n");
}

#[test]
fn a_key_file_behind_a_link_that_others_may_replace_is_none() {
    let world = bound(
        world().file("secret/key", KEY).file("public/x", ""),
        "from-file",
    );
    world.write("keys/own", KEY);
    fs::remove_file(world.path("secret/key")).unwrap();
    symlink(world.path("keys/own"), world.path("public/key")).unwrap();
    symlink(world.path("public/key"), world.path("secret/key")).unwrap();
    for (mode, good) in [(0o755, true), (0o777, false), (0o755, true)] {
        let public = world.path("public");
        fs::set_permissions(public, Permissions::from_mode(mode)).unwrap();
        let mut client = world.client();
        match good {
            true => load(&mut client).is("# A\n"),
            false => load(&mut client).refused("unknown-key"),
        };
        client.end();
    }
}

#[test]
fn no_key_is_shown_to_clients_wherever_it_comes_from() {
    for shows in [
        format!("[bindings.b]\nkey_file = '~/secret/key'\ntitle = 'for {KEY}'\n"),
        "[bindings.b]\nkey_file = '~/secret/key'\n\
         description = 'not k-other-9c55aa01beef'\n"
            .to_owned(),
        format!("[bindings.{KEY}]\nkey_file = '~/secret/key'\n"),
    ] {
        let keys = format!("[keys]\n{KEY} = '~/a.md'\nk-other-9c55aa01beef = '~/b.md'\n");
        let name = if shows.contains("[bindings.b]") {
            "b"
        } else {
            KEY
        };
        let world = World::new()
            .file("a.md", "# A\n")
            .file("b.md", "another")
            .file("secret/key", KEY)
            .map(format!("{keys}{shows}"));
        let said = world.run(["check"]).exits(1).stdout;
        assert!(said.contains("holds a key"), "{said}");
        assert!(!said.contains(KEY) && !said.contains("k-other"), "{said}");
        let ended = bound(world, name).serve().ended();
        assert_eq!((ended.exit, ended.messages), (Some(1), Vec::<Value>::new()));
        assert!(ended.stderr.contains("holds a key"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("9c55aa01beef"), "{}", ended.stderr);
    }
}
