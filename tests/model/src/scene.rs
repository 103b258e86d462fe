//! A scene: a small disk, what others may do, and the calls to the host.

use crate::{
    disk::{Disk, JANE, Label},
    moves::{Move, Path},
    save::{Save, Stage},
};
use keyhole_core::Refusal;

/// See the module.
pub struct Scene {
    /// Its name in tests.
    pub name: String,
    pub(crate) disk: Disk,
    pub(crate) map: Path,
    /// What may happen between two steps.
    pub(crate) moves: Vec<Move>,
    /// What the user saves in the meantime.
    pub(crate) saves: Vec<Save>,
    /// The keys of the calls, one after the other, to one server.
    pub(crate) asks: Vec<&'static str>,
    /// Whose texts the map, as its owner left it, grants to this call.
    pub(crate) grants: fn(&[Stage], usize) -> &'static [Label],
    /// The outcome of the first call if nobody makes a move: whose text, or why none.
    pub(crate) calm: Result<Label, Refusal>,
    /// Whether the key [`OTHER_KEY`] must be served, whatever has happened.
    pub(crate) other: bool,
    /// The most moves that the tests try.
    pub depth: usize,
}

/// The note that most maps grant.
pub(crate) const NOTE: &str = "/home/jane/note.md";
/// A valid key of a file that nobody else can reach.
pub(crate) const OTHER_KEY: &str = "k-other";
pub(crate) const OTHER_TEXT: &str = "the other document";

impl Scene {
    /// A scene with the user's note, other document and diary, before anything of its own.
    pub(crate) fn new(name: &str, map: Path) -> Self {
        let mut disk = Disk::default();
        disk.file(NOTE, JANE, 0o600, "note", "a note");
        disk.file("/home/jane/other.md", JANE, 0o600, "other", OTHER_TEXT);
        disk.file("/home/jane/diary.md", JANE, 0o600, "diary", "dear diary");
        Self {
            name: name.into(),
            disk,
            map,
            moves: Vec::new(),
            saves: Vec::new(),
            asks: vec!["k"],
            grants: |_, _| &["note"],
            calm: Ok("note"),
            other: true,
            depth: 2,
        }
    }

    /// The host refuses the first call, if nobody makes a move.
    pub(crate) fn refused(mut self, code: Refusal) -> Self {
        self.calm = Err(code);
        self
    }

    /// The same if the whole map is refused, so that no other key is served either.
    pub(crate) fn without_map(mut self) -> Self {
        self.other = false;
        self.refused(Refusal::MapInvalid)
    }

    /// How many moves there are to choose from, in all calls.
    pub fn width(&self) -> usize {
        self.moves.len() * self.asks.len()
    }

    /// Adds a save, and its steps to the moves.
    pub(crate) fn save(&mut self, save: Save) {
        self.moves.push(Move::Save(self.saves.len()));
        self.saves.push(save);
    }
}
