//! What the client demands of a settings file: if one value is wrong, the client loads nothing of
//! the file.

use super::{items, members};
use keyhole_walk::printable::printable_text;
use serde_json::Value;

/// A value for which the client does not load its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has a wrong value: {key} must be {wanted}")]
pub struct WrongValue {
    /// Where the value is, such as `permissions.deny`, or "the file" for all of it.
    key: String,
    /// What the value must be, in words.
    wanted: String,
}

/// Makes sure that the client loads these settings: that each value is what the client demands, of
/// the keys in [`SHAPES`], of plugins, and of hooks. Null is right: then there is no file. Keys and
/// events that are not known here are right with any value.
///
/// # Errors
/// The first value that is not right: `{"model": 1}` gives "model must be a text".
pub(super) fn require_right_values(settings: &Value) -> Result<(), WrongValue> {
    if !settings.is_null() {
        Shape::Object.require("the file", settings)?;
    }
    for (shape, pointers) in SHAPES {
        for pointer in *pointers {
            if let Some(value) = settings.pointer(pointer) {
                let key = pointer.trim_start_matches('/').replace('/', ".");
                shape.require(&key, value)?;
            }
        }
    }
    for (name, value) in members(&settings["enabledPlugins"]) {
        Shape::BooleanOrTexts.require(&format!("enabledPlugins.{name}"), value)?;
    }
    for (event, groups) in members(&settings["hooks"]) {
        if EVENTS.contains(&event.as_str()) {
            for group in items(groups) {
                require_group(&format!("hooks.{event}"), group)?;
            }
        }
    }
    Ok(())
}

/// Makes sure of a group of hooks at a place such as `hooks.Stop`: its matcher is a text, if it has
/// one; its `hooks` are a list; and each hook in the list is right.
///
/// # Errors
/// The first value that is not right, such as `hooks.Stop.matcher`.
fn require_group(place: &str, group: &Value) -> Result<(), WrongValue> {
    if let Some(matcher) = group.get("matcher") {
        Shape::Text.require(&format!("{place}.matcher"), matcher)?;
    }
    let hooks = &group["hooks"];
    let hooks_place = format!("{place}.hooks");
    Shape::List.require(&hooks_place, hooks)?;
    for hook in items(hooks) {
        require_hook(&hooks_place, hook)?;
    }
    Ok(())
}

/// Makes sure of a hook at a place such as `hooks.Stop.hooks`: its command is a text, if its type
/// is `command`; its timeout, if it has one, is a number above 0; and its type is a text.
///
/// # Errors
/// The first value that is not right, such as `hooks.Stop.hooks.timeout`.
fn require_hook(place: &str, hook: &Value) -> Result<(), WrongValue> {
    if hook["type"] == "command" {
        Shape::Text.require(&format!("{place}.command"), &hook["command"])?;
    }
    if let Some(timeout) = hook.get("timeout") {
        Shape::Positive.require(&format!("{place}.timeout"), timeout)?;
    }
    Shape::Text.require(&format!("{place}.type"), &hook["type"])
}

/// What a value must be.
enum Shape {
    Object,
    ObjectOrBoolean,
    List,
    /// A list of objects.
    Objects,
    /// A list of texts.
    Texts,
    Text,
    TextOrTexts,
    /// A number above 0.
    Positive,
    /// A number from 0 to 1.
    Part,
    /// A whole number, at least this one.
    Whole(f64),
    Boolean,
    BooleanOrTexts,
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// The events of hooks that all clients know. A client takes no notice of other events.
const EVENTS: [&str; 9] = [
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "SubagentStart",
    "SubagentStop",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "UserPromptSubmit",
];

/// The largest whole number of JavaScript.
const MAX_WHOLE: f64 = 9_007_199_254_740_991.0;

/// What the value at each of these JSON pointers must be, if there is one. All keys at the top of
/// the file and in `sandbox` are here; of the keys in other objects, those that many users write.
const SHAPES: &[(Shape, &[&str])] = &[
    (
        Shape::Object,
        &[
            "/permissions",
            "/hooks",
            "/env",
            "/enabledPlugins",
            "/sandbox",
            "/sandbox/ignoreViolations",
            "/sandbox/network",
            "/sandbox/filesystem",
            "/sandbox/credentials",
            "/sandbox/network/tlsTerminate",
            "/sandbox/ripgrep",
            "/breakReminder",
            "/fileSuggestion",
            "/modelOverrides",
            "/pluginConfigs",
            "/quietHours",
            "/remote",
            "/remoteTools",
            "/skillOverrides",
            "/spinnerVerbs",
            "/statusLine",
            "/subagentStatusLine",
            "/voice",
            "/worktree",
        ],
    ),
    (Shape::ObjectOrBoolean, &["/attribution"]),
    (
        Shape::List,
        &[
            "/hooks/PreToolUse",
            "/hooks/PermissionRequest",
            "/permissions/allow",
            "/permissions/deny",
            "/permissions/ask",
        ],
    ),
    (
        Shape::Objects,
        &[
            "/sandbox/credentials/files",
            "/sandbox/credentials/envVars",
            "/allowedChannelPlugins",
            "/allowedMarketplaces",
            "/blockedMarketplaces",
            "/sshConfigs",
            "/strictKnownMarketplaces",
        ],
    ),
    (
        Shape::Texts,
        &[
            "/allowedHttpHookUrls",
            "/availableModels",
            "/claudeMdExcludes",
            "/companyAnnouncements",
            "/disabledMcpjsonServers",
            "/enabledMcpjsonServers",
            "/fallbackModel",
            "/httpHookAllowedEnvVars",
            "/pluginSuggestionMarketplaces",
            "/permissions/additionalDirectories",
            "/sandbox/excludedCommands",
            "/sandbox/network/allowedDomains",
            "/sandbox/network/allowMachLookup",
            "/sandbox/network/allowUnixSockets",
            "/sandbox/network/deniedDomains",
            "/sandbox/filesystem/allowWrite",
            "/sandbox/filesystem/allowRead",
            "/sandbox/filesystem/denyRead",
            "/sandbox/filesystem/denyWrite",
        ],
    ),
    (Shape::TextOrTexts, &["/forceLoginOrgUUID"]),
    (
        Shape::Text,
        &[
            "/$schema",
            "/agent",
            "/apiKeyHelper",
            "/attributionProject",
            "/autoMemoryDirectory",
            "/awsAuthRefresh",
            "/awsCredentialExport",
            "/claudeMd",
            "/downloadsMirrorUrl",
            "/gcpAuthRefresh",
            "/language",
            "/minimumVersion",
            "/model",
            "/modelCatalogPublicKey",
            "/modelCatalogUrl",
            "/advisorModel",
            "/otelHeadersHelper",
            "/outputStyle",
            "/plansDirectory",
            "/pluginTrustMessage",
            "/prUrlTemplate",
            "/processWrapper",
            "/proxyAuthHelper",
            "/requiredMaximumVersion",
            "/requiredMinimumVersion",
            "/timeFormat",
            "/timeZone",
            "/statusLine/command",
            "/fileSuggestion/command",
        ],
    ),
    (Shape::Positive, &["/skillListingBudgetFraction"]),
    (
        Shape::Part,
        &["/skillListingBudgetFraction", "/feedbackSurveyRate"],
    ),
    (
        Shape::Whole(1.0),
        &[
            "/cleanupPeriodDays",
            "/skillListingMaxDescChars",
            "/totalTokensReminderBudget",
        ],
    ),
    (Shape::Whole(0.0), &["/desktopSessionCleanupPeriodDays"]),
    (
        Shape::Boolean,
        &[
            "/agentPushNotifEnabled",
            "/allowAllClaudeAiMcps",
            "/allowClaudeInChromeWithManagedMcp",
            "/allowManagedHooksOnly",
            "/allowManagedMcpServersOnly",
            "/allowManagedPermissionRulesOnly",
            "/allowNestedModelAccessUnderForceLogin",
            "/alwaysThinkingEnabled",
            "/autoCompactEnabled",
            "/autoContinueAtUsageLimit",
            "/autoDreamEnabled",
            "/autoMemoryEnabled",
            "/autoScrollEnabled",
            "/autoUploadSessions",
            "/awaySummaryEnabled",
            "/bashEditDiffEnabled",
            "/channelsEnabled",
            "/clawdFileProgressEnabled",
            "/disableAgentView",
            "/disableAllHooks",
            "/disableArtifact",
            "/disableBundledSkills",
            "/disableClaudeAiConnectors",
            "/disableCommandPluginSources",
            "/disableDirectMcpSkills",
            "/disableRemoteControl",
            "/disableReplyCheck",
            "/disableSideloadFlags",
            "/disableSkillShellExecution",
            "/disableWindowsBashCommandSplit",
            "/disableWorkflows",
            "/doneMeansMerged",
            "/emojiCompletionEnabled",
            "/enableAllProjectMcpServers",
            "/enableArtifact",
            "/enableWorkflows",
            "/enforceAvailableModels",
            "/fastMode",
            "/fastModePerSessionOptIn",
            "/fileCheckpointingEnabled",
            "/forceRemoteSettingsRefresh",
            "/idleCompaction",
            "/includeCoAuthoredBy",
            "/includeGitInstructions",
            "/inputNeededNotifEnabled",
            "/isolatePeerMachines",
            "/precomputeCompactionEnabled",
            "/prefersReducedMotion",
            "/promptSuggestionEnabled",
            "/remoteControlAtStartup",
            "/respectGitignore",
            "/respondToBashCommands",
            "/responseComparisonEnabled",
            "/showClearContextOnPlanAccept",
            "/showMessageTimestamps",
            "/showThinkingSummaries",
            "/showTurnDuration",
            "/skipDangerousModePermissionPrompt",
            "/skipWebFetchPreflight",
            "/skipWorkflowUsageWarning",
            "/spinnerTipsEnabled",
            "/switchModelsOnFlag",
            "/syncClaudeAiPlugins",
            "/syncClaudeAiSkills",
            "/syntaxHighlightingDisabled",
            "/terminalProgressBarEnabled",
            "/terminalTitleFromRename",
            "/todoFeatureEnabled",
            "/totalTokensReminderAfterUserTurn",
            "/verbose",
            "/wheelScrollAccelerationEnabled",
            "/workflowKeywordTriggerEnabled",
            "/wslInheritsWindowsSettings",
            "/permissions/blockReadsOutsideWorkingDirectories",
            "/sandbox/enabled",
            "/sandbox/failIfUnavailable",
            "/sandbox/autoAllowBashIfSandboxed",
            "/sandbox/allowUnsandboxedCommands",
            "/sandbox/enableWeakerNestedSandbox",
            "/sandbox/allowAppleEvents",
            "/sandbox/allowNestedUserNamespaces",
            "/sandbox/enableWeakerNetworkIsolation",
            "/sandbox/filesystem/allowManagedReadPathsOnly",
            "/sandbox/filesystem/disabled",
            "/sandbox/network/allowAllUnixSockets",
            "/sandbox/network/allowLocalBinding",
            "/sandbox/network/allowManagedDomainsOnly",
            "/sandbox/network/strictAllowlist",
        ],
    ),
    (
        Shape::OneOf(&["disable"]),
        &[
            "/disableAutoMode",
            "/permissions/disableBypassPermissionsMode",
            "/permissions/disableAutoMode",
        ],
    ),
    (
        Shape::OneOf(&[
            "default",
            "acceptEdits",
            "plan",
            "auto",
            "dontAsk",
            "bypassPermissions",
            "manual",
        ]),
        &["/permissions/defaultMode"],
    ),
    (
        Shape::OneOf(&["command"]),
        &[
            "/statusLine/type",
            "/fileSuggestion/type",
            "/subagentStatusLine/type",
        ],
    ),
    (
        Shape::OneOf(&["append", "replace"]),
        &["/spinnerVerbs/mode"],
    ),
    (
        Shape::OneOf(&["unrestricted", "small", "medium", "large"]),
        &["/workflowSizeGuideline"],
    ),
    (Shape::OneOf(&["bash", "powershell"]), &["/defaultShell"]),
    (
        Shape::OneOf(&["first-wins", "merge"]),
        &["/managedSourcesBehavior", "/parentSettingsBehavior"],
    ),
    (
        Shape::OneOf(&["notify", "quiet", "off"]),
        &["/feedbackDrafts"],
    ),
    (
        Shape::OneOf(&["latest", "stable", "rc"]),
        &["/autoUpdatesChannel"],
    ),
    (Shape::OneOf(&["default", "fullscreen"]), &["/tui"]),
    (
        Shape::OneOf(&["off", "infinite", "fixed", "countdown", "padded-countdown"]),
        &["/totalTokensReminder"],
    ),
    (Shape::OneOf(&["transient", "ask"]), &["/daemonColdStart"]),
];

impl Shape {
    /// Makes sure that the value at this key has this shape.
    ///
    /// # Errors
    /// If the value has another shape: the key, and what the value must be.
    fn require(&self, key: &str, value: &Value) -> Result<(), WrongValue> {
        if self.fits(value) {
            return Ok(());
        }
        Err(WrongValue {
            key: printable_text(key),
            wanted: self.words(),
        })
    }

    /// Whether the value has this shape: `[1]` is a list, but not one of texts. An empty list has
    /// the shape of each kind of list.
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::ObjectOrBoolean => value.is_object() || value.is_boolean(),
            Self::List => value.is_array(),
            Self::Objects => is_list_of(value, Value::is_object),
            Self::Texts => is_list_of(value, Value::is_string),
            Self::Text => value.is_string(),
            Self::TextOrTexts => value.is_string() || is_list_of(value, Value::is_string),
            Self::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            Self::Part => value
                .as_f64()
                .is_some_and(|number| (0.0..=1.0).contains(&number)),
            Self::Whole(least) => is_whole(value, *least),
            Self::Boolean => value.is_boolean(),
            Self::BooleanOrTexts => value.is_boolean() || is_list_of(value, Value::is_string),
            Self::OneOf(texts) => value.as_str().is_some_and(|text| texts.contains(&text)),
        }
    }

    /// What a value of this shape must be, in words for the user: "a list of texts", or "first-wins
    /// or merge" for one of several texts. A shape that allows two kinds names only the usual kind:
    /// "a text" for [`Shape::TextOrTexts`].
    fn words(&self) -> String {
        match self {
            Self::Object | Self::ObjectOrBoolean => "an object".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Objects => "a list of objects".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Text | Self::TextOrTexts => "a text".to_owned(),
            Self::Positive => "a number above 0".to_owned(),
            Self::Part => "a number from 0 to 1".to_owned(),
            Self::Whole(least) => format!("a whole number from {least} on"),
            Self::Boolean | Self::BooleanOrTexts => "true or false".to_owned(),
            Self::OneOf(texts) => match texts {
                [others @ .., last] if !others.is_empty() => {
                    format!("{} or {last}", others.join(", "))
                }
                _ => texts.concat(),
            },
        }
    }
}

/// Whether this is a whole number from `least` to [`MAX_WHOLE`]. `30.0` is whole for the client.
fn is_whole(value: &Value, least: f64) -> bool {
    let Some(number) = value.as_f64() else {
        return false;
    };
    number.fract() == 0.0 && number >= least && number <= MAX_WHOLE
}

/// Whether this is a list, and each of its items is of this kind.
fn is_list_of(value: &Value, is_kind: fn(&Value) -> bool) -> bool {
    value.is_array() && items(value).iter().all(is_kind)
}
