//! The host's escape of a text for JSON, as a WebAssembly module. An engine can count its
//! instructions exactly, and they are the same on every machine.

use std::sync::{Mutex, PoisonError};

/// The host's own module.
#[path = "../../../host/src/mcp/escape.rs"]
mod host;

static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ESCAPED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a text of this length, and says where.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    text.resize(bytes, 0);
    text.as_mut_ptr()
}

/// Escapes the text, and returns how long the result is.
#[unsafe(no_mangle)]
pub extern "C" fn escape() -> usize {
    let text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut escaped = ESCAPED.lock().unwrap_or_else(PoisonError::into_inner);
    escaped.clear();
    host::escape(&text, &mut escaped);
    escaped.len()
}
