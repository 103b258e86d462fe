//! A scene: a small disk, what others may do, and the calls to the host.

use crate::{
    disk::{Disk, Label},
    moves::{Move, Path},
    save::{Save, Stage},
};

/// One call to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The file of this key.
    Key(&'static str),
    /// The one document of this binding. Its key, as the user wrote it, is the second.
    Bound(&'static str, &'static str),
}

/// The outcome of the first call if nobody makes a move. A scene in which the host never
/// serves anything could not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calm {
    /// The text of this label.
    Served(Label),
    /// A refusal, by the walker's stricter rules.
    Refused,
}

/// See the module.
pub struct Scene {
    /// Its name in tests and seeds.
    pub name: &'static str,
    /// The disk before the first call.
    pub disk: Disk,
    /// Where the map is.
    pub map: Path,
    /// Its roots, for the resolution as it was before the walker.
    pub roots: &'static [Path],
    /// What may happen between two steps.
    pub moves: Vec<Move>,
    /// What the user saves in the meantime.
    pub saves: Vec<Save>,
    /// The calls, one after the other, to one server.
    pub asks: Vec<Ask>,
    /// Whose texts the map, as its owner left it, grants to this call.
    pub grants: fn(&[Stage], usize) -> &'static [Label],
    /// The outcome of the first call if nobody makes a move.
    pub calm: Calm,
    /// Whether the key [`OTHER_KEY`] must be served, whatever has happened.
    pub other: bool,
    /// The most moves that the tests try.
    pub depth: usize,
}

/// A valid key of a file that nobody else can reach.
pub const OTHER_KEY: &str = "k-other";
/// The text of its file.
pub const OTHER_TEXT: &str = "the other document";
/// A key that only the attacker's map has.
pub const FORGED_KEY: &str = "k-forged";

impl Scene {
    /// A scene with the user's other document and diary, before anything of its own.
    #[must_use]
    pub fn new(name: &'static str, map: Path) -> Self {
        let mut disk = Disk::default();
        let jane = crate::disk::JANE;
        disk.file("/home/jane/other.md", jane, 0o600, "other", OTHER_TEXT);
        disk.file("/home/jane/diary.md", jane, 0o600, "diary", "dear diary");
        Self {
            name,
            disk,
            map,
            roots: &[],
            moves: Vec::new(),
            saves: Vec::new(),
            asks: vec![Ask::Key("k")],
            grants: |_, _| &["note", crate::moves::MALLORYS],
            calm: Calm::Served("note"),
            other: true,
            depth: 2,
        }
    }

    /// Adds a save, and its steps to the moves.
    pub fn save(&mut self, save: Save) {
        self.moves.push(Move::Save(self.saves.len()));
        self.saves.push(save);
    }
}
