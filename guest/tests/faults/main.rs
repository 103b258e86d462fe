//! What no tree of files can cause: a file system that fails, and files that change
//! between two steps of a call. Each test scripts it in memory.
#![allow(clippy::unwrap_used, reason = "tests")]

mod changed;
mod parts;
mod script;

use keyhole_guest::{Fault, LoadError, Stat};
use script::{
    CONTENT, MAX_BYTES, Script, good, read_from, reading, run, run_to, run_with, seen, stat,
    timeless,
};

/// What the contract says about each fault, wherever it occurs.
const FAULTS: [(Fault, LoadError); 6] = [
    (Fault::Missing, LoadError::NotFound),
    (Fault::Denied, LoadError::PermissionDenied),
    (Fault::Escapes, LoadError::OutsideRoot),
    (Fault::NotAFile, LoadError::NotAFile),
    (Fault::Unsettled, LoadError::Changed),
    (Fault::Other, LoadError::Internal),
];

#[test]
fn the_script_that_changes_nothing_loads() {
    let outcome = run_with(good(), MAX_BYTES, |run| {
        assert_eq!(run.opens.get(), 1);
        assert_eq!(run.stats_taken.get(), 2, "one look before, one after");
        assert_eq!(
            *run.reads.borrow(),
            [(11, 0), (1, 10)],
            "one byte more than there should be, then the end"
        );
    });
    assert_eq!(outcome.unwrap(), "0123456789");
}

#[test]
fn each_fault_is_its_error_and_nothing_is_done_after_it() {
    for (fault, error) in FAULTS {
        let is_error = |script: Script, opens: usize, has_read: bool| {
            let outcome = run_with(script, MAX_BYTES, |run| {
                assert_eq!(run.opens.get(), opens, "{fault:?}");
                assert_eq!(!run.reads.borrow().is_empty(), has_read, "{fault:?}");
            });
            assert_eq!(outcome, Err(error), "{fault:?}");
        };
        let look = Script {
            look: Err(fault),
            ..good()
        };
        is_error(look, 0, false);
        let open = Script {
            open: Err(fault),
            ..good()
        };
        is_error(open, 1, false);
        for (stats, has_read) in [
            ([Err(fault), Ok(stat())], false),
            ([Ok(stat()), Err(fault)], true),
        ] {
            is_error(Script { stats, ..good() }, 1, has_read);
        }
        is_error(reading(&|_, _| Err(fault)), 1, true);
    }
}

#[test]
fn a_fault_after_half_the_file_is_its_error_and_half_is_no_answer() {
    let read = |_, offset| match offset {
        0 => Ok(CONTENT[..5].to_vec()),
        _ => Err(Fault::Other),
    };
    let script = reading(&read);
    assert_eq!(run(script), Err(LoadError::Internal));
}

#[test]
fn what_is_not_regular_at_first_sight_is_not_opened() {
    let script = Script {
        look: Ok(false),
        ..good()
    };
    let outcome = run_with(script, MAX_BYTES, |run| assert_eq!(run.opens.get(), 0));
    assert_eq!(outcome, Err(LoadError::NotAFile));
}

#[test]
fn a_file_that_became_something_else_before_the_open_is_not_read() {
    let other = Stat {
        regular: false,
        ..stat()
    };
    let script = seen(other, other);
    let outcome = run_with(script, MAX_BYTES, |run| {
        assert!(run.reads.borrow().is_empty())
    });
    assert_eq!(outcome, Err(LoadError::NotAFile));
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let outcome = run_with(good(), 9, |run| assert!(run.reads.borrow().is_empty()));
    assert_eq!(outcome, Err(LoadError::TooLarge));
}

#[test]
fn a_read_that_comes_back_short_is_continued() {
    for at_most in 1..=11 {
        let read = |len: u64, offset| Ok(read_from(CONTENT, len.min(at_most), offset));
        let script = reading(&read);
        assert_eq!(run(script).unwrap(), "0123456789", "{at_most} at a time");
    }
}

/// The component's memory has room for the largest file twice, and not three times.
#[test]
fn a_file_that_is_read_at_once_is_not_copied() {
    let at = std::cell::Cell::new(std::ptr::null());
    let read = |len, offset| {
        let bytes = read_from(CONTENT, len, offset);
        if offset == 0 {
            at.set(bytes.as_ptr());
        }
        Ok(bytes)
    };
    let script = reading(&read);
    let text = run(script).unwrap();
    assert_eq!(text.as_ptr(), at.get());
}

#[test]
fn a_character_in_two_reads_is_one_character() {
    let text = "€€€x".as_bytes();
    let read = |len: u64, offset| Ok(read_from(text, len.min(1), offset));
    let script = reading(&read);
    assert_eq!(run(script).unwrap(), "€€€x");
}

/// At the first read, at a later one, and at one of the second reading.
#[test]
fn a_read_of_more_than_was_asked_for_is_a_broken_file_system() {
    for (stat, wrong) in [(stat(), 1), (stat(), 2), (timeless(), 3)] {
        let outcome = run_to(stat, wrong, |len| Ok(vec![b'x'; len as usize + 1]));
        assert_eq!(outcome, Err(LoadError::Internal), "read {wrong}");
    }
}

#[test]
fn a_file_whose_clock_tells_nothing_is_read_twice() {
    let script = seen(timeless(), timeless());
    let outcome = run_with(script, MAX_BYTES, |run| {
        assert_eq!(
            *run.reads.borrow(),
            [(11, 0), (1, 10), (11, 0), (1, 10)],
            "the whole and the end, twice"
        );
    });
    assert_eq!(outcome.unwrap(), "0123456789");
}

#[test]
fn a_second_read_that_comes_back_short_is_continued() {
    for at_most in 1..=11 {
        let script = Script {
            stats: [Ok(timeless()); 2],
            read: &|len, offset| Ok(read_from(CONTENT, len.min(at_most), offset)),
            ..good()
        };
        assert_eq!(run(script).unwrap(), "0123456789", "{at_most} at a time");
    }
}
