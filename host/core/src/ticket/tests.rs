use super::{
    AgentName, Key, RECEIPT_LIFE, TICKET_LIFE, Ticket, TicketError, Tickets, folder::is_private_to,
    receipt_file, ticket_file,
};
use keyhole_tree::{Tree, fifo};
use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    time::{Duration, SystemTime},
};

const AGENT: &str = "keyhole:privacy-scanner";

fn ticket(agent: &str) -> Ticket {
    Ticket {
        agent: agent.try_into().unwrap(),
        key: None,
    }
}

#[test]
fn a_relative_path_names_no_folder_of_tickets() {
    for data in ["", ".", "data", "./data", "~/data"] {
        let tickets = Tickets::in_folder(data.into());
        assert!(matches!(tickets, Err(TicketError::Relative)), "{data}");
    }
}

struct Data(Tree);

/// The place of the ticket for the call `id`.
fn place(id: &str) -> String {
    format!("tickets/{}", ticket_file(id, None))
}

impl Data {
    fn new() -> Self {
        Self(Tree::empty())
    }

    fn tickets(&self) -> Tickets {
        Tickets::in_folder(self.0.directory().to_owned()).unwrap()
    }

    /// Writes a ticket that the guard would not write.
    fn forge(&self, id: &str, content: &[u8]) {
        self.0.write(&place(id), content);
        self.0.mode("tickets", 0o700);
    }

    fn leave(&self, id: &str) -> Result<(), TicketError> {
        self.tickets().leave(id, &ticket(AGENT))
    }

    fn redeem(&self, id: &str) -> Option<String> {
        Some(self.tickets().redeem(id).ok()?.agent.to_string())
    }

    fn count(&self) -> usize {
        fs::read_dir(self.0.path("tickets")).map_or(0, Iterator::count)
    }

    fn set_time(&self, place: &str, time: SystemTime) {
        let file = File::open(self.0.path(place)).unwrap();
        file.set_modified(time).unwrap();
    }

    /// In this folder no ticket is left, and none that is there is redeemed.
    #[track_caller]
    fn is_used_for_nothing(&self) {
        let left = self.leave("toolu_2");
        assert!(matches!(left, Err(TicketError::NotPrivate)), "{left:?}");
        assert_eq!(self.redeem("toolu_1"), None);
    }
}

#[test]
fn a_ticket_carries_the_key_that_the_guard_judged_and_is_private() {
    let data = Data::new();
    let ticket = Ticket {
        key: Some("k".repeat(Key::MAX_LEN).as_str().try_into().unwrap()),
        ..ticket(&"a".repeat(AgentName::MAX_BYTES))
    };
    data.tickets().leave("toolu_1", &ticket).unwrap();
    for (place, mode) in [("tickets", 0o700), (&place("toolu_1"), 0o600)] {
        let found = fs::symlink_metadata(data.0.path(place)).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, mode);
    }
    // Nor does a second question change it.
    let again = data.leave("toolu_1");
    assert!(matches!(again, Err(TicketError::Again)));
    assert_eq!(data.tickets().redeem("toolu_1").unwrap(), ticket);
    assert_eq!(data.redeem("toolu_1"), None);
}

#[test]
fn only_a_receipt_whose_ticket_was_redeemed_says_so_and_it_does_once() {
    let data = Data::new();
    let was_redeemed = || data.tickets().was_redeemed("toolu_1");
    assert!(!was_redeemed());
    data.leave("toolu_1").unwrap();
    assert!(!was_redeemed());
    // Now it is void.
    assert_eq!(data.redeem("toolu_1"), None);

    data.leave("toolu_1").unwrap();
    data.redeem("toolu_1").unwrap();
    assert!(!data.tickets().was_redeemed("toolu_2"));
    assert!(was_redeemed());
    assert!(!was_redeemed());
    assert_eq!(data.count(), 0);

    // A ticket that is so old has been cleaned up, perhaps.
    data.leave("toolu_1").unwrap();
    data.redeem("toolu_1").unwrap();
    let written = SystemTime::now() - RECEIPT_LIFE * 2;
    data.set_time(
        &format!("tickets/{}", receipt_file("toolu_1", None)),
        written,
    );
    assert!(!was_redeemed());
}

#[test]
fn an_old_ticket_is_void_and_so_is_one_from_the_future() {
    let now = SystemTime::now();
    for (written, is_valid) in [
        (now - Duration::from_secs(61), false),
        (now - Duration::from_secs(30), true),
        (now + Duration::from_secs(3600), false),
    ] {
        let data = Data::new();
        data.leave("toolu_1").unwrap();
        data.set_time(&place("toolu_1"), written);
        assert_eq!(data.redeem("toolu_1").is_some(), is_valid);
    }
}

#[test]
fn old_tickets_are_cleaned_up_and_nothing_else() {
    let data = Data::new();
    data.leave("old").unwrap();
    data.leave("young").unwrap();
    data.0.write("tickets/other", "");
    for (file, age) in [
        ("tickets/other", 10 * TICKET_LIFE),
        (&place("old"), 2 * TICKET_LIFE + Duration::from_secs(1)),
        // Until then, the guard asks for it.
        (&place("young"), RECEIPT_LIFE),
    ] {
        data.set_time(file, SystemTime::now() - age);
    }
    data.leave("new").unwrap();
    let is_there = |place: &str| data.0.path(place).exists();
    assert!(!is_there(&place("old")));
    assert!(is_there(&place("young")) && is_there("tickets/other"));
}

#[test]
fn private_is_what_the_user_owns_and_nobody_else_may_touch() {
    assert!(is_private_to(1000, 1000, 0o40700));
    assert!(!is_private_to(1000, 0, 0o40700));
    assert!(!is_private_to(0, 1000, 0o40700));
    for open in [0o770, 0o710, 0o701, 0o704, 0o702, 0o720, 0o777] {
        assert!(!is_private_to(1000, 1000, 0o40000 | open), "{open:o}");
    }
}

#[test]
fn a_folder_that_others_can_enter_a_link_to_one_and_a_file_are_used_for_nothing() {
    let data = Data::new();
    data.leave("toolu_1").unwrap();
    for open in [0o750, 0o711, 0o777] {
        data.0.mode("tickets", open);
        data.is_used_for_nothing();
    }
    data.0.mode("tickets", 0o700);
    let linked = Data::new();
    linked.0.link("tickets", data.0.path("tickets"));
    linked.is_used_for_nothing();
    assert_eq!(data.count(), 2);
    assert_eq!(data.redeem("toolu_1").as_deref(), Some(AGENT));
    let file = Data::new();
    file.0.write("tickets", "");
    file.is_used_for_nothing();
}

#[test]
fn what_is_no_ticket_or_not_the_users_alone_is_void_and_hangs_nothing() {
    let data = Data::new();
    let too_long = format!("{}\n\n", "a".repeat(AgentName::MAX_BYTES + 1));
    let long_key = format!("a:b\n{}\n", "k".repeat(Key::MAX_LEN + 1));
    for content in [
        &b""[..],
        b"\n",
        // Only a part of the ticket was written.
        b"keyhole:privacy-scan",
        b"a:b\n",
        b"a:b\nk-half-of-a-ke",
        b"a:b\nk\n\n",
        b"a:b\nno key\n",
        b"a:b\0\n\n",
        b"\xff\n\n",
        too_long.as_bytes(),
        long_key.as_bytes(),
    ] {
        data.forge("toolu_1", content);
        assert_eq!(data.redeem("toolu_1"), None, "{content:?}");
    }
    for id in ["real", "open"] {
        data.forge(id, b"a:b\n\n");
    }
    data.0.mode(&place("open"), 0o640);
    data.0.link(&place("link"), data.0.path(&place("real")));
    fs::create_dir(data.0.path(&place("directory"))).unwrap();
    fifo(&data.0.path(&place("fifo")));
    for id in ["open", "link", "directory", "fifo"] {
        assert_eq!(data.redeem(id), None, "{id}");
    }
    assert_eq!(data.redeem("real").as_deref(), Some("a:b"));
}

#[test]
fn a_link_in_a_tickets_place_is_not_written_through() {
    for target in ["../victim", "../gone"] {
        let data = Data::new();
        data.forge("other", b"");
        data.0.write("victim", "precious");
        data.0.link(&place("toolu_1"), target);
        let left = data.leave("toolu_1");
        assert!(matches!(left, Err(TicketError::Again)), "{left:?}");
        let victim = fs::read_to_string(data.0.path("victim"));
        assert_eq!(victim.unwrap(), "precious");
        assert!(!data.0.path("gone").exists());
    }
}

#[test]
fn an_id_is_never_a_path() {
    let long = "x".repeat(1 << 20);
    for id in ["", "..", "../../up", "/etc/passwd", "a\0b\n", &long] {
        let data = Data::new();
        data.leave(id).unwrap();
        assert_eq!(data.count(), 2);
        assert_eq!(fs::read_dir(data.0.directory()).unwrap().count(), 1);
        assert_eq!(data.redeem(id).as_deref(), Some(AGENT));
    }
}
