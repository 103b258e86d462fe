//! The part that writes: asks, lets `keyhole_setup` do it, checks, and says the last step.

use super::{
    Output, SetupError, UserMap, Wish,
    entry::{fresh, judged},
    found, print,
};
use crate::{check::Warning, inject::MAX_DOCUMENT};
use keyhole_core::{
    AgentName, BindingName, Key, LiveMap, Location, Map, MapError, Target, ticket::Tickets,
};
use keyhole_setup::{
    Disk, Door, Outcome, PLUGIN, Request, What,
    ask::{Asked, Nobody, Terminal},
    clients,
    document::NEW,
    program::Program,
    recipe::{tickets, usual},
    state_folder,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Does it, and returns what to print.
pub(super) fn write(wish: Wish<'_>, dry_run: bool) -> Result<Output, SetupError> {
    let variable = |name: &str| std::env::var_os(name);
    let live = LiveMap::new(Location::find(None, variable)?);
    let location = live.location();
    let home = location.home().ok_or(SetupError::NoHome)?;
    let state = state_folder(home, variable);
    // The folder that a server and its guard share, if the client has such agents.
    let tickets = |what: &What| match what {
        What::Bind { client, .. } if client == "claude-code" => {
            tickets(&state).map(|folder| Tickets::under(Path::new(&folder)))
        }
        _ => None,
    };
    let judge = |bytes: &[u8], what: Option<&What>| {
        let map = live.parse(bytes).map_err(|error| error.to_string())?;
        what.map_or(Ok(()), |what| is_served(&Arc::new(map), location, what))
    };
    let mut door = Door {
        home: home.to_owned(),
        map: location.file().to_owned(),
        // The plugin brings its own program.
        program: String::new(),
        caution: None,
        variable: &variable,
        judge: &judge,
        // Before the question whether to write, so that no failure comes after it.
        key: fresh()?,
        disk: Disk::default(),
    };
    let (mut nobody, mut terminal) = (Nobody::default(), None);
    let asked: &mut dyn Asked = match dry_run {
        true => &mut nobody,
        false => terminal.insert(Terminal::open(variable)?),
    };
    let user = UserMap::read().map_err(|error| match error {
        SetupError::Map(error @ MapError::Parse { .. }) => {
            keyhole_setup::SetupError::Map(error.to_string()).into()
        }
        error => error,
    })?;
    let (what, file) = match wish {
        Wish::Give(what, file) => (what, file),
        Wish::Remove(name) => {
            let done = door.remove(name, asked)?;
            return said(done, nobody.shown, dry_run);
        }
    };
    let request = Request {
        what: match what {
            Some(what) => what,
            None => ask_client(asked)?.ok_or(SetupError::Declined)?,
        },
        file: match file {
            Some(file) => file.to_owned(),
            None => ask_file(asked)?,
        },
    };
    if let Some(tickets) = tickets(&request.what) {
        tickets.could_be_made().map_err(SetupError::Tickets)?;
    }
    let (bind, agent) = match &request.what {
        What::Bind { name, agent, .. } => (Some(&**name), agent.as_deref()),
        What::Inject { agent, .. } => (None, Some(&**agent)),
        What::Plugin => (None, None),
    };
    user.conceals(String::new(), &[bind, agent, request.file.to_str()])?;
    if request.what != What::Plugin {
        let this = Program::this()?;
        (door.program, door.caution) = (this.path, this.caution);
    }
    // What a user can paste.
    let recipe = || {
        let user = UserMap::read()?;
        let agent = agent.and_then(|name| AgentName::in_map(name).ok());
        let printed = match (&request.what, &agent) {
            (What::Inject { client, .. }, Some(agent)) => print::hook(client, agent, &user),
            (What::Bind { client, .. }, _) => print::recipe(client, bind, agent.as_ref(), &user),
            _ => Ok(String::new().into()),
        };
        printed.map(|printed| printed.text)
    };
    let done = match door.install(&request, asked) {
        Err(keyhole_setup::SetupError::File(why))
            if why.is_by_hand(&door.map) && request.what != What::Plugin =>
        {
            return Err(SetupError::ByHand(why, recipe().unwrap_or_default()));
        }
        done => done?,
    };
    let mut shown = nobody.shown;
    if done != Outcome::Nothing {
        let made = tickets(&request.what).map_or(Ok(()), |tickets| tickets.make());
        if let Err(why) = made {
            return Err(SetupError::Refused(why.to_string(), shown));
        }
        shown += &checked(location, &request.what)?;
        let map = live.current().map_err(SetupError::Map)?;
        if let Err(why) = is_served(&map, location, &request.what) {
            return Err(SetupError::Refused(why, shown));
        }
        if let What::Bind { client, .. } = &request.what
            && let Some(client) = clients::named(client)
            && client.parts.iter().any(|part| part.to.is_none())
        {
            shown += &recipe()?;
        }
    }
    said(done, shown, dry_run)
}

fn said(done: Outcome, shown: String, dry_run: bool) -> Result<Output, SetupError> {
    match done {
        Outcome::Nothing if dry_run => Ok(shown.into()),
        Outcome::Nothing => Err(SetupError::Declined),
        Outcome::Done(last) => Ok(format!("{shown}\nDone. {last}\n").into()),
        Outcome::Already(last) => {
            Ok(format!("{shown}\nNothing more is to be changed. {last}\n").into())
        }
    }
}

/// Whether the document reaches whom it is for with this map; if not, why.
fn is_served(map: &Arc<Map>, location: &Location, what: &What) -> Result<(), String> {
    let (target, entry) = match what {
        What::Bind { name, agent, .. } => {
            let agent = agent
                .as_deref()
                .and_then(|name| AgentName::in_map(name).ok());
            let entry = map.find_bound(name, agent.as_ref());
            let name = name
                .parse::<BindingName>()
                .map_err(|error| error.to_string())?;
            (Target::Bound(name), entry)
        }
        What::Inject { agent, .. } => {
            let agent = AgentName::in_map(agent).map_err(|error| error.to_string())?;
            let key = map.only_key_of(&agent).ok_or(
                "exactly one entry of the map must name this agent, without a marketplace",
            )?;
            (Target::Key(key.expose().to_owned()), map.find(key))
        }
        What::Plugin => {
            let key = Key::try_from(PLUGIN.1).ok();
            (
                Target::Key(PLUGIN.1.to_owned()),
                key.and_then(|key| map.find(&key)),
            )
        }
    };
    let entry = entry.ok_or("the map has no entry for it")?;
    let report = judged(map, target, entry, location).map_err(|error| error.to_string())?;
    if let (Err(code), Some(why)) = (report.result, report.message()) {
        let code = code.as_str();
        return Err(format!("the document would be refused as {code}: {why}"));
    }
    let is_for_claude = match what {
        What::Inject { client, .. } | What::Bind { client, .. } => client == "claude-code",
        What::Plugin => true,
    };
    let size = match is_for_claude {
        true => report.chars as u64,
        false => report.result.unwrap_or_default(),
    };
    let has = |warning| report.warnings.contains(&warning);
    match what {
        What::Inject { .. } if has(Warning::Blank) => {
            Err("a hook hands over no empty document: write it first".to_owned())
        }
        What::Inject { .. } if size > MAX_DOCUMENT as u64 => Err(
            "a hook hands over 10,000 characters at most (Codex, Copilot: bytes): shorten the document".to_owned(),
        ),
        _ if is_for_claude && has(Warning::LongForClaude) => Err(Warning::LongForClaude.to_string()),
        _ => Ok(()),
    }
}

/// What `keyhole check` says now.
fn checked(location: &Location, what: &What) -> Result<String, SetupError> {
    let live = Arc::new(LiveMap::new(location.clone()));
    let report = crate::check::report(&live).map_err(SetupError::Unchecked)?;
    let report = match what {
        What::Plugin => report.for_the_plugin(location, Path::new("keyhole"), true),
        _ => report.for_claude_code(location),
    };
    Ok(report.to_text(false))
}

fn ask_file(asked: &mut dyn Asked) -> Result<PathBuf, keyhole_setup::SetupError> {
    let question =
        format!("Which Markdown file? (Enter: {NEW}, which is made if it is not there) ");
    let answer = asked.ask(&question)?;
    // As a file manager or a shell writes it.
    let answer = match answer.starts_with(['\'', '"']) {
        true => answer.trim_matches(['\'', '"']).to_owned(),
        false => answer.replace('\\', ""),
    };
    Ok(if answer.is_empty() { NEW } else { &*answer }.into())
}

/// Which client, those found here first. None if the answer is none of them.
fn ask_client(asked: &mut dyn Asked) -> Result<Option<What>, keyhole_setup::SetupError> {
    let variable = |name: &str| std::env::var_os(name);
    let mut known: Vec<_> = clients::all().collect();
    known.sort_by_key(|recipe| found::sign(recipe, variable).is_none());
    asked.show(
        "Who is to get a document?\n\n   0  the agent of Keyhole's plugin for Claude Code\n",
    )?;
    for (at, recipe) in known.iter().enumerate() {
        let row = found::row(recipe, variable);
        asked.show(&format!("  {:>2}  {row}", at + 1))?;
    }
    let recipe = match asked.ask("\nNumber: ")?.parse::<usize>() {
        Ok(0) => return Ok(Some(What::Plugin)),
        Ok(number) => known.get(number - 1),
        Err(_) => None,
    };
    let Some(recipe) = recipe else {
        asked.show("The list has no such number.\n")?;
        return Ok(None);
    };
    let usual = usual(recipe.audience);
    let answer = asked.ask(&format!(
        "Its name: a to z, digits and -. (Enter: {usual}) "
    ))?;
    let name = if answer.is_empty() { usual } else { &answer };
    match name.parse::<BindingName>() {
        Ok(name) => Ok(Some(What::Bind {
            client: recipe.name.to_owned(),
            name: name.to_string(),
            agent: None,
        })),
        Err(why) => {
            asked.show(&format!("This is no name: {why}.\n"))?;
            Ok(None)
        }
    }
}
