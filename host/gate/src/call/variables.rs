//! What the variables of a shell's command stand for, as far as the command or the environment
//! says.

use super::words::{is_variable, split_at_variable};
use std::{collections::BTreeMap, env};

/// The values of variables are replaced so many times in a row: a value may name a variable.
const MAX_ROUNDS: usize = 3;

/// The bytes that values add to the words of a call at most. So a long call costs as much as it is
/// long.
const MAX_ADDED_BYTES: usize = 1 << 20;

/// The variables whose values are known from the call itself.
#[derive(Default)]
pub(super) struct Variables {
    /// The values of each. One that is set twice, or by a loop, has several.
    values: BTreeMap<String, Vec<String>>,
    /// See [`MAX_ADDED_BYTES`].
    added_bytes: usize,
}

impl Variables {
    /// Whether the values have added more bytes than are looked at. Then no more are added.
    pub(super) const fn is_too_much(&self) -> bool {
        self.added_bytes > MAX_ADDED_BYTES
    }

    /// Gives this variable these values, in place of those that it had.
    pub(super) fn set(&mut self, name: &str, values: Vec<String>) {
        self.values.insert(name.to_owned(), values);
    }

    /// Notes the values that a command gives to variables: to `D` the value `a` with `D=a`, and `a`
    /// and `b` with `for D in a b`. A variable keeps the values that it had. A word such as `--x=a`
    /// gives none: `--x` is no variable's name.
    pub(super) fn note(&mut self, words: &[String]) {
        for word in words {
            if let Some((name, value)) = word.split_once('=')
                && is_variable(name)
            {
                self.add_value(name, value);
            }
        }
        let mut loop_words = words.iter().skip_while(|word| *word != "for").skip(1);
        if let Some(name) = loop_words.next() {
            for value in loop_words.skip_while(|word| *word != "in").skip(1) {
                self.add_value(name, value);
            }
        }
    }

    fn add_value(&mut self, name: &str, value: &str) {
        let values = self.values.entry(name.to_owned()).or_default();
        values.push(value.to_owned());
    }

    /// The words of a command in which each variable with a single known value is replaced. With
    /// `G='git -C a'`, `$G push` is `git -C a push`: a word that is only a variable may become
    /// several words. With `D=a`, `$D/x` is the one word `a/x`. A word whose variable has no known
    /// value, or several, stays as it is.
    pub(super) fn expanded(&mut self, command: &[String]) -> Vec<String> {
        let mut words = Vec::new();
        for word in command {
            let meanings = self.meanings(word);
            let [only] = meanings.as_slice() else {
                words.push(word.clone());
                continue;
            };
            match split_at_variable(word) {
                Some(("", _, "")) => words.extend(only.split_whitespace().map(str::to_owned)),
                _ => words.push(only.clone()),
            }
        }
        words
    }

    /// All that a word may mean: with `D=a` and later `D=b`, `$D/x` means `a/x` and `b/x`. A word
    /// without a variable means itself, and so does one whose variable nobody knows.
    pub(super) fn meanings(&mut self, word: &str) -> Vec<String> {
        let mut meanings = vec![word.to_owned()];
        for _ in 0..MAX_ROUNDS {
            let mut replaced = Vec::new();
            for meaning in meanings {
                self.add_replaced(meaning, &mut replaced);
            }
            meanings = replaced;
        }
        meanings
    }

    /// Adds this word to `replaced`, once with each value of its first variable, which the call or
    /// the environment gives. Without a variable, or if nobody knows a value, adds the word as it
    /// is. Stops if there is [too much](Self::is_too_much).
    fn add_replaced(&mut self, word: String, replaced: &mut Vec<String>) {
        let Some((before, name, behind)) = split_at_variable(&word) else {
            replaced.push(word);
            return;
        };
        let inherited = env::var(name).ok().map(|value| vec![value]);
        let Some(values) = self.values.get(name).or(inherited.as_ref()) else {
            replaced.push(word);
            return;
        };
        for value in values {
            self.added_bytes += word.len() + value.len();
            if self.added_bytes > MAX_ADDED_BYTES {
                return;
            }
            replaced.push(format!("{before}{value}{behind}"));
        }
    }
}
