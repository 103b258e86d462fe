//! The lines of a Markdown document: which marks begin one, and what they make of it.

/// What may stand before the content of a line.
const QUOTES_AND_BLANKS: [char; 3] = ['>', ' ', '\t'];

/// A heading: of `## Phone`, the text is ` Phone`, and the level is 2.
pub(crate) struct Heading<'t> {
    pub(crate) text: &'t str,
    pub(crate) level: usize,
}

/// One line, and what of it stands behind its marks: of `>  - Larkspur`, the content is
/// `- Larkspur`, and the item is `Larkspur`.
pub(crate) struct Line<'t> {
    pub(crate) text: &'t str,
    /// The line without the marks of quotes and the blanks before it.
    pub(crate) content: &'t str,
    /// The content without the marks of a list.
    pub(crate) item: &'t str,
    /// How many quotes it stands in.
    quotes: usize,
    /// How many blanks are before the content, behind the marks of quotes.
    indent: usize,
}

impl<'t> Line<'t> {
    /// The line of this text, without what stands before its content.
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

    /// Whether this line has more blanks before it, behind as many marks of quotes.
    fn is_deeper_than(&self, other: &Self) -> bool {
        self.quotes == other.quotes && self.indent > other.indent
    }

    /// Whether this line is an item, and another item stands deeper `below` it: the `- Family` in
    /// `- Family\n  - Theo`. Blank lines and deeper texts may stand between the two. A line that is
    /// not deeper ends the search.
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

    /// The heading that this line is, with its text and level: one to six `#` with a blank behind
    /// them begin it, or the line `next` has only `=`. `# Phone` is one. None for `#phone`, for a
    /// line with four blanks before it, and for an item above a line of `=`.
    ///
    /// A line of `-` below makes no heading: it may also separate two values, or end the settings
    /// at the top of a file.
    pub(crate) fn heading(&self, next: &str) -> Option<Heading<'t>> {
        // A line with four blanks before it is code.
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

    /// Whether this line names the columns of a table: `| Bank | IBAN |` above `|---|---|`.
    /// A row above another row does not.
    pub(crate) fn is_table_head(&self, next: &str) -> bool {
        let has_bars_and_dashes = next.contains('|') && next.contains('-');
        let rest = next.trim_matches(|c| "> |-:\t".contains(c));
        self.content.contains('|') && has_bars_and_dashes && rest.is_empty()
    }

    /// Whether it is explained by the line `next`, as `Larkspur` is by `: our next product`. A
    /// line that begins with `: ` itself is not.
    pub(crate) fn is_explained_by(&self, next: &str) -> bool {
        next.starts_with(": ") && !self.text.starts_with(": ")
    }

    /// The marks with which this line begins or ends a block of code: "```" of "```sh". None if it
    /// does not begin with three or more "`" or `~`, or if these also end code in this line, as in
    /// "```sh```".
    pub(crate) fn code_marks(&self) -> Option<&'t str> {
        let line = self.item;
        let mark = line.chars().next()?;
        if !matches!(mark, '`' | '~') {
            return None;
        }
        let rest = line.trim_start_matches(mark);
        let (marks, _) = line.split_at(line.len() - rest.len());
        let is_code_in_text = mark == '`' && rest.contains(mark);
        if marks.len() < 3 || is_code_in_text {
            return None;
        }
        Some(marks)
    }

    /// Whether this line ends the block of code that these marks began. Another kind of marks, or
    /// fewer, end none, and neither do marks with a text behind them.
    pub(crate) fn ends_code_of(&self, open: &str) -> bool {
        self.code_marks() == Some(self.item.trim_end()) && self.item.starts_with(open)
    }
}

/// What stands between the bars of a row: ` Bank ` and ` IBAN ` of `| Bank | IBAN |`. A cell of
/// blanks is left out.
pub(crate) fn filled_cells(line: &str) -> impl Iterator<Item = &str> {
    line.split('|').filter(|cell| !cell.trim().is_empty())
}

/// The line without the marks of a list: `Larkspur` of `- [x] Larkspur`. `-Larkspur` has no mark.
pub(crate) fn without_marker(line: &str) -> &str {
    let mut rest = line;
    while let Some((word, behind)) = rest.split_once([' ', '\t']) {
        if !is_marker(word) {
            break;
        }
        rest = behind.trim_start();
    }
    rest
}

/// Whether this word is a mark of a list: `-`, `1.`, `1.2.`, `a)`, `가.` or a box. `1` is none.
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
