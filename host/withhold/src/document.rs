//! Reads a Markdown document: its headings are names of rules, and all else may hold values.

use crate::label::is_rule_label;
use crate::markdown::{Heading, Line, filled_cells};
use crate::parts::{parts, sentences};
use crate::piece::{Role, add_piece};
use crate::values::Values;
use crate::words::words_in;

/// What ends a line, in any of Unicode's ways. A NUL is where another format has one.
const LINE_ENDS: &str = "\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}\0";

/// The values of a document, and its names of rules: of `# Name\n- Theo Blix`, `Theo Blix` is a
/// value, and `Name` a name of a rule.
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

/// What is known before the next line.
#[derive(Default)]
struct Reader<'t> {
    values: Values,
    /// The marks that began the block of code in which the line stands.
    open_code: Option<&'t str>,
    /// Whether it may stand in a table whose first column has names of rules.
    first_column_names_rules: bool,
    /// The level of the heading `Notes` above the line. A heading of the same level, or of a
    /// higher one, ends these notes.
    notes_level: Option<usize>,
}

impl<'t> Reader<'t> {
    /// Adds what stands in this line:
    ///
    /// - in a block of code, an item; of the line that begins or ends the block, nothing;
    /// - of a heading, the heading;
    /// - of any other line below a heading `Notes` (then `notes_level` is set), nothing: the line is
    ///   only counted;
    /// - of the head of a table, nothing: it says whether the first column has the names of rules;
    /// - of any other line, the cells of a row.
    ///
    /// The lines `below` it tell a heading and a table's head, and whether a row is a title of what
    /// follows it.
    fn read(&mut self, line: &Line<'t>, below: impl Iterator<Item = &'t str> + Clone) {
        let next = below.clone().next().unwrap_or_default();
        // Without a bar, the table ends.
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
            // The first column names rules if its head is `id`, `rule` or the like.
            self.first_column_names_rules =
                filled_cells(line.content).next().is_some_and(is_rule_label);
        } else {
            let names_what_follows = line.is_explained_by(next) || line.is_above_items(below);
            self.read_row(line, names_what_follows);
        }
    }

    /// Begins a section below this heading, and adds the heading as the name of a rule, and its
    /// first part as well: `Name (high)`, and `Name`.
    ///
    /// A heading `Notes` begins no section. Below it, a heading of a deeper level is a note, which
    /// is only counted; one of the same or a higher level ends the notes.
    fn read_heading(&mut self, heading: &Heading<'_>) {
        let text = heading.text.trim();
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

    /// Adds each cell of a row, but for blank ones. A line without a bar is one cell.
    ///
    /// A cell in a first column that names rules is added as the name of a rule, and read as a
    /// label. Any other cell is read as a label if the line `names_what_follows`; else as an item
    /// if the line has a bar or a list's mark; else as a text.
    fn read_row(&mut self, line: &Line<'t>, names_what_follows: bool) {
        let row = line.item;
        let is_item = line.is_item() || row.contains('|');
        let behind_bar = row.strip_prefix('|').unwrap_or(row);
        for (index, cell) in filled_cells(row).enumerate() {
            // The cells keep their blanks, so the first one stands right behind the bar. If the
            // first one is blank, it is left out here, and the next one is in another column.
            let is_in_first_column = index == 0 && behind_bar.starts_with(cell);
            let is_rule = self.first_column_names_rules && is_in_first_column;
            if is_rule {
                self.values.add_rule_unless_number(&words_in(cell));
            }
            let role = if is_rule || names_what_follows {
                Role::Label
            } else if is_item {
                Role::Item
            } else {
                Role::Text
            };
            self.read_piece(cell, role);
        }
    }

    /// Adds what stands in this line, item or cell. Below `Notes`, nothing of it is a value.
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
