//! Who owns something, and who may change it: reads security descriptors in the form in
//! which Windows returns them.
//!
//! The walk judges by owner and mode, so this module translates a descriptor into them.
//! The user is trusted and, like root elsewhere, the system, the group of
//! administrators and Windows' own installer. Everybody else in the access list counts
//! as somebody else, also a group that the user is in: we do not ask who is in it.
//! Entries that deny rights are ignored. A list that cannot be understood counts as if
//! it gave others all rights.
//!
//! | what others may do | mode |
//! |---|---|
//! | read, list, pass through | `0700`: trusted |
//! | make files or directories in a directory, as in `C:\` | `1702`, as `/tmp`: a path may pass it |
//! | write, append, delete, delete what is in it, change attributes, access or owner | `0702`: not trusted |
//!
//! The right to change attributes is in the last row, because it is enough to turn an
//! empty directory into a junction.

/// Numbers for owners; the walk compares them with the user's.
pub(crate) const SYSTEM: u32 = 0;
pub(crate) const USER: u32 = 1;
const STRANGER: u32 = 2;

const SHUT: u32 = 0o700;
const SHARED: u32 = 0o1702;
const OPEN: u32 = 0o702;

/// Owner and mode of an object about which nothing is known.
pub(crate) const UNKNOWN: (u32, u32) = (STRANGER, OPEN);

/// Read data or list, read attributes, plain and extended, execute or pass through,
/// read this descriptor, wait; and the generic rights that include them.
const HARMLESS: u32 =
    0x0000_0001 | 0x08 | 0x20 | 0x80 | 0x0002_0000 | 0x0010_0000 | 0x8000_0000 | 0x2000_0000;
/// Add a file, add a directory.
const ADD: u32 = 0x02 | 0x04;
const ALL: u32 = 0x001F_01FF;

const DACL_PRESENT: u16 = 0x0004;
const DACL_PROTECTED: u16 = 0x1000;
const SELF_RELATIVE: u16 = 0x8000;
/// The entry is for new objects in a directory, not for the directory.
const INHERIT_ONLY: u8 = 0x08;
/// The entry is for all new files and directories in it.
const INHERIT: u8 = 0x03;

/// `S-1-5-18`, the system; `S-1-5-32-544`, administrators; and TrustedInstaller.
const TRUSTED: [(u8, &[u32]); 3] = [
    (5, &[18]),
    (5, &[32, 544]),
    (
        5,
        &[
            80,
            956_008_885,
            3_418_522_649,
            1_831_038_044,
            1_853_292_631,
            2_271_478_464,
        ],
    ),
];

/// `S-1-3-0`, whoever creates something here, and `S-1-3-4`, whoever owns this: nobody
/// but the owner.
const OWNERS: [(u8, &[u32]); 2] = [(3, &[0]), (3, &[4])];

/// The owner and the mode that a descriptor amounts to.
pub(crate) fn owner_and_mode(descriptor: &[u8], user: &[u8], is_directory: bool) -> (u32, u32) {
    let Some(found) = Descriptor::read(descriptor) else {
        return UNKNOWN;
    };
    let owner = match found.owner {
        owner if owner == user => USER,
        owner if is_among(owner, &TRUSTED) => SYSTEM,
        _ => STRANGER,
    };
    let mode = match found.others(user) {
        Some(rights) if rights & !HARMLESS == 0 => SHUT,
        Some(rights) if is_directory && rights & !(HARMLESS | ADD) == 0 => SHARED,
        _ => OPEN,
    };
    (owner, mode)
}

/// Whether the object belongs to the user, and nobody else has any right to it.
pub fn is_private(descriptor: &[u8], user: &[u8]) -> bool {
    Descriptor::read(descriptor)
        .is_some_and(|found| found.owner == user && found.others(user) == Some(0))
}

/// The descriptor of an object that belongs to the user alone.
pub fn private_to(user: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX).to_le_bytes();
    // Head, owner, list.
    let owner_at = 20;
    let list_at = owner_at + user.len();
    let mut all = vec![1, 0];
    all.extend((SELF_RELATIVE | DACL_PRESENT | DACL_PROTECTED).to_le_bytes());
    for offset in [owner_at, 0, 0, list_at] {
        all.extend(u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes());
    }
    all.extend(user);
    let entry = 8 + user.len();
    all.extend([2, 0]);
    all.extend(length(8 + entry));
    all.extend([1, 0, 0, 0, 0, INHERIT]);
    all.extend(length(entry));
    all.extend(ALL.to_le_bytes());
    all.extend(user);
    all
}

/// The fields of a descriptor that count.
struct Descriptor<'a> {
    owner: &'a [u8],
    /// The entries of the access list.
    list: &'a [u8],
    entries: u16,
}

impl<'a> Descriptor<'a> {
    /// None means that there is no list: then everybody has all rights.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let control = u16_at(bytes, 2)?;
        let offset = |at| {
            let offset = usize::try_from(u32_at(bytes, at)?).ok()?;
            (offset != 0).then_some(offset)
        };
        let (owner, list) = (offset(4)?, offset(16)?);
        if control & DACL_PRESENT == 0 || control & SELF_RELATIVE == 0 {
            return None;
        }
        let size = usize::from(u16_at(bytes, list + 2)?);
        Some(Self {
            owner: sid(bytes.get(owner..)?)?,
            entries: u16_at(bytes, list + 4)?,
            list: bytes.get(list + 8..list.checked_add(size)?)?,
        })
    }

    /// All rights of others than the user and those who are trusted. None means that
    /// the list cannot be understood.
    fn others(&self, user: &[u8]) -> Option<u32> {
        let (mut rights, mut rest) = (0, self.list);
        for _ in 0..self.entries {
            let size = usize::from(u16_at(rest, 2)?);
            let (kind, flags) = (*rest.first()?, *rest.get(1)?);
            let entry = rest.get(..size).filter(|entry| entry.len() >= 8)?;
            rest = rest.get(size..)?;
            match kind {
                _ if flags & INHERIT_ONLY != 0 => {}
                // Allowed, also under a condition, which we do not check.
                0 | 9 => {
                    let who = sid(entry.get(8..)?)?;
                    if who != user && !is_among(who, &TRUSTED) && !is_among(who, &OWNERS) {
                        rights |= u32_at(entry, 4)?;
                    }
                }
                // Denied.
                1 | 6 | 10 | 12 => {}
                _ => return None,
            }
        }
        Some(rights)
    }
}

/// The security identifier at the start of `bytes`.
fn sid(bytes: &[u8]) -> Option<&[u8]> {
    (*bytes.first()? == 1)
        .then_some(bytes)?
        .get(..8 + 4 * usize::from(*bytes.get(1)?))
}

fn is_among(sid: &[u8], these: &[(u8, &[u32])]) -> bool {
    these.iter().any(|(authority, parts)| {
        sid.get(2..8) == Some(&[0, 0, 0, 0, 0, *authority])
            && sid.len() == 8 + 4 * parts.len()
            && parts
                .iter()
                .enumerate()
                .all(|(index, part)| u32_at(sid, 8 + 4 * index) == Some(*part))
    })
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests;
