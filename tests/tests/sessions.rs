//! Sessions: what a client asks, and what it is answered. Each file of `sessions/` is a test, in
//! both protocols.
//!
//! ```text
//! # TEXT                 why it is so
//! WORD = TEXT            what WORD stands for from here on; HOME is the home
//! == PATH                a file, with its lines below, up to an empty one; `map` is the map; or it
//!                        is `PATH/` or `PATH -> TARGET`
//! needs THING            without `Linux`, `the wall`, `root` or `a group of the user alone`, nothing
//!                        is played
//! speaking VERSION       the session is played in this protocol only
//! env NAME=VALUE         a variable; or `without a home`, or `as a user`, who is not root; or `with
//!                        the plugin`, which is at $PLUGIN: then no shell is shown a path
//! after COMMAND          the server's shell has run this
//! $ COMMAND              what a shell does in the home; after ` ⇒ `, its status, and WORDS … WORDS
//! serve ARGUMENTS        a server starts, and a client shakes hands with it; the one before ends.
//!                        After ` ⇒ `, why it does not start. With `start`, nobody shakes hands
//! allow ID AGENT KEY     the plugin's guard allows this call, and leaves a ticket; without KEY, a
//!                        call of the agent's own server
//! leave ID AGENT         as no guard would: a ticket without a key
//! load KEY ⇒ ANSWER      a call; without KEY, of a bound server; `[ID] ` before it is the client's id
//! load_context ARGUMENTS ⇒ ANSWER
//! METHOD PARAMS ⇒ ANSWER
//! send MESSAGE ⇒ ANSWER
//! hello ⇒ ANSWER         the handshake
//! ends WORDS … WORDS     the session ends, and standard error is one line with these words
//! ====                   another world
//! ```
//!
//! An ANSWER is a refusal's code, or `"LINE"`, a file of one line; `says TEXT`, an error without a
//! code; `error WORDS`, of the protocol; `{…}`, fields of a result or an error, and `{}`, a result;
//! `same`, as the one before to the same request; `any`. No answer holds [`MARKER`], and nothing
//! that a program says does.

use crate::{
    plugin::{Package, is_allowed, leave, own_server, question},
    regressions::can_be_two_users,
};
use keyhole_tests::{Answer, MARKER, Protocol, Session, World, skipped, workspace};
use serde_json::{Value, json};
use std::{collections::HashMap, fs};

/// Makes a test of each of these files of a folder, and one that no file was forgotten.
macro_rules! each_file {
    ($folder:literal, $play:path; $(fn $name:ident();)+) => {
        $(#[test]
        fn $name() {
            $play(&crate::sessions::read($folder, stringify!($name)));
        })+

        #[test]
        fn each_file_is_played() {
            crate::sessions::are_all($folder, &[$(stringify!($name)),+]);
        }
    };
}
pub(crate) use each_file;

each_file! {
    "sessions", in_each_protocol;
    fn a_binding_for_agents_needs_the_agent();
    fn a_bindings_agents_get_nothing_by_the_hook_nor_the_plugins_tool();
    fn a_bindings_name_is_no_key();
    fn a_call_for_another_tool_or_whose_params_have_another_form_is_no_call();
    fn a_call_that_the_guard_allowed_gets_its_file_once_whatever_key_it_sends();
    fn a_call_that_the_guard_of_an_own_agent_allowed_is_served_once_and_no_variable_moves_the_tickets();
    fn a_call_with_other_arguments_than_one_key_is_told_what_to_send();
    fn a_client_of_another_version_is_offered_it_if_it_is_known_and_else_the_newest();
    fn a_directory_that_may_be_searched_but_not_listed_will_do();
    fn a_file_of_another_user_that_may_be_read_is_served();
    fn a_group_of_the_user_alone_may_write();
    fn a_key_that_is_removed_is_refused_at_the_very_next_call();
    fn a_map_behind_links_may_be_saved_in_any_way();
    fn a_map_that_gives_no_roots_at_the_start_is_said_once();
    fn a_named_map_needs_no_environment();
    fn a_protocol_that_is_not_known_is_refused_with_those_that_are();
    fn a_relative_path_belongs_to_the_maps_directory_and_not_to_the_one_that_a_link_leads_to();
    fn a_root_that_others_could_choose_at_the_start_needs_a_restart();
    fn a_server_says_no_name_that_it_was_given();
    fn a_server_that_needs_tickets_is_told_where_they_are();
    fn a_session_is_told_of_a_map_that_cannot_be_used_and_of_nothing_else();
    fn a_session_is_told_whether_the_plugins_agent_would_be_served_and_no_path();
    fn a_wrong_key_is_refused_in_the_same_words_however_close_it_came();
    fn an_agents_own_server_gives_it_the_file_once_a_ticket_and_no_other_agent();
    fn any_argument_of_a_bound_server_is_refused_and_a_right_key_too();
    fn check_warns_of_a_map_without_roots_and_of_one_that_lies_in_the_home();
    fn each_path_and_each_root_leads_where_the_map_means_or_nowhere();
    fn files_and_map_may_be_saved_in_any_way();
    fn in_a_sessions_shell_the_plugins_command_checks_shows_the_contract_and_makes_a_key();
    fn links_lead_into_a_root_and_from_one_into_another();
    fn no_key_of_the_map_is_a_part_of_what_a_bound_server_shows();
    fn the_agents_that_the_map_names_are_told_and_nothing_else_of_it();
    fn the_operator_can_state_who_calls_and_no_parameter_can();
    fn what_becomes_of_the_map_counts_at_the_next_call_of_a_bound_server();
    fn what_does_not_say_its_protocol_is_not_served_without_a_session();
    fn what_is_not_what_it_was_at_the_start_needs_a_restart();
    fn without_a_key_in_its_variable_a_server_does_not_start();
    fn without_its_binding_a_server_refuses_each_call_until_the_map_has_it();
    fn without_its_ticket_a_call_gets_nothing_whatever_the_key();
}

pub(crate) fn read(folder: &str, name: &str) -> String {
    let file = workspace().join(format!("tests/tests/{folder}/{name}.txt"));
    fs::read_to_string(file).unwrap()
}

pub(crate) fn are_all(folder: &str, names: &[&str]) {
    let files = fs::read_dir(workspace().join("tests/tests").join(folder)).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<_> = files.filter(|name| name.ends_with(".txt")).collect();
    found.sort();
    let names: Vec<_> = names.iter().map(|name| format!("{name}.txt")).collect();
    assert_eq!(found, names);
}

fn in_each_protocol(text: &str) {
    for protocol in Protocol::ALL {
        text.split("\n====\n")
            .for_each(|world| play(world, protocol));
    }
}

/// Whether this machine has it. If not, it says so.
pub(crate) fn has(thing: &str) -> bool {
    let has = match thing {
        #[cfg(target_os = "linux")]
        "the wall" => return crate::wall::stands(),
        "root" => return can_be_two_users(),
        "a group of the user alone" => {
            let world = World::new().with_k1("one");
            world.mode("1.md", 0o664);
            world.load("k-1").code().is_none()
        }
        thing => thing == "Linux" && cfg!(target_os = "linux"),
    };
    if !has {
        skipped(format!("needs {thing}"));
    }
    has
}

#[expect(clippy::too_many_lines, reason = "one arm for each step of a session")]
fn play(text: &str, protocol: Protocol) {
    let mut world = World::new().speaking(protocol);
    let (mut client, mut package) = (None::<Session>, None);
    let mut words = vec![("HOME".to_owned(), world.home().to_str().unwrap().to_owned())];
    let mut answers = HashMap::new();
    let mut lines = text.lines().map(str::to_owned);
    let filled = |line: String, words: &[(String, String)]| {
        let fill = |line: String, (word, text): &(String, String)| line.replace(word, text);
        words.iter().fold(line, fill)
    };
    while let Some(line) = lines.next() {
        let line = filled(line, &words);
        // Seen if the test fails.
        println!("{line}");
        let (request, expected) = match line.split_once(" ⇒ ") {
            Some((request, expected)) => (request, Some(expected)),
            None => (&*line, None),
        };
        let (word, rest) = request.split_once(' ').unwrap_or((request, ""));
        match (word, expected) {
            ("" | "#", _) => {}
            ("==", _) => {
                let lines = lines.by_ref().take_while(|line| !line.is_empty());
                let text: String = lines.map(|line| filled(line, &words) + "\n").collect();
                world = match (rest, rest.split_once(" -> "), rest.strip_suffix('/')) {
                    ("map", ..) => world.map(text),
                    (_, Some((path, target)), _) => world.link(path, target),
                    (_, _, Some(folder)) => world.directory(folder),
                    _ => world.file(rest, text),
                };
            }
            ("needs", _) if has(rest) => {}
            ("needs", _) => return,
            ("speaking", _) if rest == protocol.version() => {}
            ("speaking", _) => return,
            ("env", _) => {
                let (name, value) = rest.split_once('=').unwrap();
                world = world.env(name, value);
            }
            ("after", _) => world = world.after(rest),
            ("with", _) => {
                let package = package.insert(Package::shared());
                world = world.env("PLUGIN", package.plugin());
            }
            ("without", _) => world = world.homeless(),
            ("as", _) => world = world.unprivileged(),
            ("$", _) => {
                let (status, says) = expected.unwrap_or("0 ").split_once(' ').unwrap();
                let ran = world.typed(rest).exits(status.parse().unwrap());
                let mut said = ran.stdout + &ran.stderr;
                if package.is_some() {
                    // A session's shell is shown no path.
                    said = said.replace("HOME", MARKER);
                }
                let is_said = says.split(" … ").all(|words| said.contains(words));
                assert!(is_said && !said.contains(MARKER), "{said}");
            }
            ("serve" | "start", why) => {
                if let Some(before) = client.take() {
                    before.end();
                }
                let arguments = request.replacen("start", "serve", 1);
                let mut server = world.start(arguments.split(' '));
                match why {
                    Some(why) => {
                        let said = server.does_not_start();
                        assert!(said.contains(why) && !said.contains(MARKER), "{said}");
                    }
                    None => {
                        if word == "serve" {
                            let _ = server.handshake();
                        }
                        client = Some(server);
                    }
                }
            }
            ("ends", _) => {
                let said = client.take().unwrap().ends_saying();
                let is_said = rest.split(" … ").all(|words| said.contains(words));
                assert!(is_said && said.lines().count() == 1, "{said}");
                assert!(!said.contains(MARKER), "{said}");
            }
            ("allow", _) => {
                let question = match rest.splitn(3, ' ').collect::<Vec<_>>()[..] {
                    [id, agent, key] => question(id, agent, key),
                    [id, agent] => own_server::question(id, agent),
                    _ => panic!("no call"),
                };
                is_allowed(&world, &question);
            }
            ("leave", _) => {
                let (id, agent) = rest.split_once(' ').unwrap();
                leave(&world.path("data"), id, agent);
            }
            (word, None) => {
                let (_, text) = rest.split_once("= ").unwrap();
                words.push((word.to_owned(), text.to_owned()));
            }
            (_, Some(expected)) => {
                let answer = asked(client.as_mut().unwrap(), request);
                let message = answer.message().to_string();
                assert!(!message.contains(MARKER), "{message}");
                let mut found = answer.message().clone();
                found["id"].take();
                let before = answers.insert(request.to_owned(), found.clone());
                match expected {
                    "any" => {}
                    "same" => assert_eq!(Some(found), before),
                    _ => is_as_expected(&answer, expected),
                }
            }
        }
    }
    if let Some(client) = client {
        client.end();
    }
}

/// The answer to this request.
fn asked(client: &mut Session, request: &str) -> Answer {
    let with_id = request
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "));
    let (id, request) = with_id.map_or((None, request), |(id, rest)| (Some(id), rest));
    let (word, rest) = request.split_once(' ').unwrap_or((request, "{}"));
    let given = || serde_json::from_str::<Value>(rest).unwrap();
    let (method, mut params) = match word {
        "hello" => return client.handshake(),
        "send" => {
            client.send_line(rest.as_bytes());
            return client.answer(given()["id"].as_u64().unwrap());
        }
        "load" if request == word => ("tools/call", json!({ "name": "load_context" })),
        "load" => {
            let call = json!({ "name": "load_context", "arguments": { "key": rest } });
            ("tools/call", call)
        }
        "load_context" => {
            let call = json!({ "name": "load_context", "arguments": given() });
            ("tools/call", call)
        }
        method => (method, given()),
    };
    if let Some(id) = id {
        let id = serde_json::from_str(id).unwrap_or_else(|_| json!(id));
        params["_meta"] = json!({ "claudecode/toolUseId": id });
    }
    client.request(method, params)
}

fn is_as_expected(answer: &Answer, expected: &str) {
    if let Some(line) = expected.strip_prefix('"') {
        answer.is(&line.replace('"', "\n"));
    } else if let Some(words) = expected.strip_prefix("error ") {
        answer.error(words);
    } else if let Some(text) = expected.strip_prefix("says ") {
        answer.refused_arguments(text);
    } else if expected.starts_with('{') {
        let fields: HashMap<String, Value> = serde_json::from_str(expected).unwrap();
        if fields.is_empty() {
            let _ = answer.result();
        }
        let parts = ["result", "error"].map(|part| &answer.message()[part]);
        let has = |(name, value): (&String, &Value)| parts.iter().any(|part| part[name] == *value);
        assert!(fields.iter().all(has), "{}", answer.message());
    } else {
        answer.refused(expected);
    }
}
