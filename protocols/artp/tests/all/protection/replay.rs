//! What was recorded is sent again, by somebody else.

use std::collections::HashMap;

use stackwright_artp::Protection;
use stackwright_artp::header::Packet;
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::Conditions;
use stackwright_transport::words::Dropped;
use stackwright_wire::Header;

use crate::protection::setting::{
    CIPHERS, Ends, bad, heard, numbered_after, opened, run, say, sealed, signed, units,
};

const PROTECTIONS: [fn(usize) -> Protection; 3] =
    [|_| sealed(CIPHERS[0]), |_| sealed(CIPHERS[1]), signed];

/// In one packet, and in several.
const LENGTHS: [usize; 2] = [100, 3000];

/// What the side that is attacked dropped last.
fn refused(ends: &Ends) -> Option<Dropped> {
    ends.dropped().iter().rev().find(|(side, _)| *side == 1).map(|(_, dropped)| *dropped)
}

#[test]
fn a_datagram_of_another_session_is_refused() {
    for protect in PROTECTIONS {
        for length in LENGTHS {
            let (mut before, _) = opened([0, 1].map(protect), 0);
            let recorded = units(&say(&mut before, 0, &vec![1; length]), 0);
            assert_eq!(heard(&mut before, 1).len(), 1);
            // The same session number, the same first packet number: only what both sides drew is
            // new.
            let (mut ends, _) = opened([0, 1].map(protect), 1);
            for packet in &recorded {
                ends.inject(1, packet);
            }
            run(&mut ends, Duration::from_secs(1));
            assert_eq!(heard(&mut ends, 1).len(), 0);
            assert_eq!(refused(&ends), Some(Dropped::Forged));
        }
    }
}

#[test]
fn a_datagram_under_new_packet_numbers_is_a_duplicate() {
    for protect in PROTECTIONS {
        for length in LENGTHS {
            let (mut ends, _) = opened([0, 1].map(protect), 0);
            let recorded = units(&say(&mut ends, 0, &vec![1; length]), 0);
            let mut last = units(&say(&mut ends, 0, &[2; 50]), 0).remove(0);
            assert_eq!(heard(&mut ends, 1).len(), 2);
            for packet in &recorded {
                last = numbered_after(packet, &last);
                ends.inject(1, &last);
            }
            run(&mut ends, Duration::from_secs(1));
            assert_eq!(heard(&mut ends, 1).len(), 0);
            assert_eq!(refused(&ends), Some(Dropped::Duplicate));
        }
    }
}

#[test]
fn a_datagram_under_another_number_is_forged() {
    for protect in PROTECTIONS {
        let (mut ends, _) = opened([0, 1].map(protect), 0);
        let recorded = units(&say(&mut ends, 0, &[1; 100]), 0).remove(0);
        assert_eq!(heard(&mut ends, 1).len(), 1);
        let mut forged = numbered_after(&recorded, &recorded);
        forged[Packet::LENGTH + 3] ^= 1; // DSEQ
        ends.inject(1, &forged);
        assert_eq!(heard(&mut ends, 1).len(), 0);
        assert_eq!(refused(&ends), Some(Dropped::Forged));
    }
}

/// A datagram is sealed once, when it is submitted: else two texts would be encrypted with one
/// nonce.
#[test]
fn what_is_sent_again_is_what_was_sent() {
    let mut again = 0;
    for seed in 0..20 {
        let (mut ends, mut wire) = opened([sealed(CIPHERS[0]); 2], seed as u8);
        ends.set_conditions(&Conditions { loss: 0.2.into(), ..bad(seed) });
        for nth in 0..20 {
            wire.extend(say(&mut ends, 0, &[nth; 1500]));
        }
        // A timeout stays backed off until a packet arrives that was sent once.
        wire.extend(run(&mut ends, Duration::from_secs(120)));
        let mut sent = HashMap::new();
        for packet in units(&wire, 0) {
            let header = Packet::decode(&packet).expect("a packet");
            // Options are the packet's, and not the datagram's: padding is not sent again.
            let body = packet[Packet::LENGTH + usize::from(header.options)..].to_vec();
            let before = sent.entry(header.sequence).or_insert_with(|| body.clone());
            again += usize::from(before.as_ptr() != body.as_ptr());
            assert_eq!(*before, body, "seed {seed}");
        }
        assert_eq!(heard(&mut ends, 1).len(), 20, "seed {seed}");
    }
    assert!(again > 100, "{again} were sent again");
}

/// However many others overtake a datagram, it is taken when it comes.
#[test]
fn nothing_is_too_old() {
    let (mut ends, _) = opened([sealed(CIPHERS[0]); 2], 0);
    let now = ends.now();
    ends.set_conditions(&Conditions { loss: 1.0.into(), ..Conditions::IDEAL });
    ends.ends[0].send(
        now,
        &[1; 100_000],
        MessageProperties { priority: 200, ..MessageProperties::default() },
    );
    for _ in 0..5000 {
        ends.ends[0].send(
            now,
            b"urgent",
            MessageProperties { priority: 1, ..MessageProperties::default() },
        );
    }
    ends.set_conditions(&Conditions::IDEAL);
    let mut count = 0;
    for _ in 0..300 {
        run(&mut ends, Duration::from_millis(200));
        count += heard(&mut ends, 1).len();
    }
    assert_eq!(count, 5001);
}
