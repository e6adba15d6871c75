//! Names that are left alone: neither copied nor removed.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::pattern::{NoPattern, Pattern};

use super::TreeOptions;

/// The patterns of a tree's options.
pub(super) struct Filters {
    include: Vec<Filter>,
    exclude: Vec<Filter>,
}

impl Filters {
    /// Returns `None` if one of the patterns would be too much work.
    pub(super) fn parse(options: &TreeOptions) -> Option<Self> {
        let parse = |texts: &[String]| -> Option<Vec<Filter>> {
            texts.iter().map(|text| Filter::parse(text)).collect()
        };
        Some(Filters { include: parse(&options.include)?, exclude: parse(&options.exclude)? })
    }

    /// Returns whether something is left alone. `path` is its path below the tree's folder.
    pub(super) fn leaves(&self, path: &str, is_folder: bool) -> bool {
        let any = |filters: &[Filter]| filters.iter().any(|filter| filter.matches(path));
        any(&self.exclude) || !is_folder && !self.include.is_empty() && !any(&self.include)
    }
}

/// A pattern of the name, or of the whole path below the tree's folder.
struct Filter {
    is_path: bool,
    names: Vec<Name>,
}

enum Name {
    Exactly(String),
    Like(Pattern),
}

impl Name {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match Pattern::parse(text) {
            Ok(pattern) => Some(Name::Like(pattern)),
            Err(NoPattern::Name) => Some(Name::Exactly(text.into())),
            Err(NoPattern::TooMuch) => None,
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Name::Exactly(exactly) => exactly == name,
            Name::Like(pattern) => pattern.matches(name),
        }
    }
}

impl Filter {
    fn parse(text: &str) -> Option<Self> {
        let is_path = text.trim_end_matches('/').contains('/');
        let names = text.split('/').filter(|name| !name.is_empty()).map(Name::parse);
        Some(Filter { is_path, names: names.collect::<Option<_>>()? })
    }

    fn matches(&self, path: &str) -> bool {
        if !self.is_path {
            let name = path.rsplit('/').next().unwrap_or(path);
            return self.names.first().is_some_and(|pattern| pattern.matches(name));
        }
        let mut names = path.split('/');
        self.names.iter().all(|pattern| names.next().is_some_and(|name| pattern.matches(name)))
            && names.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_everywhere_and_paths_from_the_top() {
        for (text, path, expected) in [
            ("*.o", "a/b.o", true),
            ("*.o", "a/b.c", false),
            ("target", "x/target", true),
            ("target/", "x/target", true),
            ("/target", "target", true),
            ("/target", "x/target", false),
            ("a/*.o", "a/b.o", true),
            ("a/*.o", "a/b/c.o", false),
            ("a/*.o", "a", false),
            ("a/b", "a/b/c", false),
        ] {
            let filter = Filter::parse(text).expect("a pattern");
            assert_eq!(filter.matches(path), expected, "{text} {path}");
        }
        assert!(Filter::parse(&"*a".repeat(9)).is_none());
    }

    #[test]
    fn what_is_not_included_is_left_unless_it_is_a_folder() {
        let options = TreeOptions {
            include: alloc::vec!["*.c".into()],
            exclude: alloc::vec!["x*".into()],
            ..TreeOptions::default()
        };
        let filters = Filters::parse(&options).expect("patterns");
        assert!(!filters.leaves("a.c", false) && filters.leaves("a.o", false));
        assert!(!filters.leaves("folder", true) && filters.leaves("x", true));
        assert!(filters.leaves("x.c", false));
    }
}
