//! What the client demands of a settings file. It loads nothing of one with a wrong value.

use super::items;
use Place::{At, EachCommand, EachGroup, EachHook, EachPlugin};
use Presence::{Optional, Required};
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
    /// The first wrong value of these settings, in the order of [`SHAPES`].
    pub(super) fn first(settings: &Value) -> Option<Self> {
        if !settings.is_object() && !settings.is_null() {
            return Some(Self {
                key: "the file".to_owned(),
                wanted: Shape::Object.words(),
            });
        }
        for (shape, places) in SHAPES {
            for place in *places {
                for (key, value) in place.values(settings) {
                    if !shape.fits(value) {
                        let key = printable_text(&key);
                        let wanted = shape.words();
                        return Some(Self { key, wanted });
                    }
                }
            }
        }
        None
    }

    /// Whether the value is one of hooks. Some versions of the client load its file all the same.
    pub(super) fn is_of_hooks(&self) -> bool {
        self.key.starts_with("hooks")
    }
}

/// What a value must be.
enum Shape {
    Object,
    /// Anything but a list with an object in it.
    NoListOfObjects,
    List,
    ListOrNull,
    /// A list of texts.
    Texts,
    Text,
    /// A number above 0.
    Positive,
    Boolean,
    BooleanOrTexts,
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// Where a value is.
enum Place {
    /// At this JSON pointer, if anything is there.
    At(&'static str),
    /// Each member of `enabledPlugins`.
    EachPlugin,
    /// This key in each group of hooks, which are listed under each of [`EVENTS`].
    EachGroup(&'static str, Presence),
    /// This key in each hook, which are listed in each group.
    EachHook(&'static str, Presence),
    /// This key in each hook that is a command. It must be there.
    EachCommand(&'static str),
}

/// Whether a key must be there.
#[derive(Clone, Copy)]
enum Presence {
    Required,
    Optional,
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

/// What each value must be, wherever it is there.
const SHAPES: &[(Shape, &[Place])] = &[
    (
        Shape::Object,
        &[
            At("/permissions"),
            At("/env"),
            At("/enabledPlugins"),
            At("/sandbox"),
            At("/sandbox/ignoreViolations"),
            At("/sandbox/network"),
            At("/sandbox/filesystem"),
            At("/sandbox/credentials"),
        ],
    ),
    (Shape::NoListOfObjects, &[At("/hooks")]),
    (
        Shape::List,
        &[
            At("/permissions/allow"),
            At("/permissions/deny"),
            At("/permissions/ask"),
            EachGroup("hooks", Required),
        ],
    ),
    (
        Shape::ListOrNull,
        &[At("/hooks/PreToolUse"), At("/hooks/PermissionRequest")],
    ),
    (
        Shape::Texts,
        &[
            At("/permissions/additionalDirectories"),
            At("/sandbox/excludedCommands"),
            At("/sandbox/network/allowedDomains"),
            At("/sandbox/filesystem/allowWrite"),
            At("/sandbox/filesystem/denyRead"),
            At("/sandbox/filesystem/denyWrite"),
        ],
    ),
    (
        Shape::Text,
        &[
            EachGroup("matcher", Optional),
            EachHook("type", Required),
            EachCommand("command"),
        ],
    ),
    (Shape::Positive, &[EachHook("timeout", Optional)]),
    (
        Shape::Boolean,
        &[
            At("/disableAllHooks"),
            At("/permissions/blockReadsOutsideWorkingDirectories"),
            At("/sandbox/enabled"),
            At("/sandbox/failIfUnavailable"),
            At("/sandbox/autoAllowBashIfSandboxed"),
            At("/sandbox/allowUnsandboxedCommands"),
            At("/sandbox/enableWeakerNestedSandbox"),
        ],
    ),
    (Shape::BooleanOrTexts, &[EachPlugin]),
    (
        Shape::OneOf(&["disable"]),
        &[
            At("/permissions/disableBypassPermissionsMode"),
            At("/permissions/disableAutoMode"),
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
        &[At("/permissions/defaultMode")],
    ),
];

impl Shape {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::NoListOfObjects => !items(value).iter().any(Value::is_object),
            Self::List => value.is_array(),
            Self::ListOrNull => value.is_array() || value.is_null(),
            Self::Texts => are_texts(value),
            Self::Text => value.is_string(),
            Self::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            Self::Boolean => value.is_boolean(),
            Self::BooleanOrTexts => value.is_boolean() || are_texts(value),
            Self::OneOf(texts) => value.as_str().is_some_and(|text| texts.contains(&text)),
        }
    }

    /// What a value of this shape is, in words.
    fn words(&self) -> String {
        match self {
            Self::Object | Self::NoListOfObjects => "an object".to_owned(),
            Self::List | Self::ListOrNull => "a list".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Positive => "a number above 0".to_owned(),
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

impl Place {
    /// Each value that is at this place, or must be, with its key for people.
    fn values<'a>(&self, settings: &'a Value) -> Vec<(String, &'a Value)> {
        let mut values = Vec::new();
        match *self {
            At(pointer) => {
                let key = pointer.trim_start_matches('/').replace('/', ".");
                values.extend(settings.pointer(pointer).map(|value| (key, value)));
            }
            EachPlugin => {
                let plugins = settings["enabledPlugins"].as_object();
                for (name, value) in plugins.into_iter().flatten() {
                    values.push((format!("enabledPlugins.{name}"), value));
                }
            }
            EachGroup(name, presence) => {
                for (event, group) in groups(settings) {
                    let value = presence.of(group, name);
                    values.extend(value.map(|value| (format!("hooks.{event}.{name}"), value)));
                }
            }
            EachHook(name, presence) => {
                for (event, hook) in hooks(settings) {
                    let value = presence.of(hook, name);
                    values
                        .extend(value.map(|value| (format!("hooks.{event}.hooks.{name}"), value)));
                }
            }
            EachCommand(name) => {
                for (event, hook) in hooks(settings) {
                    if hook["type"] == "command" {
                        values.push((format!("hooks.{event}.hooks.{name}"), &hook[name]));
                    }
                }
            }
        }
        values
    }
}

impl Presence {
    /// The value of a key. It is null if the key is required and not there.
    fn of<'a>(self, parent: &'a Value, key: &str) -> Option<&'a Value> {
        match self {
            Required => Some(&parent[key]),
            Optional => parent.get(key),
        }
    }
}

/// The groups of hooks, each with its event.
fn groups(settings: &Value) -> Vec<(&str, &Value)> {
    let mut groups = Vec::new();
    for (event, listed) in settings["hooks"].as_object().into_iter().flatten() {
        if EVENTS.contains(&&**event) {
            groups.extend(items(listed).iter().map(|group| (&**event, group)));
        }
    }
    groups
}

/// The hooks of all groups, each with its event.
fn hooks(settings: &Value) -> Vec<(&str, &Value)> {
    let mut hooks = Vec::new();
    for (event, group) in groups(settings) {
        hooks.extend(items(&group["hooks"]).iter().map(|hook| (event, hook)));
    }
    hooks
}

fn are_texts(value: &Value) -> bool {
    value.is_array() && items(value).iter().all(Value::is_string)
}
