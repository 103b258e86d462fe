//! `ticket.rs`: a ticket is redeemed once, even if several ask at the same time, and even
//! by a call that has to wait.

use crate::{
    guest::{Fake, Files, limits},
    host::{
        Caller, Code,
        agent::AgentName,
        limits::Limits,
        loader::Loader,
        map::{LiveMap, MapSource},
        ticket::{TicketError, Tickets},
    },
    run::{Scenario, met},
    shim::{clock::Pace, std::thread, tokio::task::join_all},
};
use shuttle::future::{block_on, spawn};
use std::{cell::Cell, sync::Arc};
use tempfile::TempDir;

/// A key that never waits.
const STRONG: &str = "k-2c1f8a96d0e34b57";

thread_local! {
    static DATA: TempDir = tempfile::tempdir().unwrap();
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// The folder of tickets, and an id that was never used.
fn new() -> (Arc<Tickets>, String) {
    LAST.set(LAST.get() + 1);
    let tickets = DATA.with(|data| Tickets::under(data.path()));
    (Arc::new(tickets), format!("call {}", LAST.get()))
}

fn ask(tickets: &Arc<Tickets>, id: &str) -> thread::JoinHandle<Option<AgentName>> {
    let (tickets, id) = (Arc::clone(tickets), id.to_owned());
    thread::spawn(move || tickets.redeem(&id))
}

fn leave(
    tickets: &Arc<Tickets>,
    id: &str,
    agent: &'static str,
) -> thread::JoinHandle<Result<(), TicketError>> {
    let (tickets, id) = (Arc::clone(tickets), id.to_owned());
    thread::spawn(move || tickets.leave(&id, &agent.try_into().unwrap()))
}

/// Two ask for one ticket.
fn two_ask() {
    let (tickets, id) = new();
    tickets.leave(&id, &"acme:one".try_into().unwrap()).unwrap();
    let asked = [ask(&tickets, &id), ask(&tickets, &id)];
    let got: Vec<_> = asked
        .into_iter()
        .filter_map(|it| it.join().unwrap())
        .collect();
    assert_eq!(got, ["acme:one".try_into().unwrap()]);
    assert_eq!(tickets.redeem(&id), None);
}

/// Two leave a ticket for one call. One is refused, and the ticket is the other's.
fn two_leave() {
    let (tickets, id) = new();
    let agents = ["acme:one", "acme:other"];
    let left = agents.map(|agent| leave(&tickets, &id, agent));
    let left = left.map(|it| it.join().unwrap());
    let whose: Vec<_> = agents
        .iter()
        .zip(&left)
        .filter(|(_, left)| left.is_ok())
        .collect();
    let again = left
        .iter()
        .filter(|left| matches!(left, Err(TicketError::Again)));
    assert_eq!((whose.len(), again.count()), (1, 1));
    assert_eq!(tickets.redeem(&id).as_deref(), Some(*whose[0].0));
}

/// Some ask for a ticket while it is being left. Nobody gets more tickets than were left,
/// or half of a name.
fn asked_while_left() {
    let (tickets, id) = new();
    let left = [
        leave(&tickets, &id, "acme:one"),
        leave(&tickets, &id, "acme:one"),
    ];
    let asked = [ask(&tickets, &id), ask(&tickets, &id), ask(&tickets, &id)];
    let left = left.into_iter().map(|it| it.join().unwrap());
    let left = left.filter(Result::is_ok).count();
    let got: Vec<_> = asked
        .into_iter()
        .filter_map(|it| it.join().unwrap())
        .collect();
    met(["none", "one", "two", "three"][got.len()]);
    assert!(got.len() <= left, "{} of {left}", got.len());
    assert!(got.iter().all(|agent| **agent == *"acme:one"), "{got:?}");
    let _ = tickets.redeem(&id);
}

/// Two calls with one ticket. One has to wait: the host looks up only one guess at a
/// time, and there are others.
fn in_a_call() {
    let limits = Limits {
        free_guesses: 1,
        ..limits()
    };
    let map = Arc::new(LiveMap::default());
    map.write("k-1", "slow-1.md");
    map.write("k-2", "slow-2.md");
    map.write(STRONG, "quick-3.md");
    let loader = Loader::new(MapSource::Live(map), Fake(Files::new(limits)), limits);
    loader.start().unwrap();
    let loader = Arc::new(loader);
    let (tickets, id) = new();
    tickets.leave(&id, &"acme:one".try_into().unwrap()).unwrap();
    let call = |key: &'static str, caller: Caller| {
        let loader = Arc::clone(&loader);
        spawn(async move { loader.load(key, &caller).await.map(|it| it.text) })
    };
    let ticket = Caller::Ticket {
        tickets: Arc::clone(&tickets),
        only: None,
        id: Some((*id).into()),
    };
    let other = call("k-2", Caller::Nobody);
    let wrong = call("k-3", Caller::Nobody);
    let calls = [call("k-1", ticket.clone()), call(STRONG, ticket)];
    let answers = calls.map(|it| block_on(it).unwrap());
    let _ = (block_on(other).unwrap(), block_on(wrong).unwrap());
    let refused = answers
        .iter()
        .filter(|it| **it == Err(Code::CallerNotVerified));
    let refused = refused.count();
    let served = answers.iter().filter(|it| it.is_ok()).count();
    (0..served).for_each(|_| met("served"));
    (0..refused).for_each(|_| met("not verified"));
    assert!(served <= 1 && refused <= 1, "{answers:?}");
    join_all();
    let _ = tickets.redeem(&id);
}

const TWO_ASK: Scenario = Scenario {
    name: "one of two gets a ticket in every order",
    pace: Pace::Frozen,
    play: two_ask,
    meets: &[],
};

const TWO_LEAVE: Scenario = Scenario {
    name: "one of two leaves the ticket for a call",
    pace: Pace::Frozen,
    play: two_leave,
    meets: &[],
};

pub const ASKED_WHILE_LEFT: Scenario = Scenario {
    name: "a ticket that is asked for while it is left is whole or none",
    pace: Pace::Frozen,
    play: asked_while_left,
    meets: &["none", "one", "two"],
};

pub const IN_A_CALL: Scenario = Scenario {
    name: "a ticket is redeemed once by calls that wait",
    pace: Pace::Any,
    play: in_a_call,
    meets: &["served", "not verified"],
};

#[test]
fn one_of_two_gets_a_ticket_in_every_order() {
    TWO_ASK.holds_in_all(None);
}

#[test]
fn one_of_two_leaves_the_ticket_for_a_call() {
    TWO_LEAVE.holds();
}

#[test]
fn a_ticket_that_is_asked_for_while_it_is_left_is_whole_or_none() {
    ASKED_WHILE_LEFT.holds();
}

#[test]
fn a_ticket_is_redeemed_once_by_calls_that_wait() {
    IN_A_CALL.holds();
}

#[test]
fn broken_tickets_are_found() {
    TWO_ASK.finds("a ticket is good although another removed it");
    TWO_LEAVE.finds("a ticket is written over another");
    IN_A_CALL.finds("a ticket is good although another removed it");
    IN_A_CALL.finds("a ticket is asked for again after a wait");
}
