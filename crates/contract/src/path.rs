//! Paths of files, as text: names with `/` between them.

use alloc::format;
use alloc::string::String;

/// Splits a path into its folder, as it was written and with its `/`, and the last name, which may
/// be a [pattern](crate::pattern).
///
/// ```
/// use stackwright_contract::path::split;
/// assert_eq!(split("a/b/*.c"), ("a/b/", "*.c"));
/// assert_eq!(split("/a"), ("/", "a"));
/// assert_eq!(split("a"), ("", "a"));
/// ```
pub fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash + 1))
}

/// Returns the path of a name in a folder.
///
/// ```
/// use stackwright_contract::path::join;
/// assert_eq!([join("", "a"), join("/", "a"), join("b", "a")], ["a", "/a", "b/a"]);
/// ```
pub fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder.ends_with('/') {
        format!("{folder}{name}")
    } else {
        format!("{folder}/{name}")
    }
}
