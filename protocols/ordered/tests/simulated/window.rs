//! The window: how much a peer may have in flight.

use stackwright_ordered::{Config, DatagramKind, OrderedHeader};

use crate::alone::Alone;

const PIECE: usize = 16 << 10;
const FIRST: u64 = 256 << 10;

/// The peer sends pieces, as many as it may, up to `octets`. Returns how much it is granted beyond
/// them after each.
fn granted(alone: &mut Alone, octets: u64) -> Vec<u64> {
    let (mut sent, mut credit, mut beyond) = (0, FIRST, Vec::new());
    while sent + PIECE as u64 <= octets.min(credit) {
        alone.hear(
            OrderedHeader { kind: DatagramKind::Octets, offset: sent, credit: 0 },
            &[7; PIECE],
        );
        sent += PIECE as u64;
        credit = alone.sent().iter().fold(credit, |credit, (label, _)| credit.max(label.credit));
        beyond.push(credit - sent);
    }
    beyond
}

#[test]
fn it_grows_with_what_was_taken_up_to_its_limit() {
    let mut alone = Alone::open(Config { window: 2 << 20, ..Config::default() }, usize::MAX, 0);
    let beyond = granted(&mut alone, 8 << 20);
    assert_eq!(beyond.len(), (8 << 20) / PIECE, "it is never held up");
    let at = |octets: usize| beyond[octets / PIECE - 1];
    assert!(at(256 << 10) <= FIRST, "nothing more at first");
    assert!(at(1 << 20) > 512 << 10, "as much again as was taken, or half of that");
    assert_eq!(beyond.iter().max(), Some(&(2 << 20)), "the limit");
}

#[test]
fn it_does_not_grow_where_nothing_is_taken() {
    let mut alone = Alone::open(Config::default(), 0, 0);
    assert_eq!(granted(&mut alone, 8 << 20).len() as u64, FIRST / PIECE as u64);
    assert_eq!(alone.ordered.held().sum::<usize>() as u64, FIRST);
}
