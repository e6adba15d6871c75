//! DIAG: forged, and true.

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_xtp::Config;
use stackwright_xtp::header::{DiagnosticSegment, XtpKind, XtpOptions};
use stackwright_xtp::services::{Connection, XtpService};

use crate::packets::{Said, diagnostic, first, header, own, returned, told_key, traffic_control};
use crate::station::{Station, address};

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
