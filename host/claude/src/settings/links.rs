//! What a project has the client read through links: texts for the model, which it reads outside of
//! its sandbox and past its rules.

use super::project::tops;
use crate::paths::named_and_real;
use keyhole_walk::printable::printable;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders of `.claude` with such texts, and how many names deep the client looks (2.1.290 and
/// 2.1.332): of a skill, it reads `SKILL.md`.
const FOLDERS_OF_TEXTS: [(&str, usize); 5] = [
    ("skills", 2),
    ("commands", MAX_NAMES),
    ("output-styles", MAX_NAMES),
    ("agents", MAX_NAMES),
    ("rules", MAX_NAMES),
];
/// The most names that are looked at. Few projects have a hundred.
const MAX_NAMES: usize = 1_000;

/// A name in a project's `.claude` that leads elsewhere, or may.
#[derive(Debug)]
pub struct Link {
    /// The name, for people.
    pub shown: String,
    /// What it leads to. None if that is not there, or was not looked at.
    pub real: Option<PathBuf>,
    /// Whether it may lead out of the project.
    pub is_outward: bool,
}

/// The links in [`FOLDERS_OF_TEXTS`] of the project of this folder: in its own `.claude`, and in
/// that of each folder above it up to the top of the repository. Folders that are or hold the home
/// are left out: they are the user's.
pub(super) fn links(folder: &Path, home: &Path) -> Vec<Link> {
    let users = named_and_real(home);
    let tops = tops(folder);
    let top = tops.first().map_or(folder, PathBuf::as_path);
    let mut folders: Vec<&Path> = folder.ancestors().collect();
    folders.retain(|above| above.starts_with(top));
    folders.retain(|above| !users.iter().any(|home| home.starts_with(above)));
    // The highest of these folders is the project's.
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

/// A search for links in a project, whose path has none.
struct Search<'a> {
    project: &'a Path,
    looked_at: usize,
    links: Vec<Link>,
}

impl Search<'_> {
    /// Adds this name to the links in two cases: it leads to a folder outside of the project; or it
    /// ends in `.md`, and leads elsewhere or nowhere.
    ///
    /// If it is a folder in the project, this looks at what is in it, down to `depth` names. In a
    /// plugin, it looks at any depth: a skill may be a plugin, which has skills of its own
    /// (2.1.290). The 1,000th name and those after it are not looked at: they add one link together.
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
            let depth = if is_plugin { MAX_NAMES } else { depth };
            if depth > 0 {
                for found in fs::read_dir(name).into_iter().flatten().flatten() {
                    self.look_at(&found.path(), depth - 1);
                }
            }
            return;
        }
        let is_text = name.extension().is_some_and(|ending| ending == "md");
        // A folder that is left here is outside of the project.
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
