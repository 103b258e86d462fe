//! The list of common words: a part of SCOWL, as LICENSE-SCOWL says.

use std::cmp::Ordering;

/// Words of English in lower case, one a line, sorted, and how common each is: 0 for what says
/// nothing by itself, 1 for an ordinary word, 2 for another.
static LIST: &str = include_str!("../words.txt");

/// What the list says of a word.
pub(crate) fn rank(word: &str) -> Option<u8> {
    let (mut low, mut high) = (0, LIST.len());
    while low < high {
        let before = LIST.get(..usize::midpoint(low, high))?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let (line, _) = LIST.get(start..)?.split_once('\n')?;
        let (found, rank) = line.split_once(' ')?;
        let letters = word.bytes().map(|byte| byte.to_ascii_lowercase());
        match found.bytes().cmp(letters) {
            Ordering::Equal => return rank.bytes().next(),
            Ordering::Less => low = start + line.len() + 1,
            Ordering::Greater => high = start,
        }
    }
    None
}
