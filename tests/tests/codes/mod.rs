//! Every code, as the real program returns it, in both protocols, from each kind of server.

mod busy;
mod changing;
mod denied;

use crate::secrecy::{conceals, talkative};
use keyhole_core::{
    Code,
    ticket::{Ticket, Tickets},
};
use keyhole_tests::{Answer, MARKER, Protocol, Session, World};
use serde_json::{Value, json};
use std::{fs, thread};

/// A kind of server, as its clients see it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Surface {
    /// A call names the key.
    General,
    /// `--bind`: a call has no arguments, and the map names the key.
    Bound,
    /// `--bind` and `--key-env`: the environment names the key.
    BoundByVariable,
    /// `--require-ticket`: a call names the key and needs a ticket.
    Ticketed,
    /// As the plugin starts its agent's own server: the environment names the key, and a
    /// call needs a ticket of this agent.
    OfAgent,
    /// `--sealed`: a call names the key, and the map was read at the start.
    #[cfg(target_os = "linux")]
    Sealed,
}

/// More than the calls of any server here.
const TICKETS: usize = 500;

fn call_id(call: usize) -> String {
    format!("toolu_{call}")
}

impl Surface {
    const ALL: &[Self] = &[
        Self::General,
        Self::Bound,
        Self::BoundByVariable,
        Self::Ticketed,
        Self::OfAgent,
        #[cfg(target_os = "linux")]
        Self::Sealed,
    ];

    fn is_bound(self) -> bool {
        matches!(self, Self::Bound | Self::BoundByVariable | Self::OfAgent)
    }

    fn needs_ticket(self) -> bool {
        matches!(self, Self::Ticketed | Self::OfAgent)
    }

    /// The world of such a server. Its map has been made, if it has one.
    fn of(self, world: World) -> World {
        match self {
            Self::General => world,
            Self::Bound => {
                if let Ok(map) = fs::read_to_string(world.map_path()) {
                    world.write_map(format!("{map}[bindings.document]\nkey = '{KEY}'\n"));
                }
                world.arguments(["--bind", "document"])
            }
            Self::BoundByVariable => {
                let arguments = ["--bind", "document", "--key-env", "CATALOG_KEY"];
                world.arguments(arguments).env("CATALOG_KEY", KEY)
            }
            Self::OfAgent => {
                let world = Self::BoundByVariable.of(world);
                Self::Ticketed.of(world.arguments(["--agent", "hunter2"]))
            }
            Self::Ticketed => {
                let world = world.argument("--require-ticket").directory("hunter2-data");
                let data = world.path("hunter2-data");
                let tickets = Tickets::under(&data);
                for call in 0..TICKETS {
                    let ticket = Ticket {
                        agent: "hunter2".try_into().unwrap(),
                        key: Some(KEY.try_into().unwrap()),
                    };
                    tickets.leave(&call_id(call), &ticket).unwrap();
                }
                world.env("CLAUDE_PLUGIN_DATA", data)
            }
            #[cfg(target_os = "linux")]
            Self::Sealed => world.argument("--sealed"),
        }
    }
}

/// A server, and a client that asks it for the document of [`KEY`].
struct Client {
    surface: Surface,
    /// Kept for as long as the session lives.
    world: World,
    session: Session,
    calls: usize,
}

impl Client {
    /// A client of this server, which has shaken hands.
    fn of(surface: Surface, world: World) -> Self {
        let session = world.client();
        Self {
            surface,
            world,
            session,
            calls: 0,
        }
    }

    /// The next call's parameters.
    fn params(&mut self) -> Value {
        self.calls += 1;
        let arguments = match self.surface.is_bound() {
            true => json!({}),
            false => json!({ "key": KEY }),
        };
        let meta = match self.surface.needs_ticket() {
            true => json!({ "claudecode/toolUseId": call_id(self.calls) }),
            false => json!({}),
        };
        json!({ "name": "load_context", "arguments": arguments, "_meta": meta })
    }

    fn call(&mut self) -> u64 {
        let params = self.params();
        self.session.ask("tools/call", params)
    }

    fn load(&mut self) -> Answer {
        let id = self.call();
        self.session.answer(id)
    }

    /// Ends in order. At the start a server may say that the map's usual place has none.
    fn end(mut self) {
        self.session.hang_up();
        let ended = self.session.ended();
        assert_eq!((ended.exit, ended.messages), (Some(0), Vec::<Value>::new()));
        conceals(&ended.stderr.replace(MAP_PLACE, ""));
    }
}

/// Where every user has the map: it tells nothing of this one.
pub(crate) const MAP_PLACE: &str = "~/.config/keyhole/context-map.toml";

/// A client, and the answers to its calls. One of them is the refusal with the code;
/// others may be documents.
type Earned = (Client, Vec<Answer>);

/// The key of the calls.
pub(crate) const KEY: &str = "k-hunter2-7f3a9c55aa01beef";

/// What the servers of a kind cannot say.
const NEVER: &[(Surface, &[Code])] = &[
    // They ask nobody who calls.
    (Surface::General, &[Code::CallerNotVerified]),
    (Surface::Bound, &[Code::CallerNotVerified]),
    (Surface::BoundByVariable, &[Code::CallerNotVerified]),
    #[cfg(target_os = "linux")]
    (
        Surface::Sealed,
        &[
            Code::CallerNotVerified,
            // Such a server does not start: `sealed` tests it.
            Code::MapMissing,
            Code::MapInvalid,
            // Whatever a call opens, it has opened as much at its start.
            Code::OutOfResources,
        ],
    ),
];

/// Gets `code` from the program, in a world that begins as `world`. After somebody adds a
/// code, this does not compile until it says how to get the code.
fn earn(code: Code, surface: Surface, world: World) -> Earned {
    let asking = |world| asking(surface, surface.of(world));
    match code {
        Code::CallerNotVerified => {
            let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
            let mut client = Client::of(surface, surface.of(world));
            let mut call = client.params();
            call["_meta"] = json!({});
            let answer = client.session.request("tools/call", call);
            (client, vec![answer])
        }
        Code::UnknownKey => asking(world.map("[keys]\n")),
        Code::MapMissing => asking(world),
        Code::MapInvalid => asking(world.map(format!("[keys]\n{KEY} = 7\n"))),
        Code::NotMarkdown => asking(
            world
                .file("hunter2.txt", MARKER)
                .map(format!("[keys]\n{KEY} = '~/hunter2.txt'\n")),
        ),
        Code::NotFound => asking(world.map(mapped("hunter2.md"))),
        Code::NotAFile => asking(world.directory("hunter2.md").map(mapped("hunter2.md"))),
        Code::OutsideRoot => asking(
            world
                .file("hunter2.md", MARKER)
                .directory("root")
                .map(format!("roots = ['~/root']\n{}", mapped("hunter2.md"))),
        ),
        Code::Untrusted => denied::open_to_others(surface, world),
        Code::PermissionDenied => denied::earn(surface, world),
        Code::TooLarge => asking(world.file("hunter2.md", MARKER).map(format!(
            "[keys]\n{KEY} = {{ path = '~/hunter2.md', max_bytes = 6 }}\n"
        ))),
        Code::NotUtf8 => asking(
            world
                .file("hunter2.md", b"hunter2 \xff")
                .map(mapped("hunter2.md")),
        ),
        Code::Changed => changing::written(surface, world),
        Code::TimedOut => changing::stopped(surface, world),
        Code::Busy => busy::earn(surface, world),
        Code::OutOfResources => denied::out_of_files(surface, world, code),
        Code::Internal => denied::failing_disk(surface, world),
    }
}

/// The name that clients match on. It does not come from [`Code`]: a change of the name
/// there breaks clients, and has to fail here.
const fn stable_name(code: Code) -> &'static str {
    match code {
        Code::CallerNotVerified => "caller-not-verified",
        Code::UnknownKey => "unknown-key",
        Code::MapMissing => "map-missing",
        Code::MapInvalid => "map-invalid",
        Code::NotMarkdown => "not-markdown",
        Code::NotFound => "not-found",
        Code::NotAFile => "not-a-file",
        Code::OutsideRoot => "outside-root",
        Code::Untrusted => "untrusted",
        Code::PermissionDenied => "permission-denied",
        Code::TooLarge => "too-large",
        Code::NotUtf8 => "not-utf8",
        Code::Changed => "changed",
        Code::TimedOut => "timed-out",
        Code::Busy => "busy",
        Code::OutOfResources => "out-of-resources",
        Code::Internal => "internal",
    }
}

/// A map of [`KEY`] to a file in the home.
pub(crate) fn mapped(file: &str) -> String {
    format!("[keys]\n{KEY} = '~/{file}'\n")
}

/// One call, one answer.
fn asking(surface: Surface, world: World) -> Earned {
    let mut client = Client::of(surface, world);
    let answers = vec![client.load()];
    (client, answers)
}

/// Gets every code, checks it to the letter, and that nothing else is told. Every key,
/// path and content in these worlds contains the marker, and so does the path of each
/// world itself.
fn every_code_is_earned_and_tells_nothing(protocol: Protocol) {
    thread::scope(|scope| {
        for surface in Surface::ALL {
            let name = format!("{protocol:?} {surface:?}");
            let earning = || every_refusal(protocol, *surface);
            thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, earning)
                .unwrap();
        }
    });
}

fn every_refusal(protocol: Protocol, surface: Surface) {
    #[cfg(target_os = "linux")]
    if surface == Surface::Sealed && !crate::sealed::stands() {
        return;
    }
    let world = || talkative(World::new().speaking(protocol));
    let never: Vec<Code> = NEVER
        .iter()
        .filter(|(of, _)| *of == surface)
        .flat_map(|(_, codes)| codes.iter().copied())
        .collect();
    for code in Code::ALL.into_iter().filter(|code| !never.contains(code)) {
        let name = stable_name(code);
        let (client, answers) = earn(code, surface, world());
        let home = client.world.home().to_str().unwrap();
        assert!(home.contains(MARKER) && KEY.contains(MARKER));
        for answer in answers.iter().filter(|answer| answer.text().is_none()) {
            conceals(&answer.message().to_string());
            answer.refused(answer.code().unwrap_or("no code"));
        }
        let earned = answers.iter().any(|answer| answer.code() == Some(name));
        assert!(earned, "{name} was not said");
        client.end();
    }
    let world = world().file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    let mut client = Client::of(surface, surface.of(world));
    let mut call = client.params();
    call["arguments"] = json!({ "key": KEY, "hunter2": 1 });
    let answer = client.session.request("tools/call", call.clone());
    answer.refused_arguments(match surface.is_bound() {
        true => "This tool takes no arguments. Call again without any.",
        false => "Wrong arguments. Call again with exactly one, \"key\", which is a string.",
    });
    call["name"] = json!("hunter2");
    client
        .session
        .request("tools/call", call)
        .error("unknown tool");
    client.load().is(MARKER);
    client.end();
}

#[test]
fn every_code_is_earned_and_tells_nothing_in_a_session_that_began_with_initialize() {
    every_code_is_earned_and_tells_nothing(Protocol::Initialize);
}

#[test]
fn every_code_is_earned_and_tells_nothing_without_a_session() {
    every_code_is_earned_and_tells_nothing(Protocol::Discover);
}
