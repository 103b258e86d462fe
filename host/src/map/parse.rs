//! Turns the map's text into its entries. It looks nothing up in the file system.

use super::{
    Location, Map, ParseError, Said,
    entries::Entries,
    events,
    reader::{Fault, Reader},
};
use crate::limits::MAX_MAP_BYTES;
use std::mem;
use toml::de::DeTable;
use zeroize::Zeroizing;

/// The TOML parser's messages say where a mistake is, but seldom what to write instead.
const TOML_HELP: &str = r#"under [keys] each line reads "KEY" = "PATH", in straight quotes, a \ written as \\, and no name occurs twice"#;

impl Map {
    /// Reads a map. All of it must be valid: an unknown field, a key that occurs twice
    /// or a number out of range is an error, never replaced by a default.
    ///
    /// # Errors
    /// The first mistake in the order of the file. A mistake in the TOML itself comes
    /// before all others.
    pub fn parse(bytes: &[u8], location: &Location) -> Result<Self, ParseError> {
        Self::parse_kept(Zeroizing::new(bytes.to_vec()), location, false)
    }

    /// As [`Self::parse`]. The map keeps these bytes. A large one is read by several threads,
    /// if it may be.
    pub(super) fn parse_kept(
        mut bytes: Zeroizing<Vec<u8>>,
        location: &Location,
        by_threads: bool,
    ) -> Result<Self, ParseError> {
        let text = match String::from_utf8(mem::take(&mut *bytes)) {
            Ok(text) => Zeroizing::new(text),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let bytes = Zeroizing::new(error.into_bytes());
                let good = String::from_utf8_lossy(bytes.get(..good).unwrap_or_default());
                let end = good.len()..good.len();
                return Err(ParseError::new(
                    &good,
                    end,
                    "the map is not UTF-8 from here on".into(),
                    None,
                ));
            }
        };
        if text.len() as u64 > MAX_MAP_BYTES {
            let message = format!("the map is larger than {MAX_MAP_BYTES} bytes");
            return Err(ParseError::new(&text, 0..0, message, None));
        }
        let parts = match by_threads {
            true => (text.len() / events::PART).clamp(1, events::PARTS),
            false => 1,
        };
        let said = match events::read(&text, location, events::TOKENS, parts) {
            Some(said) => said,
            None => Said::parse_whole(&text, location)?,
        };
        Ok(Self {
            location: location.clone(),
            text,
            said,
        })
    }

    /// The same text in the ways that it could be read: as one document, and then by events,
    /// with so many tokens at once, by one thread and by several. None if it is not read so. Only
    /// for the fuzzer, which compares them.
    #[doc(hidden)]
    pub fn parse_in_each_way(
        text: &str,
        location: &Location,
        tokens: usize,
    ) -> (Result<Self, ParseError>, [Option<Self>; 2]) {
        let map = |said| Self {
            location: location.clone(),
            text: text.to_owned().into(),
            said,
        };
        let whole = Said::parse_whole(text, location).map(map);
        let by_events =
            [1, events::PARTS].map(|parts| events::read(text, location, tokens, parts).map(map));
        (whole, by_events)
    }
}

impl Said {
    /// As [`Map::parse`], as one document, however large it is.
    pub(super) fn parse_whole(text: &str, location: &Location) -> Result<Self, ParseError> {
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = format!("not TOML: {}", error.message());
            ParseError::new(text, span, message, Some(TOML_HELP.into()))
        })?;
        let mut reader = Reader::new(text, location.home().is_some());
        let said = reader.map(document.get_ref());
        let entries = reader.into_entries().and_then(|entries| {
            // TOML knows no table that has a name twice.
            Entries::of(text, vec![entries])
                .ok_or_else(|| Fault::at_the_start("a key stands twice"))
        });
        entries
            .map(|entries| Said { entries, ..said })
            .map_err(|fault| fault.of(text))
    }
}

#[cfg(test)]
mod tests;
