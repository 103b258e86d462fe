//! What a server gives up before it reads anything from its client, and what the map says then.
//!
//! The map decides how far the wall goes: if it has `roots`, the kernel lets this process open
//! files only beneath them, beneath the map's own directories, and beneath the folder of
//! tickets. So the map is read in the middle of it. A second thread reads it, since its file
//! system may hang. When the server begins to serve, that thread has ended; or it hangs, and
//! then the wall is not whole, because that thread can read whatever the user may.

use crate::serve::{Outcome, ServeError};
use keyhole_core::{LiveMap, Map, MapError, limits::Limits, ticket::Tickets};
#[cfg(target_os = "linux")]
use keyhole_walk::remember;
use keyhole_walk::{SystemError, WalkError};
use keyhole_wall::{Rights, WallStatus, restrict_process};
use std::{
    convert::Infallible,
    fs::File,
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Instant,
};

/// Gives up what this process does not need to serve this map, and the tickets in `tickets`.
/// Returns the parts of the wall that stand, and the map as it was before; an unusable map is no
/// error. The process must have one thread.
pub(crate) fn restrict(
    live: &Arc<LiveMap>,
    tickets: Option<&Tickets>,
) -> Result<(WallStatus, Outcome), ServeError> {
    // If there is none, each call is refused, and says so.
    let data = tickets.and_then(|tickets| tickets.data_folder().ok());
    let rights = match tickets {
        Some(_) => Rights::Tickets,
        None => Rights::Read,
    };
    let (status, looked) =
        restrict_process(rights, data.as_ref(), || match look(live, data.as_ref()) {
            Ok((map, directories, has_ended)) => {
                let reach = has_roots(&map).then_some(directories);
                (reach, Ok((map, has_ended)))
            }
            Err(error) => (None, Err(error)),
        })?;
    let (map, has_ended) = looked?;
    let roots = status.roots && has_ended;
    Ok((WallStatus { roots, ..status }, map))
}

pub(crate) fn has_roots(map: &Outcome) -> bool {
    map.as_ref().is_ok_and(|map| !map.roots().is_empty())
}

enum Seen {
    Map(Outcome),
    Directory(Result<File, WalkError>),
}

/// The map; the directories beneath which this process must be able to read if it has roots;
/// and whether the thread has ended that looked for them.
fn look(
    live: &Arc<LiveMap>,
    data: Option<&File>,
) -> Result<(Outcome, Vec<File>, bool), ServeError> {
    let until = Instant::now() + Limits::default().deadline;
    let (tell, told) = channel();
    // Nothing is sent here: the thread drops its end when it ends. It would take longer to be
    // woken for each directory than to open it.
    let (runs, ended) = channel::<Infallible>();
    let reader = Arc::clone(live);
    let thread = thread::Builder::new().spawn(move || {
        let _runs = runs;
        let map = reader.current_by(until);
        // If something comes too late, nobody reads it.
        let _ = tell.send(Seen::Map(map.clone()));
        let Ok(map) = map else { return };
        for directory in directories(&reader, &map, until) {
            let _ = tell.send(Seen::Directory(directory));
        }
    })?;
    let left = until.saturating_duration_since(Instant::now());
    let has_ended = ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected);
    if has_ended {
        drop(thread.join());
    }
    let mut map = Err(MapError::late(live.location().file()));
    let mut own = Vec::from_iter(data.map(File::try_clone).transpose()?);
    for seen in told.try_iter() {
        match seen {
            Seen::Map(Err(MapError::Unreadable {
                source: error @ SystemError::OutOfResources,
                ..
            }))
            | Seen::Directory(Err(WalkError::System(error @ SystemError::OutOfResources))) => {
                return Err(WalkError::from(error).into());
            }
            Seen::Map(read) => map = read,
            Seen::Directory(Ok(directory)) => own.push(directory),
            // It is not there, or others could replace it, so nothing in it is served. When that
            // has changed, a restart is needed.
            Seen::Directory(Err(_)) => {}
        }
    }
    if has_roots(&map) {
        remember()?;
    }
    Ok((map, own, has_ended))
}

/// For `check`: the directories beneath which a server with this map can read. None if it can
/// read everywhere. This process then also knows what it could not read behind the wall.
pub(crate) fn reach(live: &LiveMap, map: &Outcome) -> Result<Option<Vec<File>>, ServeError> {
    let map = match map {
        Ok(known) if has_roots(map) => known,
        _ => return Ok(None),
    };
    remember()?;
    let until = Instant::now() + Limits::default().deadline;
    Ok(Some(directories(live, map, until).flatten().collect()))
}

/// The directories beneath which this process must be able to read, to serve this map; none if it
/// has no roots. What is likelier to hang comes later.
#[cfg(target_os = "linux")]
fn directories(
    live: &LiveMap,
    map: &Map,
    until: Instant,
) -> impl Iterator<Item = Result<File, WalkError>> {
    let roots = map.roots();
    let own = match roots.is_empty() {
        true => Vec::new(),
        false => keyhole_walk::directories_of(live.location().file()),
    };
    let places = own.into_iter().chain(roots);
    places.map(move |place| keyhole_walk::directory_at(&place, until))
}

/// Where there is no wall, nothing need be open before it.
#[cfg(not(target_os = "linux"))]
fn directories(_: &LiveMap, _: &Map, _: Instant) -> impl Iterator<Item = Result<File, WalkError>> {
    std::iter::empty()
}

#[cfg(not(target_os = "linux"))]
fn remember() -> Result<(), WalkError> {
    Ok(())
}
