//! A file that is written to during the call is never an answer.

use crate::script::{
    CONTENT, Script, good, read_from, reading, run, run_to, run_with, seen, stat, timeless,
};
use keyhole_guest::{Fault, LoadError, Stat};
use std::cell::Cell;

#[test]
fn a_file_of_which_anything_differs_after_the_read_has_changed() {
    let size = Stat { size: 11, ..stat() };
    let regular = false;
    let mut afters = vec![size, Stat { regular, ..stat() }];
    // Rewritten at the same size; and then with its time set back.
    for time in [
        Some((1_000, 501)),
        Some((1_001, 500)),
        Some((999, 500)),
        None,
    ] {
        let (modified, changed) = (time, time);
        afters.extend([Stat { modified, ..stat() }, Stat { changed, ..stat() }]);
    }
    for after in afters {
        let outcome = run(seen(stat(), after));
        assert_eq!(outcome, Err(LoadError::Changed), "{after:?}");
    }
}

/// The first was found by fuzzing: each read stops short of the byte that tells.
#[test]
fn a_file_that_is_longer_or_shorter_than_it_says_has_changed() {
    let has_changed = |read: &dyn Fn(u64, u64) -> Vec<u8>| {
        let read = |len, offset| Ok(read(len, offset));
        assert_eq!(run(reading(&read)), Err(LoadError::Changed));
    };
    let longer = b"0123456789+";
    for at_most in (1..=12).chain([u64::MAX]) {
        has_changed(&|len, offset| read_from(longer, len.min(at_most), offset));
    }
    // It grows while it is read.
    has_changed(&|len, offset| match offset {
        0 => read_from(CONTENT, 5, 0),
        _ => read_from(longer, len, offset),
    });
    has_changed(&|len, offset| read_from(b"01234", len, offset));
    has_changed(&|_, _| Vec::new());
    let empty = Stat { size: 0, ..stat() };
    assert_eq!(run(seen(empty, empty)), Err(LoadError::Changed));
}

#[test]
fn a_file_that_grows_without_end_is_read_one_byte_past_its_first_size() {
    let endless = [b'x'; 1000];
    let read = |len, offset| Ok(read_from(&endless, len, offset));
    let script = reading(&read);
    let outcome = run_with(script, 10, |run| {
        assert_eq!(*run.reads.borrow(), [(11, 0)], "one byte more, and no more");
    });
    assert_eq!(outcome, Err(LoadError::Changed));
}

/// What the script answers from the second reading of the whole file on.
fn read_again(again: &[u8], at_most: u64) -> Result<String, LoadError> {
    let is_second = Cell::new(false);
    let script = Script {
        stats: [Ok(timeless()); 2],
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
    let outcome = run_to(timeless(), 3, |_| Err(Fault::Denied));
    assert_eq!(outcome, Err(LoadError::PermissionDenied));
}

#[test]
fn changed_is_said_before_not_utf8() {
    let modified = None;
    let script = Script {
        read: &|len, offset| Ok(read_from(&[0xff; 10], len, offset)),
        ..seen(stat(), Stat { modified, ..stat() })
    };
    assert_eq!(run(script), Err(LoadError::Changed));
}

#[test]
fn a_size_with_no_byte_beyond_it_is_an_error_not_an_overflow() {
    let vast = Stat {
        size: u64::MAX,
        ..stat()
    };
    let script = seen(vast, vast);
    // There is no room for so much, and no sum of it either.
    assert_eq!(run_with(script, u64::MAX, |_| ()), Err(LoadError::Internal));
}
