//! What the client demands of a settings file. It loads nothing of one with a wrong value.

use super::items;
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

impl WrongValue {
    /// The first wrong value of these settings: of the keys in [`SHAPES`], then of plugins, then of
    /// hooks. None if the client loads the settings. Null, as of a file that is not there, is
    /// right.
    pub(super) fn first(settings: &Value) -> Option<Self> {
        if !settings.is_null() && !settings.is_object() {
            return Shape::Object.refusal("the file", settings);
        }
        for (shape, pointers) in SHAPES {
            for pointer in *pointers {
                let key = pointer.trim_start_matches('/').replace('/', ".");
                let value = settings.pointer(pointer);
                let wrong = value.and_then(|value| shape.refusal(&key, value));
                if wrong.is_some() {
                    return wrong;
                }
            }
        }
        let mut plugins = members(&settings["enabledPlugins"]);
        let wrong_plugin = plugins.find_map(|(name, value)| {
            Shape::BooleanOrTexts.refusal(&format!("enabledPlugins.{name}"), value)
        });
        let mut hooks = members(&settings["hooks"]);
        wrong_plugin.or_else(|| hooks.find_map(|(event, groups)| wrong_event(event, groups)))
    }
}

/// The first wrong value of the hooks of an event.
fn wrong_event(event: &str, groups: &Value) -> Option<WrongValue> {
    if !EVENTS.contains(&event) {
        return None;
    }
    let place = format!("hooks.{event}");
    items(groups)
        .iter()
        .find_map(|group| wrong_group(&place, group))
}

/// The first wrong value of a group of hooks: its matcher, if it has one, its list, or a hook.
fn wrong_group(place: &str, group: &Value) -> Option<WrongValue> {
    let listed = &group["hooks"];
    let matcher = group.get("matcher");
    matcher
        .and_then(|matcher| Shape::Text.refusal(&format!("{place}.matcher"), matcher))
        .or_else(|| Shape::List.refusal(&format!("{place}.hooks"), listed))
        .or_else(|| {
            items(listed)
                .iter()
                .find_map(|hook| wrong_hook(place, hook))
        })
}

/// The first wrong value of a hook: its command, which must be a text if its type is `command`;
/// then its timeout, if it has one, a number above 0; then its type, a text. None if all are right.
fn wrong_hook(place: &str, hook: &Value) -> Option<WrongValue> {
    let place = format!("{place}.hooks");
    if hook["type"] == "command" {
        let wrong = Shape::Text.refusal(&format!("{place}.command"), &hook["command"]);
        if wrong.is_some() {
            return wrong;
        }
    }
    let timeout = hook.get("timeout");
    timeout
        .and_then(|timeout| Shape::Positive.refusal(&format!("{place}.timeout"), timeout))
        .or_else(|| Shape::Text.refusal(&format!("{place}.type"), &hook["type"]))
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

/// The events of hooks that each client knows. It takes no notice of others.
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

/// What each value must be, wherever it is there, by its JSON pointer: each key of the file, and of
/// the sandbox. Of what is in other objects, it has what many users write.
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
    /// That the value at this key does not fit, if it does not.
    fn refusal(&self, key: &str, value: &Value) -> Option<WrongValue> {
        if self.fits(value) {
            return None;
        }
        Some(WrongValue {
            key: printable_text(key),
            wanted: self.words(),
        })
    }

    /// Whether the value has this shape.
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

    /// What a value of this shape is, in words.
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

/// The members of an object. A value of another kind has none.
fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// Whether this is a whole number, as the client counts `30.0`, and at least that one.
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
