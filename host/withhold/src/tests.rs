//! The table of cases, and values in each form that a report may have.

use super::{Found, MARK, Rule, Summary, places, withhold};
use regex_syntax::hir::{Class, HirKind};
use serde::Deserialize;

/// docs/withhold.md names what is known.
const PAGE: &str = include_str!("../../../docs/withhold.md");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "document")]
    documents: Vec<Document>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    text: String,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(rename = "case")]
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    report: String,
    /// Unchanged without this.
    becomes: Option<String>,
    /// A miss or a false alarm that the page names, by these words.
    known: Option<String>,
}

fn table() -> Table {
    toml::from_str(include_str!("../cases.toml")).unwrap()
}

/// Values of the table's first document.
const VALUES: [&str; 8] = [
    "Theo Blix",
    "Theo",
    "12 Example Street",
    "1 555 0100",
    "DE89 3704 0044 0532 0130 00",
    "theo.blix@example.org",
    "Bluebird",
    "zq-7f3d91-live",
];

/// The value with each of its gaps replaced by this.
fn gaps(value: &str, by: &str) -> String {
    let words = value.split(|c: char| !c.is_alphanumeric());
    words.collect::<Vec<_>>().join(by)
}

/// The value with each character written so.
fn each(value: &str, write: impl Fn(char) -> String) -> String {
    value.chars().map(write).collect()
}

#[test]
fn each_value_is_found_in_each_form_and_between_any_punctuation() {
    let document = &table().documents[0].text;
    let wide = |c: char| char::from_u32(u32::from(c) + 0xfee0).filter(|_| c.is_alphanumeric());
    for value in VALUES {
        let forms = [
            value.to_owned(),
            value.to_uppercase(),
            value.to_lowercase(),
            gaps(value, ""),
            gaps(value, "-"),
            gaps(value, "_"),
            gaps(value, "\u{a0}"),
            gaps(value, " ** "),
            gaps(value, "\n"),
            gaps(value, "\r\n+  "),
            gaps(value, "\\n"),
            gaps(value, "\\\\t"),
            gaps(value, "%20"),
            gaps(value, "&nbsp;"),
            each(value, |c| wide(c).unwrap_or(c).into()),
            each(value, |c| format!("{c}\u{200b}")),
            each(value, |c| format!("{c}\u{301}")),
            each(value, |c| format!("\\u{:04x}", u32::from(c))),
            each(value, |c| format!("\\u{{{:x}}}", u32::from(c))),
            each(value, |c| format!("\\x{:02X}", u32::from(c))),
            each(value, |c| format!("%{:02x}", u32::from(c))),
            each(value, |c| format!("&#{};", u32::from(c))),
            each(value, |c| format!("&#x{:x};", u32::from(c))),
        ];
        for form in forms {
            for (before, after) in [
                ("", ""),
                ("a.txt:3:4 ", "\n"),
                ("(`", "`),"),
                ("{\"k\":\"", "\"}"),
                ("+ // ", "."),
            ] {
                let got = withhold(document, &format!("{before}{form}{after}"), &[]);
                let is_gone = got.starts_with(before) && got.ends_with(after) && got.contains(MARK);
                let end = got.len() - after.len();
                let rest = got.get(before.len()..end).unwrap_or_default();
                // An accent at the end belongs to no letter of the value.
                let rest = rest.trim_matches(|c: char| !c.is_alphanumeric() && !"[]".contains(c));
                assert!(is_gone && rest == MARK, "{value} as {form:?}: {got:?}");
            }
        }
    }
}

#[test]
fn each_case_of_the_table_is_as_it_says() {
    let mut wrong = Vec::new();
    for document in &table().documents {
        let paths: Vec<_> = document.paths.iter().map(String::as_str).collect();
        for case in &document.cases {
            let got = withhold(&document.text, &case.report, &paths);
            if got != *case.becomes.as_ref().unwrap_or(&case.report) {
                wrong.push(format!("{}\n  got {got:?}", case.name));
            }
            if !case.known.iter().all(|known| PAGE.contains(known)) {
                wrong.push(format!("{}\n  is not in docs/withhold.md", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In quadratic time, or one call deeper for each mark, this would not end.
#[test]
fn a_long_text_of_marks_is_read_once() {
    for marks in [
        "\\", "\\u{", "&#0", "<", "'a ", "- ", "a:", "\"a\":", "id=a ", " e", "1.", "1:", "10:20 ",
        " \n", "> \n", "- \n",
    ] {
        let text = marks.repeat(200_000 / marks.len());
        assert_eq!(withhold("- Larkspur", &text, &[]), text);
        assert_eq!(withhold(&text, "Larkspur", &[]), "Larkspur");
    }
}

#[test]
fn a_document_of_headings_labels_and_ordinary_words_has_few_values() {
    for few in [
        "# Theo Blix\n# Ida Wexel\n",
        "- Family\n  - file\n",
        "Severity: high\n",
    ] {
        assert!(Summary::of(few).has_few_values, "{few}");
    }
    for document in table().documents {
        let summary = Summary::of(&document.text);
        assert!(!summary.has_few_values, "{}", document.text);
    }
    assert!(!Summary::of("").has_few_values);
}

#[test]
fn values_are_counted_below_each_heading_and_notes_apart() {
    let text = "- Larkspur\n# Names\n- Theo Blix\n- Ida Wexel\n\n# Codes\n- of the\n# Sub\n| P-017 | tblix42 |\n# Notes\nTwo\n\nlines\n";
    let summary = Summary {
        values_without_heading: 1,
        values_by_heading: vec![2, 0, 2],
        lines_of_notes: 2,
        has_empty_heading: true,
        has_few_values: false,
    };
    assert_eq!(Summary::of(text), summary);
    let nested = Summary::of("# All\n\n## Names\n- Theo Blix\n");
    assert_eq!(
        (nested.values_by_heading, nested.has_empty_heading),
        (vec![0, 1], false)
    );
}

/// What stands at each place, and the rule above it.
fn told<'t>(document: &str, text: &'t str) -> Vec<(&'t str, usize, String)> {
    let found = places(document, text).into_iter();
    found
        .map(|Found { at, rule }| (&text[at], rule.number, rule.name))
        .collect()
}

#[test]
fn a_place_says_the_rule_of_its_value() {
    let document = "- Larkspur\n# Full name\n- Theo Blix\n- Max\n# Hosts\n- svc-deploy-ost\n";
    let code = "const THEO_BLIX = 'larkspur'; // svc-deploy-ost, Theo\n";
    assert_eq!(
        told(document, code),
        [
            ("THEO_BLIX", 1, "Full name".to_owned()),
            ("larkspur", 0, String::new()),
            ("svc-deploy-ost", 2, "Hosts".to_owned()),
            ("Theo", 1, "Full name".to_owned()),
        ]
    );
}

#[test]
fn a_short_name_counts_in_code_only_as_it_is_written() {
    let document = "# Names\n- Koen\n- Ida\n- Larkspur\n";
    let code = "koen(KOEN, ida, IDA, IdaSize, LARKSPUR); // Koen and Ida";
    let found: Vec<&str> = told(document, code).iter().map(|one| one.0).collect();
    assert_eq!(found, ["LARKSPUR", "Koen", "Ida"]);
}

#[test]
fn a_heading_with_a_name_is_telling() {
    let telling = |heading: &str| {
        let document = format!("# {heading}\n- Quillfeather\n");
        let found = places(&document, "Quillfeather");
        found[0].rule.clone()
    };
    assert_eq!(
        telling("Theo Blix"),
        Rule {
            number: 1,
            name: "Theo Blix".into(),
            is_telling: true,
        }
    );
    let names = "Room 47, Bill Gates, Max, Ng, HIV, Dr. King, pregnant wife, 田中太郎, สมชาย, Θεό";
    for name in names.split(", ") {
        assert!(telling(name).is_telling, "{name}");
    }
    for name in ["Home address (high)", "Customers", "Téléphone", "Имя"] {
        assert!(!telling(name).is_telling, "{name}");
    }
}

#[test]
fn no_character_counts_that_unicode_says_to_ignore() {
    let property = regex_syntax::parse(r"\p{Default_Ignorable_Code_Point}").unwrap();
    let HirKind::Class(Class::Unicode(ignorable)) = property.kind() else {
        panic!("no class: {property:?}");
    };
    let ranges = ignorable.ranges().iter();
    let ignorable = ranges.flat_map(|range| range.start()..=range.end());
    let controls = "\u{1}\u{7}\u{8}\u{1b}\u{7f}\u{80}\u{9f}".chars();
    let mut count = 0;
    for c in ignorable.chain(controls) {
        let report = format!("Lark{c}spur");
        assert_eq!(withhold("- Larkspur", &report, &[]), MARK, "{c:?}");
        let of_document = withhold(&format!("- {report}"), "larkspur", &[]);
        assert_eq!(of_document, MARK, "{c:?}");
        count += 1;
    }
    assert!(count > 4000, "{count}");
}
