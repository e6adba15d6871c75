//! Prints the table of states and inputs for the README: what a station does, and where it is then.

use std::collections::BTreeMap;

use stackwright_ax25::table::{Cell, STATES, Source, rows};

fn main() {
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order = Vec::new();
    print!("| input |");
    for (number, state) in STATES.iter().enumerate() {
        print!(" {number} {state:?} |");
    }
    println!("\n|{}", " --- |".repeat(STATES.len() + 1));
    for row in rows() {
        print!("| {} |", row.input.words());
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
            print!(" {does} → {next}{note} |");
        }
        println!();
    }
    println!();
    for (number, (kind, why)) in order.iter().enumerate() {
        println!("- {kind}{}: {why}", number + 1);
    }
}
