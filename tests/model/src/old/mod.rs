//! The bad example: map, resolution and the guest's file calls as they were before
//! the walker (commit 50f9206), over the same disk. It looks paths up again and again,
//! and each time they may mean something else. We keep it to prove that the explorer
//! can find what it looks for.

mod binding;
mod guest;
mod live;
mod paths;
mod resolve;
mod trust;

pub(crate) use live::Live;

use crate::{
    files::Files,
    play::{Answer, location, trusted},
    scene::{Ask, FORGED_KEY},
};
use keyhole::Key;

impl Live {
    /// How a call worked then.
    pub(crate) fn ask(&mut self, files: &Files, ask: Ask) -> Answer {
        let scene = files.0.borrow().scene.clone();
        let location = location(&scene);
        let map = self.current(files, &location)?;
        trusted(map.find(&Key::try_from(FORGED_KEY).unwrap()).is_none())?;
        let key = match ask {
            Ask::Key(key) => Key::try_from(key).unwrap(),
            Ask::Bound(name, own) => {
                map.binding(name).ok_or("no such binding")?;
                let key = binding::key(files)?;
                trusted(key.expose() == own)?;
                key
            }
        };
        let entry = map.find_for(&key, None).ok_or("unknown-key")?;
        let (directory, name) = resolve::resolve(files, &location, scene.roots, entry.path())?;
        guest::load(files, directory, &name, entry.max_bytes())
    }
}
