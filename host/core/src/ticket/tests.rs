#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use super::{
    AgentName, Key, LIFE, RECEIPT_LIFE, Ticket, TicketError, Tickets, name, receipt,
    system::is_private_to,
};
use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

const AGENT: &str = "keyhole:privacy-scanner";

/// A ticket without a key.
fn ticket(agent: &str) -> Ticket {
    Ticket {
        agent: agent.try_into().unwrap(),
        key: None,
    }
}

/// A plugin's data folder.
struct Data(TempDir);

impl Data {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn tickets(&self) -> Tickets {
        Tickets::under(self.0.path())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("tickets")
    }

    /// The path of the ticket for the call `id`.
    fn ticket(&self, id: &str) -> PathBuf {
        self.folder().join(name(id))
    }

    /// Writes a ticket that the guard would not write.
    fn forge(&self, id: &str, content: &[u8]) {
        let ticket = self.ticket(id);
        if !self.folder().exists() {
            fs::create_dir(self.folder()).unwrap();
            mode(&self.folder(), 0o700);
        }
        fs::write(&ticket, content).unwrap();
        mode(&ticket, 0o600);
    }

    fn leave(&self, id: &str, agent: &str) -> Result<(), TicketError> {
        self.tickets().leave(id, &ticket(agent))
    }

    /// The agent that a ticket names.
    fn redeem(&self, id: &str) -> Option<String> {
        Some(self.tickets().redeem(id)?.agent.to_string())
    }

    /// Tickets and receipts.
    fn count(&self) -> usize {
        fs::read_dir(self.folder()).map_or(0, Iterator::count)
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_age(path: &Path, age: Duration) {
    File::open(path)
        .unwrap()
        .set_modified(SystemTime::now() - age)
        .unwrap();
}

#[test]
fn a_ticket_carries_the_key_that_the_guard_judged() {
    let data = Data::new();
    let ticket = Ticket {
        key: Some("k".repeat(Key::MAX_LEN).try_into().unwrap()),
        ..ticket(&"a".repeat(AgentName::MAX_BYTES))
    };
    data.tickets().leave("toolu_1", &ticket).unwrap();
    assert_eq!(data.tickets().redeem("toolu_1"), Some(ticket));
}

#[test]
fn only_a_receipt_whose_ticket_was_redeemed_says_so_and_it_does_once() {
    let data = Data::new();
    let was_redeemed = || data.tickets().was_redeemed("toolu_1");
    assert!(!was_redeemed());
    data.leave("toolu_1", AGENT).unwrap();
    assert!(!was_redeemed());
    // Now it is void.
    assert_eq!(data.redeem("toolu_1"), None);

    data.leave("toolu_1", AGENT).unwrap();
    data.redeem("toolu_1").unwrap();
    assert!(!data.tickets().was_redeemed("toolu_2"));
    assert!(was_redeemed());
    assert!(!was_redeemed());
    assert_eq!(data.count(), 0);

    // A ticket that is so old has been cleaned up, perhaps.
    data.leave("toolu_1", AGENT).unwrap();
    data.redeem("toolu_1").unwrap();
    set_age(&data.folder().join(receipt("toolu_1")), RECEIPT_LIFE * 2);
    assert!(!was_redeemed());
}

#[test]
fn an_old_ticket_is_void_and_so_is_one_from_the_future() {
    let now = SystemTime::now();
    for (written, is_valid) in [
        (now - LIFE - Duration::from_secs(1), false),
        (now - LIFE / 2, true),
        (now + Duration::from_secs(3600), false),
    ] {
        let data = Data::new();
        data.leave("toolu_1", AGENT).unwrap();
        let ticket = File::open(data.ticket("toolu_1")).unwrap();
        ticket.set_modified(written).unwrap();
        assert_eq!(data.redeem("toolu_1").is_some(), is_valid);
    }
}

#[test]
fn old_tickets_are_cleaned_up_and_nothing_else() {
    let data = Data::new();
    for id in ["old", "young"] {
        data.leave(id, AGENT).unwrap();
    }
    let other = data.folder().join("other");
    fs::write(&other, "").unwrap();
    set_age(&other, 10 * LIFE);
    set_age(&data.ticket("old"), 10 * LIFE);
    data.leave("new", AGENT).unwrap();
    assert!(!data.ticket("old").exists());
    assert!(data.ticket("young").exists());
    assert!(other.exists());
}

#[test]
fn a_call_is_asked_about_once() {
    let data = Data::new();
    data.leave("toolu_1", AGENT).unwrap();
    let again = data.leave("toolu_1", "a:thief");
    assert!(matches!(again, Err(TicketError::Again)));
    assert_eq!(data.redeem("toolu_1").as_deref(), Some(AGENT));
}

#[test]
fn the_folder_and_the_tickets_are_private() {
    let data = Data::new();
    data.leave("toolu_1", AGENT).unwrap();
    assert_eq!(mode_of(&data.folder()), 0o700);
    assert_eq!(mode_of(&data.ticket("toolu_1")), 0o600);
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

/// In this folder no ticket is left, and none that is there is redeemed.
#[track_caller]
fn is_used_for_nothing(data: &Data) {
    let left = data.leave("toolu_2", AGENT);
    assert!(matches!(left, Err(TicketError::NotPrivate)), "{left:?}");
    assert_eq!(data.redeem("toolu_1"), None);
}

#[test]
fn a_folder_that_others_can_enter_is_used_for_nothing() {
    let data = Data::new();
    data.leave("toolu_1", AGENT).unwrap();
    for open in [0o750, 0o711, 0o777] {
        mode(&data.folder(), open);
        is_used_for_nothing(&data);
    }
    mode(&data.folder(), 0o700);
    assert_eq!(data.redeem("toolu_1").as_deref(), Some(AGENT));
}

#[test]
fn a_link_or_a_file_in_the_folders_place_is_not_followed() {
    let (real, data) = (Data::new(), Data::new());
    real.leave("toolu_1", AGENT).unwrap();
    symlink(real.folder(), data.folder()).unwrap();
    is_used_for_nothing(&data);
    assert_eq!(real.count(), 2);
    fs::remove_file(data.folder()).unwrap();
    fs::write(data.folder(), "").unwrap();
    mode(&data.folder(), 0o600);
    is_used_for_nothing(&data);
}

#[test]
fn what_is_no_ticket_or_not_the_users_alone_is_void_and_hangs_nothing() {
    let data = Data::new();
    let too_long = format!("{}\n\n", "a".repeat(AgentName::MAX_BYTES + 1));
    let long_key = format!("a:b\n{}\n", "k".repeat(Key::MAX_LEN + 1));
    for content in [
        &b""[..],
        b"\n",
        // Only half of the ticket was written.
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
    mode(&data.ticket("open"), 0o640);
    symlink(data.ticket("real"), data.ticket("link")).unwrap();
    fs::create_dir(data.ticket("directory")).unwrap();
    let made = Command::new("mkfifo").arg(data.ticket("fifo")).status();
    assert!(made.unwrap().success());
    for id in ["open", "link", "directory", "fifo"] {
        assert_eq!(data.redeem(id), None, "{id}");
    }
    assert_eq!(data.redeem("real").as_deref(), Some("a:b"));
}

#[test]
fn a_link_in_a_tickets_place_is_not_written_through() {
    let data = Data::new();
    data.forge("other", b"");
    let victim = data.0.path().join("victim");
    for target in [&victim, &data.0.path().join("gone")] {
        fs::write(&victim, "precious").unwrap();
        symlink(target, data.ticket("toolu_1")).unwrap();
        let left = data.leave("toolu_1", AGENT);
        assert!(matches!(left, Err(TicketError::Again)), "{left:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::remove_file(data.ticket("toolu_1")).unwrap();
    }
    assert!(!data.0.path().join("gone").exists());
}

#[test]
fn an_id_is_never_a_path() {
    let long = "x".repeat(1 << 20);
    for id in [
        "",
        ".",
        "..",
        "../../up",
        "/etc/passwd",
        "a\0b",
        "a\n",
        &long,
    ] {
        let data = Data::new();
        data.leave(id, AGENT).unwrap();
        assert_eq!(data.count(), 2);
        assert_eq!(fs::read_dir(data.0.path()).unwrap().count(), 1);
        assert_eq!(data.redeem(id).as_deref(), Some(AGENT));
    }
}
