//! Where the user's map is.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// The absolute path in the environment variable of this name; `variable` looks it up. None if it
/// is not set, is empty, or is a relative path: the XDG base directory specification ignores these.
pub fn absolute(variable: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(variable(name)?);
    Some(path).filter(|path| path.is_absolute())
}

/// The map that is usual in this folder of the user's configuration.
pub fn map_in(configuration: &Path) -> PathBuf {
    configuration.join("keyhole/context-map.toml")
}

/// Where the map is, and which home `~/` means. It is determined once, at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The map's absolute path. Links are not followed.
    pub file: PathBuf,
    /// What `~/` in the map stands for, if the user has a home.
    pub home: Option<PathBuf>,
    /// Whether the path comes from an argument: it may be anything, even a key in the wrong place.
    pub is_from_option: bool,
}

/// Why the map's location is unknown.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// Nothing says where the user's configuration is.
    #[error(
        "neither HOME nor XDG_CONFIG_HOME is an absolute path; set HOME, or name the map with --map"
    )]
    NoHome,
    /// There is no current directory to which a relative `--map` could be relative.
    #[error("the current directory cannot be found; give --map an absolute path")]
    NoCurrentDirectory(#[source] io::Error),
}

impl Location {
    /// The map's location, whether there is a file or not: `named` if the user named one
    /// (`--map`), else `keyhole/context-map.toml` in `$XDG_CONFIG_HOME`, or else in `~/.config`.
    /// `variable` looks up an environment variable.
    ///
    /// # Errors
    /// [`LocationError::NoCurrentDirectory`] if `named` is empty, or is relative and there is no
    /// directory to begin in. [`LocationError::NoHome`] if nothing is named, and neither `HOME` nor
    /// `XDG_CONFIG_HOME` is an absolute path.
    pub fn find(
        named: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, LocationError> {
        let home = absolute(&variable, "HOME");
        let file = match named {
            Some(path) => std::path::absolute(path).map_err(LocationError::NoCurrentDirectory)?,
            None => {
                let usual = home.as_ref().map(|home| home.join(".config"));
                let folder = absolute(&variable, "XDG_CONFIG_HOME").or(usual);
                map_in(&folder.ok_or(LocationError::NoHome)?)
            }
        };
        Ok(Self {
            file,
            home,
            is_from_option: named.is_some(),
        })
    }

    /// A place where there is no map: for a server that does not know where the user's is.
    pub fn nowhere() -> Self {
        Self {
            file: "/dev/null/context-map.toml".into(),
            home: None,
            is_from_option: false,
        }
    }

    /// Where the map is, in words for a log, which hold no path of the user's: that `--map` names
    /// it, or the usual path, with `~` or `$XDG_CONFIG_HOME` for its beginning.
    pub fn in_words(&self) -> &'static str {
        if self.is_from_option {
            return "the place that --map names";
        }
        let home = self.home.as_deref().unwrap_or(Path::new(""));
        if self.file == map_in(&home.join(".config")) {
            "~/.config/keyhole/context-map.toml"
        } else {
            "$XDG_CONFIG_HOME/keyhole/context-map.toml"
        }
    }

    /// A path from the map, made absolute: `~/a.md` is in the home, `a.md` in the folder of the map
    /// ([`Self::file`]), and `/a.md` stays. None for `~/a.md` if there is no home.
    ///
    /// The folder is the same if the map is a link: so a map that a dotfile manager keeps elsewhere
    /// means the same as one that is here.
    pub fn expand(&self, path: &str) -> Option<PathBuf> {
        if let Some(below) = path.strip_prefix("~/") {
            let home = self.home.as_ref()?;
            // `~//etc` is in the home as well: `join` would leave the home for `/etc`.
            return Some(home.join(below.trim_start_matches('/')));
        }
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        Some(folder.join(path))
    }
}

#[cfg(test)]
mod tests;
