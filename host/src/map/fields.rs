//! What each value in the map may be.

use super::{
    Key,
    binding::KeySource,
    key::{KeyError, check},
    reader::{Reader, Value},
};
use crate::{
    agent::AgentName,
    limits::MAX_MAX_BYTES,
    os::{is_from_root, odd_path},
    printable::is_unprintable,
};
use std::ops::Range;
use toml::de::DeValue;

/// The message about a text that cannot be a root.
const ROOT: &str = match cfg!(windows) {
    true => "a root must begin with a drive (C:\\) or ~/",
    false => "a root must begin with / or ~/",
};

/// Each function reads one value. If the value is wrong, it notes the mistake and
/// returns None.
impl Reader<'_> {
    /// The list of roots: absolute, or under `~/`.
    pub(super) fn roots(&mut self, value: &Value<'_>) -> Option<Box<[Box<str>]>> {
        self.list(
            value,
            "with no roots, every file is refused; name one, or remove the line",
            |reader, text, span| {
                let path = reader.path(text, span.clone())?;
                if is_from_root(path) || path.starts_with("~/") {
                    Some(path.into())
                } else {
                    reader.fault(span, ROOT.into(), None)
                }
            },
        )
    }

    /// The list of agents that may use a key.
    pub(super) fn agents(&mut self, value: &Value<'_>) -> Option<Box<[AgentName]>> {
        self.list(
            value,
            "with no agents, nobody may use the key; name one, or remove the field",
            |reader, text, span| {
                let message = match check(text) {
                    // Each name of this form is an agent's.
                    Ok(()) => return text.try_into().ok(),
                    Err(KeyError::Empty) => "an agent's name is empty",
                    Err(KeyError::TooLong) => "an agent's name is longer than 128 characters",
                    Err(KeyError::NotVisibleAscii) => {
                        "an agent's name may hold visible ASCII characters only, no blanks"
                    }
                };
                reader.fault(span, message.into(), None)
            },
        )
    }

    /// A list of strings that is not empty, each read by `item`.
    fn list<T>(
        &mut self,
        value: &Value<'_>,
        empty: &str,
        item: impl Fn(&mut Self, &str, Range<usize>) -> Option<T>,
    ) -> Option<Box<[T]>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(value, "a list of strings", value.get_ref());
            return None;
        };
        if items.is_empty() {
            return self.fault(
                value.span(),
                "this list is empty".into(),
                Some(empty.into()),
            );
        }
        items
            .iter()
            .map(|value| {
                self.string(value)
                    .and_then(|text| item(self, text, value.span()))
            })
            .collect()
    }

    /// A path in a form that a map may contain. Whether it leads anywhere is only known
    /// at each call.
    pub(super) fn path<'p>(&mut self, path: &'p str, span: Range<usize>) -> Option<&'p str> {
        let (message, help) = if path.is_empty() {
            ("a path is empty", None)
        } else if path.contains('\0') {
            ("a path holds a NUL character", None)
        } else if path.starts_with('~') && !path.starts_with("~/") {
            (
                "only ~/ is expanded, to your own home",
                Some("write the path out, or ./~… for a name that begins with ~"),
            )
        } else if path.starts_with("~/") && !self.has_home {
            (
                "~/ has no meaning here: HOME is not set to an absolute path",
                None,
            )
        } else if let Some(why) = odd_path(path) {
            (why, None)
        } else {
            return Some(path);
        };
        self.fault(span, message.into(), help.map(Into::into))
    }

    /// Where a binding's key is, by the field that says so.
    pub(super) fn key_source(&mut self, field: &str, value: &Value<'_>) -> Option<KeySource> {
        let text = self.string(value)?;
        match field {
            "key" => match Key::try_from(text) {
                Ok(key) => Some(KeySource::Here(key)),
                Err(error) => self.fault(value.span(), error.to_string(), None),
            },
            "key_file" => self
                .path(text, value.span())
                .map(|path| KeySource::File(path.into())),
            _ => {
                let mut bytes = text.bytes();
                let starts = bytes
                    .next()
                    .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
                if starts && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    return Some(KeySource::Variable(text.into()));
                }
                self.fault(
                    value.span(),
                    "key_env is the name of a variable: letters, digits and _".into(),
                    None,
                )
            }
        }
    }

    /// A text that a client shows and a model reads: one line of 1 to `most`
    /// characters, without `secret`.
    pub(super) fn label(
        &mut self,
        value: &Value<'_>,
        most: usize,
        secret: Option<&Key>,
    ) -> Option<Box<str>> {
        let text = self.string(value)?;
        let message = if !(1..=most).contains(&text.chars().count()) {
            format!("this text must have 1 to {most} characters")
        } else if text.chars().any(is_unprintable) {
            "this text holds a control or direction character; write it in one line, without".into()
        } else if secret.is_some_and(|key| text.contains(key.expose())) {
            "this text holds the key, and clients show it".into()
        } else {
            return Some(text.into());
        };
        self.fault(value.span(), message, None)
    }

    /// A limit in bytes.
    pub(super) fn max_bytes(&mut self, value: &Value<'_>) -> Option<u64> {
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(value, "a number of bytes", value.get_ref());
            return None;
        };
        match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(bytes @ 1..=MAX_MAX_BYTES) => Some(bytes),
            _ => self.fault(
                value.span(),
                format!("max_bytes must be 1 to {MAX_MAX_BYTES}"),
                None,
            ),
        }
    }

    /// A string, whatever it contains.
    pub(super) fn string<'a>(&mut self, value: &'a Value<'_>) -> Option<&'a str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            other => {
                self.wrong_type(value, "a string", other);
                None
            }
        }
    }
}
