//! The list of common words: a part of SCOWL, as LICENSE-SCOWL says.

use std::sync::LazyLock;

/// How common a word of the list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// It says nothing by itself, as `the`.
    SaysNothing,
    /// It is common, as `house`.
    Ordinary,
    /// It is less common, as `doctor`, and so tells more.
    Rare,
}

/// Words of English in lower case, one a line, sorted, and the rank of each: 0, 1 or 2.
static COMMON_WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../words.txt").lines().collect());

/// The rank of a word, in any case of its letters: `SaysNothing` for `The`. None for `Larkspur`,
/// which the list does not have.
pub(crate) fn rank(word: &str) -> Option<Rank> {
    let small = word.to_ascii_lowercase();
    let found = COMMON_WORDS.binary_search_by_key(&&*small, |line| without_rank(line));
    match COMMON_WORDS.get(found.ok()?)?.bytes().last()? {
        b'0' => Some(Rank::SaysNothing),
        b'1' => Some(Rank::Ordinary),
        _ => Some(Rank::Rare),
    }
}

/// Words of the names of fields, in lower case and without accents, sorted: `name`, `telefon`.
static WORDS_OF_FIELDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../fields.txt").lines().collect());

/// Whether a word, of which these are the folded letters, stands in names of fields: `phone` does,
/// and `larkspur` does not.
pub(crate) fn is_word_of_field(letters: &str) -> bool {
    WORDS_OF_FIELDS.binary_search(&letters).is_ok()
}

/// The word of a line: `the` of `the 0`.
fn without_rank(line: &'static str) -> &'static str {
    line.trim_end_matches([' ', '0', '1', '2'])
}
