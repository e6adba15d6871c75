//! Nothing here knows a protocol.

use std::fs;
use std::path::{Path, PathBuf};

/// As one word, or as the beginning of one.
const PROTOCOLS: [&str; 10] =
    ["artp", "xtp", "xstp", "tcp", "quic", "sctp", "sscop", "ftp", "udp", "dsr"];

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The parts of names in a line of code: `XtpLike` and `xtp_like` are `xtp` and `like`.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    let mut before = ' ';
    for letter in line.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if letter.is_alphabetic() { letter.to_ascii_lowercase() } else { ' ' });
        before = letter;
    }
    spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

#[test]
fn engine_and_policies_name_no_protocol_but_in_words_about_them() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "../transport/src"] {
        sources(&here.join(folder), &mut files);
    }
    assert!(files.len() > 50, "the sources are where they were");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let named = words(code).find(|word| PROTOCOLS.contains(&word.as_str()));
            assert_eq!(named, None, "{}:{}: {line}", file.display(), number + 1);
        }
    }
}

#[test]
fn words_are_found_in_names() {
    let found: Vec<_> = words("let a: XtpHeader = tcp_of(b);").collect();
    assert_eq!(found, ["let", "a", "xtp", "header", "tcp", "of", "b"]);
}
