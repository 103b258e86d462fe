//! Reads a Markdown document: its headings are names of rules, and all else may hold values.

use crate::label::is_id;
use crate::markdown::{Line, cells};
use crate::parts::parts;
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
    let mut lines = text.split(|c| LINE_ENDS.contains(c));
    while let Some(line) = lines.next() {
        reader.read(&Line::of(line), lines.clone());
    }
    reader.values
}

/// What is known before the next line.
#[derive(Default)]
struct Reader<'t> {
    values: Values,
    /// The marks that began the block of code in which the line stands.
    code: Option<&'t str>,
    /// Whether it may stand in a table whose first column has names of rules.
    names_rules: bool,
}

impl<'t> Reader<'t> {
    /// Adds what stands in this line. The lines `below` it say what it is.
    fn read(&mut self, line: &Line<'t>, below: impl Iterator<Item = &'t str> + Clone) {
        let next = below.clone().next().unwrap_or_default();
        // Without a bar, the table ends.
        if !line.content.contains('|') {
            self.names_rules = false;
        }
        if let Some(open) = self.code {
            if line.is_end_of(open) {
                self.code = None;
            } else {
                add_piece(&mut self.values, line.content, Role::Content);
            }
        } else if let Some(marks) = line.fence() {
            self.code = Some(marks);
        } else if let Some(heading) = line.heading(next) {
            self.read_heading(heading);
        } else if line.is_above_rows(next) {
            self.names_rules = cells(line.content).next().is_some_and(is_id);
        } else {
            let names_what_follows = line.is_term(next) || line.is_above_items(below);
            self.read_row(line.item, names_what_follows);
        }
    }

    /// A heading is the name of a rule, and so is its first part: `Name (high)`, and `Name`.
    fn read_heading(&mut self, heading: &str) {
        self.values.add_rule(&words_in(heading));
        if let Some(first) = parts(heading).first() {
            self.values.add_rule(&words_in(first));
        }
    }

    /// Adds the cells of a row. A text without a bar is one cell.
    fn read_row(&mut self, row: &str, names_what_follows: bool) {
        let behind_bar = row.strip_prefix('|').unwrap_or(row);
        for (index, cell) in cells(row).enumerate() {
            // If the first cell is blank, the next one is in another column.
            let is_in_first_column = index == 0 && behind_bar.starts_with(cell);
            let is_rule = self.names_rules && is_in_first_column;
            if is_rule {
                self.values.add_id(&words_in(cell));
            }
            let role = if is_rule || names_what_follows {
                Role::Label
            } else {
                Role::Content
            };
            add_piece(&mut self.values, cell, role);
        }
    }
}
