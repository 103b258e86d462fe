//! Whether the client still has our plugin, where settings switch it on.

use super::{Settings, file::parsed, items, marketplaces, switches_plugin_on};
use serde_json::Value;
use std::path::Path;

impl Settings {
    /// Whether Claude Code does not load our plugin although settings switch it on, as
    /// `keyhole@shop`: the plugin is gone from each such marketplace (`shop`). False if no settings
    /// switch the plugin on.
    pub(super) fn is_plugin_gone(&self) -> bool {
        let on = Value::Bool(true);
        let mut names = Vec::new();
        for file in self.all() {
            names.extend(marketplaces(file, &on));
        }
        let mut still_there = names.iter().filter(|name| !self.is_gone_from(name));
        !names.is_empty() && still_there.next().is_none()
    }

    /// Whether the plugin is gone from this marketplace. If settings give the marketplace a folder,
    /// by an absolute path: whether the folder is not there, for the client needs no more. Else, as
    /// for one at GitHub: whether the plugin is not installed from it.
    fn is_gone_from(&self, name: &str) -> bool {
        // A project may not say where the user's plugin is.
        for file in self.users_and_managed() {
            let source = &file["extraKnownMarketplaces"][name]["source"];
            let folder = Path::new(source["path"].as_str().unwrap_or_default());
            if folder.is_absolute() {
                return !folder.exists();
            }
        }
        !self.is_installed(name)
    }

    /// Whether the client has installed our plugin from this marketplace. In the client's folder of
    /// plugins, for `shop`: `known_marketplaces.json` has `shop`, and `installed_plugins.json` has
    /// an `installPath` for `keyhole@shop` that is a folder.
    ///
    /// Also true if an administrator's settings switch the plugin on: then the client installs it
    /// by itself, and notes nothing. And true if the client's folder is not known.
    fn is_installed(&self, name: &str) -> bool {
        let Ok(places) = &self.places else {
            return true;
        };
        if self.managed.iter().any(switches_plugin_on) {
            return true;
        }
        let known = parsed(&places.plugins.join("known_marketplaces.json")).unwrap_or_default();
        let installed = parsed(&places.plugins.join("installed_plugins.json")).unwrap_or_default();
        let copies = items(&installed["plugins"][format!("keyhole@{name}")]).iter();
        let paths = copies.filter_map(|copy| copy["installPath"].as_str());
        let mut folders = paths.map(Path::new).filter(|path| path.is_dir());
        known[name].is_object() && folders.next().is_some()
    }
}
