//! What a result says of itself: a command that writes its result to a file succeeds, whatever came
//! of it.

use serde_json::Value;

/// The keys that say, in words, what went wrong, as `lab run` writes them: a promise was broken; a
/// flow did not do all of its workload. What is no text under these names is another program's, and
/// means something else.
const KEYS: [&str; 2] = ["broken", "failed"];

/// Whether a promise was broken, or a workload was not done.
pub(super) fn fell_short(result: &Value) -> bool {
    KEYS.iter().any(|key| result[key].is_string())
}

/// Of so many results, that some fell short, as the end of a line; nothing where none did.
pub(super) fn said(count: u64) -> String {
    match count {
        0 => String::new(),
        count => format!(
            "; {count} broke a promise or did not deliver everything (columns result.broken and result.failed of the summary)"
        ),
    }
}
