//! A syntax with every kind of step, and octets of all kinds.

use proptest::prelude::*;
use stackwright_wire::syntax::{Case, Discriminant, Found, Layout, Step, SyntaxError, field, walk};
use stackwright_wire::{Header, Malformed};

/// Before everything.
#[derive(Header)]
#[allow(dead_code, reason = "what is fixed is not read")]
struct Head {
    /// What follows.
    #[bits(4)]
    kind: u8,
    /// Must be zero.
    #[bits(4)]
    #[fixed(0)]
    reserved: (),
    /// Octets of items.
    items: u8,
}

/// Before an item.
#[derive(Header)]
struct Item {
    /// Octets of the item, these two included.
    size: u8,
    /// Which.
    id: u8,
}

/// The value of an item.
#[derive(Header)]
struct Price {
    /// In cents.
    cents: u16,
}

const PACKET: &[Step] = &[
    Step::Header(Layout::of::<Head>()),
    Step::Part { octets: field("Head", "items"), less: 0, steps: &[Step::Repeat(ITEM)] },
    Step::Choice {
        by: Discriminant::Value(field("Head", "kind")),
        cases: &[
            Case {
                value: 1,
                name: "cut",
                steps: &[Step::Octets { name: "some", octets: field("Price", "cents") }],
            },
            // Nothing is read, however often: it must end all the same.
            Case { value: 2, name: "idle", steps: &[Step::Repeat(&[])] },
        ],
        otherwise: &[Step::Choice {
            by: Discriminant::Occurred(field("Item", "id"), 7),
            cases: &[Case { value: 1, name: "seven", steps: &[Step::Rest("all")] }],
            otherwise: &[],
        }],
    },
];

const ITEM: &[Step] = &[
    Step::Header(Layout::of::<Item>()),
    Step::Part {
        octets: field("Item", "size"),
        less: 2,
        steps: &[Step::Choice {
            by: Discriminant::Value(field("Item", "id")),
            cases: &[Case {
                value: 1,
                name: "price",
                steps: &[Step::Header(Layout::of::<Price>())],
            }],
            otherwise: &[],
        }],
    },
];

fn names(octets: &[u8]) -> (Vec<&'static str>, &[u8], Vec<SyntaxError>) {
    let walk = walk(PACKET, octets);
    (walk.found.iter().map(Found::name).collect(), walk.rest, walk.faults)
}

#[test]
fn what_follows_depends_on_what_was_read() {
    assert_eq!(names(&[0x00, 0, 9]), (vec!["Head"], &[9][..], vec![]));
    assert_eq!(names(&[0x10, 4, 4, 1, 0, 2, 8, 8, 9]).0, ["Head", "Item", "Price", "some"]);
    assert_eq!(names(&[0x10, 4, 4, 1, 0, 2, 8, 8, 9]).1, [9]);
    // Of a field that was not read, the value is 0; of what is said to be there, what is there is
    // shown.
    assert_eq!(names(&[0x10, 0, 8]), (vec!["Head"], &[8][..], vec![]));
    assert_eq!(
        names(&[0x10, 4, 4, 1, 0, 2, 8]),
        (vec!["Head", "Item", "Price", "some"], &[][..], vec![])
    );
    assert_eq!(names(&[0x20, 0, 8]), (vec!["Head"], &[8][..], vec![]));
    // The last one decides about a value, any about an occurrence.
    assert_eq!(names(&[0x30, 6, 2, 7, 4, 1, 0, 3, 8]).0, ["Head", "Item", "Item", "Price", "all"]);
    assert_eq!(names(&[0x00, 3, 3, 9, 1]).0, ["Head", "Item", "unexplained"]);
}

#[test]
fn what_does_not_fit_is_told() {
    let beyond = |header, name, says| SyntaxError::Beyond { field: field(header, name), says };
    assert_eq!(names(&[]).2, [SyntaxError::Short { header: "Head", octets: 2, here: 0 }]);
    assert_eq!(names(&[0x00, 1]).2, [beyond("Head", "items", 1)]);
    assert_eq!(
        names(&[0x00, 2, 1, 9]),
        (vec!["Head", "Item"], &[][..], vec![beyond("Item", "size", 1)])
    );
    assert_eq!(
        names(&[0x00, 3, 4, 9, 1, 5]),
        (vec!["Head", "Item"], &[1, 5][..], vec![beyond("Item", "size", 4)])
    );
    let short = SyntaxError::Short { header: "Price", octets: 2, here: 1 };
    assert_eq!(names(&[0x00, 3, 3, 1, 1, 5]), (vec!["Head", "Item"], &[1, 5][..], vec![short]));
    let malformed = SyntaxError::Malformed("Head", Malformed::Field("reserved"));
    assert_eq!(names(&[0x01, 2, 2, 9]), (vec!["Head", "Item"], &[][..], vec![malformed]));
    assert_eq!(beyond("Item", "size", 1).to_string(), "`size` of Item says 1, which does not fit");
}

proptest! {
    /// Nothing is lost and nothing is shown twice: what was found and what is left are all octets,
    /// in their order.
    #[test]
    fn every_octet_is_somewhere(octets in proptest::collection::vec(0_u8..12, 0..60)) {
        let walk = walk(PACKET, &octets);
        let mut all = Vec::new();
        for found in &walk.found {
            all.extend_from_slice(match found {
                Found::Header(header) => header.octets(),
                Found::Octets { octets, .. } => octets,
            });
        }
        all.extend_from_slice(walk.rest);
        prop_assert_eq!(all, octets);
    }
}
