//! A host that is wrong on purpose: it walks as ours does, and forgets to check the roots. The
//! kernel holds it all the same.

use crate::wall::whole;
use keyhole_core::{
    Caller, Entry, Grant, LiveMap, Location, Map, Maps, Refusal, Target, call, limits::Limits,
    locate, sandbox::Sandbox,
};
use keyhole_tests::World;
use keyhole_walk::{Handle, Policy, System, Walker, directories_of, remember};
use keyhole_wall::read_beneath;
use std::{
    fs::File,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

const MAP: &str = "[keys]\nk-in = '~/in/a.md'\nk-out = '~/out/b.md'\n";

/// The host's maps: each entry is resolved as if the map had no roots.
struct Forgetful {
    live: LiveMap,
    without_roots: Map,
}

impl Maps for Forgetful {
    type Directory = Handle;

    fn map_now(&self, deadline: Instant) -> Result<Arc<Map>, Refusal> {
        self.live.map_now(deadline)
    }

    fn resolve(&self, _: &Map, entry: &Entry, deadline: Instant) -> Result<Grant, Refusal> {
        let walker = Walker::new(System).until(deadline);
        locate(&walker, &self.without_roots, entry)
    }
}

#[test]
fn a_host_that_forgets_to_check_the_roots_reads_nothing_outside_them() {
    let Some(_) = whole() else { return };
    let world = World::new()
        .file("in/a.md", "in a root")
        .file("out/b.md", "outside")
        .map(format!("roots = ['~/in']\n{MAP}"));
    let home = world.home().to_owned();
    let location = Location::find(Some(&world.map_path()), |name| {
        (name == "HOME").then(|| home.clone().into())
    });
    let location = location.unwrap();
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    let maps = Forgetful {
        without_roots: Map::parse(MAP.as_bytes(), &location).unwrap(),
        live: LiveMap::new(location),
    };
    let load = |key: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        call(
            Target::SentKey(key.to_owned()),
            &Caller::Nobody,
            deadline,
            &maps,
            &sandbox,
        )
    };
    // It is wrong indeed.
    assert_eq!(load("k-out").unwrap(), "outside");
    let behind = || {
        remember().unwrap();
        let map = maps.live.current().unwrap();
        let places = directories_of(&world.map_path())
            .into_iter()
            .chain(map.roots());
        let open = |place: PathBuf| Walker::new(System).walk(&place, Policy::Directory).unwrap();
        let reach: Vec<File> = places.map(|place| open(place).handle.into()).collect();
        assert!(read_beneath(&reach).unwrap());
        assert_eq!(load("k-in").unwrap(), "in a root");
        assert_eq!(load("k-out").unwrap_err(), Refusal::RestartNeeded);
    };
    // The kernel confines only the thread that asks for it.
    thread::scope(|scope| scope.spawn(behind).join().unwrap());
    assert_eq!(load("k-out").unwrap(), "outside");
}
