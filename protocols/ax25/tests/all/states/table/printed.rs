//! The table as the README has it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Cell, STATES, Source, rows};

/// Prints what a station does, and where it is then.
fn printed() -> String {
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut order, mut text) = (Vec::new(), String::from("| input |"));
    for (number, state) in STATES.iter().enumerate() {
        let _ = write!(text, " {number} {state:?} |");
    }
    let _ = writeln!(text, "\n|{}", " --- |".repeat(STATES.len() + 1));
    for row in rows() {
        let _ = write!(text, "| {} |", row.input.words());
        for Cell { does, next, source } in row.cells {
            let says = match source {
                Source::Known(_) => None,
                Source::Erratum(why) => Some(("e", why)),
                Source::Silent(why) => Some(("s", why)),
                Source::Differs(why) => Some(("d", why)),
            };
            let note = says.map_or(String::new(), |(kind, why)| {
                let number = *notes.entry(why).or_insert_with(|| {
                    order.push((kind, why));
                    order.len()
                });
                format!(" <sup>{kind}{number}</sup>")
            });
            let does = if does.is_empty() { "–" } else { does };
            let _ = write!(text, " {does} → {next}{note} |");
        }
        text.push('\n');
    }
    text.push('\n');
    for (number, (kind, why)) in order.iter().enumerate() {
        let _ = writeln!(text, "- {kind}{}: {why}", number + 1);
    }
    text
}

#[test]
fn the_readme_has_the_table() {
    let (readme, table) = (include_str!("../../../../README.md"), printed());
    assert!(readme.contains(&table), "put this into README.md:\n{table}");
}
