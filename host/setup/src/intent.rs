//! What the user wants, as a plan: which files need what, and what to say about it.

use crate::{
    Door, PLUGIN, PLUGIN_NAME, Request, SetupError, What,
    clients::{self, Audience, Recipe},
    disk::{FileError, Why},
    document::{self, Document, root_of, written},
    edit::Change,
    hook::{self, NOTES, RULE},
    json,
    map::{self, Has, Known, Table},
    paste,
    plan::Plan,
    recipe::{Filled, NameError, tickets},
    record::Wanted,
    rules::{CAUTION, Denied, Places},
    state_folder,
};
use keyhole_walk::printable::printable;
use serde_json::{Value, json};
use std::path::Path;

/// A plan, and what to say about it.
pub(crate) struct Intent<'a> {
    door: &'a Door<'a>,
    with_rules: bool,
    /// What the record calls it.
    name: &'a str,
    pub(crate) plan: Plan<'a>,
    pub(crate) document: Document,
    /// What the map has, and of that, what is for the same document.
    map: Has,
    same: Vec<Known>,
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
    pub(crate) fn intent<'a>(
        &'a self,
        request: &'a Request,
        with_rules: bool,
    ) -> Result<Intent<'a>, SetupError> {
        let name = match &request.what {
            What::Bind { name, .. } | What::Inject { agent: name, .. } if name == PLUGIN_NAME => {
                return Err(NameError::OfPlugin.into());
            }
            What::Bind { name, .. } | What::Inject { agent: name, .. } => name,
            What::Plugin => PLUGIN_NAME,
        };
        let document = Document::find(&request.file, self)?;
        // The map is judged first: what cannot be read cannot be added to.
        let text = self.disk.find(&self.map)?.text()?;
        (self.judge)(text.as_bytes(), None).map_err(SetupError::Map)?;
        let map = map::read(&text).map_err(|error| FileError::new(&self.map, error))?;
        let is_document = |path: &String| {
            let real = self.real(path);
            real.is_some_and(|real| document::is_same(&real, &document.real))
                || self.expand(path) == document.path
        };
        let is_same = |table: &&Known| table.path.as_ref().is_some_and(is_document);
        let mut intent = Intent {
            door: self,
            with_rules,
            name,
            plan: Plan::new(&self.disk, &self.record())?,
            same: map.tables.iter().filter(is_same).cloned().collect(),
            map,
            document,
            notes: Vec::new(),
            has_rules: false,
            typed: None,
            who: String::new(),
            last: String::new(),
        };
        intent.document()?;
        match &request.what {
            What::Bind { client, agent, .. } => {
                let recipe = clients::named(client).ok_or(NameError::UnknownClient)?;
                intent.bind(&recipe, agent.as_deref())?;
            }
            What::Inject { client, agent } => {
                intent.inject(client, agent)?;
            }
            What::Plugin => {
                intent.rules(false)?;
                let withhold = [("withhold", json!(true))];
                intent.entry("keys", PLUGIN.1, Some(PLUGIN.0), &withhold)?;
                intent.who = format!("Only the plugin's agent {} gets the document.", PLUGIN.0);
                intent.last = "Start `claude` anew in a project's folder, and say: Scan my staged changes with the privacy scanner.".to_owned();
            }
        }
        let (_, map) = intent.plan.now(&self.map)?;
        // Of a new document, only the map is judged: the document is not there yet.
        let what = (!intent.document.is_new).then_some(&request.what);
        (self.judge)(map.as_bytes(), what).map_err(SetupError::Map)?;
        intent.notes.append(&mut intent.plan.left);
        Ok(intent)
    }
}

impl Intent<'_> {
    /// The document itself.
    fn document(&mut self) -> Result<(), SetupError> {
        let (door, document) = (self.door, &self.document);
        if document.is_new {
            let text = document::TEMPLATE.to_owned();
            let change = Change::insert(0, text.clone(), "");
            self.plan.put(&document.path, text, vec![change])?;
            self.notes.push(format!(
                "{} is an example: write your own list into it.",
                document::NEW
            ));
        }
        self.notes.extend(door.caution.clone());
        if let Some(repository) = &document.repository {
            self.notes.push(format!(
                "The document lies in a git repository, {}: it may be committed. Keep it in a folder that is in none. If you move it there, answer no, and run setup again with the new path.",
                printable(repository)
            ));
        }
        Ok(())
    }

    fn bind(&mut self, recipe: &Recipe, agent: Option<&str>) -> Result<(), SetupError> {
        let tickets = tickets(&state_folder(&self.door.home, self.door.variable));
        let program = &self.door.program;
        let filled = Filled::new(recipe, program, tickets.as_deref(), Some(self.name), agent)?;
        if recipe.name == "claude-code" {
            self.rules(true)?;
        }
        let bytes = self.document.bytes;
        if let Some(most) = recipe.max_bytes.filter(|most| bytes > *most) {
            return Err(SetupError::Map(format!(
                "the document has {bytes} bytes, and {} takes at most {most}: shorten it",
                recipe.title
            )));
        }
        let most = recipe.max_bytes.map(|most| ("max_bytes", json!(most)));
        self.entry("bindings", self.name, agent, most.as_slice())?;
        for part in &recipe.parts {
            let Some(to) = part.to else { continue };
            let mut text = filled.fill(part.text);
            // Its server would look for the map in the usual place.
            let set = self.door.folder("XDG_CONFIG_HOME");
            if recipe.name == "codex"
                && set.is_some_and(|set| set != self.door.home.join(".config"))
            {
                text += "env_vars = [\"XDG_CONFIG_HOME\"]\n";
            }
            let wanted = match part.example.ends_with(".json") {
                true => Wanted::Json {
                    value: json::read(&text, false)
                        .map_err(|error| FileError::new(Path::new(part.example), error))?,
                    comments: matches!(recipe.name, "opencode" | "qwen-code"),
                },
                false => Wanted::Whole(text),
            };
            self.client(agent.unwrap_or(self.name), &filled.fill(to), wanted)?;
        }
        self.who = filled.fill(recipe.who);
        if matches!(recipe.audience, Audience::Agent | Audience::Ruled) {
            let change = "Change the agent's description and text to what it is for.";
            self.notes.push(change.to_owned());
        }
        // Otherwise they are printed with the texts.
        if recipe.parts.iter().all(|part| part.to.is_some()) {
            let notes = recipe.notes.iter().map(|note| filled.fill(note));
            self.notes.extend(notes);
        }
        self.last = match recipe.say {
            "" => "For the client itself, put the texts above where they say.".to_owned(),
            say => filled.fill(say),
        };
        Ok(())
    }

    fn inject(&mut self, client: &str, agent: &str) -> Result<(), SetupError> {
        let door = self.door;
        let hook = hook::of(client, agent, &door.program, &door.map)?;
        if client == "claude-code" {
            self.rules(false)?;
        }
        let is_named = |table: &&Known| {
            let mut agents = table.agents.iter().flatten();
            table.kind == "keys" && agents.any(|name| name == agent)
        };
        match self.map.tables.iter().find(is_named) {
            Some(known) if !self.same.contains(known) => {
                return Err(SetupError::OtherFile(agent.to_owned()));
            }
            Some(_) => {}
            None => self.entry("keys", &door.key, Some(agent), &[])?,
        }
        let wanted = Wanted::Json {
            value: hook.value,
            comments: false,
        };
        self.client(agent, hook.file, wanted)?;
        self.who = hook::who(agent);
        self.notes.extend([RULE, NOTES].map(str::to_owned));
        self.last = hook.last;
        Ok(())
    }

    /// A client's own file. If that is new, and the map has the document already, it gets to
    /// somebody else.
    fn client(&mut self, agent: &str, file: &str, wanted: Wanted) -> Result<(), SetupError> {
        let mut file = self.door.place(file);
        let other = file.with_extension("jsonc");
        if file.ends_with("opencode/opencode.json") && !paste::is_free(&other) {
            // The client reads both, and this one last.
            if !paste::is_free(&file) {
                let why = "the client reads opencode.json too; move all into one of them";
                return Err(FileError::new(&other, Why::Refused(why)).into());
            }
            file = other;
        }
        let is_known = self.plan.record.wanted(self.name, &file, &wanted).is_some();
        let is_changed = self.plan.want(self.name, &file, wanted)?.is_some();
        if is_changed && !is_known && !self.same.is_empty() {
            self.typed = Some(agent.to_owned());
        }
        Ok(())
    }

    /// The rules come first: nobody gets what they keep back before they stand. An own agent's
    /// tickets have one, too.
    fn rules(&mut self, has_tickets: bool) -> Result<(), SetupError> {
        if !self.with_rules {
            return Ok(());
        }
        let door = self.door;
        let places = Places::find(&door.home, door.variable).ok_or(SetupError::OddPlace)?;
        let file = places.settings();
        let settings = json::read(&door.disk.find(&file)?.text()?, false);
        let settings = settings.map_err(|error| FileError::new(&file, error))?;
        // What setup wrote for other names alone counts as not there: this one needs it, too.
        let record = &self.plan.record;
        let own = record.wrote(&file, |name| name == self.name);
        let others = json::missing(&own, &record.wrote(&file, |name| name != self.name));
        let denied = Denied::of(&json::missing(&others, &settings));
        let mut rules = places.missing(&denied).ok_or(SetupError::OddPlace)?;
        match places.of_document(&self.document.path, &denied) {
            Some(more) => rules.extend(more),
            None => self.notes.push("No rule can keep the main conversation from this document: a character in its path means something else there. Move it to ~/private.".to_owned()),
        }
        if has_tickets {
            let folder = state_folder(&door.home, door.variable);
            let more = places.of_tickets(&folder, &denied);
            rules.extend(more.ok_or(SetupError::OddPlace)?);
        }
        rules.extend(denied.missing_programs());
        self.notes.extend(places.too_wide(&denied));
        let wanted = Wanted::Json {
            value: json!({ "permissions": { "deny": rules } }),
            comments: false,
        };
        self.has_rules = self.plan.want(self.name, &file, wanted)?.is_some();
        Ok(())
    }

    /// The entry or binding for the document, with more fields, and what `roots` need for it.
    fn entry(
        &mut self,
        kind: &str,
        name: &str,
        agent: Option<&str>,
        more: &[(&str, Value)],
    ) -> Result<(), SetupError> {
        let (door, document) = (self.door, &self.document);
        let is_own = |table: &&Known| table.kind == kind && table.name == name;
        let own = self.same.iter().find(is_own);
        if own.is_none() && self.map.tables.iter().any(|table| is_own(&table)) {
            return Err(SetupError::OtherFile(self.name.to_owned()));
        }
        if kind == "bindings" && agent.is_none() && own.is_some_and(|own| own.agents.is_some()) {
            return Err(NameError::NoAgent.into());
        }
        // What stands there for the same file may name it in another way.
        let path = own.and_then(|own| own.path.as_ref());
        let path = ("path", json!(path.unwrap_or(&document.written)));
        let agents = agent.map(|agent| ("agents", json!([agent])));
        let fields = [path].into_iter().chain(agents).chain(more.iter().cloned());
        let gets = |own: &Known| match (&own.agents, agent) {
            (Some(agents), Some(agent)) => agents.iter().any(|name| name == agent),
            _ => true,
        };
        if !own.is_some_and(gets) && !self.same.is_empty() {
            self.typed = Some(agent.unwrap_or(name).to_owned());
        }
        let root_of = |real: &Path| written(&root_of(real, &door.home)?, &door.home);
        let root = root_of(&document.real);
        let holds = |root: &&String| {
            let root = door.real(root);
            root.is_some_and(|root| document.real.starts_with(root))
        };
        let held_by: Vec<_> = self
            .map
            .roots
            .iter()
            .flatten()
            .filter(holds)
            .cloned()
            .collect();
        let paths = self
            .map
            .tables
            .iter()
            .filter_map(|table| table.path.as_ref());
        let others = paths.map(|path| root_of(&door.real(path)?));
        let all_roots = others.chain([root.clone()]).collect();
        match (&self.map.roots, &root, &all_roots) {
            (Some(_), None, _) if held_by.is_empty() => return Err(NameError::NoRoot.into()),
            (_, None, _) if held_by.is_empty() => self.notes.push(
                "The document lies directly in your home, so no root is written for it: a server could then read all of the home. Better move it to ~/private.".to_owned(),
            ),
            (None, Some(_), None) => self.notes.push(
                "The map has no roots, and gets none: the folder of one of its files cannot be told, or is your home. Without roots, a server may read whatever you may.".to_owned(),
            ),
            _ => {}
        }
        let table = Table {
            kind: kind.to_owned(),
            name: name.to_owned(),
            fields: fields
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            root,
            held_by,
            all_roots,
        };
        self.plan.want(self.name, &door.map, Wanted::Map(table))?;
        Ok(())
    }

    /// What is asked about before the last question: rules, another agent, an open document.
    pub(crate) fn questions(&self) -> [Option<String>; 3] {
        let agent = self.typed.as_ref().map(|name| {
            format!("The map has this document already. Now another agent gets it: {name}")
        });
        let (open, document) = (self.document.open, &self.document.written);
        [
            self.has_rules.then(|| CAUTION.to_owned()),
            agent,
            open.map(|_| format!("Others on this machine can read {document}.")),
        ]
    }

    pub(crate) fn shown(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("\n{note}\n"));
        format!(
            "{}\n\nThis would be changed:\n{}{}",
            self.who,
            self.plan.shown(&self.door.home),
            notes.collect::<String>()
        )
    }
}
