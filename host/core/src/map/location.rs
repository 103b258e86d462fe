//! Where the user's map is.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// The path in the variable of this name, which `variable` looks up. One that is empty or not an
/// absolute path counts as unset, as the XDG base directory specification says.
pub fn absolute(variable: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(variable(name)?);
    path.is_absolute().then_some(path)
}

/// Where the map is, and which home `~/` means. It is determined once, at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The map's absolute path. Links are not followed.
    pub file: PathBuf,
    /// What `~/` in the map stands for, if the user has a home.
    pub home: Option<PathBuf>,
    /// Whether the path comes from an argument: it may be anything, even a key in the wrong place.
    pub is_named: bool,
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
    pub fn find(
        named: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, LocationError> {
        let home = absolute(&variable, "HOME");
        let usual = || Some(home.as_ref()?.join(".config"));
        let file = match named {
            Some(name) => std::path::absolute(name).map_err(LocationError::NoCurrentDirectory)?,
            None => absolute(&variable, "XDG_CONFIG_HOME")
                .or_else(usual)
                .ok_or(LocationError::NoHome)?
                .join("keyhole/context-map.toml"),
        };
        Ok(Self {
            file,
            home,
            is_named: named.is_some(),
        })
    }

    /// A place where there is no map: for a server that does not know where the user's is.
    pub fn nowhere() -> Self {
        Self {
            file: "/dev/null/context-map.toml".into(),
            home: None,
            is_named: false,
        }
    }

    /// Where that is, in words that tell nothing of the user, for a log.
    pub fn in_words(&self) -> &'static str {
        let usual = |home: &Path| home.join(".config/keyhole/context-map.toml");
        match self.home.as_deref().map(usual) {
            _ if self.is_named => "the place that --map names",
            Some(usual) if usual == self.file => "~/.config/keyhole/context-map.toml",
            _ => "$XDG_CONFIG_HOME/keyhole/context-map.toml",
        }
    }

    /// A path from the map, made absolute. None if it begins with `~/`, and there is no home.
    /// Others are relative to the directory in which the map was named. So a map that a dotfile
    /// manager keeps elsewhere means the same as one that is here.
    pub fn expand(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix("~/") {
            // `~//etc` is under the home as well: `join` would leave it.
            Some(rest) => Some(self.home.as_ref()?.join(rest.trim_start_matches('/'))),
            None => Some(self.file.parent().unwrap_or(Path::new("/")).join(path)),
        }
    }
}

#[cfg(test)]
mod tests;
