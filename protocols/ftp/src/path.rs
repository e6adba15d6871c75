//! Paths as the client sees them: `/` is the root that it cannot leave.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Resolves `path` in the working folder `folder`, without `.`, `..` and empty parts. The result
/// always begins with `/`. A `..` at the root stays there, as on every Unix.
pub(crate) fn resolve(folder: &str, path: &str) -> String {
    let begin = if path.starts_with('/') { "" } else { folder };
    let mut parts = Vec::new();
    for part in begin.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Quotes a path as in the 257 reply to PWD: quotes inside are doubled (RFC 959, appendix II).
pub(crate) fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_root() {
        for (folder, path, expected) in [
            ("/", "a", "/a"),
            ("/a/b", "../c", "/a/c"),
            ("/a", "/x//y/./z/", "/x/y/z"),
            ("/a", "../../../..", "/"),
            ("/", "", "/"),
            ("/a", "..a", "/a/..a"),
        ] {
            assert_eq!(resolve(folder, path), expected);
        }
        assert_eq!(quoted("/a\"b"), "\"/a\"\"b\"");
    }
}
