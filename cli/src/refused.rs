//! What a server has refused this program.

use std::sync::{Mutex, PoisonError};

/// The last sentence, which says what to do about it.
static REFUSED: Mutex<Option<String>> = Mutex::new(None);

/// Notes what a server says.
pub(crate) fn note(sentence: String) {
    *REFUSED.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
}

/// Returns what a server has said last, if one has.
pub(crate) fn last() -> Option<String> {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
