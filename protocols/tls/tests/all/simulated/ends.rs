//! How associations end, and what their neighbours are told of it.

use stackwright_contract::services::{Ended, StreamsIndication as Told, StreamsRequest as Ask};
use stackwright_contract::{CommandError, Fingerprint, Protocol as _, SecurityError};
use stackwright_simulator::Habits;
use stackwright_tls::Config;

use crate::simulated::alone::{Alone, Below, IT, carry, carry_ends};
use crate::simulated::setting::{CLIENT, Pair, SERVER, VERSIONS, name, pattern, trusting};

/// Two ends that are secure.
pub(crate) fn secure(configs: [Config; 2], above: usize) -> [Alone; 2] {
    let mut ends = configs.map(|config| Alone::new(config, above, 1 << 16));
    for (end, secure) in ends.iter_mut().zip([CLIENT, SERVER]) {
        end.secure(secure);
    }
    carry(&mut ends);
    assert!(ends.iter().all(|end| end.outcomes == [Ok(0)]));
    ends
}

/// For each version, and for either side as the one that acts.
pub(crate) fn each(above: usize, try_it: impl Fn([Alone; 2])) {
    for versions in VERSIONS {
        for reversed in [false, true] {
            let configs = trusting().map(|config| Config { versions, ..config });
            let [client, server] = secure(configs, above);
            try_it(if reversed { [server, client] } else { [client, server] });
        }
    }
}

#[test]
fn each_half_has_an_end_of_its_own() {
    each(1 << 16, |mut ends| {
        ends[0].send(b"all");
        ends[0].ask(Ask::Finish { association: IT });
        ends[0].flush();
        carry(&mut ends);
        assert!(ends[1].finished && ends[1].octets == b"all");
        assert_eq!((&ends[0].asked[..], &ends[1].asked[..]), (&[Below::Finish][..], &[][..]));
        ends[1].send(b"more");
        ends[1].ask(Ask::Finish { association: IT });
        ends[1].flush();
        carry_ends(&mut ends);
        assert_eq!(ends[0].octets, b"more");
        assert_eq!(ends.map(|end| (end.finished, end.ended)), [(true, Some(Ended::Finished)); 2]);
    });
}

#[test]
fn an_end_that_is_not_announced_is_told_as_a_truncation() {
    each(1 << 16, |mut ends| {
        ends[1].send(b"half a file");
        ends[1].flush();
        carry(&mut ends);
        ends[0].finish_below();
        assert_eq!((&ends[0].octets[..], ends[0].finished), (&b"half a file"[..], false));
        assert_eq!(ends[0].asked, [Below::Abort]);
        assert_eq!(ends[0].ended, Some(Ended::Truncated));
        // Where the stream below ends without telling that the peer has finished, too.
        ends[1].tell(Told::Ended { name: IT, why: Ended::Finished });
        assert_eq!(ends[1].ended, Some(Ended::Truncated));
    });
}

#[test]
fn a_program_may_exit_once_all_has_left() {
    each(1 << 16, |mut ends| {
        assert!(ends[0].tls.may_exit());
        ends[0].send(b"QUIT");
        assert!(!ends[0].tls.may_exit(), "it waits to be encrypted");
        ends[0].flush();
        assert!(ends[0].tls.may_exit());
        ends[0].ask(Ask::Finish { association: IT });
        assert!(!ends[0].tls.may_exit(), "the end is not announced");
        ends[0].flush();
        assert!(ends[0].tls.may_exit());
    });
}

#[test]
fn what_was_read_before_an_end_that_is_not_announced_is_delivered() {
    each(3, |mut ends| {
        ends[1].send(b"a whole file");
        ends[1].flush();
        carry(&mut ends);
        ends[0].finish_below();
        assert_eq!((&ends[0].octets[..], &ends[0].asked[..]), (&b"a w"[..], &[][..]));
        ends[0].give_above(100);
        assert_eq!((&ends[0].octets[..], ends[0].finished), (&b"a whole file"[..], false));
        assert_eq!(ends[0].asked, [Below::Abort]);
        ends[0].end_below();
        assert_eq!(ends[0].ended, Some(Ended::Truncated));
    });
    // It may end below, or be closed here, before it is delivered.
    each(3, |mut ends| {
        ends[1].send(b"a whole file");
        ends[1].flush();
        carry(&mut ends);
        ends[0].finish_below();
        ends[0].tell(Told::Ended { name: IT, why: Ended::Finished });
        ends[0].give_above(100);
        assert_eq!(ends[0].octets, b"a whole file");
        assert_eq!(ends[0].ended, Some(Ended::Truncated));
        ends[1].finish_below();
        assert_eq!(ends[1].ended, Some(Ended::Truncated));
    });
    each(3, |mut ends| {
        ends[1].send(b"a whole file");
        ends[1].flush();
        carry(&mut ends);
        ends[0].finish_below();
        ends[0].ask(Ask::Close { name: IT });
        ends[0].flush();
        assert_eq!((&ends[0].octets[..], &ends[0].asked[..]), (&b"a w"[..], &[Below::Close][..]));
        ends[0].end_below();
        assert_eq!(ends[0].ended, Some(Ended::Finished));
    });
}

#[test]
fn a_record_that_is_cut_is_a_truncation() {
    each(1 << 16, |mut ends| {
        ends[1].send(&pattern(1000));
        ends[1].ask(Ask::Finish { association: IT });
        ends[1].flush();
        let left = std::mem::take(&mut ends[1].left);
        ends[0].arrive(&left[..left.len() - 1]);
        ends[0].finish_below();
        assert_eq!((ends[0].octets.len(), ends[0].finished), (1000, false));
        assert_eq!(ends[0].ended, Some(Ended::Truncated));
    });
}

#[test]
fn a_reset_after_everything_was_read_is_a_clean_end() {
    each(1 << 16, |mut ends| {
        // A server sends a file and closes; our announcement meets a socket that is gone.
        ends[1].send(b"file");
        ends[1].ask(Ask::Finish { association: IT });
        ends[1].flush();
        carry(&mut ends);
        ends[0].ask(Ask::Finish { association: IT });
        ends[0].flush();
        ends[0].tell(Told::Ended { name: IT, why: Ended::Reset(0) });
        assert_eq!((ends[0].finished, ends[0].ended), (true, Some(Ended::Finished)));
    });
    each(1 << 16, |mut ends| {
        // But what was sent may be lost.
        ends[0].send(b"file");
        ends[0].flush();
        ends[1].ask(Ask::Finish { association: IT });
        ends[1].flush();
        carry(&mut ends);
        ends[0].ask(Ask::Finish { association: IT });
        ends[0].flush();
        ends[0].tell(Told::Ended { name: IT, why: Ended::Reset(0) });
        assert_eq!(ends[0].ended, Some(Ended::Reset(0)));
    });
}

#[test]
fn what_waits_for_credit_is_delivered_before_the_end() {
    each(3, |mut ends| {
        ends[1].send(b"a whole file");
        for end in [1, 0] {
            ends[end].ask(Ask::Finish { association: IT });
            ends[end].flush();
        }
        carry_ends(&mut ends);
        assert_eq!(
            (&ends[0].octets[..], ends[0].finished, ends[0].ended),
            (&b"a w"[..], false, None)
        );
        ends[0].give_above(8);
        assert_eq!((&ends[0].octets[..], ends[0].ended), (&b"a whole fil"[..], None));
        ends[0].give_above(1);
        assert_eq!((ends[0].finished, ends[0].ended), (true, Some(Ended::Finished)));
        assert_eq!(ends[0].octets, b"a whole file");
    });
    // It may also be given up.
    for (abort, why) in [(false, Ended::Finished), (true, Ended::Aborted)] {
        each(3, |mut ends| {
            ends[1].send(b"a whole file");
            for end in [1, 0] {
                ends[end].ask(Ask::Finish { association: IT });
                ends[end].flush();
            }
            carry_ends(&mut ends);
            ends[0].ask(if abort {
                Ask::Abort { association: IT, code: 0 }
            } else {
                Ask::Close { name: IT }
            });
            assert_eq!(ends[0].ended, Some(why));
        });
    }
}

#[test]
fn an_abort_reaches_the_stream_below_at_once() {
    each(1 << 16, |mut ends| {
        ends[0].send(b"not this");
        ends[0].ask(Ask::Abort { association: IT, code: 7 });
        ends[0].end_below();
        assert_eq!(ends[0].ended, Some(Ended::Aborted));
        ends[0].flush();
        ends[1].tell(Told::Ended { name: IT, why: Ended::Reset(7) });
        assert_eq!(ends[1].ended, Some(Ended::Reset(7)));
    });
}

#[test]
fn a_close_sends_what_waits_and_discards_what_arrives() {
    each(1 << 10, |mut ends| {
        let file = pattern(40_000);
        let mut sent = 0;
        while sent < file.len() {
            let some = ends[0].may_send.min(file.len() - sent);
            ends[0].send(&file[sent..sent + some]);
            sent += some;
            ends[0].flush();
            if some == 0 {
                ends[1].give_above(4_000);
                carry(&mut ends);
            }
        }
        ends[1].send(&pattern(1 << 14));
        ends[1].flush();
        ends[0].ask(Ask::Close { name: IT });
        ends[0].flush();
        ends[1].give_above(100_000);
        carry(&mut ends);
        assert!(ends[1].octets == file && ends[1].finished);
        assert_eq!(ends[0].asked, [Below::Close]);
        assert!(ends[0].octets.len() <= 1 << 10);
        ends[0].end_below();
        assert_eq!(ends[0].ended, Some(Ended::Finished));
    });
}

#[test]
fn a_close_does_not_wait_forever() {
    each(1 << 10, |mut ends| {
        let octets = pattern(ends[0].may_send);
        ends[0].send(&octets);
        ends[0].ask(Ask::Close { name: IT });
        ends[0].flush();
        ends[0].pass(59);
        assert_eq!(ends[0].asked, []);
        ends[0].pass(1);
        assert_eq!(ends[0].asked, [Below::Abort]);
        ends[0].end_below();
        assert_eq!(ends[0].ended, Some(Ended::Expired));
    });
}

#[test]
fn a_plain_association_passes_every_end() {
    for (ask, below) in [
        (Ask::Finish { association: IT }, Below::Finish),
        (Ask::Close { name: IT }, Below::Close),
        (Ask::Abort { association: IT, code: 3 }, Below::Abort),
    ] {
        let [config, _] = trusting();
        let mut alone = Alone::new(config, 10, 10);
        alone.ask(ask);
        assert_eq!((&alone.asked[..], alone.ended), (&[below][..], None));
        alone.end_below();
        assert!(alone.ended.is_some());
    }
}

#[test]
fn an_end_in_the_handshake_is_told_to_the_command() {
    for finishes in [false, true] {
        let [config, _] = trusting();
        let mut alone = Alone::new(config, 10, 1 << 16);
        alone.secure(CLIENT);
        let cut = SecurityError::Cut;
        if finishes {
            alone.finish_below();
            assert_eq!(alone.ended, Some(Ended::Insecure(cut)));
        } else {
            alone.tell(Told::Ended { name: IT, why: Ended::Reset(0) });
            assert_eq!(alone.ended, Some(Ended::Reset(0)));
        }
        let refused = CommandError::Insecure { why: cut, certificate: None };
        assert_eq!(alone.outcomes, [Err(refused)]);
    }
}

#[test]
fn a_name_that_was_never_open_ends() {
    let [config, _] = trusting();
    let mut alone = Alone::asked(config, 10);
    alone.secure(CLIENT);
    alone.tell(Told::Ended { name: IT, why: Ended::Unreachable });
    assert_eq!(alone.ended, Some(Ended::Unreachable));
    assert_eq!(alone.outcomes.len(), 1, "the command is answered before the last word");
    assert!(alone.outcomes[0].is_err());
}

#[test]
fn an_association_between_stations_ends_cleanly_from_either_side() {
    for (first, second) in [(0, 1), (1, 0)] {
        let mut pair = Pair::new(3, trusting(), Habits::default());
        pair.open_secure(1, CLIENT, SERVER);
        pair.run(1);
        pair.ask(first, Ask::Close { name: name(1) });
        pair.run(1);
        assert!(pair.known(second, 1).finished);
        pair.sends(second, 1, &[], true);
        pair.run(1);
        for side in 0..2 {
            assert_eq!(pair.known(side, 1).ended, Some(Ended::Finished));
        }
    }
}

#[test]
fn errors_are_sentences() {
    let why = SecurityError::UnknownIssuer;
    let certificate = Some(Fingerprint([0xab; 32]));
    let told = CommandError::Insecure { why, certificate }.to_string();
    assert!(told.contains("unknown authority (its SHA-256 fingerprint: abab"), "{told}");
}
