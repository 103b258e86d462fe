//! The list of common words: a part of SCOWL, as LICENSE-SCOWL says.

use std::sync::LazyLock;

/// Words of English in lower case, one a line, sorted, and how common each is: 0 for what says
/// nothing by itself, 1 for an ordinary word, 2 for another.
static LIST: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("../words.txt").lines().collect());

/// What the list says of a word.
pub(crate) fn rank(word: &str) -> Option<u8> {
    let word = word.to_ascii_lowercase();
    let of = |line: &&'static str| line.trim_end_matches([' ', '0', '1', '2']);
    let at = LIST.binary_search_by_key(&&*word, of).ok()?;
    LIST.get(at)?.bytes().last()
}
