//! The table of `keyhole setup`. Each file of `cases/` is a home, and commands with what is typed
//! on their terminal; below `====` stands what they showed and changed. `INSTA_UPDATE=always`
//! writes that part, and `KEYHOLE_CASE=TEXT` plays only the files with this text in their name.
//!
//! ```text
//! # TEXT          what the case shows
//! env NAME=VALUE  a variable
//! sh COMMAND      what the shell does that starts the program
//! with mounts     that shell may mount; or `with a user`: it is not root's; or `with root`.
//!                 Only root can play these
//! == PATH         a file, with its lines below. `crlf` or `attribute` may follow; or it is
//!                 `PATH/` or `PATH -> TARGET`; also between two commands
//! $ keyhole …     a command; `·` is a blank in an argument
//! > ANSWER        what is typed at its next question, `yes` at all that follow, or ^C, ^D
//! ! …             before that, such a command, with `yes`, or what a shell does
//! $ …             what a shell does in between; `$ exec keyhole …` runs without a terminal
//! ```
//!
//! `␍` is a carriage return, `␉` a tab, `␛` what begins a colour, `⏎` a line end in an answer, `<BOM>` a mark, and `<no
//! newline>` the end of a file. `HOME` is the home, `OUT` the folder that it is in, `EXAMPLES` that
//! of docs/examples.

use super::homes::{
    ATTRIBUTE, Files, bare, changed, cleaned, difference, files, install_plugin, place,
};
use keyhole_core::{LiveMap, Location, MapError};
use keyhole_tests::{MARKER, World, skipped, workspace};
use keyhole_tree::private_directory;
use rustix::{
    fs::{XattrFlags, setxattr},
    process::geteuid,
};
use serde_json::Value;
use std::{
    env, fs,
    iter::{self, Peekable},
    os::unix::fs::symlink,
    panic::{self, AssertUnwindSafe},
    path::Path,
    slice,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Its rules and its agent's file are shown here, and named in all other cases.
const FIRST: &str = "client-claude-code.txt";
const END: &str = "====\n";

/// What the first case showed, by names; and its rules.
#[derive(Default)]
struct Known {
    texts: Vec<(String, &'static str)>,
    rules: Vec<String>,
}

#[test]
fn each_case_of_setup_is_as_recorded() {
    let folder = workspace().join("tests/tests/cli/cases");
    let wanted = env::var("KEYHOLE_CASE").unwrap_or_default();
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != FIRST && name.contains(&wanted))
        .collect();
    names.sort();
    let known = OnceLock::new();
    let wrong = Mutex::new(run(&folder.join(FIRST), &known));
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let play = AssertUnwindSafe(|| run(&folder.join(name), &known));
            let failed = |_| format!("\n{name} failed; it says above why\n");
            let differs = panic::catch_unwind(play).unwrap_or_else(failed);
            wrong.lock().unwrap().push_str(&differs);
        }
    };
    // Most of the time, a run waits for a new file to settle.
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}

/// Plays a case. Returns how it differs from what is recorded.
fn run(path: &Path, known: &OnceLock<Known>) -> String {
    let text = fs::read_to_string(path).unwrap();
    let (input, recorded) = text.split_once(END).unwrap_or((&text, ""));
    let name = path.file_name().unwrap().to_string_lossy();
    let now = Case::read(input).play(known);
    let folded = known.get().filter(|_| name != FIRST);
    match now.map(|now| folded.map_or(now.clone(), |known| known.folded(&now))) {
        None => skipped(format!(
            "{name}: only root can play it, on a disk with attributes"
        )),
        Some(now) if now == recorded => {}
        Some(now) if env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") => {
            fs::write(path, format!("{input}{END}{now}")).unwrap();
        }
        Some(now) => return format!("\n{name}:\n{}", difference(recorded, &now)),
    }
    String::new()
}

#[derive(Default)]
struct Case<'a> {
    variables: Vec<(&'a str, &'a str)>,
    shell: String,
    with: &'a str,
    steps: Vec<Step<'a>>,
}

enum Step<'a> {
    /// A file, a folder or a link, and its text.
    File(&'a str, String),
    /// A command, and the answers to it.
    Command(&'a str, Vec<&'a str>),
}

type Steps<'s, 'a> = Peekable<slice::Iter<'s, Step<'a>>>;

impl Step<'_> {
    fn is_file(&self) -> bool {
        matches!(self, Self::File(..))
    }
}

impl<'a> Case<'a> {
    fn read(input: &'a str) -> Self {
        let mut case = Self::default();
        case.shell += "true";
        for line in input.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match (word, case.steps.last_mut()) {
                ("$", _) => case.steps.push(Step::Command(rest, Vec::new())),
                ("==", _) => case.steps.push(Step::File(rest, String::new())),
                (">", Some(Step::Command(_, answers))) => answers.push(rest),
                ("!", Some(Step::Command(_, answers))) => answers.push(line),
                (_, Some(Step::File(_, text))) => *text += &format!("{line}\n"),
                ("env", ..) => case.variables.push(rest.split_once('=').unwrap()),
                ("sh", ..) => case.shell += &format!(" && {rest}"),
                ("with", ..) => case.with = rest,
                ("#", ..) => {}
                _ => panic!("no line of a case: {line}"),
            }
        }
        case
    }

    /// Puts the first files into the home. None if there can be no such world here.
    fn world(&self, steps: &mut Steps<'_, 'a>) -> Option<World> {
        let mut world = World::new();
        while let Some(Step::File(name, text)) = steps.next_if(|step| step.is_file()) {
            put(&world, name, text)?;
        }
        for (name, value) in &self.variables {
            let value = filled(value, &world);
            world = world.env(name, value);
        }
        let shell = filled(&self.shell, &world);
        let exec = format!("{shell} && exec \"$0\" \"$@\"");
        let mounts = ["unshare", "-m", "/bin/sh", "-c", &exec];
        let is_root = geteuid().is_root();
        match self.with {
            "" => Some(world.after(&shell)),
            "root" if is_root => Some(world.after(&shell)),
            "a user" if is_root => Some(world.after(&shell).unprivileged()),
            "mounts" if is_root => Some(world.through(mounts)),
            _ => None,
        }
    }

    /// Returns what there is to record.
    fn play(&self, known: &OnceLock<Known>) -> Option<String> {
        let mut steps = self.steps.iter().peekable();
        let world = self.world(&mut steps)?;
        let (mut text, mut first, mut screens) = (String::new(), None, Vec::new());
        while let Some(step) = steps.next() {
            let (command, answers) = match step {
                Step::Command(command, answers) => (command, answers),
                Step::File(name, content) => {
                    put(&world, name, content)?;
                    text += &format!("== {name}\n{content}");
                    continue;
                }
            };
            let Some(arguments) = command.strip_prefix("keyhole ") else {
                let ran = world.typed(command);
                let mut said = cleaned(&(ran.stdout + &ran.stderr), &world);
                if let Some(exit @ 1..) = ran.exit {
                    said += &format!("[exit {exit}]\n");
                }
                if first.is_some() || !said.is_empty() {
                    text += &format!("$ {command}\n{said}");
                }
                continue;
            };
            let before = files(&world);
            let (shown, exit) = asked(&world, arguments, answers);
            let shown = cleaned(&shown, &world);
            let makes_a_key = command.contains("setup key");
            let is_secret = shown.contains(MARKER) || shown.contains("k-FRESH") && !makes_a_key;
            assert!(!is_secret, "a secret is shown: {command}: {shown}");
            if arguments == "check" {
                calls_get_what_it_says(&world);
            }
            let after = files(&world);
            let exit = exit.map_or("by a signal".to_owned(), |exit| exit.to_string());
            text += &format!("$ {command}\n{shown}[exit {exit}]\n");
            let is_last = steps.peek().is_none() && command.contains("setup remove");
            let (from, same, other) = match &first {
                Some(first) if is_last => (first, "as at the start", "changed since the start"),
                _ => (&before, "nothing is changed", "changed"),
            };
            let is_same = *from == after;
            text += &format!("[{}]\n", if is_same { same } else { other });
            text += &changed(from, &after, &shown);
            first = first.or(Some(before));
            screens.push((shown, after));
        }
        known.get_or_init(|| parts(&screens));
        Some(text)
    }
}

/// Makes a file, a folder or a link of a case. The user's settings that switch the plugin on come
/// with what its install leaves. None if the disk has no attributes.
fn put(world: &World, name: &str, text: &str) -> Option<()> {
    let text = filled(text, world).replace('␍', "\r").replace('␉', "\t");
    let text = text.replace("<BOM>", "\u{feff}");
    let text = text.replace("<no newline>\n", "");
    if name == ".claude/settings.json" && text.contains(r#""keyhole@keyhole": true"#) {
        install_plugin(world);
    }
    if let Some((name, target)) = name.split_once(" -> ") {
        let link = world.path(name);
        private_directory(link.parent().unwrap());
        symlink(filled(target, world), link).unwrap();
    } else if let Some(folder) = name.strip_suffix('/') {
        private_directory(&world.path(folder));
    } else if let Some(name) = name.strip_suffix(" crlf") {
        world.write(name, text.replace('\n', "\r\n"));
    } else if let Some(name) = name.strip_suffix(" attribute") {
        world.write(name, text);
        let flags = XattrFlags::empty();
        setxattr(world.path(name), ATTRIBUTE, MARKER.as_bytes(), flags).ok()?;
    } else {
        world.write(name, text);
    }
    Some(())
}

/// Calls for each entry of the map, and compares with what `check` says of it.
#[track_caller]
fn calls_get_what_it_says(world: &World) {
    let ran = world.run(["check", "--json"]);
    assert!(!ran.stdout.contains(MARKER), "a secret is shown: {ran:#?}");
    let report = ran.json();
    assert_eq!(report["ok"], ran.exit == Some(0), "{ran:#?}");
    let Some(entries) = report["entries"].as_array() else {
        return;
    };
    let home = |name: &str| (name == "HOME").then(|| world.home().into());
    let place = Location::find(Some(&world.map_path()), home).unwrap();
    let map = match LiveMap::new(place).current() {
        // It is the other user's.
        Err(MapError::Untrusted(_)) => return,
        map => map.unwrap(),
    };
    for (told, (key, entry)) in entries.iter().zip(map.entries()) {
        // No agent of such a name asks.
        if told["code"] == "unknown-key" {
            continue;
        }
        let agent = entry
            .agents
            .as_deref()
            .map(|agents| ["--agent", &agents[0]]);
        let mut client = world.start(iter::once("serve").chain(agent.into_iter().flatten()));
        let _ = client.handshake();
        let answer = client.load_at_last(key.expose());
        match told["code"].as_str() {
            Some(code) => answer.refused(code),
            None => assert_eq!(told["bytes"], answer.text().unwrap().len(), "{told}"),
        }
        client.end();
    }
}

/// A text of a case as it is in this world.
fn filled(text: &str, world: &World) -> String {
    let text = text
        .replace("$HOME", "\0")
        .replace("HOME", place(&world.path("")));
    text.replace("OUT", place(&world.outside("")))
        .replace("EXAMPLES", place(&workspace().join("docs/examples")))
        .replace('\0', "$HOME")
}

/// What the terminal shows when each question gets its answer.
fn asked(world: &World, arguments: &str, answers: &[&str]) -> (String, Option<i32>) {
    let typed = |answer: &&str| {
        let answer = filled(answer, world).replace('⏎', "\n");
        answer.replace("^C", "\x03").replace("^D", "\x04\x04")
    };
    let all: Vec<String> = answers.iter().map(typed).collect();
    let arguments = arguments.split(' ').map(|word| word.replace('·', " "));
    let arguments = arguments.map(|word| filled(&word, world));
    let (mut next, mut unasked, mut beside) = (0, 0, String::new());
    let (mut shown, exit) = world.on_terminal(arguments, |shown| {
        let line = shown.rsplit('\n').next().unwrap_or_default();
        let agrees = line.ends_with("[y/N] ");
        let asks = line.contains("(Enter: ") && line.ends_with("): ");
        if !agrees && !asks && !line.ends_with("or name: ") {
            return None;
        }
        while let Some(command) = answers
            .get(next)
            .and_then(|answer| answer.strip_prefix("! "))
        {
            next += 1;
            beside += &match command.strip_prefix("keyhole ") {
                Some(arguments) => {
                    let (shown, exit) = asked(world, arguments, &["yes"]);
                    format!("! {command}\n{shown}[exit {exit:?}]\n")
                }
                None => world.typed(command).stderr,
            };
        }
        match all.get(next) {
            Some(answer) if answer != "yes" => {
                next += 1;
                Some(&**answer)
            }
            Some(_) if agrees => Some("y"),
            _ => {
                unasked += 1;
                Some(if unasked > 2 { "\x03" } else { "\x04" })
            }
        }
    });
    let left = answers[next..].iter().filter(|answer| **answer != "yes");
    shown.extend(left.map(|answer| format!("[not asked: {answer}]\n")));
    shown += &"[a question without an answer]\n".repeat(unasked);
    (shown + &beside, exit)
}

/// What each command showed, also from one of its files on; the agent's file; and the end.
fn parts(screens: &[(String, Files)]) -> Known {
    let mut known = Known::default();
    for (shown, files) in screens {
        let starts = shown.match_indices("\n~/").skip(1);
        let name = "<the rest as in client-claude-code.txt>\n";
        let rests = starts.map(|(at, _)| (&shown[at + 1..], name));
        let (_, agent) = shown.split_once("scanner.md (").unwrap_or_default();
        let (agent, _) = agent.split_once("\n\n").unwrap_or_default();
        let (_, agent) = agent.split_once('\n').unwrap_or_default();
        let (said, done) = shown.split_once("\nDone.\n").unwrap_or_default();
        let (_, checked) = said.split_once("changes? [y/N] y\n").unwrap_or_default();
        let whole = (&**shown, "<as in client-claude-code.txt>\n");
        let texts = iter::once(whole).chain(rests).chain([
            (agent, "  <the agent's file>"),
            (checked, "<what check says>\n"),
            (done, "\n<the last step>\n"),
        ]);
        // A short one is also part of a longer one.
        let long = texts.filter(|(text, _)| text.lines().count() > 2);
        let owned = long.map(|(text, name)| (text.to_owned(), name));
        known.texts.extend(owned);
        let settings = files.get(".claude/settings.json");
        let settings = settings.map_or("", |(_, text)| text);
        let settings: Value = serde_json::from_str(settings).unwrap_or_default();
        let rules = settings["permissions"]["deny"].as_array();
        let rules = rules.into_iter().flatten().map(ToString::to_string);
        known.rules.extend(rules);
    }
    known
}

impl Known {
    /// With these texts by their names. The rules may stand on lines or on one, in any layout.
    fn folded(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (known, name) in &self.texts {
            text = text.replace(known, name);
        }
        let mut plain = self.rules.clone();
        plain.retain(|rule| !rule.contains("state/keyhole"));
        for (rules, end) in [(&self.rules, ""), (&plain, ", without tickets")] {
            let name = format!("<the {} rules for ~/private/ids.md{end}>", rules.len());
            text = text.replace(&rules.join(", "), &name);
            text = text.replace(&rules.join(","), &name);
            for sign in ["+", "-"] {
                let whole = format!("  {sign} {name}");
                text = text.replace(&packed(rules, sign), &whole);
            }
            let all: Vec<_> = text.lines().collect();
            let (mut folded, mut lines) = (String::new(), &all[..]);
            while let [line, rest @ ..] = lines {
                let some = lines.iter().take(rules.len());
                if some.map(|line| bare(line)).eq(rules) {
                    let line = line.replace(&format!("{},", rules[0]), &name);
                    folded += &format!("{}\n", line.replace(&rules[0], &name));
                    lines = &lines[rules.len()..];
                } else {
                    folded += &format!("{line}\n");
                    lines = rest;
                }
            }
            text = folded;
        }
        text
    }
}

/// These rules as setup shows them: as many as fit on each line.
fn packed(rules: &[String], sign: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for rule in rules {
        match lines.last_mut() {
            Some(line) if line.len() + rule.len() + 2 <= 80 => *line += &format!(", {rule}"),
            _ => lines.push(format!("  {sign} {rule}")),
        }
    }
    lines.join(",\n")
}

/// The usual case of `setup plugin` fits a terminal of 80 characters: what is shown up to each yes
/// from the answer before, and what is shown at the end, with "Done." and all that is still to do.
#[test]
fn a_terminal_of_45_lines_shows_the_plan_and_another_one_the_end() {
    let world = World::new();
    let mut screens = Vec::new();
    let (shown, exit) = world.on_terminal(["setup", "plugin"], |shown| {
        let answer = if shown.ends_with("): ") {
            ""
        } else if shown.ends_with("[y/N] ") {
            "y"
        } else {
            return None;
        };
        screens.push(shown.to_owned());
        Some(answer)
    });
    assert_eq!(exit, Some(0), "{shown}");
    let (_, end) = shown.rsplit_once("[y/N] y\n").unwrap();
    screens.push(end.to_owned());
    assert!(screens.len() > 3, "{shown}");
    for screen in screens {
        let lines = screen.lines();
        // Where this program is built, that may be a folder for temporary files.
        let usual = lines.filter(|line| !line.starts_with("Careful: "));
        let height: usize = usual.map(|line| line.len().div_ceil(80).max(1)).sum();
        assert!(height <= 45, "{height} lines: {screen}");
    }
    let (_, left) = end.split_once("\nDone.\n").unwrap();
    assert!(left.contains("claude plugin install"), "{left}");
    assert!(left.lines().count() <= 10, "{left}");
}
