//! The lines of a Markdown document: which marks begin one, and what they make of it.

/// What may stand before the content of a line.
const QUOTES_AND_BLANKS: [char; 3] = ['>', ' ', '\t'];

/// A heading, such as `## Phone`.
pub(crate) struct Heading<'t> {
    /// What stands behind the marks: ` Phone`.
    pub(crate) text: &'t str,
    /// The level, from 1: 2 for `##`.
    pub(crate) level: usize,
}

/// One line of a document, as `>  - Larkspur`.
pub(crate) struct Line<'t> {
    /// All of the line.
    pub(crate) text: &'t str,
    /// The line without the marks of quotes and the blanks before it: `- Larkspur`.
    pub(crate) content: &'t str,
    /// The content without the marks of a list: `Larkspur`. Without such a mark, the content.
    pub(crate) item: &'t str,
    /// How many marks of quotes (`>`) are before the content: 1.
    quotes: usize,
    /// How many blanks are between these marks and the content: 2.
    indent: usize,
}

impl<'t> Line<'t> {
    /// The line of this text. Of `>  - Larkspur`, the content is `- Larkspur`, the item `Larkspur`,
    /// `quotes` is 1 and `indent` is 2.
    pub(crate) fn of(text: &'t str) -> Self {
        let content = text.trim_start_matches(QUOTES_AND_BLANKS);
        let (before, _) = text.split_at(text.len() - content.len());
        Self {
            text,
            content,
            item: without_marker(content),
            quotes: before.matches('>').count(),
            indent: before.rsplit('>').next().map_or(0, str::len),
        }
    }

    /// Whether it has a list's mark: `- Larkspur` has one, `Larkspur` has none.
    pub(crate) fn is_item(&self) -> bool {
        self.item != self.content
    }

    /// Whether this line has more blanks before its content than the `other` line, and as many
    /// marks of quotes.
    fn is_deeper_than(&self, other: &Self) -> bool {
        self.quotes == other.quotes && self.indent > other.indent
    }

    /// Whether this line is an item above deeper items, as `- Family` above `  - Theo`. `below` are
    /// the lines below this one: blank lines and deeper texts may come before the deeper item.
    ///
    /// False for a line that is no item, and if a line that is no deeper comes before
    /// (`- Friends`), or no deeper item comes at all.
    pub(crate) fn is_above_items(&self, below: impl Iterator<Item = &'t str>) -> bool {
        if !self.is_item() {
            return false;
        }
        for line in below.map(Line::of) {
            if line.content.is_empty() {
                continue;
            }
            if !line.is_deeper_than(self) {
                return false;
            }
            if line.is_item() {
                return true;
            }
        }
        false
    }

    /// The heading that this line is, if it is one. `next` is the line below.
    ///
    /// - One to six `#` with a blank behind them begin a heading: `## Phone` has level 2.
    /// - A text above a line of `=` is a heading of level 1, but an item (`- Phone`) is none.
    /// - None for any other line, such as `#phone`, and for a line with four blanks before it,
    ///   which is code. A text above a line of `-` is no heading either: such a line may also
    ///   separate two values, or end the settings at the top of a file.
    pub(crate) fn heading(&self, next: &str) -> Option<Heading<'t>> {
        if self.indent >= 4 {
            return None;
        }
        let text = self.content.trim_start_matches('#');
        let marks = self.content.len() - text.len();
        let is_marked = (1..=6).contains(&marks) && text.starts_with([' ', '\t']);
        let is_underlined = next.contains('=') && next.trim().trim_matches('=').is_empty();
        if is_marked {
            Some(Heading { text, level: marks })
        } else if is_underlined && !self.is_item() {
            Some(Heading { text, level: 1 })
        } else {
            None
        }
    }

    /// Whether this line names the columns of a table: `| Bank | IBAN |` above the line `next`, if
    /// that has only bars and dashes, as `|---|---|`. A row above another row does not.
    pub(crate) fn is_table_head(&self, next: &str) -> bool {
        let has_bars_and_dashes = next.contains('|') && next.contains('-');
        let other_signs = next.trim_matches(|c| "> |-:\t".contains(c));
        self.content.contains('|') && has_bars_and_dashes && other_signs.is_empty()
    }

    /// Whether the line `next` explains this line, as `: our next product` explains `Larkspur`. A
    /// line that begins with `: ` itself is not explained.
    pub(crate) fn is_explained_by(&self, next: &str) -> bool {
        next.starts_with(": ") && !self.text.starts_with(": ")
    }

    /// The marks with which this line begins or ends a block of code: "```" of "```sh", and `~~~~`
    /// of `- ~~~~`. None if the item does not begin with three "`" or `~`, and for "```sh```",
    /// which is code within a line.
    pub(crate) fn code_marks(&self) -> Option<&'t str> {
        let line = self.item;
        let mark = line.chars().next()?;
        if !matches!(mark, '`' | '~') {
            return None;
        }
        let behind = line.trim_start_matches(mark);
        let (marks, _) = line.split_at(line.len() - behind.len());
        let is_code_in_line = mark == '`' && behind.contains(mark);
        if marks.len() < 3 || is_code_in_line {
            return None;
        }
        Some(marks)
    }

    /// Whether this line ends the block of code that the marks `open` began. A block that "```"
    /// began is ended by "```" and "````", and not by "``", `~~~` or "```sh".
    pub(crate) fn ends_code_of(&self, open: &str) -> bool {
        self.code_marks() == Some(self.item.trim_end()) && self.item.starts_with(open)
    }
}

/// What stands between the bars of a row: ` Bank ` and ` IBAN ` of `| Bank | | IBAN |`. A cell of
/// blanks is left out. A line without a bar is one cell.
pub(crate) fn filled_cells(line: &str) -> impl Iterator<Item = &str> {
    line.split('|').filter(|cell| !cell.trim().is_empty())
}

/// The line without the marks of a list, each of which has a blank behind it: `Larkspur` of
/// `- [x] Larkspur` and of `1. Larkspur`. `-Larkspur` has no mark, and is returned as it is.
pub(crate) fn without_marker(line: &str) -> &str {
    let mut item = line;
    while let Some((word, behind)) = item.split_once([' ', '\t']) {
        if !is_marker(word) {
            break;
        }
        item = behind.trim_start();
    }
    item
}

/// Whether this word is a mark of a list: `-`, `*` or `+`; a box, as `[x]`, or a half of `[ ]`; or
/// a number or letter with a dot or bracket behind it, as `1.`, `1.2.`, `a)` and `가.`. `1` and
/// `ab.` are none.
fn is_marker(word: &str) -> bool {
    if matches!(word, "-" | "*" | "+" | "[" | "]" | "[x]" | "[X]") {
        return true;
    }
    let Some(number) = word.strip_suffix(['.', ')', '．']) else {
        return false;
    };
    let is_letter = number.len() == 1 && number.starts_with(|c: char| c.is_ascii_lowercase());
    is_letter || number.chars().all(is_in_number)
}

/// Whether a number of an item may have this character: a digit, a dot, or a Korean letter.
fn is_in_number(c: char) -> bool {
    c.is_numeric() || ".가나다라마바사아자차카타파하".contains(c)
}
