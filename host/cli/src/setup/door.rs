//! The part that writes: asks, lets `keyhole_setup` do it, checks, and says the last step.

use super::{Names, Output, SetupError, UserMap, Wish, entry::fresh, found, recipe};
use crate::{
    arguments::{agent_name, binding_name},
    check::foreign_map,
};
use keyhole_core::{LiveMap, Location, MapError};
use keyhole_setup::{
    Door, Outcome, Request, What,
    ask::{Asked, Terminal},
    clients::{self, Audience, Recipe},
    disk::Disk,
    document::NEW,
    program::Program,
    recipe::{AGENT, BINDING},
};
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Does it, and returns what to print.
pub(super) fn write(wish: Wish, dry_run: bool) -> Result<Output, SetupError> {
    let variable = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    let live = LiveMap::new(Location::find(None, variable)?);
    let home = live.location().home().ok_or(SetupError::NoHome)?.to_owned();
    let mut terminal = match dry_run {
        true => None,
        false => Some(Terminal::open(variable)?),
    };
    if let (Err(MapError::Parse { .. }), None) = (live.current(), foreign_map(live.location())) {
        let judge = |bytes: &[u8]| live.parse(bytes).map(drop).map_err(|_| String::new());
        let door = door(&live, &home, String::new(), &variable, &judge, &String::new);
        let mut shown = String::new();
        if let Some(Outcome::Nothing) =
            door.renew(asked(&mut terminal), &mut |text| shown += text)?
        {
            return said(Outcome::Nothing, shown, dry_run);
        }
    }
    let user = UserMap::read()?;
    let (request, recipe) = match wish {
        Wish::Remove(name) => {
            let judge = |_: &[u8]| Ok(());
            let door = door(
                &user.live,
                &home,
                String::new(),
                &variable,
                &judge,
                &String::new,
            );
            let mut shown = String::new();
            let done = door.remove(&name, asked(&mut terminal), &mut |text| shown += text)?;
            return said(done, shown, dry_run);
        }
        wish => request(wish, terminal.as_mut())?,
    };
    let (bind, agent) = match &request.what {
        What::Bind { name, agent, .. } => (Some(&**name), agent.as_deref()),
        What::Inject { agent, .. } => (None, Some(&**agent)),
        What::Plugin => (None, None),
    };
    user.conceals(String::new(), &[bind, agent, request.file.to_str()])?;
    // The plugin brings its own program.
    let (program, caution) = match request.what {
        What::Plugin => (String::new(), None),
        _ => {
            let this = Program::this()?;
            (this.path, this.caution)
        }
    };
    let judge = |bytes: &[u8]| {
        let map = user.live.parse(bytes);
        map.map(drop).map_err(|error| error.to_string())
    };
    // Before the question whether to write, so that no failure comes after it.
    let key = fresh()?;
    let key = || key.clone();
    let door = Door {
        caution,
        ..door(&user.live, &home, program, &variable, &judge, &key)
    };
    let mut shown = String::new();
    let done = door.install(&request, asked(&mut terminal), &mut |text| shown += text)?;
    let checked = match &done {
        Outcome::Nothing => String::new(),
        Outcome::Done(_) | Outcome::Already(_) => {
            let paste = recipe.filter(|recipe| recipe.parts.iter().any(|part| part.to.is_none()));
            let text = match paste {
                Some(recipe) => {
                    let names = Names {
                        bind: bind.and_then(|name| binding_name(name).ok()),
                        agent: agent.and_then(|name| agent_name(name).ok()),
                    };
                    recipe::of(&recipe, &names, &UserMap::read()?)?.text
                }
                None => String::new(),
            };
            checked(&user, &request.what)? + &text
        }
    };
    said(done, shown + &checked, dry_run)
}

/// Who is asked: nobody in a dry run.
fn asked(terminal: &mut Option<Terminal>) -> Option<&mut dyn Asked> {
    terminal.as_mut().map(|terminal| terminal as &mut dyn Asked)
}

fn said(done: Outcome, shown: String, dry_run: bool) -> Result<Output, SetupError> {
    match done {
        Outcome::Nothing if dry_run => Ok(shown.into()),
        Outcome::Nothing => Err(SetupError::Declined),
        Outcome::Done(last) => Ok(format!("{shown}\nDone. {last}\n").into()),
        Outcome::Already(last) => {
            Ok(format!("{shown}\nNothing is to be changed: all is there. {last}\n").into())
        }
    }
}

fn door<'a>(
    live: &LiveMap,
    home: &Path,
    program: String,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    judge: &'a dyn Fn(&[u8]) -> Result<(), String>,
    key: &'a dyn Fn() -> String,
) -> Door<'a> {
    Door {
        home: home.to_owned(),
        map: live.location().file().to_owned(),
        program,
        caution: None,
        variable,
        judge,
        key,
        disk: Disk::default(),
    }
}

/// What `keyhole check` says now.
fn checked(user: &UserMap, what: &What) -> Result<String, SetupError> {
    let live = Arc::new(LiveMap::new(user.live.location().clone()));
    let report = crate::report(&live).map_err(SetupError::Unchecked)?;
    let report = match what {
        What::Plugin => report.for_the_plugin(live.location(), Path::new("keyhole"), true),
        _ => report,
    };
    Ok(crate::terminal::plain(&report.to_text(false)))
}

/// What the user wants, who is asked for what is missing.
fn request(
    wish: Wish,
    terminal: Option<&mut Terminal>,
) -> Result<(Request, Option<Recipe>), SetupError> {
    Ok(match (wish, terminal) {
        (Wish::Bind(client, names, file), _) => {
            let name = names.bind.ok_or(SetupError::NoName)?.to_string();
            let known = clients::named(&client);
            let agent = names.agent.map(|agent| agent.to_string());
            let what = What::Bind {
                client,
                name,
                agent,
            };
            (Request { what, file }, known)
        }
        (Wish::Inject(client, agent, file), _) => {
            let agent = agent.to_string();
            let what = What::Inject { client, agent };
            (Request { what, file }, None)
        }
        (Wish::Plugin(Some(file)), _) => {
            let what = What::Plugin;
            (Request { what, file }, None)
        }
        (Wish::Plugin(None), Some(terminal)) => {
            let what = What::Plugin;
            let file = ask_file(terminal).map_err(keyhole_setup::SetupError::Terminal)?;
            (Request { what, file }, None)
        }
        (Wish::Ask, Some(terminal)) => {
            let what = ask_client(terminal).map_err(keyhole_setup::SetupError::Terminal)?;
            let what = what.ok_or(SetupError::Declined)?;
            let known = match &what {
                What::Bind { client, .. } => clients::named(client),
                _ => None,
            };
            let file = ask_file(terminal).map_err(keyhole_setup::SetupError::Terminal)?;
            (Request { what, file }, known)
        }
        _ => return Err(SetupError::NoClient),
    })
}

fn ask_file(terminal: &mut Terminal) -> io::Result<PathBuf> {
    let question =
        format!("Which Markdown file? (Enter: {NEW}, which is made if it is not there) ");
    let answer = terminal.ask(&question)?;
    // As a file manager or a shell writes it.
    let answer = answer.trim_matches(['\'', '"']);
    Ok(if answer.is_empty() { NEW } else { answer }.into())
}

/// Which client, those found here first. None if the answer is none of them.
fn ask_client(terminal: &mut Terminal) -> io::Result<Option<What>> {
    let variable = |name: &str| std::env::var_os(name);
    let mut known: Vec<_> = clients::all().collect();
    known.sort_by_key(|recipe| !found::is_here(recipe, variable));
    terminal.show(
        "Who is to get a document?\n\n   0  the agent of Keyhole's plugin for Claude Code\n",
    )?;
    for (at, recipe) in known.iter().enumerate() {
        let here = if found::is_here(recipe, variable) {
            ", found here"
        } else {
            ""
        };
        let who = found::who(recipe.audience);
        terminal.show(&format!("  {:>2}  {}: {who}{here}\n", at + 1, recipe.title))?;
    }
    let answer = terminal.ask("\nNumber: ")?;
    let Ok(number) = answer.parse::<usize>() else {
        return Ok(None);
    };
    let Some(at) = number.checked_sub(1) else {
        return Ok(Some(What::Plugin));
    };
    let Some(recipe) = known.get(at) else {
        return Ok(None);
    };
    let usual = match recipe.audience {
        Audience::Client => BINDING,
        _ => AGENT,
    };
    let answer = terminal.ask(&format!(
        "Its name: a to z, digits and -. (Enter: {usual}) "
    ))?;
    let name = if answer.is_empty() { usual } else { &answer };
    Ok(binding_name(name).ok().map(|name| What::Bind {
        client: recipe.name.to_owned(),
        name: name.to_string(),
        agent: None,
    }))
}
