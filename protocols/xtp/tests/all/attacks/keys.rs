//! Packets whose key is an earlier one's, or a guess.

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::seeds;
use stackwright_xtp::Config;
use stackwright_xtp::header::{XtpKind, XtpOptions, XtpPacket};
use stackwright_xtp::services::{AcknowledgedDatagram, Connection, XtpService};

use crate::attacks::packets::{Said, control, data, diagnostic, first, header, returned, told_key};
use crate::attacks::station::{Service, Station, address, here};

/// The key of the peer that the test is.
const KEY: u64 = 77;
const PEER: u32 = 1;

fn config() -> Config {
    Config::new([9; 16])
}

/// A datagram that asks for an acknowledgement.
fn datagram(key: u64) -> Vec<u8> {
    let closes = XtpOptions::WCLOSE.with(XtpOptions::RCLOSE);
    let options = closes.with(XtpOptions::EOM).with(XtpOptions::SREQ);
    first(key, AcknowledgedDatagram::NUMBER, options, b"datagram")
}

/// A FIRST of a message that others may follow.
fn message(key: u64) -> Vec<u8> {
    first(key, Connection::NUMBER, XtpOptions::EOM.with(XtpOptions::SREQ), b"message")
}

/// Opens a context at a station that listens, and returns the station's key of it.
fn opened<S: Service>(station: &mut Station<S>) -> u64 {
    let answers = station.answers(address(PEER), &message(KEY));
    told_key(&answers[0])
}

#[test]
fn a_first_twice_makes_one_context() {
    let mut station = Station::<Connection>::listening(config());
    for _ in 0..3 {
        station.arrives(address(PEER), &message(KEY));
    }
    assert_eq!((station.opened.len(), station.heard.len()), (1, 1));
    // The same key of another address is another's.
    station.arrives(address(2), &message(KEY));
    assert_eq!((station.opened.len(), station.heard.len()), (2, 2));
}

#[test]
fn a_first_of_a_freed_context_is_dropped_while_its_key_is_in_the_graveyard() {
    let mut station = Station::<AcknowledgedDatagram>::listening(config());
    let answers = station.answers(address(PEER), &datagram(KEY));
    assert!(header(&answers[0]).options.has(XtpOptions::END));
    let opened = station.opened[0];
    station.closes(opened);
    assert_eq!(station.ended, [(opened, Ended::Finished)]);
    for _ in 0..59 {
        station.pass(Duration::from_secs(1));
        let answers = station.answers(address(PEER), &datagram(KEY));
        let is_told = answers.iter().all(|answer| header(answer).options.has(XtpOptions::END));
        assert!(answers.len() <= 1 && is_told, "the peer may have lost the answer");
    }
    assert_eq!((station.opened.len(), station.heard.len()), (1, 1));
    // The README says how long that is.
    station.pass(Duration::from_secs(2));
    station.arrives(address(PEER), &datagram(KEY));
    assert_eq!(station.opened.len(), 2);
}

#[test]
fn a_restarted_process_cannot_be_taken_for_its_predecessor() {
    // The one that listens: what the peer still says to the key of its predecessor reaches nobody.
    let mut station = Station::<Connection>::listening(config());
    let before = opened(&mut station);
    let mut station = Station::<Connection>::listening(Config::new([10; 16]));
    let after = opened(&mut station);
    assert_ne!(before, after);
    for late in [
        data(XtpPacket { sequence: 7, ..returned(before, XtpKind::Data) }, b"late"),
        diagnostic(returned(before, XtpKind::Diagnostic), 2, 1),
    ] {
        assert_eq!(station.answers(address(PEER), &late), [] as [Vec<u8>; 0]);
    }
    station.arrives(
        address(PEER),
        &data(
            XtpPacket { sequence: 7, options: XtpOptions::EOM, ..returned(after, XtpKind::Data) },
            b"on time",
        ),
    );
    assert_eq!(station.heard, [&b"message"[..], b"on time"]);
    assert_eq!(station.ended, []);

    // The one that opens: its first packet is no copy of that of its predecessor.
    let firsts = [9, 10].map(|secret| {
        let mut station = Station::<Connection>::new(Config::new([secret; 16]));
        station.opens(here(), b"message");
        station.pass(Duration::from_millis(10));
        station.sent().remove(0).1
    });
    let mut station = Station::<Connection>::listening(config());
    for first in firsts {
        station.arrives(address(PEER), &first);
    }
    assert_eq!((station.opened.len(), station.heard.len()), (2, 2));
}

#[test]
fn a_return_key_with_a_wrong_generation_is_nobodys() {
    let mut station = Station::<Connection>::listening(config());
    let key = opened(&mut station);
    // Behind the index of 18 bits there is the generation; before it, a tag.
    for bit in 0..63 {
        for (nth, packet) in [
            data(XtpPacket { sequence: 7, ..returned(key ^ 1 << bit, XtpKind::Data) }, b"guess"),
            control(
                XtpPacket {
                    options: XtpOptions::END,
                    ..returned(key ^ 1 << bit, XtpKind::Control)
                },
                Said { received: 0, allocated: 1 << 20, echo: 0 },
            ),
            diagnostic(returned(key ^ 1 << bit, XtpKind::Diagnostic), 2, 1),
        ]
        .iter()
        .enumerate()
        {
            for from in [address(PEER), address(2)] {
                let answers = station.answers(from, packet);
                assert_eq!(answers, [] as [Vec<u8>; 0], "bit {bit} of packet {nth}");
            }
        }
    }
    assert_eq!((station.opened.len(), station.heard.len(), station.ended.len()), (1, 1, 0));
}

/// A guess has to meet the tag of a context; and what meets it must come from the peer's address.
#[test]
fn a_million_guesses_of_a_key_meet_none() {
    let mut station = Station::<Connection>::listening(config());
    let key = opened(&mut station);
    let mut random = fastrand::Rng::with_seed(1);
    // With `SEEDS=64`.
    for _ in seeds(1 << 14) {
        let guess = random.u64(..) >> 1;
        station.arrives(address(PEER), &diagnostic(returned(guess, XtpKind::Diagnostic), 2, 1));
    }
    assert_eq!(station.ended, []);
    // One that knows all but the tag needs each of its 8192 values, and the address.
    for tag in 0..1 << 13 {
        let guess = key & ((1 << 50) - 1) | tag << 50;
        let packet = diagnostic(returned(guess, XtpKind::Diagnostic), 2, 1);
        station.arrives(address(2), &packet);
        if guess != key {
            station.arrives(address(PEER), &packet);
        }
    }
    assert_eq!(station.ended, []);
}
