//! `serve --bind NAME`: a server for one context, which has no key.

mod keys;

use crate::surface::shown;
use keyhole_tests::{Answer, Protocol, World};
use serde_json::{Value, json};

const KEY: &str = "k-hunter2-9c55aa01beef";

/// A world with one binding among others, other files, and a key.
fn world() -> World {
    World::new()
        .file("a.md", "# A\n")
        .file("b.md", "another")
        .map(format!(
            "[keys]\n\
             {KEY} = '~/a.md'\n\
             [bindings.scanner-catalog]\n\
             path = '~/a.md'\n\
             title = 'Identifiers to look for'\n\
             description = 'Names and numbers that must not leave the project.'\n\
             [bindings.plain]\n\
             path = '~/b.md'\n\
             [bindings.for-reviewer]\n\
             path = '~/b.md'\n\
             agents = ['acme:reviewer']\n"
        ))
}

fn bound(world: World, name: &str) -> World {
    world.arguments(["--bind", name])
}

/// What a server bound to `name` answers to its one call.
fn loaded(world: World, name: &str) -> Answer {
    let world = bound(world, name);
    let mut client = world.client();
    let answer = client.load_bound();
    client.end();
    answer
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
fn tools_where_the_map_says_nothing_of_the_binding() {
    insta::assert_snapshot!(shown(&tools(Protocol::Initialize, "plain")));
}

#[test]
fn the_handshake_is_that_of_the_general_server() {
    for protocol in Protocol::ALL {
        let general = world().speaking(protocol);
        let bound = bound(world().speaking(protocol), "plain");
        let [general, bound] = [general, bound].map(|world| world.serve().handshake());
        assert_eq!(general.result(), bound.result());
    }
}

#[test]
fn any_argument_is_refused_and_a_right_key_too() {
    for (_world, mut client) in World::in_each_protocol(|| bound(world(), "scanner-catalog")) {
        let call = |arguments: Value| json!({ "name": "load_context", "arguments": arguments });
        for arguments in [
            json!({ "key": KEY }),
            json!({ "key": "scanner-catalog" }),
            json!({ "key": null }),
            json!({ "binding": "plain" }),
            json!([]),
            json!(KEY),
        ] {
            let answer = client.request("tools/call", call(arguments));
            answer.refused_arguments("This tool takes no arguments. Call again without any.");
        }
        for name in ["load_other", KEY] {
            let answer = client.request("tools/call", json!({ "name": name }));
            answer.error("unknown tool");
        }
        client.load_bound().is("# A\n");
        let answer = client.request("tools/call", call(json!({})));
        answer.is("# A\n");
        client.end();
    }
}

#[test]
fn what_becomes_of_the_map_counts_at_the_next_call() {
    let world = bound(world(), "scanner-catalog");
    let mut client = world.client();
    client.load_bound().is("# A\n");
    let shown = client.request("tools/list", json!({})).result().clone();

    // The binding stands for another file, with other words.
    let other = "[bindings.scanner-catalog]\npath = '~/b.md'\ntitle = 'Other'\n";
    world.replace_map(other);
    client.load_bound().is("another");
    world.replace_map(format!("{other}max_bytes = 6\n"));
    client.load_bound().refused("too-large");
    world.replace_map(format!("max_bytes = 6\n{other}"));
    client.load_bound().refused("too-large");
    world.replace_map(format!("{other}agents = ['x']\n"));
    client.load_bound().refused("unknown-key");
    // The binding leaves the map. A key of its name is not the binding.
    world.replace_map("[keys]\nscanner-catalog = '~/b.md'\n");
    client.load_bound().refused("unknown-key");
    world.replace_map("[bindings.scanner-catalog]\npath = '~/none.md'\n");
    client.load_bound().refused("not-found");
    // What a binding was in earlier versions.
    world.replace_map(format!(
        "[keys]\n{KEY} = '~/a.md'\n[bindings.scanner-catalog]\nkey = '{KEY}'\n"
    ));
    client.load_bound().refused("map-invalid");
    world.remove_map();
    client.load_bound().refused("map-missing");
    world.write_map("[bindings.scanner-catalog]\npath = '~/a.md'\n");
    client.load_bound().is("# A\n");

    // A client's user agreed to what was shown: it stays until a restart.
    assert_eq!(client.request("tools/list", json!({})).result(), &shown);
    client.end();
}

#[test]
fn without_its_binding_a_server_refuses_each_call_until_the_map_has_it() {
    let map = format!("[keys]\n{KEY} = '~/a.md'\n[bindings.later]\npath = '~/a.md'\n");
    let of_another = map.replace("later", "of-others");
    let without = World::new().file("a.md", "# A\n");
    for (world, code, says) in [
        (world().map(of_another), "unknown-key", "has no binding of"),
        (world().map(""), "unknown-key", "has no binding of"),
        (without, "map-missing", "map-missing"),
        (world().map("bindings = 1"), "map-invalid", "map-invalid"),
    ] {
        let world = bound(world, "later");
        let mut client = world.client();
        let shown = client.request("tools/list", json!({})).result().clone();
        client.load_bound().refused(code);
        world.replace_map(&map);
        client.load_bound().is("# A\n");
        // The surface stays as it was, and tells nothing.
        let still = client.request("tools/list", json!({}));
        assert_eq!(still.result(), &shown);
        let stderr = client.ends_saying().replace(crate::codes::MAP_PLACE, "");
        assert!(stderr.contains(says), "{stderr}");
        for secret in [KEY, "later", "of-others", "context-map", "/"] {
            assert!(!stderr.contains(secret), "{stderr}");
        }
        let shown = shown.to_string();
        assert!(!shown.contains("later") && !shown.contains(KEY), "{shown}");
    }
}

#[test]
fn a_bindings_name_is_no_key() {
    let world = world();
    let mut client = world.client();
    client.load(KEY).is("# A\n");
    for name in ["scanner-catalog", "plain", "for-reviewer"] {
        client.load(name).refused("unknown-key");
    }
    client.end();
}
