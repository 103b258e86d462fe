//! A file that comes in parts is the whole file, or none of it.

use crate::script::{CONTENT, Script, good, read_from, run_in_parts, stat, timeless, unchanged};
use keyhole_guest::{Fault, LoadError, PART_BYTES, Stat};

/// The parts of a file that does not change, with reads of at most so many bytes.
fn parts(content: &[u8], part_bytes: u64, at_most: u64) -> Result<Vec<String>, LoadError> {
    let stat = unchanged(content);
    let script = Script {
        stats: [Ok(stat); 2],
        read: &|len, offset| Ok(read_from(content, len.min(at_most), offset)),
        ..good()
    };
    run_in_parts(script, part_bytes, |_| ())
}

#[test]
fn a_file_comes_in_as_few_parts_as_it_needs() {
    let size = PART_BYTES as usize;
    for (length, count) in [
        (0, 1),
        (1, 1),
        (size - 1, 1),
        (size, 1),
        (size + 1, 2),
        (2 * size - 1, 2),
        (2 * size, 2),
        (2 * size + 1, 3),
    ] {
        let content = "a".repeat(length);
        let parts = parts(content.as_bytes(), PART_BYTES, u64::MAX).unwrap();
        assert_eq!(parts.len(), count, "{length}");
        assert!(parts.iter().all(|part| part.len() <= size), "{length}");
        assert!(parts.concat() == content, "{length}");
    }
}

#[test]
fn no_character_is_cut_wherever_a_part_ends() {
    for character in ["a", "\u{e9}", "\u{20ac}", "\u{1f511}"] {
        for shift in 0..5 {
            for part_bytes in 1..=12 {
                for at_most in [1, 2, 3, 5, u64::MAX] {
                    let content = "a".repeat(shift) + &character.repeat(5) + "z";
                    let parts = parts(content.as_bytes(), part_bytes, at_most).unwrap();
                    assert_eq!(parts.concat(), content);
                    let longest = part_bytes.max(4) as usize;
                    assert!(parts.iter().all(|part| part.len() <= longest), "{parts:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_text_is_refused_wherever_a_part_ends() {
    for wrong in [
        &b"\x80"[..],
        b"\x80\x80\x80\x80",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f\x94",
        b"\xf0\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xff",
    ] {
        for at in 0..12 {
            for part_bytes in 4..=12 {
                let mut content = "a".repeat(at).into_bytes();
                content.extend(wrong);
                // At the end of the file, and before it.
                for behind in ["", "aaaaaaaaaaaa"] {
                    content.extend(behind.bytes());
                    let parts = parts(&content, part_bytes, u64::MAX);
                    assert_eq!(parts, Err(LoadError::NotUtf8), "{}", content.escape_ascii());
                }
            }
        }
    }
}

#[test]
fn each_read_asks_for_a_part_at_most_and_the_last_for_the_end() {
    let outcome = run_in_parts(good(), 4, |run| {
        assert_eq!(*run.reads.borrow(), [(4, 0), (4, 4), (3, 8), (1, 10)]);
        assert_eq!(run.stats_taken.get(), 2, "one look before, one after");
    });
    assert_eq!(outcome.unwrap(), ["0123", "4567", "89"]);
    // A part that is full ends where the file does.
    let outcome = run_in_parts(good(), 5, |run| {
        assert_eq!(*run.reads.borrow(), [(5, 0), (5, 5), (1, 10)]);
    });
    assert_eq!(outcome.unwrap(), ["01234", "56789"]);
}

#[test]
fn a_file_that_was_written_to_between_two_parts_is_no_answer() {
    let (seconds, size) = (Some((1_001, 500)), 11);
    let (modified, changed) = (seconds, seconds);
    for after in [
        Stat { modified, ..stat() },
        Stat { changed, ..stat() },
        Stat { size, ..stat() },
    ] {
        let stats = [Ok(stat()), Ok(after)];
        let outcome = run_in_parts(Script { stats, ..good() }, 4, |run| {
            assert_eq!(run.reads.borrow().len(), 4, "all parts were read");
        });
        assert_eq!(outcome, Err(LoadError::Changed), "{after:?}");
    }
}

#[test]
fn a_file_that_shrinks_or_grows_between_two_parts_is_no_answer() {
    for then in [&b"012345"[..], b"01234567", b"0123456789+"] {
        let script = Script {
            read: &|len, offset| match offset {
                0 => Ok(read_from(CONTENT, len, offset)),
                _ => Ok(read_from(then, len, offset)),
            },
            ..good()
        };
        let outcome = run_in_parts(script, 4, |_| ());
        assert_eq!(outcome, Err(LoadError::Changed), "{}", then.escape_ascii());
    }
}

#[test]
fn a_fault_at_a_later_part_is_its_error() {
    for (fault, error) in [
        (Fault::Denied, LoadError::PermissionDenied),
        (Fault::Other, LoadError::Internal),
    ] {
        let script = Script {
            read: &|len, offset| match offset {
                0 => Ok(read_from(CONTENT, len, offset)),
                _ => Err(fault),
            },
            ..good()
        };
        assert_eq!(run_in_parts(script, 4, |_| ()), Err(error));
    }
}

/// Half of one version and half of another may be no text.
#[test]
fn changed_is_said_before_not_utf8_at_any_part() {
    let modified = None;
    let after = Stat { modified, ..stat() };
    for (after, error) in [(stat(), LoadError::NotUtf8), (after, LoadError::Changed)] {
        for wrong in 0..CONTENT.len() {
            let mut content = CONTENT.to_vec();
            content[wrong] = 0xff;
            let script = Script {
                stats: [Ok(stat()), Ok(after)],
                read: &|len, offset| Ok(read_from(&content, len, offset)),
                ..good()
            };
            let outcome = run_in_parts(script, 4, |run| {
                assert_eq!(run.stats_taken.get(), 2);
            });
            assert_eq!(outcome, Err(error), "{wrong}");
        }
    }
}

#[test]
fn a_file_whose_clock_tells_nothing_comes_in_one_part() {
    let script = Script {
        stats: [Ok(timeless()); 2],
        ..good()
    };
    let outcome = run_in_parts(script, 4, |run| {
        assert_eq!(*run.reads.borrow(), [(11, 0), (1, 10), (11, 0), (1, 10)]);
    });
    assert_eq!(outcome.unwrap(), ["0123456789"]);
}
