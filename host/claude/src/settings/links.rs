//! The links by which a project has the client read texts for the model elsewhere. The client
//! follows them outside of its sandbox and past its rules.

use super::project::tops;
use crate::paths::holds_home;
use keyhole_walk::printable::printable;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders in `.claude` with texts for the model, each with how many names deep the client
/// looks there (2.1.290 and 2.1.332): a skill is `skills/NAME/SKILL.md`, two names deep.
const FOLDERS_OF_TEXTS: [(&str, usize); 5] = [
    ("skills", 2),
    ("commands", MAX_NAMES),
    ("output-styles", MAX_NAMES),
    ("agents", MAX_NAMES),
    ("rules", MAX_NAMES),
];
/// The name with this number, and those after it, are not looked at. Few projects have a hundred.
const MAX_NAMES: usize = 1_000;

/// A name in a project's `.claude` that leads elsewhere, or may.
#[derive(Debug)]
pub struct Link {
    /// The name, for people.
    pub shown: String,
    /// What the name leads to. None if nothing is there, or if nobody looked.
    pub real: Option<PathBuf>,
    /// Whether the name may lead out of the project.
    pub is_outward: bool,
}

/// The links for which a search looks ([`Search::look_at`]) in the `.claude` of this folder and of
/// each folder above it, up to the top of the repository; or in this folder alone, if it is in no
/// repository. A folder that is or holds the home is the user's, and is left out. Empty if all are
/// left out, or if there are no such links. Sorted by their names.
pub(super) fn links(folder: &Path, home: &Path) -> Vec<Link> {
    let tops = tops(folder);
    let top = tops.first().map_or(folder, PathBuf::as_path);
    let mut folders: Vec<&Path> = folder.ancestors().collect();
    folders.retain(|above| above.starts_with(top) && !holds_home(above, home));
    // The highest folder that is left counts as the project.
    let Some(project) = folders.last() else {
        return Vec::new();
    };
    let mut search = Search {
        project,
        looked_at: 0,
        links: Vec::new(),
    };
    for above in &folders {
        for (name, depth) in FOLDERS_OF_TEXTS {
            search.look_at(&above.join(".claude").join(name), depth);
        }
    }
    search.links.sort_by(|one, next| one.shown.cmp(&next.shown));
    search.links
}

/// A search for links in a project.
struct Search<'a> {
    /// The project's folder. No part of this path is a link.
    project: &'a Path,
    /// How many names were looked at, or were to be.
    looked_at: usize,
    /// The links that were found.
    links: Vec<Link>,
}

impl Search<'_> {
    /// Looks at this name in `.claude`, which may not exist. There are four cases:
    ///
    /// - The name is a folder in the project: looks at each name in this folder if `depth` is not
    ///   0, with a depth of one less. A plugin's folder is searched to any depth: a skill may be a
    ///   plugin, which has skills of its own (2.1.290).
    /// - The name leads to a folder outside of the project: adds a link.
    /// - The name ends in `.md`, and its path has a link, or leads nowhere: adds a link.
    /// - Else nothing is added.
    ///
    /// The 1,000th name and those after it are not looked at. They add one link together.
    fn look_at(&mut self, name: &Path, depth: usize) {
        self.looked_at += 1;
        if self.looked_at >= MAX_NAMES {
            if self.looked_at == MAX_NAMES {
                self.links.push(Link {
                    shown: format!("a name in .claude past the first {MAX_NAMES}"),
                    real: None,
                    is_outward: true,
                });
            }
            return;
        }
        let real = fs::canonicalize(name).ok();
        let is_folder = real.as_deref().is_some_and(Path::is_dir);
        let is_inside = real
            .as_deref()
            .is_some_and(|real| real.starts_with(self.project));
        if is_inside && is_folder {
            let is_plugin = name.join(".claude-plugin").exists();
            let own_depth = if is_plugin { MAX_NAMES } else { depth };
            if own_depth > 0 {
                for entry in fs::read_dir(name).into_iter().flatten().flatten() {
                    self.look_at(&entry.path(), own_depth - 1);
                }
            }
            return;
        }
        let is_text = name.extension().is_some_and(|ending| ending == "md");
        // A folder in the project was handled above, so this one is outside. If a path has no link,
        // its real path is the same.
        if is_folder || is_text && real.as_deref() != Some(name) {
            let shown = name.strip_prefix(self.project).unwrap_or(name);
            self.links.push(Link {
                shown: printable(shown),
                real,
                is_outward: !is_inside,
            });
        }
    }
}
