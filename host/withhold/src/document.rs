//! Which words of a Markdown document are values: a report that has them quotes it.

use crate::letters::is_mark;
use crate::run::{LONG_NUMBER, Run, Runs, hash};
use crate::words::{NOTHING, PHONE, Word, digits_in, words_in as cut};
use std::collections::HashSet;

/// The most words that are compared as one value. Of a longer line, its parts are values.
pub(crate) const MAX_WORDS: usize = 12;

/// A run of words is a value if it has so many points.
const POINTS: usize = 6;
/// A number, or a code such as `P-017`, is a value from so many characters on.
const SHORT: usize = 4;
/// A part of a line, if it is at most so many words, may be a value.
const SHORT_PART: usize = 3;
/// What stands between a label and its value.
const ENDS_LABEL: [char; 4] = [':', '：', '=', '＝'];
/// No label goes on behind these: a list does, or a sentence, a URL, a command.
const NOT_IN_A_LABEL: &str = ",|;|，|、|；|،|؛|\t|–|—|·| / |://|?| -";
/// What may stand before the content of a line.
const BEFORE: [char; 3] = ['>', ' ', '\t'];

#[derive(Default)]
pub(crate) struct Document {
    pub(crate) values: Runs,
    /// Names that a report must not have with an ending either, by their hash.
    pub(crate) names: HashSet<u64>,
    /// Names of rules that are given as such: headings, ids.
    pub(crate) rules: Runs,
}

impl Document {
    pub(crate) fn read(text: &str) -> Self {
        let mut document = Self::default();
        let (mut code, mut names_rules) = (None::<&str>, false);
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let is_end = |c: char| "\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}\0".contains(c);
        let mut lines = text.split(is_end).peekable();
        while let Some(line) = lines.next() {
            let content = line.trim_start_matches(BEFORE);
            let (quotes, indent) = depth(line);
            let item = without_marker(content);
            let next = *lines.peek().unwrap_or(&"");
            let under = next.trim_matches(|c| "> |-:\t".contains(c));
            let is_under_columns = under.is_empty() && next.contains('|') && next.contains('-');
            // Without a bar, the table ends.
            names_rules &= content.contains('|');
            let marks = fence(item);
            if let Some(open) = code {
                if marks == Some(item.trim_end()) && item.starts_with(open) {
                    code = None;
                } else {
                    document.piece(content, false);
                }
            } else if marks.is_some() {
                code = marks;
            } else if let Some(heading) = heading(content, next).filter(|_| indent < 4) {
                for part in [heading].into_iter().chain(parts(heading).next()) {
                    add(&mut document.rules, &cut(part));
                }
            } else if content.contains('|') && is_under_columns {
                names_rules = cells(content).next().is_some_and(is_id);
            } else {
                // An item may have blank lines and text of its own below it.
                let is_deeper = |line: &str| depth(line).0 == quotes && depth(line).1 > indent;
                let is_text = |line: &&str| {
                    let text = line.trim_start_matches(BEFORE);
                    text.is_empty() || is_deeper(line) && without_marker(text) == text
                };
                let mut below = lines.clone().skip_while(is_text);
                let is_above = item != content && below.next().is_some_and(is_deeper);
                let is_term = next.starts_with(": ") && !line.starts_with(": ");
                let row = item.strip_prefix('|').unwrap_or(item);
                for (index, cell) in cells(item).enumerate() {
                    let is_rule = names_rules && index == 0 && row.starts_with(cell);
                    if is_rule {
                        document.id(&cut(cell));
                    }
                    document.piece(cell, is_above || is_rule || is_term);
                }
            }
        }
        document
    }

    /// The name of a rule. One with a long number may be a person's.
    fn id(&mut self, words: &[Word]) {
        if digits_in(words) < LONG_NUMBER {
            add(&mut self.rules, words);
        }
    }

    /// What stands in one line, item or cell. It may name what follows.
    fn piece(&mut self, text: &str, is_label: bool) {
        let words = cut(text);
        let start_of = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let of = |part: &str| {
            let start = start_of(part);
            let first = words.partition_point(|word| word.at.start < start);
            let end = words.partition_point(|word| word.at.end <= start + part.len());
            words.get(first..end).unwrap_or_default()
        };
        let (mut label, mut value) = labelled(text);
        if is_id(label) {
            let (id, rest) = value.split_at(end_of_id(value));
            self.id(of(id));
            (label, value) = text.split_at(text.len() - rest.len());
        }
        let is_sentence = label.split_whitespace().count() > 4;
        let label = if is_label { &*words } else { of(label) };
        self.runs(&words, label.len());
        let is_names = label.iter().all(Word::is_like_a_name);
        if is_sentence || label.len() > 1 && is_names {
            self.names(label);
        }
        if is_label {
            return;
        }
        self.value(of(value));
        let coded = if is_sentence { text } else { value };
        for chunk in coded.split_whitespace() {
            let words = of(chunk);
            let is_code = words.iter().any(|word| word.digits > 0);
            if words.len() > 1 && (is_code || chunk.contains('_')) && !chunk.ends_with(':') {
                self.value(words);
            }
        }
        let is_quote = |c: char| "\"`“”„«»‹›「」『』｢｣＂〝〞〟﹁﹂﹃﹄《》【】״".contains(c);
        let mut names_rule = false;
        let parts = parts(value).map(|part| {
            let (label, value) = labelled(part);
            (part, label, without_marker(value.trim_start()))
        });
        let parts: Vec<_> = parts.collect();
        let is_long = |(.., value): &&(_, _, &str)| value.split_whitespace().count() > SHORT_PART;
        let long = parts.iter().filter(is_long).count();
        let is_list = long == 0 || long * 3 <= parts.len() && !value.contains(is_quote);
        for (part, label, value) in parts {
            let before = text.get(..start_of(part)).unwrap_or_default();
            let after = text.get(before.len() + part.len()..).unwrap_or_default();
            let is_inside = before.ends_with('«') && after.starts_with('»') || part.trim() == part;
            let is_quoted = is_inside && before.ends_with(is_quote) && after.starts_with(is_quote);
            let behind = after.trim_start_matches(is_quote).trim_start();
            if is_quoted && behind.starts_with(ENDS_LABEL) {
                names_rule = is_id(part);
                continue;
            }
            if is_quoted && std::mem::take(&mut names_rule) || is_id(label) {
                self.id(of(value));
            }
            if is_list || is_quoted {
                self.value(of(value));
                self.value(of(if is_quoted { part } else { value }));
            }
            self.names(of(value));
        }
    }

    /// Words that are names: the list does not have them.
    fn names(&mut self, words: &[Word]) {
        let blanks = words.iter().skip(1).filter(|word| word.has_blank).count();
        let is_name = |word: &Word| word.may_be_name() && (word.is_capital || blanks < SHORT_PART);
        for (index, word) in words.iter().enumerate().filter(|(_, word)| is_name(word)) {
            // Also with the `O'` before it.
            let first = index.saturating_sub(usize::from(word.has_gap && !word.has_blank));
            for first in first..=index {
                let name = words.get(first..=index).unwrap_or_default();
                add(&mut self.values, name);
            }
            self.names.insert(hash(0, &word.letters));
        }
    }

    /// Adds these words as a value, unless they say nothing or are too many.
    fn value(&mut self, words: &[Word]) {
        let says = |word: &Word| match word {
            word if word.is_number || word.digits > 0 && word.size < 3 => 0,
            word if word.is_alone => 1,
            word => 2 * (word.points - NOTHING),
        };
        let size: usize = words.iter().map(|word| word.size).sum();
        let digits = digits_in(words);
        let is_code = digits > 0 && words.len() > 1 && words.iter().skip(1).all(|w| !w.has_blank);
        let is_long = digits >= SHORT || is_code && size >= SHORT;
        let is_name = words.len() > 1 && words.iter().all(|word| word.is_capital);
        if is_long || is_name || words.iter().map(says).sum::<usize>() > 1 {
            add(&mut self.values, words);
        }
    }

    /// The shortest quotation at each word, and the longest numbers. Of a label, only names.
    fn runs(&mut self, words: &[Word], of_label: usize) {
        for code in words.split(|word| word.digits == 0) {
            self.code(code);
        }
        for (start, word) in words.iter().enumerate() {
            let rest = words.get(start..).unwrap_or_default();
            let is_apart = rest.get(1).is_none_or(|next| next.has_gap);
            if word.points == NOTHING && !word.is_number && (word.is_alone || is_apart) {
                continue;
            }
            let mut runs = (1..=MAX_WORDS).map_while(|size| rest.get(..size));
            let run = runs.find(|run| is_quotation(run)).unwrap_or_default();
            if start >= of_label || run.iter().all(Word::is_like_a_name) {
                self.value(run);
            }
        }
    }

    /// Words with digits, as long as they follow one another.
    fn code(&mut self, words: &[Word]) {
        let digits = digits_in(words);
        // A shorter word of letters and digits is none, such as `sha256`.
        let is_long = |word: &&Word| !word.is_number && word.size > 6;
        if digits >= LONG_NUMBER || words.iter().any(|word| is_long(&word)) {
            self.value(words);
        }
        for word in words.iter().filter(is_long) {
            self.value(std::slice::from_ref(word));
        }
        // A phone number without the country's code, or the zero that stands for it.
        let number: String = words.iter().map(|word| &*word.letters).collect();
        let is_number = words.iter().all(|word| word.is_number);
        for code in (0..4).filter(|code| is_number && digits >= PHONE + code) {
            let rest = number.trim_start_matches('0').get(code..);
            let rest = rest.unwrap_or_default().trim_start_matches('0');
            if rest.len() >= LONG_NUMBER {
                add(&mut self.values, &cut(rest));
            }
        }
    }
}

/// Adds all these words as one run, if they are not too many.
fn add(runs: &mut Runs, words: &[Word]) {
    if (1..=MAX_WORDS).contains(&words.len()) {
        let mut run = Run::default();
        words.iter().for_each(|word| run.push(&word.letters, word));
        run.add_to(runs);
    }
}

/// Whether these words of a longer line are as many as a quotation has.
fn is_quotation(words: &[Word]) -> bool {
    if words.iter().all(|word| word.is_number) {
        // A year and a month are no number.
        let digits = digits_in(words);
        return digits >= LONG_NUMBER + usize::from(words.len() > 1);
    }
    let own = || words.iter().filter(|word| word.points > NOTHING);
    let of_own: usize = own().map(|word| word.points).sum();
    let of_all: usize = words.iter().map(|word| word.points).sum();
    of_all >= POINTS && of_own >= POINTS - 2 && own().any(|word| !word.is_number)
}

/// The parts of a line that punctuation sets apart, or a word such as `and`.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    // Behind ` #` and ` ^`, Obsidian has a tag or an id.
    let marks = "->|=>|  | #| ^|\t| //| --|<!--| <|<br>";
    let ands = "- / & + · and or und oder et ou y e och og 和 与 及 以及 或 跟 と や および 及び または และ หรือ กับ और या và و او اور أو ثم או או и или 그리고 또는 ve oraz i és en та і și και ή ja dan 및 與 និង ແລະ နှင့် sowie bzw. ir dhe və sekä eta agus với hoặc й або یا և ու და እና మరియు లేదా ಮತ್ತು ಅಥವಾ અને અથવા आणि किंवा ਅਤੇ ਜਾਂ ও এবং বা மற்றும் அல்லது एवं तथा සහ && vs. aka alias";
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let found = text.char_indices().find_map(|(at, c)| {
            let (part, here) = (!c.is_ascii_alphanumeric()).then(|| text.split_at(at))?;
            let is_and = |word| ands.split(' ').any(|and| and.eq_ignore_ascii_case(word));
            let word = here.strip_prefix(' ').and_then(|here| here.split_once(' '));
            let behind_word = word.and_then(|(word, behind)| is_and(word).then_some(behind));
            let sign = marks.split('|').find_map(|mark| here.strip_prefix(mark));
            let mark = sign.or_else(|| here.strip_prefix(is_mark)).or(behind_word);
            // A list's number may stand directly before a word.
            let is_word = |text: &&str| text.starts_with(|c: char| !c.is_ascii());
            let is_name = |text: &&str| is_word(text) || text.starts_with(char::is_uppercase);
            let dot = || here.strip_prefix('.').filter(is_word);
            let slash = || here.strip_prefix('/').filter(is_name);
            Some((part, mark.or_else(dot).or_else(slash)?))
        });
        rest = found.map(|(_, behind)| behind);
        Some(found.map_or(text, |(part, _)| part))
    })
    .filter(|part| !part.trim().is_empty())
}

/// A label of up to eight words, and what stands behind it.
fn labelled(text: &str) -> (&str, &str) {
    // A reader does not see these marks, or a tag.
    let is_blank = |c: char| c.is_whitespace() || "*_`<".contains(c);
    let count = |label: &str| label.split_whitespace().count();
    // To look at all of a long line for each of its marks would take too long.
    let start = text.split_at(text.floor_char_boundary(256)).0;
    let mut marks = start.match_indices(ENDS_LABEL);
    let found = marks.find_map(|(at, mark)| {
        let (label, value) = text.split_at(at + mark.len());
        let is_last = |c: char| !c.is_numeric() && !c.is_whitespace() && c != ':';
        let is_apart = label.contains('.') || value.starts_with(['/', '\\', ':']);
        let is_glued = !is_apart && count(label) < 5 && text.get(..at)?.ends_with(is_last);
        let is_end = mark != ":" || value.is_empty() || value.starts_with(is_blank) || is_glued;
        is_end.then_some((label, value))
    });
    let is_open = |text: &str| text.rfind(['(', '[', '（']) > text.rfind([')', ']', '）']);
    let has = |text: &str, marks: &str| marks.split('|').any(|mark| text.contains(mark));
    let is_label = |text: &str| count(text) < 9 && !is_open(text) && !has(text, NOT_IN_A_LABEL);
    let found = found.filter(|(label, _)| is_label(label));
    found.unwrap_or_else(|| text.split_at(0))
}

/// Where the name of a rule ends that stands behind a label.
fn end_of_id(value: &str) -> usize {
    let value = value.split(" #").next().unwrap_or(value);
    let mut quotes = ['"', '\'', '`'].into_iter();
    let quote = quotes.find(|quote| value.trim_start().starts_with(*quote));
    let ends = [",;}( ", ",;}("][usize::from(value.starts_with(' '))];
    let is_end = |c: char| quote.map_or(ends.contains(c), |quote| c == quote);
    let end = value.match_indices(is_end).nth(quote.iter().count());
    end.map_or(value.len(), |(at, _)| at)
}

/// Whether it says that a rule's name follows.
fn is_id(label: &str) -> bool {
    let name: String = label.chars().filter(|c| c.is_alphanumeric()).collect();
    ["id", "rule", "ruleid"].contains(&name.to_lowercase().as_str())
}

/// The text of a heading in this line. A line of `=` under a text makes it one. A line of `-` may
/// also be a rule between two values, or the end of what is at the top of many files.
fn heading<'l>(line: &'l str, next: &str) -> Option<&'l str> {
    let text = line.trim_start_matches('#');
    let is_marked = line.len() - text.len() <= 6 && text.starts_with([' ', '\t']) && text != line;
    let is_over = next.contains('=') && next.trim().trim_matches('=').is_empty();
    (is_marked || is_over && without_marker(line) == line).then_some(text)
}

/// The marks of a line that begins or ends a block of code. Another kind, or fewer, end none.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let marks = line.strip_suffix(rest)?;
    (marks.len() > 2 && (mark == '~' || !rest.contains('`'))).then_some(marks)
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split('|').filter(|cell| !cell.trim().is_empty())
}

/// How deep a line stands in quotes, and in lists.
fn depth(line: &str) -> (usize, usize) {
    let before = line.split_at(line.len() - line.trim_start_matches(BEFORE).len());
    let blanks = before.0.rsplit('>').next();
    (before.0.matches('>').count(), blanks.map_or(0, str::len))
}

/// The line without the marks of a list: `-`, `1.`, `가.`, `[x]`.
fn without_marker(mut line: &str) -> &str {
    let is_digit = |c: char| c.is_numeric() || ".가나다라마바사아자차카타파하".contains(c);
    while let Some((mark, rest)) = line.split_once([' ', '\t']) {
        let number = mark.strip_suffix(['.', ')', '．']).unwrap_or("-");
        let is_letter = number.len() == 1 && number.starts_with(|c: char| c.is_ascii_lowercase());
        let is_number = is_letter || number.chars().all(is_digit);
        if !is_number && !matches!(mark, "-" | "*" | "+" | "[" | "]" | "[x]" | "[X]") {
            break;
        }
        line = rest.trim_start();
    }
    line
}
