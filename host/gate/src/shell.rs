//! Cuts a shell's command into words, as far as it takes to see what they publish.
//!
//! It expands nothing: of `cd $X`, the words are `cd` and `$X`. The commands of `$(…)` stand before
//! the one that has it, in which `$` takes its place, or `HEAD` if they print the branch's name.

use std::{iter::Peekable, mem, str::Chars};

/// What ends a command.
const COMMAND_ENDS: &str = ";|&()`\n";

/// How deep brackets are read. Deeper ones count as not closed.
const MAX_BRACKETS: usize = 100;

/// The commands that print the name of the checked-out branch.
const BRANCH_PRINTING: [&[&str]; 3] = [
    &["git", "branch", "--show-current"],
    &["git", "rev-parse", "--abbrev-ref", "HEAD"],
    &["git", "symbolic-ref", "--short", "HEAD"],
];

/// What is said to be the start of a subshell: a command of this one word.
pub(crate) const OPENING: &str = "(";

/// The same, of `$(…)`.
pub(crate) const SUBSTITUTION: &str = "$(";

/// The same, of the end of both.
pub(crate) const CLOSING: &str = ")";

/// The commands of a text, and what else stands in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The words of each command, without their quotes: of `git commit -m 'a b' && ls`, there are
    /// two commands, and `a b` is one word.
    pub(crate) commands: Vec<Vec<String>>,
    /// The text of each heredoc.
    pub(crate) heredocs: Vec<String>,
    /// Whether a quote, a bracket or a heredoc does not end. As the shell runs the text, it was
    /// read wrongly then.
    pub(crate) is_unclear: bool,
    /// The names of the files into which commands write. `/dev/null` is none.
    pub(crate) outputs: Vec<String>,
}

impl Script {
    /// Reads a shell's command. A quote that is not closed reaches to the end.
    pub(crate) fn of(text: &str) -> Self {
        let mut reader = Reader::new(text, 0);
        reader.read_to(None);
        reader.script
    }
}

/// What is read so far.
struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    script: Script,
    command: Vec<String>,
    /// The word that is not over yet. An empty one in quotes is a word.
    word: Option<String>,
    /// Whether the next word names a file that is written.
    is_output_file: bool,
    /// The ends of the heredocs whose text begins in the next line.
    heredoc_ends: Vec<HeredocEnd>,
    /// How many brackets are open.
    open_brackets: usize,
    /// Whether `<<` shifts a number here: in `((…))`.
    is_in_arithmetic: bool,
}

/// The end of a heredoc.
#[derive(Default)]
struct HeredocEnd {
    /// The line that ends it.
    line: String,
    /// Whether tabs may stand before this line: after `<<-`.
    may_follow_tabs: bool,
    /// Whether this line has quotes where the heredoc begins: then its text means itself.
    is_quoted: bool,
}

impl<'t> Reader<'t> {
    /// A reader of this text, in so many open brackets.
    fn new(text: &'t str, open_brackets: usize) -> Self {
        Self {
            rest: text.chars().peekable(),
            script: Script::default(),
            command: Vec::new(),
            word: None,
            is_output_file: false,
            heredoc_ends: Vec::new(),
            open_brackets,
            is_in_arithmetic: false,
        }
    }

    /// Reads commands up to the character `end`, such as the `)` of `$(a; b)`, or with None to the
    /// text's end. If the text ends before that character, the script is unclear.
    fn read_to(&mut self, end: Option<char>) {
        loop {
            let c = self.rest.next();
            if c == end {
                break;
            }
            let Some(c) = c else {
                self.script.is_unclear = true;
                break;
            };
            self.read(c);
        }
        self.end_command();
    }

    /// Reads the character `c`, which stands in no quotes, and what belongs to it: all of `'a b'`
    /// for a quote, of `$(a)` for the `$` (in the condition of its line), and of a comment for `#`.
    /// A blank ends the word, and `;` the command. Any other character is a part of the word.
    fn read(&mut self, c: char) {
        match c {
            '$' if self.rest.next_if_eq(&'\'').is_some() => self.read_escapes(),
            '$' | '`' | '<' | '>' if self.read_substitution(c) => {}
            '\'' => self.read_literal(),
            '"' => self.read_quoted(Some('"')),
            '\\' => self.read_escaped(),
            '#' if self.word.is_none() => self.skip_comment(),
            '<' if self.is_heredoc_next() => self.read_heredoc_start(),
            _ if COMMAND_ENDS.contains(c) => {
                self.end_command();
                self.note_end(c);
            }
            '<' => self.end_word(),
            '>' => self.read_output(),
            _ if c.is_whitespace() => self.end_word(),
            _ => self.push(c),
        }
    }

    /// Adds a character to the word that is not over yet, or begins a word.
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// Ends the word, if there is one, and adds it to the command: `a` of `a b`. Behind `>`, the
    /// word is an output of the script, and no word of the command: `f` of `>f`. A number there, as
    /// in `>&2`, and a file in `/dev/` are neither.
    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        if mem::take(&mut self.is_output_file) {
            if !is_stream_number(&word) && !word.starts_with("/dev/") {
                self.script.outputs.push(word);
            }
        } else {
            self.command.push(word);
        }
    }

    /// Goes on behind `>`: the next word is the name of a file that is written, and no word of the
    /// command. A number before it is none either: `2` of `2>&1`.
    fn read_output(&mut self) {
        if self.word.as_deref().is_some_and(is_stream_number) {
            self.word = None;
        }
        self.end_word();
        self.rest.next_if_eq(&'&');
        self.is_output_file = true;
    }

    /// Ends the command. One without words is left out.
    fn end_command(&mut self) {
        self.end_word();
        self.is_output_file = false;
        if !self.command.is_empty() {
            self.script.commands.push(mem::take(&mut self.command));
        }
    }

    /// Reads on behind the character that ended a command. Only a newline and `(` need it: a `)`
    /// without a `(` stands behind a pattern of `case`.
    fn note_end(&mut self, end: char) {
        match end {
            '\n' => self.read_heredocs(),
            '(' => self.read_subshell(OPENING, ')'),
            _ => {}
        }
    }

    fn push_mark(&mut self, mark: &str) {
        self.script.commands.push(vec![mark.to_owned()]);
    }

    /// Reads the commands up to the bracket `end`, and puts a command of the one word `opening`
    /// before them and one of the word [`CLOSING`] behind them: of `(a)`, the commands are `(`, `a`
    /// and `)`. Within 100 open brackets, nothing more is read, and the script is unclear.
    fn read_subshell(&mut self, opening: &str, end: char) {
        if self.open_brackets == MAX_BRACKETS {
            self.script.is_unclear = true;
            return;
        }
        let was_arithmetic = self.is_in_arithmetic;
        self.is_in_arithmetic |= self.rest.peek() == Some(&'(');
        self.open_brackets += 1;
        self.push_mark(opening);
        self.read_to(Some(end));
        self.push_mark(CLOSING);
        self.open_brackets -= 1;
        self.is_in_arithmetic = was_arithmetic;
    }

    /// Reads `$(…)`, `<(…)`, `>(…)` or what stands in backticks, if the character `start` begins
    /// such a substitution. Its commands stand before the command that has it, in which `$` takes
    /// its place: of `cd a$(b)`, the commands are `b`, in marks, and `cd a$`. `HEAD` takes the
    /// place of a command that prints the branch's name ([`BRANCH_PRINTING`]), if this is the whole
    /// word. False if `start`
    /// begins none, as in `$X`: then nothing is read.
    fn read_substitution(&mut self, start: char) -> bool {
        let end = match start {
            '`' => '`',
            _ if self.rest.next_if_eq(&'(').is_some() => ')',
            _ => return false,
        };
        // The commands in it are read before the rest of this one.
        let word = self.word.take();
        let command = mem::take(&mut self.command);
        let is_output_file = mem::take(&mut self.is_output_file);
        let first = self.script.commands.len();
        self.read_subshell(SUBSTITUTION, end);
        // What was read is the mark of the opening, each command, and the mark of the end.
        // `backup/$(git branch --show-current)` is another name than HEAD's.
        let is_whole_word = word.as_ref().is_none_or(String::is_empty)
            && self
                .rest
                .peek()
                .is_none_or(|c| c.is_whitespace() || "\":;&|)".contains(*c));
        let stand_in = match self.script.commands.get(first..) {
            Some([_opening, only, _closing]) if is_whole_word && prints_branch(only) => "HEAD",
            _ => "$",
        };
        self.word = Some(word.unwrap_or_default() + stand_in);
        self.command = command;
        self.is_output_file = is_output_file;
        true
    }

    /// Reads the word on to the end of `'…'`, where each character means itself. Without an end,
    /// the script is unclear.
    fn read_literal(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.rest.next_if(|c| *c != '\'') {
            self.push(c);
        }
        self.script.is_unclear |= self.rest.next().is_none();
    }

    /// Reads the rest of `$'…'` into the word. There, `\'` is a quote, `\n` a line's end, and `\x`
    /// is `x`. If the text ends before the quote, the script is unclear.
    fn read_escapes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => return,
                '\\' if self.rest.next_if_eq(&'n').is_some() => self.push('\n'),
                '\\' => self.read_escaped(),
                _ => self.push(c),
            }
        }
        self.script.is_unclear = true;
    }

    /// Reads the rest of `"…"` into the word, up to the quote `end`; or with None, as for a
    /// heredoc, to the text's end. `$(…)` and backticks are read as commands, and `\"` is a quote.
    /// If the text ends before the quote, the script is unclear.
    fn read_quoted(&mut self, end: Option<char>) {
        self.word.get_or_insert_default();
        while let Some(c) = self.rest.next() {
            match c {
                _ if Some(c) == end => return,
                '$' | '`' if self.read_substitution(c) => {}
                '\\' => self.read_escaped_in_quotes(),
                _ => self.push(c),
            }
        }
        self.script.is_unclear |= end.is_some();
    }

    /// Reads the character behind a backslash as it is. A line's end there is nothing.
    fn read_escaped(&mut self) {
        match self.rest.next() {
            None | Some('\n') => {}
            Some(c) => self.push(c),
        }
    }

    /// Reads the character behind a backslash in `"…"`. Before most characters, the backslash means
    /// itself there.
    fn read_escaped_in_quotes(&mut self) {
        match self.rest.peek() {
            Some('"' | '\\' | '$' | '`' | '\n') => self.read_escaped(),
            _ => self.push('\\'),
        }
    }

    /// Reads to the end of the line.
    fn skip_comment(&mut self) {
        while self.rest.next_if(|c| *c != '\n').is_some() {}
    }

    /// Whether `<<` begins here, and a heredoc with it.
    fn is_heredoc_next(&mut self) -> bool {
        !self.is_in_arithmetic && self.rest.peek() == Some(&'<')
    }

    /// Reads the start of a heredoc behind its first `<`: the `E` of `<<E`, `<<-E` and `<< 'E'`.
    /// Its text begins in the next line, and ends at a line `E`. `<<<` begins no heredoc: then only
    /// the mark is read. `<<` without a word begins none either.
    fn read_heredoc_start(&mut self) {
        self.rest.next();
        if self.rest.next_if_eq(&'<').is_some() {
            return;
        }
        let mut end = HeredocEnd {
            may_follow_tabs: self.rest.next_if_eq(&'-').is_some(),
            ..HeredocEnd::default()
        };
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        while let Some(c) = self
            .rest
            .next_if(|c| !c.is_whitespace() && !COMMAND_ENDS.contains(*c) && !"<>".contains(*c))
        {
            if matches!(c, '\'' | '"' | '\\') {
                end.is_quoted = true;
            } else {
                end.line.push(c);
            }
        }
        if !end.line.is_empty() {
            self.heredoc_ends.push(end);
        }
    }

    /// Reads the texts of the heredocs whose starts were read in the line before, one after
    /// another. After `<<E`, a text ends at the line `E`; after `<<-E`, also at one with tabs
    /// before the `E`. If there is no such line, the text goes to the end, and the script is
    /// unclear. Unless the word had quotes (`<<'E'`), `$(…)` in the text is read as commands.
    fn read_heredocs(&mut self) {
        for end in mem::take(&mut self.heredoc_ends) {
            let mut text = String::new();
            loop {
                if self.rest.peek().is_none() {
                    self.script.is_unclear = true;
                    break;
                }
                let line = self.read_line();
                let without_tabs = line.trim_start_matches('\t');
                if line == end.line || (end.may_follow_tabs && without_tabs == end.line) {
                    break;
                }
                text += &line;
                text.push('\n');
            }
            if !end.is_quoted {
                self.read_substitutions(&text);
            }
            self.script.heredocs.push(text);
        }
    }

    /// Reads the commands in the `$(…)` and the backticks of a heredoc's text.
    fn read_substitutions(&mut self, text: &str) {
        let mut inner = Reader::new(text, self.open_brackets);
        inner.read_quoted(None);
        self.script.outputs.extend(inner.script.outputs);
        self.script.commands.extend(inner.script.commands);
        self.script.heredocs.extend(inner.script.heredocs);
    }

    /// The rest of the line, without its end.
    fn read_line(&mut self) -> String {
        let mut line = String::new();
        while let Some(c) = self.rest.next_if(|c| *c != '\n') {
            line.push(c);
        }
        self.rest.next();
        line
    }
}

/// Whether this command prints the name of the checked-out branch, and nothing else.
fn prints_branch(command: &[String]) -> bool {
    BRANCH_PRINTING.iter().any(|known| *known == command)
}

/// Whether this is the number of a stream: `2` of `2>&1`.
fn is_stream_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
