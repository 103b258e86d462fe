//! `keyhole withhold`: what the plugin's module is told when an agent starts and when it
//! reports.

use crate::secrecy::{conceals, talkative};
use keyhole_tests::{MARKER, Ran, World};
use serde_json::{Value, json};

const AGENT: &str = "acme:reviewer";
const ENTRY: &str = "{ path = '~/hunter2.md', agents = ['acme:reviewer'], withhold = true }";

/// A user with a document, and these entries for it.
fn user(entries: &[&str]) -> World {
    let entries: String = (entries.iter().enumerate())
        .map(|(index, entry)| format!("k-hunter2-7f3a9c55aa01beef{index} = {entry}\n"))
        .collect();
    World::new()
        .file("hunter2.md", format!("# Rule\n- {MARKER}\n"))
        .map(format!("roots = ['~/']\n[keys]\n{entries}"))
}

fn ask(world: &World, question: &Value) -> Ran {
    world.run_with(["withhold"], question.to_string().as_bytes())
}

#[track_caller]
fn answer(world: &World, question: &Value) -> Value {
    ask(world, question)
        .exits(0)
        .says_nothing_on_stderr()
        .json()
}

#[track_caller]
fn of_report(world: &World, report: &str) -> Value {
    answer(world, &json!({ "agent": AGENT, "report": report }))
}

#[track_caller]
fn is_refused(answer: &Value, code: &str) {
    let said = answer["refused"].as_str().unwrap_or_default();
    assert!(said.starts_with(&format!("{code}: ")), "{answer}");
    conceals(&answer.to_string());
}

#[test]
fn the_start_of_an_agent_tells_whether_its_document_loads_and_its_reports_are_withheld() {
    let plain = ENTRY.replace(", withhold = true", "");
    let missing = ENTRY.replace("hunter2.md", "hunter3.md");
    let of_market = ENTRY.replace("acme:", "acme@good:");
    let start = |entries: &[&str], agent: &str| answer(&user(entries), &json!({ "agent": agent }));
    for (entries, withhold, agents) in [
        (&[ENTRY][..], true, &[AGENT][..]),
        (&[&*plain][..], false, &[AGENT]),
        (&[&*plain, ENTRY][..], true, &[AGENT]),
        (&[&*of_market][..], true, &["acme@good:reviewer"]),
        // It may do with the other.
        (&[&*missing, &*plain][..], true, &[AGENT]),
        (&[ENTRY, "'~/hunter2.md'"][..], true, &["*", AGENT]),
    ] {
        assert_eq!(
            start(entries, AGENT),
            json!({ "withhold": withhold, "agents": agents }),
            "{entries:?}"
        );
    }
    // The server would refuse it.
    let world = user(&[ENTRY]).file("hunter2.md", "a".repeat(500_001));
    let too_long = answer(&world, &json!({ "agent": AGENT }));
    is_refused(&too_long, "too-large");
    let refused = start(&[&*missing], AGENT);
    is_refused(&refused, "not-found");
    assert_eq!(refused["withhold"], true);
    for nobody in ["reviewer", "general-purpose", "", "a\nb"] {
        is_refused(&start(&[ENTRY, "'~/hunter2.md'"], nobody), "unknown-key");
    }
}

#[test]
fn a_report_comes_back_without_what_quotes_the_document() {
    let world = user(&[ENTRY]);
    let said = of_report(
        &world,
        &format!("a.txt:1:1 high Rule\n{} \"\u{e9}", MARKER.to_uppercase()),
    );
    assert_eq!(
        said,
        json!({ "withhold": true, "report": "a.txt:1:1 high Rule\n[withheld] \"\u{e9}" })
    );
    // Each of its documents counts that says so.
    let other = ENTRY.replace("hunter2", "other");
    let plain = ENTRY.replace("hunter2", "plain").replace("true", "false");
    let world = user(&[ENTRY, &other, &plain]);
    world.write("other.md", "- Larkspur\n");
    world.write("plain.md", "- Foxglove\n");
    let said = of_report(&world, &format!("larkspur, foxglove, {MARKER}"));
    assert_eq!(
        said,
        json!({ "withhold": true, "report": "[withheld], foxglove, [withheld]" })
    );
}

#[test]
fn what_another_agent_says_stays_as_it_is() {
    let plain = "{ path = '~/other.md', agents = ['acme:writer'] }";
    let withheld = "{ path = '~/other.md', agents = ['acme:editor'], withhold = true }";
    let world = user(&[ENTRY, plain, withheld]).file("other.md", "- Larkspur\n");
    let said = |agent: &str| answer(&world, &json!({ "agent": agent, "report": MARKER }));
    for agent in ["acme:writer", "general-purpose"] {
        assert_eq!(said(agent)["withhold"], false, "{agent}");
    }
    let unchanged = json!({ "withhold": true, "report": MARKER });
    assert_eq!(said("acme:editor"), unchanged);
}

#[test]
fn the_users_home_and_the_sessions_folder_are_no_quotations() {
    let world = user(&[ENTRY]);
    let home = world.home().to_str().unwrap();
    // The name of one folder may be an ordinary word.
    let at = home
        .rfind('/')
        .and_then(|at| home[..at].rfind('/'))
        .unwrap();
    let two = home[at..].trim_start_matches(|c: char| !c.is_alphanumeric());
    world.write("hunter2.md", format!("- {two}\n"));
    let report = format!("{home}/a.txt /srv/{two}/b.txt {two}");
    // The harness writes HOME for it.
    let said = of_report(&world, &report);
    assert_eq!(
        said["report"],
        "HOME/a.txt /srv/[withheld]/b.txt [withheld]"
    );
    // The module says the session's folder: the one that it starts the program in is another.
    let folder = format!("/srv/{two}");
    let question = json!({ "agent": AGENT, "report": report, "folder": folder });
    let said = answer(&world, &question);
    let here = format!("HOME/a.txt {folder}/b.txt [withheld]");
    assert_eq!(said["report"], *here);
}

#[test]
fn what_a_call_would_refuse_is_refused_and_no_report_comes_back() {
    let report = format!("found {MARKER}");
    let missing = ENTRY.replace("hunter2.md", "hunter3.md");
    let plain = ENTRY.replace("true", "false");
    for (entries, withhold, code) in [
        (&[&*missing][..], true, "not-found"),
        (&[ENTRY, &*missing][..], true, "not-found"),
        // It may have been withheld when it started.
        (&[&*plain][..], false, "unknown-key"),
        (&["'~/hunter2.md'"][..], false, "unknown-key"),
    ] {
        let said = of_report(&user(entries), &report);
        is_refused(&said, code);
        assert_eq!(
            (&said["withhold"], said.get("report")),
            (&json!(withhold), None)
        );
    }
    let world = talkative(user(&[ENTRY]));
    world.write("hunter2.md", [0xff]);
    is_refused(&of_report(&world, &report), "not-utf8");
    world.write_map("[keys");
    is_refused(&of_report(&world, &report), "map-invalid");
    world.remove_map();
    is_refused(&of_report(&world, &report), "map-missing");
}

#[test]
fn a_hook_has_an_agent_write_a_report_again_that_quotes_but_only_once() {
    let world = user(&[ENTRY]);
    let stop = |agent: &str, report: &str, again: bool| {
        let input = json!({
            "cwd": "/",
            "hook_event_name": "SubagentStop",
            "agent_type": agent,
            "last_assistant_message": report,
            "stop_hook_active": again,
        });
        // As JavaScript cuts an emoji.
        let input = input.to_string().replace("WHOLE", r"\ud83d\ude00");
        let input = input.replace("HALF", r"\ud83d").replace("TEXT", r"\\ud83d");
        let ran = world.run_with(["withhold", "--stop"], input.as_bytes());
        ran.exits(0)
    };
    let quoting = format!("a.txt:1:1 high Rule\n{MARKER}");
    let answer = stop(AGENT, &quoting, false).says_nothing_on_stderr().json();
    assert_eq!(answer["decision"], "block");
    let reason = answer["reason"].as_str().unwrap();
    assert!(
        reason.ends_with("\na.txt:1:1 high Rule\n[withheld]"),
        "{reason}"
    );
    assert!(
        reason.contains("Places (file:line) and rule names may stay."),
        "{reason}"
    );
    conceals(reason);
    let report = format!("{quoting}, WHOLE HALFx TEXT");
    let answer = stop(AGENT, &report, false).json();
    let reason = answer["reason"].as_str().unwrap();
    let kept = "[withheld], \u{1f600} \u{fffd}x \\ud83d";
    assert!(reason.ends_with(kept), "{reason}");
    for (agent, report, again) in [
        (AGENT, "a.txt:1:1 high Rule", false),
        (AGENT, &*quoting, true),
        ("general-purpose", &*quoting, false),
    ] {
        let _ = stop(agent, report, again).says("");
    }
    world.write("hunter2.md", [0xff]);
    let answer = stop(AGENT, &quoting, false).json();
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("could not be compared"), "{reason}");
    conceals(reason);
    let _ = stop(AGENT, &quoting, true).says("");
    world.write_map("[keys");
    let ran = stop(AGENT, &quoting, false);
    assert!(ran.stdout.contains("could not be compared"), "{ran:?}");
    world.remove_map();
    let _ = stop(AGENT, &quoting, false).says("");
    let start = json!({ "hook_event_name": "SubagentStart", "agent_type": AGENT, "last_assistant_message": "", "stop_hook_active": false });
    for input in ["{}", &start.to_string()] {
        let ran = world.run_with(["withhold", "--stop"], input.as_bytes());
        let _ = ran.exits(1).says("");
    }
}
