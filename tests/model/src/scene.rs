//! What a scene is: a small disk, what others may do, and what the host is asked.

use crate::{
    disk::{Disk, Label},
    moves::{Move, Path},
    save::{Save, Stage},
};

/// What the host is asked in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The file of this key.
    Key(&'static str),
    /// The one document of this binding. Its key, as the user wrote it, is the second.
    Bound(&'static str, &'static str),
}

/// What comes of the first call if nobody moves. A scene in which nothing is ever
/// served could not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calm {
    /// The text of this label.
    Served(Label),
    /// A refusal, by the walker's stricter rules.
    Refused,
}

/// See the module.
pub struct Scene {
    /// As tests and seeds name it.
    pub name: &'static str,
    /// The disk before the first call.
    pub disk: Disk,
    /// Where the map is.
    pub map: Path,
    /// Its roots, for the resolution as it was before the walker.
    pub roots: &'static [Path],
    /// What may happen between two steps.
    pub moves: Vec<Move>,
    /// What the user saves meanwhile.
    pub saves: Vec<Save>,
    /// One call after the other, by one server.
    pub asks: Vec<Ask>,
    /// Whose texts the map, as its owner left it, grants to this call.
    pub grants: fn(&[Stage], usize) -> &'static [Label],
    /// What comes of the first call if nobody moves.
    pub calm: Calm,
    /// Whether the key [`OTHER_KEY`] must be served, whatever has happened.
    pub other: bool,
    /// How many moves are tried.
    pub depth: usize,
}

/// A valid key of a file that nobody else can reach.
pub const OTHER_KEY: &str = "k-other";
/// What it stands for.
pub const OTHER_TEXT: &str = "the other document";
/// A key that only a map of the attacker has.
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
