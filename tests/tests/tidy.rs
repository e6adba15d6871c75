//! What every file of the tree keeps: 100 columns, one meaning for a public name, plain words.
//!
//! What was there before these rules is counted, and may only become less.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Columns of a line, for code and comments.
const COLUMNS: usize = 100;

/// Lines that are longer still.
const LONG_LINES_MOST: usize = 140;

/// Public types whose name stands in several places of the library crates, and why.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Absent", "the choice of nothing, in every slot and every feature"),
    ("Alternative", "what a feature can be; each feature is a module of the base"),
    ("Association", "of an endpoint, awaited or blocking: one API, two ways to wait"),
    ("Command", "what Control asks of a layer, and RFC 959's term for a line of FTP"),
    ("Config", "a crate's configuration, always named with its crate"),
    ("Crc32c", "the check, and the policy that applies it"),
    ("Credit", "flow-control credit, and the option of an ARTP packet that grants it"),
    ("Endpoint", "awaited, on one thread or on any, or blocking: one API"),
    ("Facts", "what a protocol, or a component of a transport, says of itself to its rule book"),
    ("Indication", "of any service, and of an application's own: at most one in a crate"),
    ("Internet", "the checksum, and the policy that applies it"),
    (
        "Lanes",
        "the outer sides of a stack: of one that a driver runs, and of one that is simulated",
    ),
    ("Layer", "the base's, and ARTP's, which is one of them"),
    ("Misfit", "why a rule book refuses: that of stacks, and that of slots"),
    ("Request", "of any service, and of an application's own: at most one in a crate"),
    ("Run", "of an endpoint of either flavor, and its name where handles stay on one thread"),
    (
        "SendFuture",
        "of an endpoint of either flavor, and its name where handles stay on one thread",
    ),
    ("Stream", "of an endpoint of either flavor, and its name where handles stay on one thread"),
    ("Tcp", "the adapter, and the header in a capture"),
    ("Udp", "the adapter, and the header in a capture"),
];

/// Phrases that a stranger reads twice.
const PHRASES: &[&str] = &[
    "so many",
    "let go of",
    "lets go of",
    "heard of it",
    "was heard of",
    "everybody",
    "somebody",
    "whoever",
    "who has",
    "who wants",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Calls `visit` with the path, relative to the root, and the text of each Rust file below
/// `folder`.
fn each(folder: &Path, visit: &mut dyn FnMut(&str, &str)) {
    each_ending(".rs", folder, visit);
}

/// The same for each file whose name ends in `ending`.
fn each_ending(ending: &str, folder: &Path, visit: &mut dyn FnMut(&str, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().expect("a type").is_dir() {
            if name != "target" && !name.starts_with('.') {
                each_ending(ending, &path, visit);
            }
        } else if name.ends_with(ending) {
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
    assert!(
        long.len() <= LONG_LINES_MOST,
        "{} lines are longer than {COLUMNS} columns",
        long.len()
    );
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
    let is_listed = |name: &str| SHARED_NAMES.iter().any(|(shared, _)| *shared == name);
    let unexplained: Vec<_> = places.iter().filter(|(name, _)| !is_listed(name)).collect();
    assert!(unexplained.is_empty(), "public names with several meanings: {unexplained:#?}");
    let listed = SHARED_NAMES.iter().map(|(shared, _)| shared);
    let stale: Vec<_> = listed.filter(|name| !places.contains_key(**name)).collect();
    assert!(stale.is_empty(), "no longer in several places, so take them off the list: {stale:?}");
}

#[test]
fn documents_are_plain() {
    let mut found = Vec::new();
    each_ending(".md", &root(), &mut |document, text| {
        for (number, line) in (1..).zip(text.lines()) {
            let lower = line.to_lowercase();
            if let Some(phrase) = PHRASES.iter().find(|phrase| lower.contains(**phrase)) {
                found.push(format!("{document}:{number}: {phrase}"));
            }
        }
    });
    assert!(found.is_empty(), "phrases to write plainly:\n{}", found.join("\n"));
}

/// Protocols whose names neither the base nor the engine knows.
const PROTOCOLS: &[&str] = &["artp", "sscop", "xstp", "xtp"];

#[test]
fn the_base_and_the_engine_name_no_protocol() {
    let mut named = Vec::new();
    for folder in ["crates/base/src", "crates/transport/src"] {
        each(&root().join(folder), &mut |path, text| {
            for (nth, line) in text.lines().enumerate() {
                let mut words =
                    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                if words.any(|word| PROTOCOLS.contains(&word.to_lowercase().as_str())) {
                    named.push(format!("{path}:{}: {line}", nth + 1));
                }
            }
        });
    }
    assert!(named.is_empty(), "{}", named.join("\n"));
}
