//! What every file of the tree keeps: 100 columns, one meaning for a public name, plain words.
//!
//! What was there before these rules is counted, and may only become less.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Columns of a line, for code and comments.
const COLUMNS: usize = 100;

/// Lines that are longer still.
const LONG_LINES_MOST: usize = 3763;

/// Public types whose name stands in several places of the library crates, and why.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Absent", "the choice of nothing, in every slot and every feature"),
    ("Alternative", "what a feature can be; each feature is a module of the base"),
    ("Association", "of an endpoint, awaited or blocking: one API, two ways to wait"),
    ("Config", "a crate's configuration, always named with its crate"),
    ("Crc32c", "the check, and the policy that applies it"),
    ("Endpoint", "awaited or blocking: one API, two ways to wait"),
    ("Indication", "of any service, and of an application's own: at most one in a crate"),
    ("Internet", "the checksum, and the policy that applies it"),
    ("Layer", "the base's, and ARTP's, which is one of them"),
    ("Request", "of any service, and of an application's own: at most one in a crate"),
    ("Tcp", "the adapter, and the header in a capture"),
    ("Udp", "the adapter, and the header in a capture"),
];

/// Names that have several meanings still. The list may only become shorter.
const AMBIGUOUS_NAMES: &[&str] = &[
    "Asks",
    "Credit",
    "Direction",
    "Entry",
    "Facts",
    "Heard",
    "Joined",
    "Kind",
    "Label",
    "Lanes",
    "Marks",
    "Misfit",
    "Nobody",
    "Octets",
    "Options",
    "Packet",
    "Part",
    "Place",
    "Refused",
    "Registry",
    "Segment",
    "Sending",
    "Session",
    "Stream",
    "Table",
    "Word",
];

/// Phrases that a stranger reads twice.
const PHRASES: &[&str] =
    &["so many", "let go of", "lets go of", "heard of it", "was heard of", "whoever", "who has", "who wants"];

/// Documents that were rewritten, and stay plain.
const REWRITTEN: &[&str] = &["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Calls `visit` with the path, relative to the root, and the text of each Rust file below `folder`.
fn each(folder: &Path, visit: &mut dyn FnMut(&str, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().expect("a type").is_dir() {
            if name != "target" && !name.starts_with('.') {
                each(&path, visit);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("text");
            let path = path.strip_prefix(root()).expect("below the root");
            visit(&path.to_string_lossy(), &text);
        }
    }
}

/// A table cannot be broken, nor can a text that is shown to people, nor an address.
fn may_be_long(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("//").map(|text| text.trim_start_matches(['/', '!', ' ']));
    comment.map_or(line.contains('"'), |text| text.starts_with('|') || text.contains("http"))
}

#[test]
fn no_more_lines_have_more_than_100_columns() {
    let mut long = Vec::new();
    each(&root(), &mut |path, text| {
        for (number, line) in (1..).zip(text.lines()) {
            if line.chars().count() > COLUMNS && !may_be_long(line) {
                long.push(format!("{path}:{number}"));
            }
        }
    });
    assert!(long.len() <= LONG_LINES_MOST, "{} lines are longer than {COLUMNS} columns", long.len());
}

/// Returns the name of the public type that a line defines.
fn public_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
    let is_type = matches!(kind, "struct" | "enum" | "trait" | "type" | "union");
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| is_type && !name.is_empty())
}

#[test]
fn a_public_name_has_one_meaning() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for crates in ["crates", "protocols", "stackwright"] {
        each(&root().join(crates), &mut |path, text| {
            // What is for tests alone is no library.
            let is_library = path.contains("/src/")
                && !["/trial/", "/toys/"].iter().any(|for_tests| path.contains(for_tests));
            for name in text.lines().filter(|_| is_library).filter_map(public_type) {
                places.entry(name.to_owned()).or_default().push(path.to_owned());
            }
        });
    }
    places.retain(|_, places| places.len() > 1);
    let is_listed = |name: &str| {
        SHARED_NAMES.iter().any(|(shared, _)| *shared == name) || AMBIGUOUS_NAMES.contains(&name)
    };
    let unexplained: Vec<_> = places.iter().filter(|(name, _)| !is_listed(name)).collect();
    assert!(unexplained.is_empty(), "public names with several meanings: {unexplained:#?}");
    let listed = SHARED_NAMES.iter().map(|(shared, _)| shared).chain(AMBIGUOUS_NAMES);
    let stale: Vec<_> = listed.filter(|name| !places.contains_key(**name)).collect();
    assert!(stale.is_empty(), "no longer in several places, so take them off the list: {stale:?}");
}

#[test]
fn what_was_rewritten_stays_plain() {
    let mut found = Vec::new();
    for document in REWRITTEN {
        let text = fs::read_to_string(root().join(document)).expect("a document");
        for (number, line) in (1..).zip(text.lines()) {
            let lower = line.to_lowercase();
            if let Some(phrase) = PHRASES.iter().find(|phrase| lower.contains(**phrase)) {
                found.push(format!("{document}:{number}: {phrase}"));
            }
        }
    }
    assert!(found.is_empty(), "phrases to write plainly:\n{}", found.join("\n"));
}
