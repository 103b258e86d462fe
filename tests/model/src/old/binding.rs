//! The old way to read a binding's key, as it was in `host/src/map/binding.rs`.

use super::{
    live::unreadable,
    trust::{Access, Way},
};
use crate::{
    files::{Files, Handle},
    scenes::KEY_FILE,
};
use keyhole::{
    Key,
    walk::{Fault, FileSystem as _, Kind},
};

pub(super) fn key(files: &Files) -> Result<Key, String> {
    let way = Way::to(files, KEY_FILE).map_err(unreadable)?;
    let real = files.canonicalize(KEY_FILE).map_err(unreadable)?;
    let file = files.open_path(&real, false).map_err(unreadable)?;
    let stat = files.stat(&file).map_err(unreadable)?;
    if stat.kind != Kind::File {
        return Err("no file".into());
    }
    Access::of(&stat).check_file()?;
    way.check()?;
    let bytes = read_all(files, &file).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| "no key")?;
    Key::try_from(text.trim_end()).map_err(|error| error.to_string())
}

pub(super) fn read_all(files: &Files, file: &Handle) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 1024];
        match files.read(file, &mut piece, bytes.len() as u64)? {
            0 => return Ok(bytes),
            got => bytes.extend_from_slice(&piece[..got]),
        }
    }
}
