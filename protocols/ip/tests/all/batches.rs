//! Several messages in one word stay in one word, in both directions.

use stackwright_contract::Handle;
use stackwright_contract::services::{Batch, DatagramsRequest, MessageProperties};
use stackwright_wire::{Message as _, SegmentLayout};

use crate::hosts::{ENDS, Host, M, at, carry, host};

fn send(host: &mut Host, association: Handle, batch: Batch<M>) {
    let properties = MessageProperties::default();
    host.ask(DatagramsRequest::Send { association, batch, properties });
}

/// Returns messages with or without gaps between them.
fn messages(octets: usize, size: usize, gaps: bool) -> Batch<M> {
    let all: Vec<u8> = (0..octets).map(|octet| (octet % 251) as u8).collect();
    if !gaps {
        return Batch::new(M::with_headroom(64, &all), size);
    }
    let mut spaced = Vec::new();
    for message in all.chunks(size) {
        spaced.extend([0; 64]);
        spaced.extend(message);
    }
    let mut octets = M::with_headroom(0, &spaced);
    octets.drop_gaps(&SegmentLayout::new(64 + size, 64).in_messages(1, 64, 64));
    Batch::new(octets, size)
}

#[test]
fn batches_cross_whole() {
    for [here, there] in ENDS {
        for (octets, size) in [(12_000, 1000), (12_345, 1000), (60_000, 1400), (900, 400)] {
            for gaps in [false, true] {
                let (mut one, mut other) = (host(here), host(there));
                let name = other.listen(at(there, 17), 1)[0];
                let opened = one.open(at(there, 17));
                // The first opens the association.
                one.send(opened, b"first");
                carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
                send(&mut one, opened, messages(octets, size, gaps));
                assert_eq!(one.words.packets.len(), 1);
                carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
                let told = other.told(name);
                assert_eq!(told.batches, [1, octets.div_ceil(size)]);
                let came: Vec<u8> =
                    told.messages[1..].iter().flat_map(|told| told.0.clone()).collect();
                assert!(came.iter().enumerate().all(|(at, octet)| *octet == (at % 251) as u8));
                assert_eq!(
                    (came.len(), one.dropped().len(), other.dropped().len()),
                    (octets, 0, 0)
                );
            }
        }
    }
}

#[test]
fn a_batch_that_is_too_long_or_mixed_is_taken_apart() {
    let [here, there] = ENDS[0];
    let (mut one, mut other) = (host(here), host(there));
    let name = other.listen(at(there, 17), 2);
    let opened = one.open(at(there, 17));
    // Messages that are fragmented, and more of them than a block holds.
    send(&mut one, opened, messages(6000, 2000, false));
    carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
    assert_eq!(other.told(name[0]).messages.len(), 3);
    send(&mut one, opened, messages(120_000, 1000, false));
    carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
    assert_eq!(other.told(name[0]).messages.len(), 123);
    // Packets of two peers.
    let mut both = crate::packets::packet("10.0.0.1", there, 17, b"12345678");
    both.extend(crate::packets::packet("10.0.0.3", there, 17, b"12345678"));
    other.arrive_batch(0, Batch::new(M::with_headroom(0, &both), 28));
    assert_eq!((other.told(name[0]).messages.len(), other.told(name[1]).messages.len()), (124, 1));
    assert_eq!((one.dropped(), other.dropped()), (vec![], vec![]));
}
