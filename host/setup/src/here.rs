//! Which clients are here.

use crate::{User, clients::Client, recipe::Filled, settings::Settings};
use std::path::PathBuf;

impl User<'_> {
    /// What shows that a client is here: a command, or a folder.
    pub fn sign(&self, client: &Client) -> Option<&'static str> {
        if client.is_plugin() {
            let settings = Settings::read(&self.home, self.variable, None);
            let plugins = settings.value["enabledPlugins"].as_object();
            let mut plugins = plugins.into_iter().flatten();
            if plugins.any(|(name, on)| name.starts_with("keyhole@") && *on == true) {
                return Some("~/.claude/settings.json");
            }
        }
        let path = (self.variable)("PATH").unwrap_or_default();
        let filled = Filled::with(client, self, "", Some(""), (client.usual(), None)).ok();
        let is_here = |sign: &&str| {
            let command = |folder: PathBuf| folder.is_absolute() && folder.join(sign).is_file();
            let unmoved = || self.home.join(sign.trim_start_matches("~/"));
            let folder = filled.as_ref().map(|it| it.place(sign, &self.home));
            if sign.starts_with("~/") {
                folder.unwrap_or_else(unmoved).is_dir()
            } else {
                std::env::split_paths(&path).any(command)
            }
        };
        client.here.iter().copied().find(is_here)
    }
}
