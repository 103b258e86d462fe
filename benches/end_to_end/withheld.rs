//! The matcher of `keyhole withhold`.

use keyhole_benches::microseconds;
use keyhole_withhold::{MARK, withhold};
use std::{hint::black_box, time::Instant};

pub(crate) const WITHHOLD: &str = "withhold";

/// A document of 1 MiB, and a report of 100 KiB.
pub(crate) struct Texts {
    document: String,
    report: String,
}

impl Texts {
    /// A catalog of people, and a report that quotes it in every tenth line.
    pub(crate) fn new() -> Self {
        let person = |n: usize| {
            format!(
                "# Person {n} (high)\n\n- Theo Blix{n}\n- {n} Example Street, and without the number\n- +1 555 {n:07}, with any blanks or dashes\n\n| Example Bank | DE89 3704 0044 {n:010} 00 |\n\n"
            )
        };
        let finding = |n: usize| {
            let quoted = if n.is_multiple_of(10) {
                person(n)
            } else {
                String::new()
            };
            format!(
                "src/list/file{n}.txt:{n}:7 high, Person {n}: the form without blanks\n{quoted}"
            )
        };
        Self {
            document: lines(1 << 20, person),
            report: lines(100 << 10, finding),
        }
    }

    /// The time in milliseconds.
    pub(crate) fn round(&self) -> Result<f64, &'static str> {
        let began = Instant::now();
        let left = withhold(&self.document, &self.report, &["/home/user"]);
        let took = began.elapsed();
        if !left.contains(MARK) {
            return Err("nothing was withheld");
        }
        Ok(microseconds(took) / 1e3)
    }
}

/// What a text may be made of, again and again.
#[rustfmt::skip]
pub(crate) const KINDS: [&str; 37] = [
    "a", "a ", "a\n", "Theo ", "Theo\n", "- Theo Blix\n", "aB", "Ab1", "0", "0 ", "+1 555 0100\n", "1.2.3.4 ",
    "é", "e\u{301}", "あ", "あ、", "Я ", "\u{200b}", "\u{202e}a", "\\\\", "\\u0041", "&amp;", "%41", "<b>",
    "`", "```\n", "| a | Bc |\n", "**a:** Bc\n", "# Ab\n", "- a\n  - b\n", "a@b.example ", "src/a.rs:7 ", "\"Ab\" ", "(", "_a", "\r", "中",
];

/// The kind whose 1 MB, as the document and as the report, takes longest, in milliseconds.
pub(crate) fn worst() -> (f64, &'static str) {
    let times = KINDS.map(|kind| {
        let text = kind.repeat(1_000_000 / kind.len());
        let began = Instant::now();
        black_box(withhold(&text, &text, &[]));
        (microseconds(began.elapsed()) / 1e3, kind)
    });
    let longest = times.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    longest.unwrap_or_default()
}

/// As many as fit.
fn lines(size: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(size);
    let mut number = 0;
    loop {
        let next = line(number);
        if text.len() + next.len() > size {
            return text;
        }
        text += &next;
        number += 1;
    }
}
