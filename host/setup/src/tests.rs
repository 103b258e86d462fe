//! Homes as users have them, and the bytes after.

mod files;
mod remove;
mod texts;

use crate::{
    Door, Outcome, Request, SetupError, What,
    ask::{Asked, Nobody},
    disk::Disk,
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// A user who gives these answers, and reads what is shown.
struct User {
    answers: Vec<&'static str>,
    seen: String,
    /// What happens before the last answer.
    meanwhile: Option<Box<dyn FnMut()>>,
}

impl User {
    fn answers(answers: &[&'static str]) -> Self {
        let answers = answers.iter().rev().copied().collect();
        Self {
            answers,
            seen: String::new(),
            meanwhile: None,
        }
    }
}

impl Asked for User {
    fn show(&mut self, text: &str) -> io::Result<()> {
        self.seen += text;
        Ok(())
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        self.seen += question;
        if let (1, Some(meanwhile)) = (self.answers.len(), &mut self.meanwhile) {
            meanwhile();
        }
        Ok(self.answers.pop().unwrap_or("").to_owned())
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(
            tempfile::Builder::new()
                .prefix("a home ")
                .tempdir()
                .unwrap(),
        );
        home.file("private/identifiers.md", "# Name\nJane Q. Example\n");
        for place in ["private", "private/identifiers.md"] {
            let mode = if place.ends_with("md") { 0o600 } else { 0o700 };
            fs::set_permissions(home.path(place), fs::Permissions::from_mode(mode)).unwrap();
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Of all files, only the document is still there.
    #[track_caller]
    fn has_the_document_alone(&self) {
        let left: Vec<_> = self
            .everything()
            .into_keys()
            .filter(|path| path.is_file())
            .collect();
        assert_eq!(left, [self.path("private/identifiers.md")]);
    }

    /// Every file but the record, and every folder.
    fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn walk(at: &Path, all: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for found in fs::read_dir(at).unwrap().flatten() {
                let path = found.path();
                if path.ends_with(".local") {
                    continue;
                }
                match path.is_dir() {
                    true => {
                        all.insert(path.clone(), None);
                        walk(&path, all);
                    }
                    false => {
                        let bytes = fs::read(&path).ok();
                        all.insert(path, bytes);
                    }
                }
            }
        }
        let mut all = BTreeMap::new();
        walk(&self.path(""), &mut all);
        all
    }

    fn door<T>(&self, steps_left: Option<u32>, run: impl FnOnce(&Door<'_>) -> T) -> T {
        let none = |_: &str| None::<OsString>;
        let judge = |bytes: &[u8], _: Option<&What>| {
            let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
            let parsed = toml::de::DeTable::parse(text.trim_start_matches('\u{feff}'));
            parsed.map(|_| ()).map_err(|error| error.to_string())
        };
        let door = Door {
            home: self.path(""),
            map: self.path(MAP),
            program: "/usr/local/bin/keyhole".to_owned(),
            caution: None,
            variable: &none,
            judge: &judge,
            key: "k-0123456789abcdef".to_owned(),
            disk: Disk {
                steps_left: Cell::new(steps_left),
                is_plain: false,
            },
        };
        run(&door)
    }

    fn install(&self, request: &Request, user: &mut User) -> Result<Outcome, SetupError> {
        self.door(None, |door| door.install(request, user))
    }

    /// Installs it, with a yes to each question.
    #[track_caller]
    fn given(&self, request: &Request) {
        self.install(request, &mut User::answers(YES)).unwrap();
    }

    fn remove(&self, name: &str) -> Result<Outcome, SetupError> {
        let mut user = User::answers(&["y"]);
        self.door(None, |door| door.remove(name, &mut user))
    }
}

const MAP: &str = ".config/keyhole/context-map.toml";
const SETTINGS: &str = ".claude/settings.json";

fn wants(what: What) -> Request {
    Request {
        what,
        file: "~/private/identifiers.md".into(),
    }
}

fn bind(client: &str, name: &str) -> Request {
    wants(What::Bind {
        client: client.to_owned(),
        name: name.to_owned(),
        agent: None,
    })
}

fn inject(agent: &str) -> Request {
    wants(What::Inject {
        client: "claude-code".to_owned(),
        agent: agent.to_owned(),
    })
}

const YES: &[&str] = &["y", "y", "y"];

#[test]
fn an_empty_home_gets_a_served_agent_by_one_answer() {
    let home = Home::new();
    let before = home.everything();
    let mut user = User::answers(YES);
    let done = home
        .install(&bind("claude-code", "house-rules"), &mut user)
        .unwrap();
    assert!(
        matches!(done, Outcome::Done(last) if last.contains("house-rules")),
        "{}",
        user.seen
    );
    assert_eq!(
        home.read(MAP),
        "roots = [\"~/private\"]\n\n[bindings.house-rules]\npath = \"~/private/identifiers.md\"\n"
    );
    let settings = home.read(SETTINGS);
    for rule in [
        "Read(~/private/**)",
        "Read(~/private/identifiers.md)",
        "Read(~/.claude/projects/**/subagents/**)",
        "Read(~/.local/state/keyhole/**)",
        "Bash(*keyhole* inject*)",
    ] {
        assert!(settings.contains(rule), "{rule}: {settings}");
    }
    // The guard's answer is the permission.
    assert!(!settings.contains("allow"), "{settings}");
    let agent = home.read(".claude/agents/house-rules.md");
    let tickets = home.path(".local/state/keyhole/claude-code");
    let ours = r#""--bind", "house-rules", "--agent", "house-rules""#;
    let tickets = format!(r#""--tickets", "{}"]"#, tickets.display());
    for args in [
        format!(r#""args": ["serve", {ours}, "--require-ticket", {tickets}"#),
        format!(r#""args": ["guard", {ours}, {tickets}"#),
        format!(r#""args": ["guard", "--after", {ours}, {tickets}"#),
    ] {
        assert!(agent.contains(&args), "{args}: {agent}");
    }
    assert!(
        agent.contains(r#""command": "/usr/local/bin/keyhole""#),
        "{agent}"
    );
    for file in [
        MAP,
        SETTINGS,
        ".claude/agents/house-rules.md",
        ".local/state/keyhole/setup.json",
    ] {
        let mode = fs::metadata(home.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }

    // A second run changes nothing, and asks nothing.
    let after = home.everything();
    let mut user = User::answers(&[]);
    let again = home
        .install(&bind("claude-code", "house-rules"), &mut user)
        .unwrap();
    assert!(matches!(again, Outcome::Already(_)), "{}", user.seen);
    assert_eq!(home.everything(), after);

    home.remove("house-rules").unwrap();
    assert_eq!(home.everything(), before);
    assert!(!home.path(".local").exists());
    assert!(matches!(
        home.remove("house-rules"),
        Err(SetupError::NothingOf)
    ));
}

#[test]
fn nothing_is_written_before_the_last_yes() {
    let home = Home::new();
    home.file(SETTINGS, "{\n\t\"model\": \"x\"\n}");
    let before = home.everything();
    for answers in [&[][..], &["n"], &["y"], &["y", "n"], &["y", "yes please"]] {
        let mut user = User::answers(answers);
        let done = home.install(&bind("claude-code", "a"), &mut user).unwrap();
        assert_eq!(done, Outcome::Nothing);
        assert!(
            !user.seen.contains("model"),
            "a line that is not ours: {}",
            user.seen
        );
        assert_eq!(home.everything(), before);
    }
    assert!(!home.path(".local").exists());
    // A dry run asks nobody.
    let mut nobody = Nobody::default();
    let done = home.door(None, |door| {
        door.install(&bind("claude-code", "a"), &mut nobody)
    });
    let shown = nobody.shown;
    assert_eq!(done.unwrap(), Outcome::Nothing);
    assert!(shown.contains("+ [bindings.a]"), "{shown}");
    assert_eq!(home.everything(), before);
}

/// Also what a user would be asked before the last question.
#[test]
fn a_dry_run_shows_what_would_be_asked() {
    let home = Home::new();
    home.given(&bind("cursor", "first"));
    let mut nobody = Nobody::default();
    home.door(None, |door| {
        door.install(&bind("claude-code", "second"), &mut nobody)
    })
    .unwrap();
    let says = "another agent gets it: second";
    assert!(nobody.shown.contains(crate::rules::CAUTION));
    assert!(nobody.shown.contains(says), "{}", nobody.shown);
}

/// An older client needs them. They are enough, but break what they need not.
#[test]
fn wide_rules_stay_and_are_said_to_be_wide() {
    let home = Home::new();
    let wide = ["Read(~/.claude/projects/**)", "Read(//tmp/claude-*/**)"];
    let settings = serde_json::json!({ "permissions": { "deny": wide } });
    home.file(SETTINGS, &settings.to_string());
    let mut user = User::answers(YES);
    home.install(&bind("claude-code", "a"), &mut user).unwrap();
    let settings = home.read(SETTINGS);
    let is_narrow = |text: &str| text.contains("subagents") || text.contains("/tasks/");
    if cfg!(target_os = "linux") {
        assert!(!is_narrow(&settings), "{settings}");
    }
    assert!(
        user.seen.contains("it writes narrower rules."),
        "{}",
        user.seen
    );
    for rule in wide {
        assert!(settings.contains(rule));
    }
}

/// A file with tabs: the plan has them as blanks, and no line without a text.
#[test]
fn the_plan_is_indented_as_the_file_is() {
    let home = Home::new();
    home.file(SETTINGS, "{\n\t\"model\": \"x\"\n}");
    let mut nobody = Nobody::default();
    let request = bind("claude-code", "a");
    home.door(None, |door| door.install(&request, &mut nobody))
        .unwrap();
    let shown = nobody.shown;
    assert!(shown.contains("\n  +     \"permissions\": {\n"), "{shown}");
    let is_empty = |line: &str| line.trim_end() == "  +";
    assert!(!shown.lines().any(is_empty), "{shown}");
    assert!(!shown.contains("\\t"), "{shown}");
}

#[test]
fn without_the_rules_the_rest_is_written() {
    let home = Home::new();
    let mut user = User::answers(&["n", "y"]);
    home.install(&bind("claude-code", "a"), &mut user).unwrap();
    assert!(!home.path(SETTINGS).exists());
    assert!(
        home.read(".claude/agents/a.md")
            .contains("mcp__a__load_context")
    );
}

#[test]
fn another_agent_for_a_document_needs_its_name() {
    let home = Home::new();
    home.given(&bind("claude-code", "first"));
    let after_first = home.everything();
    for wrong in ["y", "first", "", "secon"] {
        let mut user = User {
            answers: vec!["y", wrong, "y"],
            seen: String::new(),
            meanwhile: None,
        };
        let done = home
            .install(&bind("claude-code", "second"), &mut user)
            .unwrap();
        assert_eq!(done, Outcome::Nothing, "{wrong}: {}", user.seen);
        assert_eq!(home.everything(), after_first);
    }
    // The rules stand, but for the one of the second's own tool.
    let mut user = User::answers(&["second", "y"]);
    home.install(&bind("claude-code", "second"), &mut user)
        .unwrap();
    assert!(
        user.seen.contains("another agent gets it: second"),
        "{}",
        user.seen
    );
    let both = home.everything();
    // In either order, what the other one needs stays, and at last nothing is left.
    home.remove("second").unwrap();
    assert_eq!(home.everything(), after_first);
    home.install(
        &bind("claude-code", "second"),
        &mut User::answers(&["second", "y"]),
    )
    .unwrap();
    assert_eq!(home.everything(), both);
    home.remove("first").unwrap();
    assert_eq!(
        home.read(MAP),
        "roots = [\"~/private\"]\n\n[bindings.second]\npath = \"~/private/identifiers.md\"\n"
    );
    assert!(!home.read(SETTINGS).contains("mcp__first"));
    // The second needs the rules, which the first brought.
    assert!(home.read(SETTINGS).contains("Read(~/private/**)"));
    home.remove("second").unwrap();
    home.has_the_document_alone();
}

#[test]
fn a_second_client_for_a_binding_needs_its_name_and_brings_its_limit() {
    let home = Home::new();
    let install = |client: &str, answers: &[&'static str]| {
        let mut user = User::answers(answers);
        home.install(&bind(client, "a"), &mut user).unwrap()
    };
    install("codex", YES);
    assert!(home.read(MAP).contains("max_bytes = 40000\n"));
    assert_eq!(install("cursor", YES), Outcome::Nothing);
    assert!(!home.path(".cursor").exists());
    assert!(matches!(install("cursor", &["a", "y"]), Outcome::Done(_)));
    install("qwen-code", &["a", "y"]);
    assert!(home.read(MAP).contains("max_bytes = 28000\n"));
    install("copilot-cli", &["a", "y"]);
    assert_eq!(home.read(MAP).matches("bindings").count(), 1);
    assert!(home.read(MAP).contains("max_bytes = 20480\n"));
    assert!(matches!(install("codex", &[]), Outcome::Already(_)));
    home.remove("a").unwrap();
    home.has_the_document_alone();
}

#[test]
fn the_plugin_gets_its_own_key_and_nothing_else() {
    let home = Home::new();
    home.file(
        SETTINGS,
        "{ \"enabledPlugins\": { \"keyhole@keyhole\": true } }\n",
    );
    let before = home.everything();
    let mut user = User::answers(YES);
    home.install(&wants(What::Plugin), &mut user).unwrap();
    assert_eq!(
        home.read(MAP),
        "roots = [\"~/private\"]\n\n[keys.keyhole-privacy-catalog]\npath = \"~/private/identifiers.md\"\nagents = [\"keyhole:privacy-scanner\"]\nwithhold = true\n"
    );
    assert!(
        home.read(SETTINGS)
            .starts_with("{ \"enabledPlugins\": { \"keyhole@keyhole\": true }, \"permissions\": ")
    );
    home.remove("plugin").unwrap();
    assert_eq!(home.everything(), before);
}

/// The short form has no place for the agent.
#[test]
fn an_entry_in_one_line_becomes_one_with_its_agent() {
    let home = Home::new();
    home.file(
        MAP,
        "[keys]\nkeyhole-privacy-catalog = '~/private/identifiers.md' # mine\nk = '~/b.md'\n",
    );
    let before = home.everything();
    let install = || home.install(&wants(What::Plugin), &mut User::answers(YES));
    install().unwrap();
    let line = "keyhole-privacy-catalog = { path = \"~/private/identifiers.md\", agents = [\"keyhole:privacy-scanner\"], withhold = true } # mine\nk = ";
    assert!(home.read(MAP).contains(line), "{}", home.read(MAP));
    assert!(matches!(install(), Ok(Outcome::Already(_))));
    home.remove("plugin").unwrap();
    assert_eq!(home.everything(), before);
}

#[test]
fn a_hook_gets_an_entry_and_settings_beside_other_hooks() {
    let home = Home::new();
    home.file(
        SETTINGS,
        "{\n  \"hooks\": {\n    \"SubagentStart\": [\n      { \"hooks\": [] }\n    ]\n  }\n}\n",
    );
    let before = home.everything();
    let mut user = User::answers(YES);
    let done = home.install(&inject("reviewer"), &mut user).unwrap();
    let last =
        "Start `claude` anew in a project's folder, and ask the agent reviewer for its work.";
    assert_eq!(done, Outcome::Done(last.to_owned()));
    assert!(user.seen.contains("known by its name alone"));
    assert!(home.read(MAP).ends_with(
        "[keys.k-0123456789abcdef]\npath = \"~/private/identifiers.md\"\nagents = [\"reviewer\"]\n"
    ));
    let settings: serde_json::Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    let hooks = &settings["hooks"]["SubagentStart"];
    assert_eq!(hooks[0], serde_json::json!({ "hooks": [] }));
    assert_eq!(hooks[1]["matcher"], "^reviewer$");
    let again = home
        .install(&inject("reviewer"), &mut User::answers(&[]))
        .unwrap();
    assert!(matches!(again, Outcome::Already(_)));
    home.remove("reviewer").unwrap();
    assert_eq!(home.everything(), before);
}

/// The program is elsewhere after an update. The user has done what setup advised.
#[test]
fn an_agent_that_was_changed_by_hand_gets_the_line_that_is_another_now() {
    const AGENT: &str = ".claude/agents/a.md";
    let again = |home: &Home, user: &mut User| {
        home.door(None, |door| {
            Door {
                program: "/opt/keyhole".to_owned(),
                home: door.home.clone(),
                map: door.map.clone(),
                key: door.key.clone(),
                caution: None,
                disk: Disk::default(),
                ..*door
            }
            .install(&bind("claude-code", "a"), user)
        })
    };
    let install = |servers: &str| {
        let home = Home::new();
        let mut user = User::answers(YES);
        home.install(&bind("claude-code", "a"), &mut user).unwrap();
        let agent = home.read(AGENT);
        let agent = agent.replace("description: ", "description: Mine. ") + "And more.\r\n";
        home.file(AGENT, &agent.replace("mcpServers: [", servers));
        home
    };
    let home = install("mcpServers: [");
    let before = home.read(AGENT);
    let done = again(&home, &mut User::answers(YES)).unwrap();
    assert!(matches!(done, Outcome::Done(_)));
    let now = before.replace("/usr/local/bin/keyhole", "/opt/keyhole");
    assert_eq!(home.read(AGENT), now);
    let done = again(&home, &mut User::answers(&[])).unwrap();
    assert!(matches!(done, Outcome::Already(_)));
    home.remove("a").unwrap();
    assert_eq!(home.read(AGENT), now);

    // That line is the user's own: it is named, and once it is there, the others follow.
    let home = install("mcpServers:  [");
    let agent = home.read(AGENT);
    let before = home.everything();
    let mut user = User::answers(YES);
    let error = again(&home, &mut user).unwrap_err().to_string();
    let (why, line) = error.rsplit_once("run this again: ").unwrap();
    assert!(why.contains("changed by hand"), "{error}");
    assert!(line.contains("\"command\": \"/opt/keyhole\""), "{error}");
    assert_eq!((&*user.seen, home.everything()), ("", before));
    let own = agent.lines().find(|line| line.starts_with("mcpServers:"));
    home.file(AGENT, &agent.replace(own.unwrap(), line));
    let done = again(&home, &mut User::answers(YES)).unwrap();
    assert!(matches!(done, Outcome::Done(_)));
    assert!(!home.read(AGENT).contains("/usr/local/bin/keyhole"));
    let done = again(&home, &mut User::answers(&[])).unwrap();
    assert!(matches!(done, Outcome::Already(_)));
}

/// Every client whose files are written: in a fresh home, and away again.
#[test]
fn each_client_that_is_written_gets_all_its_files_and_loses_them() {
    let mut written = Vec::new();
    for recipe in crate::clients::all() {
        let home = Home::new();
        let before = home.everything();
        let request = bind(recipe.name, "house-rules");
        let mut user = User::answers(YES);
        let done = home.install(&request, &mut user);
        assert!(
            matches!(done, Ok(Outcome::Done(last)) if !last.is_empty() && !last.contains("scanner-catalog"))
        );
        // Those of a client that is pasted are printed then.
        let is_written = recipe.parts.iter().all(|part| part.to.is_some());
        let notes = recipe.notes.iter();
        let notes = notes.map(|note| note.replace(crate::recipe::AGENT, "house-rules"));
        let shown = notes.filter(|note| user.seen.contains(note));
        let all = if is_written { recipe.notes.len() } else { 0 };
        assert_eq!(shown.count(), all, "{}", recipe.name);
        assert!(home.read(MAP).contains("[bindings.house-rules]"));
        let again = home.install(&request, &mut User::answers(&[])).unwrap();
        assert!(matches!(again, Outcome::Already(_)), "{}", recipe.name);
        let new = home.everything().into_keys().filter(|path| path.is_file());
        let ours = recipe.parts.iter().filter(|part| part.to.is_some()).count();
        // Beside these, the map, the document, and Claude Code's settings with the rules.
        let rules = usize::from(recipe.name == "claude-code");
        assert_eq!(new.count(), ours + rules + 2, "{}", recipe.name);
        if ours > 0 {
            assert_eq!(ours, recipe.parts.len(), "{}", recipe.name);
            written.push(recipe.name);
        }
        home.remove("house-rules").unwrap();
        assert_eq!(home.everything(), before, "{}", recipe.name);
    }
    assert_eq!(
        written,
        [
            "claude-code",
            "cursor",
            "codex",
            "gemini-cli",
            "qwen-code",
            "opencode",
            "copilot-cli"
        ]
    );
}

#[test]
fn a_new_document_is_made_for_the_user_alone_and_stays() {
    let home = Home::new();
    fs::remove_dir_all(home.path("private")).unwrap();
    home.given(&wants(What::Plugin));
    for (place, mode) in [("private", 0o700), ("private/identifiers.md", 0o600)] {
        let found = fs::metadata(home.path(place)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{place}");
    }
    home.remove("plugin").unwrap();
    assert_eq!(
        home.read("private/identifiers.md"),
        crate::document::TEMPLATE
    );
}

/// The map has all that it needs, and the user wants no rules: so there is nothing to record.
#[test]
fn a_document_alone_is_made_and_nothing_else_is_written() {
    let home = Home::new();
    fs::remove_dir_all(home.path("private")).unwrap();
    let map = "roots = ['~/private']\n\n[keys.keyhole-privacy-catalog]\npath = '~/private/identifiers.md'\nagents = ['keyhole:privacy-scanner']\nwithhold = false\n";
    home.file(MAP, map);
    let mut user = User::answers(&["n", "y"]);
    let done = home.install(&wants(What::Plugin), &mut user).unwrap();
    assert!(matches!(done, Outcome::Done(_)), "{}", user.seen);
    assert_eq!(
        home.read("private/identifiers.md"),
        crate::document::TEMPLATE
    );
    assert_eq!(home.read(MAP), map);
    assert!(!home.path(".local").exists() && !home.path(SETTINGS).exists());
    // Nothing is left to be asked for.
    let mut user = User::answers(&["n"]);
    let again = home.install(&wants(What::Plugin), &mut user);
    assert!(matches!(again, Ok(Outcome::Already(_))), "{again:?}");
    assert!(user.seen.ends_with("may read the document itself.\n"));
}

#[test]
fn a_document_that_others_can_read_is_closed_if_the_user_agrees() {
    let home = Home::new();
    for folder in [home.path(""), home.path("private")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let file = home.path("private/identifiers.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(home.path(".git")).unwrap();
    // Whether others get as far as the home is the machine's.
    let open = home
        .path("")
        .ancestors()
        .all(|folder| fs::metadata(folder).unwrap().permissions().mode() & 0o1 != 0);
    let (mut user, mut nobody) = (User::answers(&["y", "y", "y"]), Nobody::default());
    home.door(None, |door| door.install(&wants(What::Plugin), &mut nobody))
        .unwrap();
    assert_eq!(nobody.shown.contains("can read ~/private/"), open);
    home.install(&wants(What::Plugin), &mut user).unwrap();
    assert!(user.seen.contains("git repository"), "{}", user.seen);
    assert_eq!(user.seen.contains("Close it to them"), open);
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), if open { 0o600 } else { 0o644 });
    home.remove("plugin").unwrap();

    // It gets no more than it had, and another file in its place gets nothing.
    home.file("script", "");
    let script = home.path("script");
    for is_moved in [false, true] {
        for (file, mode) in [(&file, 0o444), (&script, 0o755)] {
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut user = User::answers(&["y", "y", "y"]);
        let (from, to) = (script.clone(), file.clone());
        user.meanwhile = Some(Box::new(move || {
            if is_moved {
                fs::remove_file(&to).unwrap();
                fs::hard_link(&from, &to).unwrap();
            }
        }));
        let done = home.install(&wants(What::Plugin), &mut user).unwrap();
        assert_eq!(mode(&script), 0o755);
        if open {
            let Outcome::Done(last) = done else { panic!() };
            assert_eq!(last.contains("is not closed to others"), is_moved, "{last}");
            assert_eq!(mode(&file), if is_moved { 0o755 } else { 0o400 });
        }
        home.remove("plugin").unwrap();
    }
}

#[test]
fn a_file_that_is_no_document_is_refused() {
    let home = Home::new();
    home.file("notes.txt", "");
    home.file("private/.md", "a\n");
    for (file, why) in [
        ("~/FILE", "replace FILE"),
        ("~/notes.txt", "ends in .md"),
        ("~/private", "this is a folder"),
        ("~/private/.md", "ends in .md"),
        ("~/private/none.md", "nothing is there"),
        ("~root/a.md", "whole path"),
        ("~/a\u{202e}b.md", "whole path"),
    ] {
        let request = Request {
            what: What::Plugin,
            file: file.into(),
        };
        let error = home
            .install(&request, &mut User::answers(YES))
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{file}: {error}");
        assert!(!home.path(MAP).exists());
    }
}

/// What would not be served is refused before the first question.
#[test]
fn what_no_server_would_serve_is_not_written() {
    let private = |table: &str| format!("roots = ['~/private']\n{table}");
    let other = "[keys.keyhole-privacy-catalog]\npath = '~/private/b.md'\n";
    let agents = "[bindings.b]\npath = '~/private/identifiers.md'\nagents = ['rev']\n";
    let cursor = |name| bind("cursor", name).what;
    for (map, what, file, says) in [
        (
            private(""),
            What::Plugin,
            "~/a.md",
            "none of the map's roots",
        ),
        (
            private(agents),
            cursor("b"),
            "~/private/identifiers.md",
            "--agent",
        ),
        (
            private(""),
            cursor("plugin"),
            "~/a.md",
            "choose another name",
        ),
        (
            private(""),
            inject("plugin").what,
            "~/a.md",
            "choose another name",
        ),
        (
            private(other),
            What::Plugin,
            "~/private/identifiers.md",
            "`keyhole setup remove plugin` first",
        ),
        (
            private(agents),
            cursor("b"),
            "~/private/b.md",
            "`keyhole setup remove b` first",
        ),
    ] {
        let home = Home::new();
        home.file("a.md", "a\n");
        home.file("private/b.md", "b\n");
        home.file(MAP, &map);
        let before = home.everything();
        let request = Request {
            what,
            file: file.into(),
        };
        let mut user = User::answers(YES);
        let error = home.install(&request, &mut user).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(user.seen, "");
        assert_eq!(home.everything(), before);
    }
    // With one of its agents, it is.
    let home = Home::new();
    home.file(MAP, &private(agents));
    let mut request = bind("cursor", "b");
    if let What::Bind { agent, .. } = &mut request.what {
        *agent = Some("rev".to_owned());
    }
    home.install(&request, &mut User::answers(&["b", "rev", "y"]))
        .unwrap();
}

#[test]
fn another_name_of_a_document_is_the_same_document() {
    let home = Home::new();
    home.given(&bind("claude-code", "first"));
    fs::hard_link(
        home.path("private/identifiers.md"),
        home.path("private/b.md"),
    )
    .unwrap();
    let request = Request {
        file: "~/private/b.md".into(),
        ..bind("claude-code", "second")
    };
    // It needs a rule by this name.
    let mut user = User::answers(&["y", "second", "y"]);
    let done = home.install(&request, &mut user).unwrap();
    assert!(
        user.seen.contains("another agent gets it: second"),
        "{}",
        user.seen
    );
    assert!(matches!(done, Outcome::Done(_)));
}
