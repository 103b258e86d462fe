//! Every code, as the real program returns it, in both protocols, from each kind of server.

mod changing;

use crate::secrecy::{conceals, talkative};
use keyhole_core::{
    Refusal,
    ticket::{Ticket, Tickets},
};
use keyhole_tests::{Answer, MARKER, Protocol, Session, World};
use serde_json::{Value, json};
use std::{fs, thread};

pub(crate) const KEY: &str = "k-hunter2-7f3a9c55aa01beef";

/// Where every user has the map: it tells nothing of this one.
pub(crate) const MAP_PLACE: &str = "~/.config/keyhole/context-map.toml";

/// A map of [`KEY`] to a file in the home.
pub(crate) fn mapped(file: &str) -> String {
    format!("[keys]\n{KEY} = '~/{file}'\n")
}

/// A kind of server, as its clients see it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Surface {
    /// A call names the key.
    General,
    /// `--bind`: a call has no arguments, and nobody has a key.
    Bound,
    /// As the plugin starts its agent's own server: the environment names the key, and a
    /// call needs a ticket of this agent.
    OfAgent,
}

/// The id of an agent's call, of which there is one.
const CALL: &str = "toolu_1";

impl Surface {
    /// The world of such a server. Its map has been made, if it has one.
    fn of(self, world: World) -> World {
        match self {
            Self::General => world,
            Self::Bound => {
                if let Ok(map) = fs::read_to_string(world.map_path()) {
                    let map = map.replace("[keys]", "[bindings]");
                    let entry = format!("{KEY} = ");
                    world.write_map(map.replace(&entry, "document.path = "));
                }
                world.arguments(["--bind", "document"])
            }
            Self::OfAgent => {
                let world = world.plugin_data();
                let ticket = Ticket {
                    agent: MARKER.try_into().unwrap(),
                    key: Some(KEY.try_into().unwrap()),
                };
                let tickets = Tickets::in_folder(world.path("data")).unwrap();
                tickets.leave(CALL, &ticket).unwrap();
                world
                    .arguments(["--bind", "document", "--key-env", "CATALOG_KEY"])
                    .arguments(["--agent", MARKER, "--require-ticket"])
                    .env("CATALOG_KEY", KEY)
            }
        }
    }

    /// Whether such a server never says this, or says it as the general one does.
    fn leaves_out(self, code: Refusal) -> bool {
        match code {
            // `regressions::low_resources` earns it.
            Refusal::OutOfResources => true,
            // The others ask nobody who calls.
            Refusal::CallerNotVerified => self != Self::OfAgent,
            // Once a call has an entry, all servers are one, and these take time.
            Refusal::Changed | Refusal::TimedOut | Refusal::Busy => self != Self::General,
            // Only this wall keeps a file from the server that its user may read.
            #[cfg(target_os = "linux")]
            Refusal::RestartNeeded => !crate::wall::stands(),
            #[cfg(not(target_os = "linux"))]
            Refusal::RestartNeeded => true,
            _ => false,
        }
    }
}

/// A server, and a client that asks it for the document of [`KEY`].
struct Client {
    surface: Surface,
    world: World,
    session: Session,
}

impl Client {
    fn params(&self) -> Value {
        let (arguments, meta) = match self.surface {
            Surface::Bound => (json!({}), json!({})),
            Surface::OfAgent => (json!({}), json!({ "claudecode/toolUseId": CALL })),
            _ => (json!({ "key": KEY }), json!({})),
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
}

/// The name of `code` that clients match on, and a world in which a call gets it. The name does
/// not come from [`Refusal`]: a change there breaks clients, and has to fail here. After somebody
/// adds a code, this does not compile until it says how to get the code.
fn earn(code: Refusal, world: World) -> (&'static str, World) {
    let file = |world: World| world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    let with_mode = |world, mode| {
        let world = file(world);
        world.mode("hunter2.md", mode);
        world
    };
    match code {
        Refusal::CallerNotVerified => ("caller-not-verified", file(world)),
        Refusal::UnknownKey => ("unknown-key", world.map("[keys]\n")),
        Refusal::MapMissing => ("map-missing", world),
        Refusal::MapInvalid => ("map-invalid", world.map(format!("[keys]\n{KEY} = 7\n"))),
        Refusal::NotMarkdown => {
            let world = world.file("hunter2.txt", MARKER);
            ("not-markdown", world.map(mapped("hunter2.txt")))
        }
        Refusal::NotFound => ("not-found", world.map(mapped("hunter2.md"))),
        Refusal::NotAFile => {
            let world = world.directory("hunter2.md");
            ("not-a-file", world.map(mapped("hunter2.md")))
        }
        Refusal::OutsideRoot => {
            let map = format!("roots = ['~/root']\n{}", mapped("hunter2.md"));
            ("outside-root", file(world).directory("root").map(map))
        }
        Refusal::Untrusted => ("untrusted", with_mode(world, 0o666)),
        Refusal::PermissionDenied => ("permission-denied", with_mode(world, 0)),
        Refusal::TooLarge => {
            let map = format!("max_bytes = 6\n{}", mapped("hunter2.md"));
            ("too-large", file(world).map(map))
        }
        Refusal::NotUtf8 => {
            let world = file(world).file("hunter2.md", b"hunter2 \xff");
            ("not-utf8", world)
        }
        Refusal::Changed => ("changed", file(world)),
        Refusal::TimedOut => ("timed-out", file(world)),
        Refusal::RestartNeeded => {
            let map = format!("roots = ['~/later']\n{}", mapped("later/hunter2.md"));
            ("restart-needed", world.map(map))
        }
        Refusal::Busy => {
            let large = "hunter2 ".repeat(62_000);
            ("busy", file(world).file("hunter2.md", large))
        }
        Refusal::OutOfResources => ("out-of-resources", file(world)),
        Refusal::Internal => ("internal", file(world)),
    }
}

/// A client of a server that cannot open the file, for a reason outside the file.
#[cfg(target_os = "linux")]
fn with_failing_disk(world: &World) -> Session {
    keyhole_tests::with_failing_disk(|| world.client())
}

/// The name is one that no file can have on this system's disks, and that the program does not
/// refuse for this reason.
#[cfg(not(target_os = "linux"))]
fn with_failing_disk(world: &World) -> Session {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let file = world.path("hunter2.md");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(OsStr::from_bytes(b"\xff.md"), file).unwrap();
    world.client()
}

/// Gets every code, checks it to the letter, and that nothing else is told. Every key,
/// path and content in these worlds contains the marker, and so does the path of each
/// world itself.
fn each_code_is_reachable_and_leaks_nothing(protocol: Protocol) {
    thread::scope(|scope| {
        for surface in [Surface::General, Surface::Bound, Surface::OfAgent] {
            scope.spawn(move || every_refusal(protocol, surface));
        }
    });
}

fn every_refusal(protocol: Protocol, surface: Surface) {
    for code in Refusal::ALL {
        if surface.leaves_out(code) {
            continue;
        }
        let (name, world) = earn(code, talkative(World::new().speaking(protocol)));
        assert!(world.home().to_str().unwrap().contains(MARKER));
        let mut world = surface.of(world);
        // Root may read any file.
        if code == Refusal::PermissionDenied {
            world = world.unprivileged();
        }
        let mut client = Client {
            session: match code {
                // It begins by itself.
                Refusal::Busy => world.serve(),
                Refusal::Internal => with_failing_disk(&world),
                _ => world.client(),
            },
            surface,
            world,
        };
        let answer = match code {
            Refusal::CallerNotVerified => client.session.load_bound(),
            Refusal::Changed => changing::written(&mut client),
            Refusal::TimedOut => changing::stopped(&mut client),
            Refusal::Busy => changing::crowded(&mut client),
            Refusal::RestartNeeded => {
                client.world = client.world.file("later/hunter2.md", MARKER);
                client.load()
            }
            _ => client.load(),
        };
        answer.refused(name);
        conceals(&answer.message().to_string());
        // At the start a server may say that the map's usual place has none.
        conceals(&client.session.ends_saying().replace(MAP_PLACE, ""));
    }
}

#[test]
fn each_code_is_reachable_and_leaks_nothing_in_a_session_that_began_with_initialize() {
    each_code_is_reachable_and_leaks_nothing(Protocol::Initialize);
}

#[test]
fn each_code_is_reachable_and_leaks_nothing_without_a_session() {
    each_code_is_reachable_and_leaks_nothing(Protocol::Discover);
}
