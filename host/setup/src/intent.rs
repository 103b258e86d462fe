//! What the user wants, as a plan: which files need what, and what to say about it.

use crate::{
    Door, PLUGIN, PLUGIN_NAME, Request, SetupError, What,
    clients::{self, Audience, Recipe},
    document::{self, Document, is_in, is_of, root_of, roots_of, written},
    hook::{self, RULE},
    json,
    map::{self, Has, Table},
    paste,
    plan::{Plan, PlanError},
    recipe::Filled,
    record::{Record, Wanted},
    rules::{Denied, Places},
};
use keyhole_walk::printable::printable;
use serde_json::json;
use std::path::Path;

/// A plan, and what to say about it.
pub(crate) struct Intent {
    pub(crate) plan: Plan,
    pub(crate) document: Document,
    pub(crate) notes: Vec<String>,
    /// Whether rules are among it.
    pub(crate) has_rules: bool,
    /// What the user types if the document gets another agent.
    pub(crate) typed: Option<String>,
    who: String,
    pub(crate) last: String,
}

impl Door<'_> {
    /// What is to be done.
    pub(crate) fn intent(
        &self,
        request: &Request,
        record: &Record,
        with_rules: bool,
    ) -> Result<Intent, SetupError> {
        let document = Document::find(&request.file, &self.home)?;
        let mut intent = Intent {
            plan: Plan::default(),
            document,
            notes: Vec::new(),
            has_rules: false,
            typed: None,
            who: String::new(),
            last: String::new(),
        };
        if intent.document.is_new {
            intent
                .plan
                .make(&self.disk, &intent.document.path, document::TEMPLATE)?;
            intent.notes.push(format!(
                "{} is an example: write your own list into it.",
                document::NEW
            ));
        }
        let is_private = intent.document.path.starts_with(self.home.join("private"));
        if let Some(caution) = &self.caution {
            intent.notes.push(format!("Careful: {caution}."));
        }
        if let Some(repository) = &intent.document.repository {
            intent.notes.push(match paste::word(&intent.document.path).filter(|_| !is_private) {
                Some(word) => format!(
                    "The document lies in a git repository, {}: it may be committed. To move it out, run: mkdir -p -m 700 ~/private && mv {word} ~/private/",
                    printable(repository)
                ),
                None => "The document lies in a git repository: it may be committed. Keep it in a folder that is in none.".to_owned(),
            });
        }
        let has = self.has(&intent.document)?;
        match &request.what {
            What::Bind {
                client,
                name,
                agent,
            } => {
                let recipe = clients::named(client).ok_or(SetupError::UnknownClient)?;
                self.bind(
                    &mut intent,
                    record,
                    &has,
                    &recipe,
                    (name, agent.as_deref()),
                    with_rules,
                )?;
            }
            What::Inject { client, agent } => {
                self.inject(&mut intent, record, &has, client, agent, with_rules)?;
            }
            What::Plugin => {
                self.rules(&mut intent, record, PLUGIN_NAME, with_rules)?;
                let mut table =
                    self.table(&mut intent, &has, "keys", PLUGIN.1, Some(PLUGIN.0), None)?;
                table.fields.push(("withhold".to_owned(), json!(true)));
                self.map(&mut intent, record, PLUGIN_NAME, table)?;
                intent.who = format!("Only the plugin's agent {} gets the document.", PLUGIN.0);
                intent.last = "Start `claude` anew in a project's folder, and say: Scan my staged changes with the privacy scanner.".to_owned();
            }
        }
        intent.notes.append(&mut intent.plan.left);
        Ok(intent)
    }

    /// What the map has, which is judged first: what cannot be read cannot be added to.
    fn has(&self, document: &Document) -> Result<MapNow, SetupError> {
        let bytes = self.disk.find(&self.map, 0o600)?.bytes.unwrap_or_default();
        (self.judge)(&bytes).map_err(SetupError::Map)?;
        let refuse = |error| SetupError::Plan(PlanError::edit(&self.map, error));
        let text = String::from_utf8(bytes).map_err(|_| refuse(crate::EditError::NotText))?;
        let has = map::read(&text).map_err(refuse)?;
        let of = |table: &&map::Known| is_of(table, document, &self.home, self.directory());
        let others = has
            .tables
            .iter()
            .filter(of)
            .map(|t| (t.kind, t.name.clone(), t.agents.clone()));
        Ok(MapNow {
            others: others.collect(),
            has,
        })
    }

    fn bind(
        &self,
        intent: &mut Intent,
        record: &Record,
        has: &MapNow,
        recipe: &Recipe,
        (name, agent): (&str, Option<&str>),
        with_rules: bool,
    ) -> Result<(), SetupError> {
        let filled = Filled::new(recipe, &self.program, Some(name), agent)?;
        if recipe.name == "claude-code" {
            self.rules(intent, record, name, with_rules)?;
        }
        if let Some(most) = recipe
            .max_bytes
            .filter(|most| intent.document.bytes > *most)
        {
            intent.notes.push(format!(
                "The document has {} bytes, and {} takes at most {most}: shorten it, or it is refused.",
                intent.document.bytes, recipe.title
            ));
        }
        let table = self.table(intent, has, "bindings", name, agent, recipe.max_bytes)?;
        self.map(intent, record, name, table)?;
        for part in &recipe.parts {
            let Some(to) = part.to else { continue };
            let file = self.place(&filled.fill(to));
            let text = filled.fill(part.text);
            let wanted = match part.example.ends_with(".json") {
                true => Wanted::Json {
                    value: serde_json::from_str(&text).map_err(|_| SetupError::UnknownClient)?,
                    comments: matches!(recipe.name, "opencode" | "qwen-code"),
                },
                false => Wanted::Whole(text),
            };
            self.client(
                intent,
                record,
                has,
                (name, agent.unwrap_or(name)),
                &file,
                wanted,
            )?;
        }
        intent.who = filled.fill(recipe.who);
        if recipe.audience != Audience::Client {
            intent.notes.push("Change the agent's description and text to what it is for. Keep its list of tools.".to_owned());
        }
        intent.last = match recipe.say {
            "" => "For the client itself, put the texts above where they say.".to_owned(),
            say => filled.fill(say),
        };
        Ok(())
    }

    fn inject(
        &self,
        intent: &mut Intent,
        record: &Record,
        has: &MapNow,
        client: &str,
        agent: &str,
        with_rules: bool,
    ) -> Result<(), SetupError> {
        let map = paste::plain(&self.map).ok_or(SetupError::OddPlace)?;
        let hook = hook::of(client, agent, &self.program, map);
        let hook = hook.ok_or(SetupError::NoHook)?;
        if client == "claude-code" {
            self.rules(intent, record, agent, with_rules)?;
        }
        let names =
            |agents: &Option<Vec<String>>| agents.iter().flatten().any(|name| name == agent);
        let known = has
            .has
            .tables
            .iter()
            .find(|table| table.kind == "keys" && names(&table.agents));
        match known {
            Some(known) if !has.others.iter().any(|(_, name, _)| *name == known.name) => {
                return Err(SetupError::OtherFile);
            }
            Some(_) => {}
            None => {
                let table = self.table(intent, has, "keys", &(self.key)(), Some(agent), None)?;
                self.map(intent, record, agent, table)?;
            }
        }
        let file = self.place(hook.file);
        let wanted = Wanted::Json {
            value: hook.value,
            comments: false,
        };
        self.client(intent, record, has, (agent, agent), &file, wanted)?;
        intent.who = format!(
            "Only the agent {agent} gets the document, when it starts: it calls no tool, and no prompt holds a key."
        );
        intent.notes.push(RULE.to_owned());
        intent.last = format!(
            "Start the client anew, and ask the agent {agent} for its work. {}",
            hook.note
        );
        Ok(())
    }

    /// A client's own file. If that is new, and the map has the document already, it gets to
    /// somebody else.
    fn client(
        &self,
        intent: &mut Intent,
        record: &Record,
        has: &MapNow,
        (name, agent): (&str, &str),
        file: &Path,
        wanted: Wanted,
    ) -> Result<(), SetupError> {
        let is_known = record.wanted(name, file, &wanted).is_some();
        let before = intent.plan.changes();
        intent.plan.want(&self.disk, record, name, file, wanted)?;
        if intent.plan.changes() > before && !is_known && !has.others.is_empty() {
            intent.typed = Some(agent.to_owned());
        }
        Ok(())
    }

    /// The rules come first: nobody gets what they keep back before they stand.
    fn rules(
        &self,
        intent: &mut Intent,
        record: &Record,
        name: &str,
        with: bool,
    ) -> Result<(), SetupError> {
        if !with {
            return Ok(());
        }
        let places = Places::find(&self.home, self.variable).ok_or(SetupError::OddPlace)?;
        let file = places.settings();
        let found = self.disk.find(&file, 0o600)?.bytes.unwrap_or_default();
        let refuse = |error| SetupError::Plan(PlanError::edit(&file, error));
        let text = String::from_utf8(found).map_err(|_| refuse(crate::EditError::NotText))?;
        // What setup wrote for another name counts as not there: this one needs it, too.
        let denied = Denied::of(&json::read(&text, false).map_err(refuse)?);
        let denied = denied.without(&record.denied(&file));
        let mut rules = places.missing(&denied);
        match places.of_document(&intent.document.path, &denied) {
            Some(more) => rules.extend(more),
            None => intent.notes.push("No rule can keep the main conversation from this document: a character in its path means something else there. Move it to ~/private.".to_owned()),
        }
        rules.extend(denied.missing_programs());
        let wanted = Wanted::Json {
            value: json!({ "permissions": { "deny": rules } }),
            comments: false,
        };
        let before = intent.plan.changes();
        intent.plan.want(&self.disk, record, name, &file, wanted)?;
        intent.has_rules = intent.plan.changes() > before;
        Ok(())
    }

    /// The entry or binding for the document, and what `roots` need for it.
    fn table(
        &self,
        intent: &mut Intent,
        now: &MapNow,
        kind: &str,
        name: &str,
        agent: Option<&str>,
        max_bytes: Option<u64>,
    ) -> Result<Table, SetupError> {
        let document = &intent.document;
        // What stands there for the same file may name it in another way.
        let own = now
            .others
            .iter()
            .find(|(of, named, _)| *of == kind && named == name);
        let same = own.and_then(|_| {
            now.has
                .tables
                .iter()
                .find(|t| t.kind == kind && t.name == name)
        });
        let path = same.and_then(|table| table.path.clone());
        let mut fields = vec![(
            "path".to_owned(),
            json!(path.unwrap_or_else(|| document.written.clone())),
        )];
        if let Some(bytes) = max_bytes {
            fields.push(("max_bytes".to_owned(), json!(bytes)));
        }
        if let Some(agent) = agent {
            fields.push(("agents".to_owned(), json!([agent])));
        }
        let gets = |agents: &Option<Vec<String>>| match (agents, agent) {
            (Some(agents), Some(agent)) => agents.iter().any(|name| name == agent),
            _ => true,
        };
        let is_new = own.is_none_or(|(_, _, agents)| !gets(agents));
        if is_new && !now.others.is_empty() {
            intent.typed = Some(agent.unwrap_or(name).to_owned());
        }
        let (home, directory) = (&self.home, self.directory());
        let root = root_of(&document.real, home).and_then(|root| written(&root, home));
        let has = now.has.roots.iter().flatten();
        let holds =
            |root: &&String| is_in(std::slice::from_ref(*root), &document.real, home, directory);
        let held_by: Vec<_> = has.filter(holds).cloned().collect();
        let others = roots_of(&now.has, home, directory);
        let all_roots = root.clone().zip(others).map(|(root, mut all)| {
            if !all.contains(&root) {
                all.push(root);
            }
            all
        });
        match (&now.has.roots, &root, &all_roots) {
            (_, None, _) if held_by.is_empty() => intent.notes.push(
                "The document lies directly in your home, so no root is written for it: a server could then read all of the home. Better move it to ~/private.".to_owned(),
            ),
            (None, Some(_), None) => intent.notes.push(
                "The map has no roots, and gets none: the folder of one of its files cannot be told, or is your home. Without roots, a server may read whatever you may.".to_owned(),
            ),
            _ => {}
        }
        Ok(Table {
            kind: kind.to_owned(),
            name: name.to_owned(),
            fields,
            roots: root.map_or_else(Vec::new, |root| [vec![root], held_by].concat()),
            all_roots,
        })
    }

    fn map(
        &self,
        intent: &mut Intent,
        record: &Record,
        name: &str,
        table: Table,
    ) -> Result<(), SetupError> {
        let before = intent.plan.changes();
        intent
            .plan
            .want(&self.disk, record, name, &self.map, Wanted::Map(table))?;
        if let Some(new) = intent
            .plan
            .new_text(&self.map)
            .filter(|_| intent.plan.changes() > before)
        {
            (self.judge)(new).map_err(SetupError::Map)?;
        }
        Ok(())
    }
}

/// What the map has now.
struct MapNow {
    has: Has,
    /// The tables for the same document.
    others: Vec<(&'static str, String, Option<Vec<String>>)>,
}

impl Intent {
    pub(crate) fn shown(&self, home: &Path) -> String {
        let mut text = format!(
            "{}\n\nThis would be changed:\n{}",
            self.who,
            self.plan.shown(home)
        );
        if self.plan.changes() == 0 {
            text = format!("{}\n\nNothing is to be changed.\n", self.who);
        }
        for note in &self.notes {
            text += &format!("\n{note}\n");
        }
        text
    }
}
