//! A client is a row and its examples.

use crate::{
    User,
    clients::{Audience, Example, clients_in},
    program::Program,
    recipe::Recipe,
};
use keyhole_core::{LiveMap, Location};
use std::path::Path;

/// A user whose program is here.
fn user(program: &str) -> User<'static> {
    let map = Location::find(Some(Path::new("/h/m.toml")), |_| None);
    User {
        home: "/h".into(),
        map: LiveMap::new(map.unwrap()),
        variable: &|_| None,
        program: Program {
            path: program.to_owned(),
            caution: None,
        },
    }
}

const EXAMPLE: Example = Example {
    name: "new.json",
    text: "{ \"keyhole\": [\"serve\", \"--bind\", \"scanner-catalog\"] }\n",
};
const ROW: &str = "[[client]]
name = 'new'
title = 'New Client'
audience = 'client'
shell = []
who = 'All of it.'
folders = [['~/.new', 'NEW_HOME']]
max_bytes = 4096
hook = ['~/.new/hooks.json', 'Start it anew.']
notes = []
parts = [{ example = 'new.json', place = 'Put this into ~/.new/scanner-catalog.json', to = '~/.new/scanner-catalog.json' }]
";

#[test]
fn a_new_client_is_a_row_and_an_example() {
    let client = clients_in(ROW, &[EXAMPLE]).unwrap().remove(0);
    assert_eq!((client.name, client.title), ("new", "New Client"));
    assert_eq!(client.audience, Audience::Client);
    assert_eq!(client.max_bytes, Some(4096));
    let user = user("/b/key hole");
    let recipe = Recipe {
        user: &user,
        client: &client,
        name: "mine",
        agent: None,
    };
    let filled = recipe.filled(None).unwrap();
    let text = "{ \"/b/key hole\": [\"serve\", \"--bind\", \"mine\"] }\n";
    let block = format!("Put this into ~/.new/mine.json:\n\n```json\n{text}```");
    assert_eq!(filled.blocks(&client.parts), [block]);
    let place = filled.place(client.parts[0].to.unwrap(), &user.home);
    assert_eq!(place, Path::new("/h/.new/mine.json"));
}

#[test]
fn a_wrong_line_of_a_row_is_named() {
    for wrong in [
        "audience = 'everybody'",
        "folders = [['~/.new']]",
        "parts = [{ example = 'gone.json', place = 'Put this there' }]",
        "parts = [{ example = 'new.json' }]",
        "max_bytes = '4k'",
        "hook = ['~/.new/hooks.json']",
        "whom = 'All of it.'",
    ] {
        let field = wrong.split_once(' ').unwrap().0;
        let rest = ROW.lines().filter(|line| !line.starts_with(field));
        let text = rest.chain([wrong]).collect::<Vec<_>>().join("\n");
        let why = clients_in(text.leak(), &[EXAMPLE]).unwrap_err();
        assert!(
            why.contains(wrong) || why.contains("gone.json"),
            "{wrong}: {why}"
        );
    }
}

#[test]
fn a_row_without_what_each_must_have_is_refused() {
    for field in [
        "name", "title", "audience", "shell", "who", "parts", "notes",
    ] {
        let rest = ROW.lines().filter(|line| !line.starts_with(field));
        let text = rest.collect::<Vec<_>>().join("\n");
        let why = clients_in(text.leak(), &[EXAMPLE]).unwrap_err();
        assert!(why.contains(&format!("missing field `{field}`")), "{why}");
    }
}
