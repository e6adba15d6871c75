//! DIAG: forged, and true.

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_xtp::Config;
use stackwright_xtp::header::{
    AddressHeader, DiagnosticSegment, TrafficHeader, TrafficTerms, XtpKind, XtpOptions, XtpPacket,
};
use stackwright_xtp::services::{
    Connection, IsochronousStream, UnacknowledgedDatagram, XtpService,
};

use crate::attacks::packets::{
    Said, control, data, diagnosis, diagnostic, encoded, first, header, opening, own, packet,
    returned, told_key, traffic_control,
};
use crate::attacks::station::{Service, Station, address};

const PEER: u32 = 1;
/// The key of the peer that the test is.
const KEY: u64 = 77;

/// A station that opened a context and heard its peer, and its key.
fn opened() -> (Station<Connection>, u64) {
    let mut station = Station::new(Config::new([9; 16]));
    station.opens(address(PEER), b"message");
    station.pass(Duration::from_millis(10));
    let key = header(&station.sent()[0].1).key;
    let said = Said { received: 7, allocated: 1 << 20, echo: 1 };
    let answer =
        traffic_control(returned(key, XtpKind::TrafficControl), said, KEY, Connection::NUMBER);
    station.arrives(address(PEER), &answer);
    assert_eq!((station.opened.len(), station.ended.len()), (1, 0));
    (station, key)
}

#[test]
fn a_diag_from_another_address_changes_nothing() {
    let (mut station, key) = opened();
    for code in [DiagnosticSegment::REFUSED, DiagnosticSegment::ABANDONED, 3, 6] {
        for header in [returned(key, XtpKind::Diagnostic), own(KEY, XtpKind::Diagnostic)] {
            for from in [address(2), address(PEER + 50_000)] {
                station.arrives(from, &diagnostic(header, code, 1));
            }
        }
    }
    assert_eq!(station.ended, []);
    // One to a listener, too.
    let mut station = Station::<Connection>::listening(Config::new([9; 16]));
    let opening = first(KEY, Connection::NUMBER, XtpOptions::EOM.with(XtpOptions::SREQ), b"octets");
    let key = told_key(&station.answers(address(PEER), &opening)[0]);
    let forged = diagnostic(returned(key, XtpKind::Diagnostic), 2, 1);
    assert_eq!(station.answers(address(2), &forged), [] as [Vec<u8>; 0]);
    assert_eq!(station.ended, []);
}

#[test]
fn a_diag_with_our_key_ends_the_context_with_its_code() {
    let (mut station, key) = opened();
    // A late refusal of a copy of FIRST ends nothing.
    let refused = diagnostic(returned(key, XtpKind::Diagnostic), DiagnosticSegment::REFUSED, 1);
    station.arrives(address(PEER), &refused);
    assert_eq!(station.ended, []);
    let header = returned(key, XtpKind::Diagnostic);
    station.arrives(address(PEER), &diagnostic(header, DiagnosticSegment::ABANDONED, 1234));
    let whys: Vec<_> = station.ended.iter().map(|(_, why)| *why).collect();
    assert_eq!(whys, [Ended::Reset(1234)]);
}

#[test]
fn a_diag_that_answers_a_first_refuses_with_its_value() {
    for value in [1, 2, 8, 9, 77] {
        let mut station = Station::<Connection>::new(Config::new([9; 16]));
        let name = station.opens(address(PEER), b"message");
        station.pass(Duration::from_millis(10));
        let key = header(&station.sent()[0].1).key;
        for wrong in [key ^ 1, key ^ 1 << 60] {
            let header = returned(wrong, XtpKind::Diagnostic);
            station.arrives(address(PEER), &diagnostic(header, 1, value));
            assert_eq!(station.ended, [], "{value}");
        }
        station.arrives(
            address(PEER),
            &diagnostic(returned(key, XtpKind::Diagnostic), DiagnosticSegment::REFUSED, value),
        );
        assert_eq!(station.ended, [(name, Ended::Refused(value))]);
    }
}

/// A peer that has lost a context, because it began anew, says so with its key of it: the other
/// side ends at once, and not by its timeouts.
#[test]
fn a_diag_that_there_is_no_such_context_ends_it() {
    let invalid = |header| diagnostic(header, DiagnosticSegment::INVALID, 0);
    let (mut station, key) = opened();
    // Not from elsewhere, nor about another one; nor about data that overtook the FIRST.
    station.arrives(address(2), &invalid(own(KEY, XtpKind::Diagnostic)));
    station.arrives(address(PEER), &invalid(own(KEY + 1, XtpKind::Diagnostic)));
    station.arrives(address(PEER), &invalid(returned(key, XtpKind::Diagnostic)));
    assert_eq!(station.ended, []);
    station.arrives(address(PEER), &invalid(own(KEY, XtpKind::Diagnostic)));
    let whys: Vec<_> = station.ended.iter().map(|(_, why)| *why).collect();
    assert_eq!(whys, [Ended::Reset(0)]);
    // At the side that was called, the key is the one of the peer's FIRST.
    let mut station = Station::<Connection>::listening(Config::new([9; 16]));
    let asks = XtpOptions::EOM.with(XtpOptions::SREQ);
    station.arrives(address(PEER), &first(KEY, Connection::NUMBER, asks, b"octets"));
    station.arrives(address(PEER), &invalid(own(KEY, XtpKind::Diagnostic)));
    assert_eq!(station.ended.len(), 1);
}

/// At most ten times a second, never to a DIAG or an end, and in no more octets than came.
#[test]
fn what_belongs_to_no_context_is_told_so() {
    let mut station = Station::<Connection>::listening(Config::new([9; 16]));
    let said = Said { received: 0, allocated: 1 << 20, echo: 1 };
    for header in [own(KEY, XtpKind::Data), returned(KEY, XtpKind::Data)] {
        for asked in [
            data(header, b"a few octets of data"),
            control(header, said),
            traffic_control(header, said, 9, Connection::NUMBER),
        ] {
            let answers = station.answers(address(PEER), &asked);
            assert_eq!(answers.len(), 1);
            let answer = self::header(&answers[0]);
            assert_eq!((answer.returned, answer.key), (!header.returned, KEY));
            assert_eq!(diagnosis(&answers[0]), (DiagnosticSegment::INVALID, 0));
            assert!(answers[0].len() <= asked.len());
        }
        for silent in [
            data(header, b"short"),
            diagnostic(header, DiagnosticSegment::INVALID, 0),
            control(XtpPacket { options: XtpOptions::END, ..header }, said),
        ] {
            assert_eq!(station.answers(address(PEER), &silent), [] as [Vec<u8>; 0]);
        }
        station.pass(Duration::from_secs(1));
    }
    let asks = |nth| control(returned(nth, XtpKind::Control), said);
    let answers = |station: &mut Station<Connection>| -> usize {
        (0..1000).map(|nth| station.answers(address(nth), &asks(nth.into())).len()).sum()
    };
    assert_eq!(answers(&mut station), 10);
    station.pass(Duration::from_secs(1));
    assert_eq!(answers(&mut station), 10);
}

/// The value of the DIAG that refuses a FIRST of these segments and options; `None` if it makes a
/// context.
fn refusal<S: Service>(segments: &[&[u8]], options: XtpOptions) -> Option<u32> {
    let mut station = Station::<S>::listening(Config::new([9; 16]));
    let asked = packet(XtpPacket { options, ..own(KEY, XtpKind::First) }, segments);
    let answers = station.answers(address(PEER), &asked);
    if let [_] = station.opened[..] {
        return None;
    }
    assert_eq!(answers.len(), 1);
    let answer = header(&answers[0]);
    assert!(answer.returned && answer.key == KEY && answers[0].len() <= asked.len());
    let (code, value) = diagnosis(&answers[0]);
    assert_eq!((code, station.layer.associations()), (DiagnosticSegment::REFUSED, 0));
    Some(value)
}

const USUAL: XtpOptions = XtpOptions::EOM.with(XtpOptions::SREQ);

/// What the report's §2.4.5 has a value for (README).
#[test]
fn a_first_is_refused_by_the_name_of_what_is_not_served() {
    const DATA: &[u8] = b"octets";
    // Options.
    let with = |options: XtpOptions| {
        let segments = [&opening(Connection::NUMBER)[..], &[0; 8], DATA];
        refusal::<Connection>(&segments, USUAL.with(options))
    };
    for option in [XtpOptions::NOERR, XtpOptions::NOFLOW, XtpOptions::RES, XtpOptions::MULTI] {
        assert_eq!(with(option), Some(DiagnosticSegment::OPTIONS), "{option:?}");
    }
    for option in [
        XtpOptions::FASTNAK,
        XtpOptions::SORT,
        XtpOptions::BTAG,
        XtpOptions::DREQ,
        XtpOptions::EDGE,
        XtpOptions::WCLOSE,
    ] {
        assert_eq!(with(option), None, "{option:?}");
    }
    // A service that has an option is asked for with it.
    let of = |service| [opening(service), DATA.to_vec()].concat();
    let lossy = XtpOptions::NOERR.with(XtpOptions::NOFLOW).with(XtpOptions::EOM);
    assert_eq!(refusal::<UnacknowledgedDatagram>(&[&of(1)], lossy), None);
    assert_eq!(refusal::<IsochronousStream>(&[&of(0)], lossy), None);

    // The address segment: its length, its domain, its format, its octets.
    let traffic = [0, 8, Connection::NUMBER, 0, 0, 0, 0, 0];
    let address = |length, domain, format, octets: &[u8]| {
        let head = encoded(&AddressHeader { length, domain, format });
        refusal::<Connection>(&[&head, octets, &traffic, DATA], USUAL)
    };
    let here = [10, 255, 0, 1, 10, 0, 0, 1, 0, 7, 4, 1];
    assert_eq!(address(16, 0, 1, &here), None);
    assert_eq!(address(8, 0, 0, &[0; 4]), None);
    for format in [2, 3, 4, 5, 7, 128, 255] {
        assert_eq!(address(16, 0, format, &here), Some(3), "{format}");
    }
    assert_eq!(address(16, 7, 1, &here), Some(3));
    for length in [0, 4, 12, 17, 32, u16::MAX] {
        assert_eq!(address(length, 0, 1, &here), Some(4), "{length}");
    }
    // Another host; the port is that of UDP.
    assert_eq!(address(16, 0, 1, &[10, 9, 9, 9, 10, 0, 0, 1, 0, 7, 4, 1]), Some(1));
    assert_eq!(address(16, 0, 1, &[0, 0, 0, 0, 10, 0, 0, 1, 0, 0, 4, 1]), None);

    // The traffic specifier: its service, its format, its length, its terms.
    let head = &opening(0)[..16];
    let traffic = |length, service, format, octets: &[u8]| {
        let traffic = encoded(&TrafficHeader { length, service, format });
        refusal::<Connection>(&[head, &traffic, octets, DATA], USUAL)
    };
    assert_eq!(traffic(8, 4, 0, &[0; 4]), None);
    for service in (0..=255).filter(|service| *service != 4) {
        assert_eq!(traffic(8, service, 0, &[0; 4]), Some(8), "{service}");
    }
    assert_eq!((traffic(8, 4, 2, &[0; 4]), traffic(8, 4, 255, &[0; 4])), (Some(5), Some(5)));
    for (length, format) in [(0, 0), (4, 0), (24, 0), (u16::MAX, 0), (8, 1), (25, 1)] {
        assert_eq!(traffic(length, 4, format, &[0; 20]), Some(7), "{length}, {format}");
    }
    let none = TrafficTerms { longest: 0, rate_in: 0, burst_in: 0, rate_out: 0, burst_out: 0 };
    let terms = |terms| traffic(24, 4, 1, &encoded(&terms));
    assert_eq!(terms(none), None);
    assert_eq!(terms(TrafficTerms { longest: 1400, rate_out: 5, burst_out: 5, ..none }), None);
    assert_eq!(terms(TrafficTerms { longest: 1, ..none }), Some(6));
    assert_eq!(terms(TrafficTerms { rate_in: 1, ..none }), Some(6));
    assert_eq!(terms(TrafficTerms { burst_in: 1, ..none }), Some(6));

    // Data that cannot be the first.
    let mut station = Station::<Connection>::listening(Config::new([9; 16]));
    for sequence in [5, u64::MAX] {
        let asked = XtpPacket { sequence, options: USUAL, ..own(KEY, XtpKind::First) };
        let answers =
            station.answers(crate::attacks::station::address(PEER), &packet(asked, &[&of(4)]));
        assert_eq!(diagnosis(&answers[0]), (DiagnosticSegment::REFUSED, 0), "{sequence}");
    }
    assert_eq!(station.layer.associations(), 0);
}

/// Modulo their 32 bits, numbers of inquiries rise; what an older one asks was asked again since.
#[test]
fn an_old_inquiry_is_not_answered() {
    for start in [1, u32::MAX - 1] {
        let mut station = Station::<Connection>::listening(Config::new([9; 16]));
        let asks = |header, sync: u32| {
            let said = Said { received: 0, allocated: 1 << 20, echo: 1 };
            let options = XtpOptions::SREQ;
            control(XtpPacket { options, sync: start.wrapping_add(sync), ..header }, said)
        };
        let options = XtpOptions::EOM.with(XtpOptions::SREQ);
        let opens = XtpPacket { options, sync: start, ..own(KEY, XtpKind::First) };
        let opens = packet(opens, &[&opening(Connection::NUMBER), b"octets"]);
        let key = told_key(&station.answers(address(PEER), &opens)[0]);
        let control = returned(key, XtpKind::Control);
        let answered = |station: &mut Station<Connection>, sync| {
            let answers = station.answers(address(PEER), &asks(control, sync));
            answers
                .first()
                .map(|answer| crate::attacks::packets::report(answer).echo.wrapping_sub(start))
        };
        assert_eq!(answered(&mut station, 3), Some(3));
        for old in [0, 1, 2] {
            assert_eq!(answered(&mut station, old), None, "{old} behind 3");
        }
        // The same once more is a copy, or repeated: its answer may be lost.
        assert_eq!((answered(&mut station, 3), answered(&mut station, 4)), (Some(3), Some(4)));
        // Data that are late fill their gap.
        let late = XtpPacket { options: XtpOptions::EOM, sync: start, sequence: 6, ..control };
        station.arrives(address(PEER), &data(late, b"late"));
        assert_eq!(station.heard.len(), 2);
    }
}
