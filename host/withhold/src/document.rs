//! Reads a Markdown document: its headings are names of rules, and all else may hold values.

use crate::label::is_rule_label;
use crate::markdown::{Heading, Line, filled_cells};
use crate::parts::{parts, sentences};
use crate::piece::{Role, add_piece};
use crate::values::Values;
use crate::words::words_in;

/// What ends a line, in any of Unicode's ways. Some formats end lines with a NUL.
const LINE_ENDS: &str = "\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}\0";

/// The values of a Markdown document, and its names of rules: of `# Name\n- Theo Blix`, `Theo Blix`
/// is a value, and `Name` the name of a rule. A mark of the byte order at its start is left out.
pub(crate) fn read(document: &str) -> Values {
    let text = document
        .trim_start_matches('\u{feff}')
        .replace("\r\n", "\n");
    let mut reader = Reader::default();
    // The first section is what stands above all headings.
    reader.values.begin_section("", 0);
    let mut lines = text.split(|c| LINE_ENDS.contains(c));
    while let Some(line) = lines.next() {
        reader.read(&Line::of(line), lines.clone());
    }
    reader.values
}

/// Below a heading of this text, nothing is compared: explanations stand there.
const NOTES: &str = "notes";

/// What was read so far, and what this says of the next line.
#[derive(Default)]
struct Reader<'t> {
    /// The values so far.
    values: Values,
    /// The marks that began the block of code in which the next line stands, such as "```". None
    /// outside of code.
    open_code: Option<&'t str>,
    /// Whether the next line may be a row of a table whose first column has names of rules.
    first_column_names_rules: bool,
    /// The level of the heading `Notes` above the next line. None if the line is no note. A heading
    /// of the same level, or of a higher one, ends these notes.
    notes_level: Option<usize>,
}

impl<'t> Reader<'t> {
    /// Reads one line. The first of these that fits decides what is added:
    ///
    /// - In a block of code: the line, as an item. Of the line that ends the block: nothing.
    /// - Of a line that begins a block of code, such as "```sh": nothing.
    /// - Of a heading: its text, as the name of a rule.
    /// - Below a heading `Notes`: nothing. The line is only counted.
    /// - Of the head of a table, such as `| Id | Name |`: nothing. It says whether the first column
    ///   of the rows below has names of rules.
    /// - Of any other line: its cells (`read_row`). They are labels, if the line names what
    ///   follows, as `- Family` above `  - Theo`; else items, if it has a bar or a list's mark
    ///   (`| Wren | 7 |`, `- Wren`); else texts.
    ///
    /// `below` are the lines below this one. The next one may make this line a heading or a table's
    /// head.
    fn read(&mut self, line: &Line<'t>, below: impl Iterator<Item = &'t str> + Clone) {
        let next = below.clone().next().unwrap_or_default();
        // A line without a bar ends a table.
        if !line.content.contains('|') {
            self.first_column_names_rules = false;
        }
        if let Some(open) = self.open_code {
            if line.ends_code_of(open) {
                self.open_code = None;
            } else {
                self.read_piece(line.content, Role::Item);
            }
        } else if let Some(marks) = line.code_marks() {
            self.open_code = Some(marks);
        } else if let Some(heading) = line.heading(next) {
            self.read_heading(&heading);
        } else if self.notes_level.is_some() {
            self.values.count_note(line.content);
        } else if line.is_table_head(next) {
            // Such a head is `Id`, `Rule` or `Rule id`.
            self.first_column_names_rules =
                filled_cells(line.content).next().is_some_and(is_rule_label);
        } else {
            let role = if line.is_explained_by(next) || line.is_above_items(below) {
                Role::Label
            } else if line.is_item() || line.item.contains('|') {
                Role::Item
            } else {
                Role::Text
            };
            self.read_row(line.item, role);
        }
    }

    /// Begins a section below this heading, and ends notes. The heading is added as the name of a
    /// rule, and so is its first part: `Name (high)`, and `Name`.
    ///
    /// A heading `Notes`, in any case, begins no section, but notes. In notes, a heading of a
    /// deeper level is a note as well, and is only counted: `## Old` below `# Notes`.
    fn read_heading(&mut self, heading: &Heading<'_>) {
        let text = heading.text.trim();
        // Notes go on below a heading of a deeper level.
        let is_in_notes = self.notes_level.is_some_and(|level| level < heading.level);
        if text.eq_ignore_ascii_case(NOTES) && !is_in_notes {
            self.notes_level = Some(heading.level);
            return;
        }
        if is_in_notes {
            self.values.count_note(text);
            return;
        }
        self.notes_level = None;
        self.values.begin_section(text, heading.level);
        self.values.compared_words += words_in(text).len();
        self.values.add_rule(&words_in(text));
        if let Some(first) = parts(text).first() {
            self.values.add_rule(&words_in(first));
        }
    }

    /// Reads each cell of a row, but for blank ones: of `| R-7 | Wren |`, these are ` R-7 ` and
    /// ` Wren `. A row without a bar is one cell.
    ///
    /// A cell of the first column, if this column has names of rules, is added as the name of a
    /// rule, and read as a label. Any other cell is read in the `role` of the row.
    fn read_row(&mut self, row: &str, role: Role) {
        let behind_bar = row.strip_prefix('|').unwrap_or(row);
        for (index, cell) in filled_cells(row).enumerate() {
            // The cells keep their blanks, so the first one stands right behind the bar. If the
            // first one is blank, it is left out here, and the next one is in another column.
            let is_in_first_column = index == 0 && behind_bar.starts_with(cell);
            if self.first_column_names_rules && is_in_first_column {
                self.values.add_rule_unless_number(&words_in(cell));
                self.read_piece(cell, Role::Label);
            } else {
                self.read_piece(cell, role);
            }
        }
    }

    /// Adds the values of this line, item or cell, sentence by sentence. Below `Notes`, it is only
    /// counted as a note: that can be a line of code.
    fn read_piece(&mut self, text: &str, role: Role) {
        if self.notes_level.is_some() {
            self.values.count_note(text);
        } else {
            self.values.compared_words += words_in(text).len();
            for sentence in sentences(text) {
                add_piece(&mut self.values, sentence, role);
            }
            self.values.end_piece();
        }
    }
}
