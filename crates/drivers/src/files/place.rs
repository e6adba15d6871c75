//! Names: which paths there are, and the hidden names of what is incomplete.

use sha2::{Digest, Sha256};
use stackwright_contract::services::Failure;

/// The longest name in a folder, in octets: what Linux allows.
const NAME_MOST: usize = 255;
/// The longest path, in octets: what Linux allows, less the end mark.
const PATH_MOST: usize = 4095;

/// A path in its plain form: no empty name, no `.`, no `..`, nothing that cannot be a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Names joined by `/`; empty for the root.
    names: String,
    /// Whether the path ends with `/.`: its status is that of a folder that can be entered.
    enters: bool,
}

impl Place {
    /// Parses a path of the service.
    ///
    /// `..` removes the name before it, whatever that name is: to look at the disk would be to
    /// trust it, and where a link has that name, the textual meaning is the one that the reader of
    /// the path sees.
    pub(super) fn parse(path: &str) -> Result<Self, Failure> {
        if path.len() > PATH_MOST {
            return Err(Failure::BadName);
        }
        let mut names: Vec<&str> = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop().ok_or(Failure::Denied)?;
                }
                name if !is_name(name) => return Err(Failure::BadName),
                name if is_temporary(name) => return Err(Failure::Denied),
                name => names.push(name),
            }
        }
        Ok(Place { names: names.join("/"), enters: path.ends_with("/.") })
    }

    /// Returns the path as the operating system takes it, relative to the root.
    pub(super) fn path(&self) -> &str {
        if self.names.is_empty() { "." } else { &self.names }
    }

    /// Returns whether only a folder will do that can be entered.
    pub(super) fn enters(&self) -> bool {
        self.enters
    }

    /// Returns the path of its folder, and its name in it; `None` for the root.
    pub(super) fn split(&self) -> Option<(&str, &str)> {
        match self.names.rsplit_once('/') {
            Some(parts) => Some(parts),
            None => (!self.names.is_empty()).then_some((".", &self.names)),
        }
    }
}

/// Whether this can be a name in a folder. Control characters cannot: a line end in a name becomes
/// a second command, or a second entry, in some protocol above.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= NAME_MOST && !name.chars().any(char::is_control)
}

const TEMPORARY_END: &str = ".part";
const TEMPORARY_DIGITS: usize = 16;

/// The longest name that a temporary one shows whole.
const SHOWN_MOST: usize =
    NAME_MOST - ".".len() - ".".len() - TEMPORARY_DIGITS - TEMPORARY_END.len();

/// Returns the name that a file has while it is written: `.NAME.0123456789abcdef.part`, in the same
/// folder, because only there it can be renamed atomically. `number` is not zero.
pub(super) fn temporary(name: &str, number: u64) -> String {
    format!(".{}.{number:016x}{TEMPORARY_END}", &name[..name.floor_char_boundary(SHOWN_MOST)])
}

/// Returns the name of the part of a file that can be resumed: a temporary name with the number
/// zero, or a digest of the name where that is cut short.
pub(super) fn part(name: &str) -> String {
    let mut number = [0; 8];
    if name.len() > SHOWN_MOST {
        number.copy_from_slice(&Sha256::digest(name)[..8]);
    }
    temporary(name, u64::from_be_bytes(number))
}

/// Whether this is the name of the [part] of a file whose name it shows whole.
pub(super) fn is_part(name: &str) -> bool {
    is_temporary(name) && name.ends_with(".0000000000000000.part")
}

/// Whether [`temporary`] makes such names. They are hidden, and cannot be requested: an incomplete
/// file is no file.
pub(super) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_suffix(TEMPORARY_END).and_then(|name| name.strip_prefix('.'));
    digits.and_then(|name| name.rsplit_once('.')).is_some_and(|(name, digits)| {
        !name.is_empty()
            && digits.len() == TEMPORARY_DIGITS
            && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_plain_form() {
        for (path, plain) in [
            ("", "."),
            ("/", "."),
            ("a", "a"),
            ("/a//b/", "a/b"),
            ("./a/./b/..", "a"),
            ("a/../b", "b"),
            ("a/..", "."),
            ("a/...", "a/..."),
            ("ä/日本", "ä/日本"),
        ] {
            assert_eq!(Place::parse(path).as_ref().map(Place::path), Ok(plain), "{path:?}");
        }
    }

    #[test]
    fn paths_that_lead_out_are_denied() {
        for path in ["..", "/..", "a/../..", "a/../../a", "./../a", "a/b/../../../c"] {
            assert_eq!(Place::parse(path), Err(Failure::Denied), "{path:?}");
        }
    }

    #[test]
    fn names_that_are_none_are_refused() {
        let long = "x".repeat(256);
        let deep = "x/".repeat(2100);
        for path in ["a\0b", "a\rb", "a\nb", "\u{7f}", "a/\u{1b}[2J", "\u{85}", &long, &deep] {
            assert_eq!(Place::parse(path), Err(Failure::BadName), "{path:?}");
        }
        assert!(Place::parse(&"x".repeat(255)).is_ok());
    }

    #[test]
    fn a_place_is_a_name_in_a_folder() {
        let split = |path: &str| {
            let place = Place::parse(path).expect("a path");
            place.split().map(|(folder, name)| (folder.to_owned(), name.to_owned()))
        };
        assert_eq!(split("/"), None);
        assert_eq!(split("a"), Some((".".into(), "a".into())));
        assert_eq!(split("a/b/c"), Some(("a/b".into(), "c".into())));
    }

    #[test]
    fn each_name_has_its_own_part() {
        assert_eq!(part("a"), ".a.0000000000000000.part");
        assert!(is_part(&part("a")) && !is_part(&temporary("a", 1)) && !is_part("a"));
        let long = "x".repeat(254);
        assert_ne!(part(&format!("{long}a")), part(&format!("{long}b")));
        for name in ["a", &format!("{long}a"), &"日".repeat(85)] {
            assert!(part(name).len() <= 255 && is_temporary(&part(name)), "{name}");
        }
    }

    #[test]
    fn temporary_names_fit_and_are_known_again() {
        for name in ["a", ".a", "日".repeat(85).as_str(), "x".repeat(255).as_str()] {
            let temporary = temporary(name, 0x1234);
            assert!(temporary.len() <= 255, "{temporary}");
            assert!(is_temporary(&temporary), "{temporary}");
            assert_eq!(Place::parse(&temporary), Err(Failure::Denied));
        }
        for name in [
            ".a.part",
            ".a.0123.part",
            "a.0123456789abcdef.part",
            "..0123456789abcdef.part",
            ".part",
        ] {
            assert!(!is_temporary(name), "{name}");
        }
    }
}
