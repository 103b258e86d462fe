//! A client is a row and its examples.

use crate::{
    User,
    clients::{Audience, row},
    recipe::Filled,
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
        program: program.to_owned(),
        caution: None,
    }
}

const EXAMPLE: (&str, &str) = (
    "new.json",
    "{ \"keyhole\": [\"serve\", \"--bind\", \"scanner-catalog\"] }\n",
);
const ROW: &str = "new | New Client | client
who All of it.
folder ~/.new NEW_HOME
part new.json Put this into ~/.new/scanner-catalog.json
to ~/.new/scanner-catalog.json
most 4096
hook ~/.new/hooks.json Start it anew.
here new; ~/.new";

#[test]
fn a_new_client_is_a_row_and_an_example() {
    let client = row(ROW, &[EXAMPLE]).unwrap();
    assert_eq!((client.name, client.title), ("new", "New Client"));
    assert_eq!(client.audience, Audience::Client);
    assert_eq!(client.max_bytes, Some(4096));
    assert_eq!(client.here, ["new", "~/.new"]);
    let user = user("/b/key hole");
    let filled = Filled::new(&client, &user, ("mine", None), None).unwrap();
    let text = "{ \"/b/key hole\": [\"serve\", \"--bind\", \"mine\"] }\n";
    let block = format!("Put this into ~/.new/mine.json:\n\n```json\n{text}```");
    assert_eq!(filled.blocks(&client, |_| true), [block]);
    let place = filled.place(client.parts[0].to.unwrap(), &user.home);
    assert_eq!(place, Path::new("/h/.new/mine.json"));
}

#[test]
fn a_wrong_line_of_a_row_is_named() {
    for wrong in [
        "new | New Client",
        "new | New Client | everybody",
        "folder ~/.new",
        "part gone.json Put this there",
        "part new.json",
        "to",
        "most 4k",
        "hook ~/.new/hooks.json",
        "whom All of it.",
    ] {
        let before = if wrong.starts_with("new ") { "" } else { ROW };
        let text = format!("{before}\n{wrong}");
        let why = row(text.trim_start().to_owned().leak(), &[EXAMPLE]).unwrap_err();
        assert!(why.ends_with(wrong), "{wrong}: {why}");
    }
}
