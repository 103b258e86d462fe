//! What can be wrong with the settings, or switched off in them.

use super::file::{NotLoaded, Unread};
use crate::rules::OddPlace;

/// The page for an administrator.
const COMPANY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/company.md");

/// A way in which an agent gets its file, or what keeps the main conversation from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The plugin's agent.
    Plugin,
    /// An agent's file that starts a server.
    Agent,
    /// The deny rules of the user's settings.
    Rules,
}

/// Makes the faults. Each row has its stable id, the ways that stop by it, what it means in one
/// line, and the sentence for the user: what is wrong, what it means, and what to do.
macro_rules! faults {
    ($($(#[$when:meta])* $fault:ident $({ $($field:ident: $type:ty),* })? $id:literal [$($way:ident),*]
        $meaning:literal ($($sentence:tt)*);)*) => {
        /// Something that is wrong with the settings, or switched off in them. `file` is which, as
        /// the user is to see it, and `why` is why it says nothing.
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        #[allow(missing_docs, reason = "the fields, which the enum explains")]
        pub enum Fault {
            $(
                #[doc = $meaning]
                $(#[$when])*
                #[error($($sentence)*)]
                $fault $({ $($field: $type),* })?,
            )*
        }

        impl Fault {
            /// Each fault's id, and what the fault means.
            pub const MEANINGS: [(&'static str, &'static str); [$($id),*].len()] =
                [$(($id, $meaning)),*];

            /// The stable id.
            pub const fn id(&self) -> &'static str {
                match self { $(Self::$fault { .. } => $id,)* }
            }

            /// The ways that do not work then.
            pub const fn ways(&self) -> &'static [Way] {
                match self { $(Self::$fault { .. } => &[$(Way::$way),*],)* }
            }
        }
    };
}

faults! {
    SettingsNotLoaded { file: String, why: NotLoaded } "settings-not-loaded" [Plugin, Rules]
        "Claude Code may load nothing of the user's settings, so no deny rule, hook or plugin in them counts."
        ("{file} {why}. Claude Code may load nothing of this file then: no deny rule, hook or plugin in it counts. Fix it, and check again");
    OddPlace { place: OddPlace } "odd-place" [Rules]
        "A variable of the environment leads to a place that no rule can name, so no rule can keep what is there."
        ("{place}");
    SettingsUnread { file: String, why: Unread } "settings-unread" []
        "A project's settings cannot be read here, so what they say is unknown."
        ("{file} {why}, so what it says is unknown");
    HooksOff { file: String } "hooks-off" [Plugin, Agent]
        "Settings switch all hooks off, so no hook and no mod runs, and no agent gets its file."
        ("disableAllHooks is true in {file}, so no hook and no mod runs, and no agent gets its file. Take it out");
    MapElsewhere { name: &'static str } "map-elsewhere" [Plugin, Agent]
        "Settings give Claude Code's servers another home or another XDG_CONFIG_HOME, so they look for the map elsewhere: no agent gets its file, and nothing asks before a value is published."
        ("settings set {name} in env, so Claude Code's servers look for the map elsewhere: no agent gets its file, and nothing asks before a value is published. Take it out, or set the same in your shell");
    PluginOff { file: String } "plugin-off" [Plugin]
        "A project's or an administrator's settings switch the plugin off, so the plugin's agent is not there."
        ("{file} switches the plugin off");
    PluginGone "plugin-gone" [Plugin]
        "The plugin is switched on, but not installed, or its folder is gone, so Claude Code does not load the plugin, and nothing asks before a value is published."
        ("settings switch the plugin on, but it is not installed, or its folder is gone, so Claude Code does not load the plugin. Type `claude plugin marketplace add FOLDER`, with the folder of the plugin's release, and then `claude plugin install keyhole@keyhole`");
    ManagedUnread { file: String, why: Unread } "managed-unread" []
        "An administrator's settings cannot be read here, so what they decide is unknown."
        ("{file} {why}, so what an administrator decided there is unknown");
    ManagedServers { file: String } "managed-servers" [Plugin, Agent]
        "An administrator has decided which servers may run, so neither the plugin's server nor a server of your own agent gives a file."
        ("an administrator set {file}: only the servers that it allows run, so neither the plugin's agent nor your own agents' servers give a file. A hook (keyhole inject) still does");
    ManagedHooksOnly "managed-hooks-only" [Plugin, Agent]
        "An administrator allows no hooks but their own, so no agent gets its file."
        ("an administrator set allowManagedHooksOnly: no hook of yours or of a plugin runs, so no agent gets its file");
    ServersNotAllowed "servers-not-allowed" [Plugin]
        "Settings list the servers that may run, and that of the plugin's agent is not among them, so the agent gets no file."
        ("allowedMcpServers is set without the server keyhole_privacy_scanner, so the plugin's agent gets no file: {} says what to list", COMPANY);
    ServersNeedMods "servers-need-mods" []
        "Settings list the servers that may run, without the command of the plugin's shared server, so the agent gets no file where no mods load."
        ("allowedMcpServers is set without the command of the plugin's shared server: in a client that loads no mods, the plugin's agent gets no file. {} says what to list", COMPANY);
    OwnServersNotAllowed "own-servers-not-allowed" [Agent]
        "Settings list the servers that may run, and that of an own agent is not among them, so this agent gets no file."
        ("allowedMcpServers is set without the server of an agent of yours, so that agent gets no file. The server has its binding's name");
    ServersByCommand "servers-by-command" []
        "Settings list the commands of the servers that may run, so a name alone lets none of Keyhole's run."
        ("allowedMcpServers is set with serverCommand: a server of Keyhole's runs only if its whole command is listed, whose paths are not compared here");
    PluginDenied { entry: String } "plugin-denied" [Plugin]
        "Settings deny the plugin's agent, its tool or its server, so the agent gets no file."
        ("settings have {entry}, so the plugin's agent gets no file. Take it out");
    OwnDenied { entry: String } "own-denied" [Agent]
        "Settings deny an own agent, its tool or its server, so this agent gets no file."
        ("settings have {entry}, so an agent of yours gets no file. Take it out");
    MarketplaceNotAllowed "marketplace-not-allowed" [Plugin]
        "An administrator lists the marketplaces that are allowed, and the plugin's is not among them, so it cannot be installed."
        ("an administrator set strictKnownMarketplaces: the plugin's marketplace is not among those that are allowed, so the plugin cannot be installed");
    ManagedRulesOnly "managed-rules-only" [Rules]
        "An administrator allows no rules but their own, so the user's deny rules do not count."
        ("an administrator set allowManagedPermissionRulesOnly: no deny rule of yours counts, so the main conversation may read your file. Only an administrator's settings can hold these rules");
    OwnAgentsOff "own-agents-off" [Agent]
        "An administrator switched the user's own agents off. The plugin's agent is not."
        ("an administrator set strictPluginOnlyCustomization: your own agents are off. The plugin's agent is not");
    OwnServersOff "own-servers-off" [Agent]
        "An administrator switched the servers of the user's own agents off, so these get no file. The plugin's agent does."
        ("an administrator set strictPluginOnlyCustomization: the servers of your own agents are off, so they get no file. The plugin's agent is not");
    OwnHooksOff "own-hooks-off" [Agent]
        "An administrator switched the user's own hooks off, so the user's own agents get no file. The plugin's agent does."
        ("an administrator set strictPluginOnlyCustomization or allowManagedHooksOnly: your own hooks are off, so your own agents get no file. The plugin's agent is not");
    ModsOff "mods-off" []
        "An administrator switched mods off, so the main conversation sees the tool of the plugin's agent, and is refused."
        ("an administrator set allowManagedModsOnly: mods are off, so the main conversation sees the tool of the plugin's agent, and is refused");
    /// This fault is told wherever an administrator has any settings on this machine.
    ManagedElsewhere "managed-elsewhere" []
        "What an administrator decides by a server or by device management cannot be read here."
        ("what an administrator decides by a server or by device management (MDM) cannot be read here: /status in Claude Code names these sources");
}

impl Fault {
    /// Whether the plugin's hook does not ask then before a value is published.
    pub const fn stops_gate(&self) -> bool {
        matches!(
            self,
            Self::SettingsNotLoaded { .. }
                | Self::HooksOff { .. }
                | Self::PluginOff { .. }
                | Self::PluginGone
                | Self::ManagedHooksOnly
        )
    }
}
