//! The table as it is written. An unknown field is an error.

use crate::text::Text;
use serde::Deserialize;

/// The whole of `guest/cases.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) case: Vec<RawCase>,
}

/// One `[[case]]`. See the head of the table for each field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawCase {
    pub(crate) name: String,
    pub(crate) why: Option<String>,
    #[serde(default)]
    pub(crate) tree: Vec<RawEntry>,
    pub(crate) grant: Option<RawGrant>,
    pub(crate) preopen: Option<bool>,
    pub(crate) key: Option<Text>,
    pub(crate) granted_key: Option<Text>,
    pub(crate) ok: Option<Text>,
    pub(crate) ok_hex: Option<Text>,
    pub(crate) ok_from: Option<Text>,
    pub(crate) error: Option<String>,
}

/// The host's answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawGrant {
    pub(crate) name: Text,
    pub(crate) max_bytes: Option<Number>,
}

/// A number, as digits in a string if it is beyond TOML's 63 bits.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Plain(u64),
    Digits(String),
}

/// Something to create.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawEntry {
    pub(crate) path: Text,
    pub(crate) text: Option<Text>,
    pub(crate) hex: Option<Text>,
    pub(crate) size: Option<u64>,
    pub(crate) link: Option<Text>,
    pub(crate) make: Option<Make>,
    pub(crate) mode: Option<u32>,
}

/// A kind of object without content.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Make {
    Directory,
    Fifo,
    Socket,
}
