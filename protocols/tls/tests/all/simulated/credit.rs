//! Credit in both directions: what is held is bounded by it, to the octet.

use stackwright_contract::services::{Ended, StreamsRequest as Ask};
use stackwright_contract::{CommandError, SecurityError};
use stackwright_simulator::Habits;
use stackwright_tls::Config;

use crate::simulated::alone::{Alone, Below, IT, carry, carry_ends};
use crate::simulated::ends::each;
use crate::simulated::setting::{CLIENT, Pair, SERVER, VERSIONS, pattern, trusting};

/// The longest record.
const RECORD_MOST: usize = 5 + (1 << 14) + 2048;
/// What this side's records add to their payload at most.
const OVERHEAD: usize = 29;
/// What may wait to be encrypted, however little credit there is below.
const GATHERED: usize = 1024;

#[test]
fn a_receiver_that_gives_one_octet_at_a_time_gets_each_octet() {
    each(1, |mut ends| {
        let file = pattern(40_000);
        let (mut sent, mut told) = (0, 0);
        loop {
            let some = ends[1].may_send.min(file.len() - sent);
            if some > 0 {
                ends[1].send(&file[sent..sent + some]);
                sent += some;
                ends[1].flush();
            } else if sent == file.len() && ends[1].asked.is_empty() {
                ends[1].ask(Ask::Finish { association: IT });
                ends[1].flush();
            }
            let left = std::mem::take(&mut ends[1].left);
            let carried = ends[0].arrive_some(&left);
            told += carried;
            ends[1].left = left[carried..].to_vec();
            if carried > 0 {
                ends[1].give_below(carried);
                ends[1].flush();
            }
            let receiver = &ends[0];
            let (octets, above) = (receiver.octets.len(), receiver.above);
            assert!(receiver.granted <= RECORD_MOST + above);
            let records = octets / 1024 + 3;
            assert!(
                told + receiver.granted <= octets + above + RECORD_MOST + records * OVERHEAD,
                "{told} octets arrived and {octets} were delivered"
            );
            if octets == file.len() {
                break;
            }
            ends[0].give_above(1);
            ends[0].flush();
        }
        assert!(ends[0].octets == file);
        ends[0].ask(Ask::Finish { association: IT });
        ends[0].flush();
        carry_ends(&mut ends);
        assert_eq!(ends.map(|end| end.ended), [Some(Ended::Finished); 2]);
    });
}

#[test]
fn a_peer_fills_one_record_and_no_more_without_credit_above() {
    each(100, |mut ends| {
        let file = pattern(1 << 16);
        ends[1].send(&file[..ends[1].may_send.min(file.len())]);
        ends[1].flush();
        let left = std::mem::take(&mut ends[1].left);
        let mut told = 0;
        while ends[0].granted > 0 && told < left.len() {
            told += ends[0].arrive_some(&left[told..]);
        }
        assert!((RECORD_MOST..=RECORD_MOST + 100 + OVERHEAD).contains(&told), "{told}");
        assert_eq!(ends[0].octets, file[..100]);
    });
}

#[test]
fn a_sender_has_no_more_than_fits_below() {
    each(1 << 20, |mut ends| {
        let mut sent = 0;
        while sent < 200_000 {
            // What was given before the handshake is used up first; then it is as much as fits.
            let octets = pattern(ends[0].may_send.clamp(1, 3000).min(ends[0].may_send));
            ends[0].send(&octets);
            ends[0].flush();
            sent += octets.len();
            if sent > 1 << 16 {
                let surplus = 64 * OVERHEAD; // of records that were not full
                assert!(ends[0].may_send <= GATHERED.max(ends[0].below + surplus));
            }
            if octets.is_empty() {
                carry(&mut ends);
            }
        }
        carry(&mut ends);
        assert_eq!(ends[1].octets.len(), sent);
    });
}

/// From its credit the layer above knows that the stream below has taken all: FTP replies then.
#[test]
fn all_credit_comes_back_when_all_has_left_also_behind_the_end() {
    for finishes in [false, true] {
        for versions in VERSIONS {
            let configs = trusting().map(|config| Config { versions, ..config });
            let mut pair = Pair::new(1, configs, Habits::default());
            pair.open(1, 1 << 16);
            pair.run(1);
            let room = pair.known(1, 1).room;
            pair.secure(0, 1, CLIENT);
            pair.secure(1, 1, SERVER);
            pair.run(1);
            for octets in [1, 10_000, 300_000] {
                pair.sends(1, 1, &pattern(octets), finishes && octets > 10_000);
                pair.run(5);
                assert_eq!(pair.known(1, 1).room, room, "behind {octets} octets");
            }
            assert_eq!(pair.known(0, 1).finished, finishes);
        }
    }
}

#[test]
fn bulk_fills_its_records() {
    each(1 << 20, |mut ends| {
        let file = pattern(ends[0].may_send);
        // In small portions within one batch.
        file.chunks(100).for_each(|chunk| ends[0].send(chunk));
        ends[0].flush();
        let records = file.len().div_ceil(1 << 14);
        assert!(ends[0].left.len() <= file.len() + records * OVERHEAD, "{}", ends[0].left.len());
        carry(&mut ends);
        assert!(ends[1].octets == file);
    });
}

/// A server that is sent the beginning of a handshake message of this length, in records of this
/// length.
fn begun(message: usize, record: usize) -> (Alone, usize) {
    let [_, config] = trusting();
    let mut alone = Alone::new(config, 1, 1 << 16);
    alone.secure(SERVER);
    let mut octets = vec![1, (message >> 16) as u8, (message >> 8) as u8, message as u8];
    octets.resize(4 + message, 0);
    let mut told = 0;
    for part in octets.chunks(record) {
        let mut whole = vec![22, 3, 1, (part.len() >> 8) as u8, part.len() as u8];
        whole.extend_from_slice(part);
        while !whole.is_empty() && alone.granted > 0 && alone.asked.is_empty() {
            let arrived = alone.arrive_some(&whole);
            told += arrived;
            whole.drain(..arrived);
        }
    }
    (alone, told)
}

#[test]
fn handshake_data_is_bounded() {
    const MOST: usize = (64 << 10) + 2 * RECORD_MOST;
    for (message, record) in [(65_535, 1 << 14), (65_535, 1), (65_535, 100), (0xff_ffff, 1 << 14)] {
        let (alone, told) = begun(message, record);
        assert!(told <= MOST, "{told} octets arrived");
        let why = alone.outcomes.first().expect("it is refused");
        let broken = CommandError::Insecure { why: SecurityError::Broken, certificate: None };
        let not_tls = CommandError::Insecure { why: SecurityError::NotTls, certificate: None };
        assert!([Err(broken), Err(not_tls)].contains(why), "{why:?}");
        assert!(matches!(alone.asked[..], [Below::Close | Below::Abort]));
    }
}
