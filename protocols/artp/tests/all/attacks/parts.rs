//! Parts of packets that nobody would send.

use stackwright_artp::Config;
use stackwright_contract::services::MessageProperties;
use stackwright_transport::words::Dropped;

use crate::attacks::packets::part;
use crate::attacks::scene::{ASKS, Ends, GRANTS, acquainted, config, heard, said, send, strangers};

fn next(ends: &Ends) -> u32 {
    ends.ends[GRANTS].association.receipts().upto() as u32
}

/// What end `GRANTS` says to this packet.
fn dropped(ends: &mut Ends, packet: &[u8]) -> Option<Dropped> {
    let before = ends.dropped().len();
    ends.inject(GRANTS, packet);
    ends.dropped().get(before).map(|(_, dropped)| *dropped)
}

#[test]
fn parts_that_cannot_be_are_malformed_and_the_true_ones_make_a_datagram() {
    let mut ends = acquainted(&config(), 1);
    let next = next(&ends);
    let malformed = Some(Dropped::Malformed);
    assert_eq!(dropped(&mut ends, &part(next, 1, 0, 14, &[])), malformed, "empty");
    assert_eq!(dropped(&mut ends, &part(next, 1, 10, 14, &[1; 5])), malformed, "beyond the whole");
    assert_eq!(
        dropped(&mut ends, &part(next, 1, 0, 1201, &[1; 5])),
        malformed,
        "more than a packet"
    );
    let mut old = part(next, 1, 0, 14, &[1; 5]);
    old[0] = 0x11;
    assert_eq!(dropped(&mut ends, &old), malformed, "it need not be understood");
    let body = [&[0; 4], &b"0123456789"[..]].concat();
    for (offset, end) in [(10, 14), (0, 7), (10, 14), (7, 8), (5, 11)] {
        assert_eq!(heard(&mut ends, GRANTS), []);
        let octets = &body[usize::from(offset)..end];
        assert_eq!(dropped(&mut ends, &part(next, 1, offset, 14, octets)), None);
    }
    let now = ends.now();
    let (came, properties) = ends.ends[GRANTS].take(now).expect("a datagram");
    assert_eq!(
        (&came[..], properties),
        (&b"0123456789"[..], MessageProperties { number: Some(1), ..MessageProperties::default() })
    );
    // Its acknowledgement may be lost: any part calls forth another.
    said(&mut ends, GRANTS);
    assert_eq!(dropped(&mut ends, &part(next, 1, 10, 14, &body[10..])), Some(Dropped::Duplicate));
    ends.pass(crate::attacks::scene::soon(&ends));
    assert_eq!(heard(&mut ends, GRANTS), []);
}

#[test]
fn parts_beyond_the_window_and_those_of_strangers_are_not_kept() {
    let mut ends = acquainted(&config(), 2);
    let (next, window) = (next(&ends), config().window);
    let beyond = part(next.wrapping_add(window), 1, 0, 14, &[1; 5]);
    assert_eq!(dropped(&mut ends, &beyond), Some(Dropped::BeyondWindow));
    // Half open: the request came, and what confirms did not.
    let mut ends = strangers(&config(), 3);
    let now = ends.now();
    ends.ends[ASKS].open(now);
    let request = said(&mut ends, ASKS).remove(0);
    ends.inject(GRANTS, &request);
    assert!(ends.ends[GRANTS].association.is_half_open());
    let next = self::next(&ends);
    assert_eq!(dropped(&mut ends, &part(next, 1, 0, 14, &[1; 5])), Some(Dropped::NoRoom));
}

#[test]
fn who_did_not_agree_to_parts_takes_none() {
    let mut ends = acquainted(&Config { parts: false, ..config() }, 4);
    let next = next(&ends);
    assert_eq!(dropped(&mut ends, &part(next, 1, 0, 14, &[1; 5])), Some(Dropped::Malformed));
    send(&mut ends, ASKS, 0..1);
    ends.pass(crate::attacks::scene::soon(&ends));
    assert_eq!(heard(&mut ends, GRANTS), [0]);
}
