//! Every code, as the real program returns it, in both protocols.

mod busy;
mod changing;
mod denied;

use crate::secrecy::{conceals, talkative};
use keyhole::Code;
use keyhole_tests::{MARKER, Protocol, Session, World};

/// One way to get a code: the files, the client, and the answers.
pub(crate) struct Earned {
    /// Kept for as long as the session lives.
    pub(crate) world: World,
    pub(crate) session: Session,
    /// All answers to the calls. One of them is the refusal with the code; others may
    /// be documents.
    pub(crate) answers: Vec<keyhole_tests::Answer>,
}

/// The key of the calls.
pub(crate) const KEY: &str = "k-hunter2-7f3a9c55aa01beef";

/// Gets `code` from the program, in a world that begins as `world`. After somebody adds
/// a code, this does not compile until it says how to get the code.
pub(crate) fn earn(code: Code, world: World) -> Earned {
    match code {
        Code::CallerNotVerified => {
            let data = world.path("hunter2-data");
            let world = world.directory("hunter2-data").file("hunter2.md", MARKER);
            asking(
                world
                    .map(mapped("hunter2.md"))
                    .env("CLAUDE_PLUGIN_DATA", data)
                    .argument("--require-ticket"),
            )
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
        Code::PermissionDenied => denied::earn(world),
        Code::TooLarge => asking(world.file("hunter2.md", MARKER).map(format!(
            "[keys]\n{KEY} = {{ path = '~/hunter2.md', max_bytes = 6 }}\n"
        ))),
        Code::NotUtf8 => asking(
            world
                .file("hunter2.md", b"hunter2 \xff")
                .map(mapped("hunter2.md")),
        ),
        Code::Changed => changing::touched(world),
        Code::TimedOut => changing::stopped(world),
        Code::Busy => busy::earn(world),
        Code::OutOfResources => denied::out_of_files(world, code),
        Code::Internal => denied::failing_disk(world),
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
fn asking(world: World) -> Earned {
    let mut session = world.client();
    let answers = vec![session.load(KEY)];
    Earned {
        world,
        session,
        answers,
    }
}

/// Gets every code, checks it to the letter, and that nothing else is told. Every key,
/// path and content in these worlds contains the marker, and so does the path of each
/// world itself.
fn every_code_is_earned_and_tells_nothing(protocol: Protocol) {
    for code in Code::ALL {
        let earned = earn(code, talkative(World::new().speaking(protocol)));
        let name = stable_name(code);
        let home = earned.world.home().to_str().unwrap();
        assert!(home.contains(MARKER) && KEY.contains(MARKER));
        let refused = earned
            .answers
            .iter()
            .filter(|answer| answer.text().is_none());
        let refused: Vec<_> = refused
            .inspect(|answer| conceals(&answer.message().to_string()))
            .collect();
        let first = refused.first();
        first
            .unwrap_or_else(|| panic!("{name}: nothing was refused"))
            .refused(name);
        earned.session.end();
    }
}

#[test]
fn every_code_is_earned_and_tells_nothing_in_a_session_that_began_with_initialize() {
    every_code_is_earned_and_tells_nothing(Protocol::Initialize);
}

#[test]
fn every_code_is_earned_and_tells_nothing_without_a_session() {
    every_code_is_earned_and_tells_nothing(Protocol::Discover);
}
