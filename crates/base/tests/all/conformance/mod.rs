//! 48 bases and 7 parts: each base passes the parts whose features it has, and refuses the others
//! with a sentence.
//!
//! ```text
//! cargo test -p stackwright-base --test all -- --nocapture conformance      prints the table
//! ```

mod parts;
mod ports;
mod variants;

use stackwright_base::Configuration;
use stackwright_base::features::{PARTS, Selection};
use variants::{Visit, all};

struct Table {
    rows: usize,
    strict: usize,
    passed: usize,
    refused: usize,
}

impl Visit for Table {
    fn visit<C: Configuration + 'static>(&mut self) {
        let selection = C::SELECTION;
        self.rows += 1;
        self.strict += usize::from(selection.strict().is_ok());
        print!("{:>2}  {selection:<92}", self.rows);
        for part in PARTS {
            match selection.offers(part.needs, part.name) {
                Ok(()) => {
                    parts::run::<C>(part.name);
                    self.passed += 1;
                    print!("  {}", part.name);
                }
                Err(refusal) => {
                    let sentence = refusal.to_string();
                    assert!(sentence.starts_with(&format!("`{}` needs ", part.name)), "{sentence}");
                    assert!(
                        sentence.ends_with("Absent") || sentence.ends_with("Active"),
                        "{sentence}"
                    );
                    self.refused += 1;
                    print!("  {}", "-".repeat(part.name.len()));
                }
            }
        }
        println!("{}", if selection.strict().is_ok() { "" } else { "  (not strict)" });
    }
}

#[test]
fn each_base_passes_its_parts() {
    let mut table = Table { rows: 0, strict: 0, passed: 0, refused: 0 };
    all(&mut table);
    assert_eq!((table.rows, table.strict), (48, 32));
    // 32 bases open, 16 of them listen, 16 of the former tell associations apart, 36 have timers,
    // all can be misused.
    assert_eq!(table.passed, 32 + 16 + 32 + 16 + 36 + 32 + 48);
    assert_eq!(table.passed + table.refused, 48 * PARTS.len());
}

/// The types and the values are the same 48.
#[test]
fn types_and_values_agree() {
    struct Values(Vec<Selection>);
    impl Visit for Values {
        fn visit<C: Configuration + 'static>(&mut self) {
            self.0.push(C::SELECTION);
        }
    }
    let mut values = Values(Vec::new());
    all(&mut values);
    assert_eq!(values.0, Selection::all().collect::<Vec<_>>());
}
