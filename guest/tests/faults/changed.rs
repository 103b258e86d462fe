//! A file that is written to during the call is never an answer.

use crate::script::{CONTENT, Script, good, read_from, run, run_with, stat};
use keyhole_guest::{Fault, LoadError, Stat};
use std::cell::Cell;

#[test]
fn a_handle_that_changes_its_type_has_changed() {
    let after = Stat {
        regular: false,
        ..stat()
    };
    let script = Script {
        stats: [Ok(stat()), Ok(after)],
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_file_that_grows_before_it_is_read_has_changed() {
    let script = Script {
        read: &|len, offset| Ok(read_from(b"0123456789+", len, offset)),
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_file_that_grows_without_end_is_read_one_byte_past_its_first_size() {
    let endless = [b'x'; 1000];
    let script = Script {
        read: &|len, offset| Ok(read_from(&endless, len, offset)),
        ..good()
    };
    let outcome = run_with(script, 10, |run| {
        assert_eq!(*run.reads.borrow(), [(11, 0)], "one byte more, and no more");
    });
    assert_eq!(outcome, Err(LoadError::Changed));
}

/// Found by fuzzing: each read stops before the byte that would show the change.
#[test]
fn a_file_that_is_longer_than_it_says_has_changed_however_it_is_handed_out() {
    for at_most in 1..=12 {
        let script = Script {
            read: &|len, offset| Ok(read_from(b"0123456789+", len.min(at_most), offset)),
            ..good()
        };
        assert_eq!(run(script), Err(LoadError::Changed), "{at_most} at a time");
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_has_changed() {
    let script = Script {
        read: &|len, offset| match offset {
            0 => Ok(read_from(CONTENT, 5, 0)),
            _ => Ok(read_from(b"0123456789+", len, offset)),
        },
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_file_that_has_grown_after_the_read_has_changed() {
    let after = Stat { size: 11, ..stat() };
    let script = Script {
        stats: [Ok(stat()), Ok(after)],
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_file_that_shrinks_before_it_is_read_has_changed() {
    let script = Script {
        read: &|len, offset| Ok(read_from(b"01234", len, offset)),
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_file_emptied_before_it_is_read_has_changed() {
    let script = Script {
        read: &|_, _| Ok(Vec::new()),
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn an_empty_file_that_gets_content_has_changed() {
    let empty = Stat { size: 0, ..stat() };
    let script = Script {
        stats: [Ok(empty), Ok(empty)],
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_file_rewritten_at_the_same_size_has_changed() {
    for modified in [
        Some((1_000, 501)),
        Some((1_001, 500)),
        Some((999, 500)),
        None,
    ] {
        let after = Stat { modified, ..stat() };
        let script = Script {
            stats: [Ok(stat()), Ok(after)],
            ..good()
        };
        assert_eq!(run(script), Err(LoadError::Changed), "{modified:?}");
    }
}

#[test]
fn a_file_whose_change_time_alone_differs_has_changed() {
    for changed in [Some((1_000, 501)), Some((999, 500)), None] {
        let after = Stat { changed, ..stat() };
        let script = Script {
            stats: [Ok(stat()), Ok(after)],
            ..good()
        };
        assert_eq!(run(script), Err(LoadError::Changed), "{changed:?}");
    }
}

/// What the script answers from the second reading of the whole file on.
fn read_again(again: &[u8], at_most: u64) -> Result<String, LoadError> {
    let timeless = Stat {
        modified: None,
        changed: None,
        ..stat()
    };
    let is_second = Cell::new(false);
    let script = Script {
        stats: [Ok(timeless), Ok(timeless)],
        read: &|len, offset| {
            let content = if is_second.get() { again } else { CONTENT };
            // The first reading ends with the read that finds the end.
            is_second.set(is_second.get() || offset == CONTENT.len() as u64);
            Ok(read_from(content, len.min(at_most), offset))
        },
        ..good()
    };
    run(script)
}

#[test]
fn a_file_that_is_read_twice_and_differs_has_changed() {
    for again in [
        b"012345678X",
        &b"X123456789"[..],
        b"01234X6789",
        b"012345678",
        b"0123456789+",
        b"",
    ] {
        for at_most in 1..=12 {
            assert_eq!(
                read_again(again, at_most),
                Err(LoadError::Changed),
                "{:?}, {at_most} at a time",
                again.escape_ascii().to_string()
            );
        }
    }
    assert_eq!(read_again(CONTENT, 12).unwrap(), "0123456789");
}

#[test]
fn a_fault_of_the_second_reading_is_its_error() {
    let timeless = Stat {
        changed: None,
        ..stat()
    };
    let reads = Cell::new(0);
    let script = Script {
        stats: [Ok(timeless), Ok(timeless)],
        read: &|len, offset| {
            reads.set(reads.get() + 1);
            match reads.get() {
                1 | 2 => Ok(read_from(CONTENT, len, offset)),
                _ => Err(Fault::Denied),
            }
        },
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::PermissionDenied));
}

#[test]
fn a_second_read_of_more_than_was_asked_for_is_a_broken_file_system() {
    let timeless = Stat {
        changed: None,
        ..stat()
    };
    let reads = Cell::new(0);
    let script = Script {
        stats: [Ok(timeless), Ok(timeless)],
        read: &|len, offset| {
            reads.set(reads.get() + 1);
            match reads.get() {
                1 | 2 => Ok(read_from(CONTENT, len, offset)),
                _ => Ok(vec![b'x'; len as usize + 1]),
            }
        },
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Internal));
}

#[test]
fn changed_is_said_before_not_utf8() {
    let script = Script {
        stats: [
            Ok(stat()),
            Ok(Stat {
                modified: None,
                ..stat()
            }),
        ],
        read: &|len, offset| Ok(read_from(&[0xff; 10], len, offset)),
        ..good()
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_size_with_no_byte_beyond_it_is_an_error_not_an_overflow() {
    let vast = Stat {
        size: u64::MAX,
        ..stat()
    };
    let script = Script {
        stats: [Ok(vast), Ok(vast)],
        ..good()
    };
    // There is no memory for so many bytes, and their sum overflows.
    assert_eq!(run_with(script, u64::MAX, |_| ()), Err(LoadError::Internal));
}
