//! A file that is written to during the call is never an answer.

use crate::script::{CONTENT, Script, good, read_from, run, run_with, stat};
use keyhole_guest::{LoadError, Stat};

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

/// Found by fuzzing: each read stops short of the byte that tells.
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
    // There is no room for so much, and no sum of it either.
    assert_eq!(run_with(script, u64::MAX, |_| ()), Err(LoadError::Internal));
}
