//! The page, in Markdown.

use std::fmt::Write as _;

use super::experiments::{EXPERIMENTS, MEASURED};

const HEAD: &str = "\
# The five documents

Stackwright implements what five documents describe, and repeats what they measured.
This page is written by `lab documents`; a test compares the two.

| document | what it describes | where it is |
| --- | --- | --- |
";

/// The documents: what each describes, and where it is.
const DOCUMENTS: &[[&str; 3]] = &[
    [
        "PIX, a thesis and a paper (2003)",
        "generated bases of protocols, the x-Kernel's interface, maps, events, messages; FTP; packet radio",
        "[base](../crates/base), [contract](../crates/contract), [wire](../crates/wire), [compose](../crates/compose), \
         [FTP](../protocols/ftp), [AX.25](../protocols/ax25), [KISS](../protocols/kiss), [XSTP](../protocols/xstp), \
         [DSR](../protocols/dsr), [TCP and IP](internet.md)",
    ],
    [
        "XTP, INRIA report RR-2102 (1993)",
        "XTP 3.6 and 4.0 in user space, its check and seven others, integrated layers",
        "[XTP](../protocols/xtp), [checks](../crates/wire/src/check)",
    ],
    [
        "STRL and UTS, De Silva et al. (1996)",
        "protocols generated from a specification, transports selected by the application, a JPEG image server",
        "[specifications](../crates/spec), [roles](../crates/role), [tailored](../protocols/tailored), \
         [JIS](../protocols/jis); [what the document compares](strl-and-uts.md), here",
    ],
    [
        "ARTP, technical report (2004)",
        "reliable datagrams of any size in no order, sessions, lifetimes",
        "[ARTP](../protocols/artp), [transport](../crates/transport), [policies](../crates/policies)",
    ],
];

const MIDDLE: &str = "
## Experiments

Figures of the documents are of their machines; only ratios compare. Ours are medians beside the alternative in the same run";

/// Returns the page.
pub(super) fn page() -> String {
    let mut page = String::from(HEAD);
    for row in DOCUMENTS {
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
    let _ = writeln!(page, "{MIDDLE} ({MEASURED}).\n");
    page += "| | what is measured | the document's figure | command | ours |\n| --- | --- | --- | --- | --- |\n";
    for experiment in EXPERIMENTS {
        let command = experiment.command.map_or("–".into(), |command| format!("`{command}`"));
        let _ = writeln!(
            page,
            "| E{} | {} ({}) | {} | {command} | {} |",
            experiment.number,
            experiment.subject,
            experiment.source,
            experiment.theirs,
            experiment.ours,
        );
    }
    super::effort::section(&mut page);
    page
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser as _;

    use super::*;
    use crate::measure::Effort;
    use crate::table::tables;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
    }

    /// `lab documents > docs/documents.md` writes it anew.
    #[test]
    fn the_page_in_the_repository_is_this_one() {
        let kept = std::fs::read_to_string(root().join("docs/documents.md")).expect("it is there");
        assert!(kept == page(), "`lab documents > docs/documents.md` writes it anew");
    }

    #[test]
    fn every_experiment_is_there_once() {
        let numbers: Vec<u8> = EXPERIMENTS.iter().map(|experiment| experiment.number).collect();
        assert_eq!(numbers, (1..=26).collect::<Vec<u8>>());
    }

    #[test]
    fn every_command_exists() {
        for command in EXPERIMENTS.iter().filter_map(|experiment| experiment.command) {
            let words = shlex::split(command).expect("words of a shell");
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words[..] {
                ["lab", "table", name, ref cell @ ..] => {
                    let tables = tables();
                    let table = tables.iter().find(|table| table.about().name == name);
                    let table = table.unwrap_or_else(|| panic!("{command}: no such table"));
                    if let ["--cell", key] = cell {
                        let keys = table.keys(Effort::Full);
                        assert!(keys.iter().any(|known| known == key), "{command}: no such cell");
                    }
                }
                ["lab", ..] => {
                    let read = crate::Arguments::try_parse_from(&words);
                    assert!(read.is_ok(), "{command}: {:?}", read.err());
                }
                [
                    "cargo",
                    kind @ ("bench" | "test"),
                    "-p",
                    package,
                    "--bench" | "--test",
                    target,
                    ..,
                ] => {
                    let folder = package.strip_prefix("stackwright-").expect("one of ours");
                    let places =
                        ["crates", "protocols"].map(|place| root().join(place).join(folder));
                    let within = if kind == "bench" { "benches" } else { "tests" };
                    let exists = places.iter().any(|place| {
                        let place = place.join(within);
                        place.join(target).join("main.rs").exists()
                            || place.join(format!("{target}.rs")).exists()
                    });
                    assert!(exists, "{command}: no such target");
                }
                _ => panic!("{command}: not a command of this page"),
            }
        }
    }
}
