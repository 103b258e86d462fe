//! What no tree of files can cause, and what the model of the decision (`tests/model`) does
//! not see: it compares outcomes in all worlds, and not what was opened for nothing.
#![allow(clippy::unwrap_used, reason = "tests")]

mod script;

use keyhole_guest::{LoadError, Stat};
use script::{CONTENT, MAX_BYTES, Script, good, read_from, recent, run_with, stat};
use std::cell::Cell;

/// What a file system may answer instead.
const REFUSALS: [LoadError; 6] = [
    LoadError::NotFound,
    LoadError::PermissionDenied,
    LoadError::OutsideRoot,
    LoadError::NotAFile,
    LoadError::Changed,
    LoadError::Internal,
];

#[test]
fn a_refusal_of_the_file_system_is_the_answer_and_nothing_is_done_after_it() {
    for refusal in REFUSALS {
        let is_error = |script: Script, opens: usize, reads: usize| {
            let outcome = run_with(script, MAX_BYTES, |run| {
                let done = (run.opens.get(), run.reads.borrow().len());
                assert_eq!(done, (opens, reads), "{refusal:?}");
            });
            assert_eq!(outcome, Err(refusal), "{refusal:?}");
        };
        let kind = Err(refusal);
        is_error(Script { kind, ..good() }, 0, 0);
        let open = Err(refusal);
        is_error(Script { open, ..good() }, 1, 0);
        for (look, reads) in [(0, 0), (1, 2)] {
            let look = |at| if at == look { Err(refusal) } else { Ok(stat()) };
            let look = &look;
            is_error(Script { look, ..good() }, 1, reads);
        }
        // At each read of the two readings: the second comes after the second look.
        for wrong in 1..=4 {
            let reads = Cell::new(0);
            let read = &|_, len, offset| match reads.replace(reads.get() + 1) + 1 {
                read if read == wrong => Err(refusal),
                _ => Ok(read_from(CONTENT, len, offset)),
            };
            is_error(Script { read, ..recent() }, 1, wrong);
        }
    }
}

#[test]
fn what_is_not_regular_at_first_sight_is_not_opened() {
    let kind = Ok(false);
    let outcome = run_with(Script { kind, ..good() }, MAX_BYTES, |run| {
        assert_eq!(run.opens.get(), 0);
    });
    assert_eq!(outcome, Err(LoadError::NotAFile));
}

/// The component's memory has room for the largest file twice, and not three times.
#[test]
fn a_file_that_is_read_at_once_is_not_copied() {
    let first = Cell::new(std::ptr::null());
    let read = &|looks, len, offset| {
        let bytes = read_from(CONTENT, len, offset);
        if (looks, offset) == (1, 0) {
            first.set(bytes.as_ptr());
        }
        Ok(bytes)
    };
    for script in [good(), recent()] {
        let bytes = run_with(Script { read, ..script }, MAX_BYTES, |_| ()).unwrap();
        assert_eq!(bytes.as_ptr(), first.get());
    }
}

#[test]
fn a_size_with_no_byte_beyond_it_is_an_error_not_an_overflow() {
    let size = u64::MAX;
    let look = &|_| Ok(Stat { size, ..stat() });
    // There is no room for so much, and no sum of it either.
    let outcome = run_with(Script { look, ..good() }, u64::MAX, |_| ());
    assert_eq!(outcome, Err(LoadError::Internal));
}
