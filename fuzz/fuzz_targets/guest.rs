//! Keys, names and files of every kind for the guest's logic, natively, compared with a
//! model that says what it may return.
#![no_main]

use arbitrary::Arbitrary;
use keyhole_guest::{Directory, File, Grant, Grants, LoadError, Stat, load};
use libfuzzer_sys::fuzz_target;
use std::cell::Cell;

/// What a call finds.
#[derive(Arbitrary, Debug)]
struct World {
    key: String,
    /// The key that the map answers to, if it is not the call's own.
    other_key: Option<String>,
    name: String,
    max_bytes: u16,
    has_directory: bool,
    file: Content,
    faults: Faults,
}

/// A file that does not change, and how it returns its bytes.
#[derive(Arbitrary, Debug)]
struct Content {
    bytes: Vec<u8>,
    is_regular: bool,
    /// The longest read; 0 means as long as is asked for.
    chunk: u8,
}

/// The ways in which it misbehaves. All false means an honest file system.
#[derive(Arbitrary, Debug, PartialEq, Eq, Default)]
struct Faults {
    look: Option<Kind>,
    open: Option<Kind>,
    read: Option<Kind>,
    opened_is_not_regular: bool,
    size_is_wrong_by: i8,
    size_changes: bool,
    /// At each look: the guest reads a file again that changed only once.
    time_changes: bool,
    change_time_changes: bool,
    reads_too_much: bool,
    /// The file has no times that show a change.
    has_no_times: bool,
    /// One byte differs between each read of the whole and the next.
    content_changes: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Missing,
    Denied,
    Escapes,
    NotAFile,
    Unsettled,
    Other,
}

impl From<Kind> for LoadError {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Missing => Self::NotFound,
            Kind::Denied => Self::PermissionDenied,
            Kind::Escapes => Self::OutsideRoot,
            Kind::NotAFile => Self::NotAFile,
            Kind::Unsettled => Self::Changed,
            Kind::Other => Self::Internal,
        }
    }
}

fn fail(fault: Option<Kind>) -> Result<(), LoadError> {
    fault.map_or(Ok(()), |kind| Err(kind.into()))
}

impl Grants for World {
    fn find(&self, key: &str) -> Option<Grant> {
        assert_eq!(key, self.key, "no other key is asked for");
        assert!(is_key(key), "only a key is asked for");
        self.other_key
            .as_ref()
            .is_none_or(|other| other == key)
            .then(|| Grant {
                name: self.name.clone(),
                max_bytes: self.max_bytes.into(),
            })
    }
}

struct Open<'a> {
    world: &'a World,
    looks: Cell<u32>,
    /// How often the whole was read.
    wholes: Cell<u32>,
}

impl<'a> Directory for &'a World {
    type File = Open<'a>;

    fn is_regular(&self, name: &str) -> Result<bool, LoadError> {
        assert!(name == self.name && is_name(name), "only a granted name");
        fail(self.faults.look)?;
        Ok(self.file.is_regular)
    }

    fn open(&self, name: &str) -> Result<Open<'a>, LoadError> {
        assert!(name == self.name && is_name(name), "only a granted name");
        assert!(self.file.is_regular, "nothing else is opened");
        fail(self.faults.open)?;
        Ok(Open {
            world: self,
            looks: Cell::new(0),
            wholes: Cell::new(0),
        })
    }
}

impl File for Open<'_> {
    fn stat(&self) -> Result<Stat, LoadError> {
        let World { file, faults, .. } = self.world;
        let looks = self.looks.replace(self.looks.get() + 1);
        let size = (file.bytes.len() as u64)
            .saturating_add_signed(faults.size_is_wrong_by.into())
            .saturating_add(u64::from(faults.size_changes && looks > 0));
        let time = |changes| {
            let seconds = u64::from(changes) * u64::from(looks);
            (!faults.has_no_times).then_some((seconds, 0))
        };
        Ok(Stat {
            regular: !faults.opened_is_not_regular,
            size,
            modified: time(faults.time_changes),
            changed: time(faults.change_time_changes),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError> {
        let World { file, faults, .. } = self.world;
        fail(faults.read)?;
        let most = match file.chunk {
            0 => len,
            chunk => len.min(chunk.into()),
        };
        let rest = &file.bytes[file.bytes.len().min(offset as usize)..];
        let mut bytes = rest[..rest.len().min(most as usize)].to_vec();
        if offset == file.bytes.len() as u64 {
            self.wholes.set(self.wholes.get() + 1);
        } else if let (true, Some(first)) = (
            faults.content_changes && self.wholes.get() % 2 == 1,
            bytes.first_mut(),
        ) {
            *first ^= 1;
        }
        if faults.reads_too_much {
            bytes.resize(len as usize + 1, b'x');
        }
        Ok(bytes)
    }
}

fuzz_target!(|world: World| {
    let directory = &&world;
    let directory = world.has_directory.then_some(directory);
    check(&world, &load(&world.key, &world, directory));
});

fn check(world: &World, got: &Result<Vec<u8>, LoadError>) {
    // Without times the guest reads it twice, and both reads are the same.
    let honest = Faults {
        has_no_times: world.faults.has_no_times,
        ..Faults::default()
    };
    if world.faults == honest {
        assert_eq!(*got, expected(world));
    }
    if let Ok(bytes) = got {
        // However the file system behaves: all of it, or nothing.
        assert!(is_key(&world.key) && is_name(&world.name) && world.has_directory);
        assert!(world.other_key.as_ref().is_none_or(|key| *key == world.key));
        assert_eq!(*bytes, world.file.bytes);
        assert!(bytes.len() <= world.max_bytes.into());
        let Faults {
            time_changes,
            change_time_changes,
            ..
        } = world.faults;
        assert!(world.faults.has_no_times || !(time_changes || change_time_changes));
        // The guest read it twice, and saw that the reads differ.
        let Faults {
            has_no_times,
            content_changes,
            ..
        } = world.faults;
        assert!(!(has_no_times && content_changes) || bytes.is_empty());
    }
}

/// The model: the result that an honest file system must lead to.
fn expected(world: &World) -> Result<Vec<u8>, LoadError> {
    if !is_key(&world.key)
        || world
            .other_key
            .as_ref()
            .is_some_and(|key| *key != world.key)
    {
        return Err(LoadError::UnknownKey);
    }
    if !is_component(&world.name) {
        return Err(LoadError::OutsideRoot);
    }
    if !is_name(&world.name) {
        return Err(LoadError::NotMarkdown);
    }
    if !world.has_directory {
        return Err(LoadError::NotFound);
    }
    if !world.file.is_regular {
        return Err(LoadError::NotAFile);
    }
    if world.file.bytes.len() > world.max_bytes.into() {
        return Err(LoadError::TooLarge);
    }
    Ok(world.file.bytes.clone())
}

/// "What a key is" in the contract, written in another way than in the guest.
fn is_key(text: &str) -> bool {
    let length = text.chars().count();
    0 < length && length <= 128 && text.chars().all(|c| ('!'..='~').contains(&c))
}

/// "What a granted name is".
fn is_component(name: &str) -> bool {
    !["", ".", ".."].contains(&name) && !name.chars().any(|c| ['/', '\\', '\0'].contains(&c))
}

fn is_name(name: &str) -> bool {
    is_component(name) && name.len() > 3 && name.ends_with(".md")
}
