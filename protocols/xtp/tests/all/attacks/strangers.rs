//! Thousands, each from an address that may be false: what they are sent, and what is kept of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stackwright_contract::Duration;
use stackwright_simulator::seeds;
use stackwright_xtp::Config;
use stackwright_xtp::header::{DiagnosticSegment, XtpKind, XtpOptions};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, IsochronousStream, Transaction, UnacknowledgedDatagram,
    XtpService,
};

use crate::attacks::packets::{data, diagnosis, first, header, opening, own, packet, returned};
use crate::attacks::station::{AWAITED, Service, Station, address};

/// Counts the octets that a thread holds.
struct Counting;

std::thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(octets: isize) {
    // A thread that ends has no count any more.
    let _ = HELD.try_with(|held| held.set(held.get() + octets));
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises; counting
// touches no other memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The octets that this thread holds.
fn held() -> isize {
    HELD.with(Cell::get)
}

fn config() -> Config {
    Config::new([9; 16])
}

/// How many strangers come: `SEEDS=50` tries a million.
fn many() -> u32 {
    seeds(20_000).count() as u32
}

/// The FIRST of a message with `octets`, with each address's own key.
fn message(nth: u32, service: u8, octets: &[u8]) -> Vec<u8> {
    first(u64::from(nth) + 1, service, XtpOptions::EOM.with(XtpOptions::SREQ), octets)
}

/// What a station holds after the first few is what it holds after all.
fn holds_no_more<S: Service>(
    station: &mut Station<S>,
    mut arrives: impl FnMut(&mut Station<S>, u32),
) {
    let mut first = None;
    for nth in 0..many() {
        arrives(station, nth);
        assert_eq!(station.layer.associations(), 0, "{nth}");
        if nth == 1000 {
            first = Some((station.layer.names(), held()));
        }
    }
    let (names, octets) = first.expect("more than a thousand");
    assert_eq!(station.layer.names(), names);
    assert!(held() - octets < 64 << 10, "{} octets more", held() - octets);
}

#[test]
fn a_refused_service_leaves_no_memory() {
    let mut station = Station::<Connection>::listening(config());
    holds_no_more(&mut station, |station, nth| {
        let asked = message(nth, Transaction::NUMBER, b"octets");
        let answers = station.answers(address(nth), &asked);
        assert_eq!(answers.len(), 1);
        let refused = (DiagnosticSegment::REFUSED, DiagnosticSegment::NO_PROVIDER);
        assert_eq!(diagnosis(&answers[0]), refused);
        assert!(answers[0].len() <= asked.len());
        let answer = header(&answers[0]);
        assert!(answer.returned && answer.key == u64::from(nth) + 1);
    });
    assert_eq!((station.opened.len(), station.heard.len()), (0, 0));
}

#[test]
fn a_million_strangers_leave_no_memory() {
    // What only looks like a FIRST of this service.
    let mut station = Station::<Connection>::listening(config());
    let mut said = 0;
    holds_no_more(&mut station, |station, nth| {
        let key = u64::from(nth) + 1;
        let mut bad = message(nth, Connection::NUMBER, b"octets");
        let packet = match nth % 8 {
            0 => data(own(key, XtpKind::Data), b"octets in a context"),
            1 => data(returned(key, XtpKind::Data), b"octets in a context"),
            2 => packet(returned(key, XtpKind::First), &[&opening(4)]),
            3 => packet(own(key, XtpKind::First), &[&opening(4)[..20]]),
            4 => packet(own(key, XtpKind::JoinControl), &[&opening(4)]),
            5 => packet(own(key, XtpKind::Diagnostic), &[&[0; 8]]),
            6 => {
                bad[40] ^= 1; // its check is wrong
                bad
            }
            _ => {
                bad.pop(); // and so is its length
                bad
            }
        };
        // What is refused is refused each time; that there is no context is said ten times in a
        // second.
        let answers = station.answers(address(nth), &packet);
        said += answers.len() - usize::from(nth % 8 == 3);
        assert!(answers.iter().all(|answer| answer.len() <= packet.len()), "{nth}");
    });
    assert_eq!((station.opened.len(), said), (0, 10));
}

/// A FIRST that is sound makes a context, which a false address does not confirm.
fn unconfirmed<S: Service>() {
    let config = config();
    let mut station = Station::<S>::listening(config);
    let (mut asked, mut said) = (0, 0);
    let before = held();
    for nth in 0..many() {
        let packet = message(nth, S::NUMBER, b"octets");
        asked += packet.len();
        said += station.answers(address(nth), &packet).iter().map(Vec::len).sum::<usize>();
        station.heard.clear();
        assert!(station.layer.associations() <= config.half_open_most, "{nth}");
    }
    let kept = (held() - before) as usize;
    // As many that gave way are remembered.
    assert!(kept < config.half_open_most * (13 << 9), "{kept} octets");
    assert!(said <= 3 * asked, "{said} octets for {asked}");
    station.pass(Duration::from_secs(300));
    assert_eq!(station.layer.associations(), 0);
    station.sent();
    // A true one gets in.
    let packet = message(many(), S::NUMBER, b"octets");
    station.arrives(address(many()), &packet);
    assert_eq!(station.heard, [b"octets"]);
}

#[test]
fn strangers_that_confirm_nothing_are_bounded() {
    unconfirmed::<Connection>();
    unconfirmed::<Transaction>();
    unconfirmed::<AcknowledgedDatagram>();
    unconfirmed::<UnacknowledgedDatagram>();
    unconfirmed::<IsochronousStream>();
}

/// A peer that comes and goes leaves what the graveyard remembers, and no more.
#[test]
fn twenty_thousand_datagrams_leave_what_one_leaves() {
    let mut station = Station::<AcknowledgedDatagram>::listening(config());
    let closes = XtpOptions::WCLOSE.with(XtpOptions::RCLOSE);
    let options = closes.with(XtpOptions::EOM).with(XtpOptions::SREQ);
    let mut first_held = None;
    for nth in 0..many().max(10_000) {
        let packet = first(u64::from(nth) + 1, AcknowledgedDatagram::NUMBER, options, b"octets");
        station.arrives(address(1), &packet);
        let opened = *station.opened.last().expect("a context");
        station.closes(opened);
        assert_eq!(station.layer.associations(), 0);
        station.sent();
        station.opened.clear();
        station.heard.clear();
        station.ended.clear();
        // The graveyard is full.
        if nth == 9000 {
            first_held = Some((station.layer.names(), held()));
        }
    }
    let (names, octets) = first_held.expect("more than nine thousand");
    assert_eq!(station.layer.names(), names);
    assert!(held() - octets < 64 << 10, "{} octets more", held() - octets);
}

/// A peer opens more contexts than the application awaits: those that have shown nothing may give
/// way soon, so it is told nothing. Where they have gone, it is refused, in packets that are no
/// longer than its own.
#[test]
fn where_no_one_listens_an_answer_is_no_longer_than_the_question() {
    let mut station = Station::<Connection>::listening(config());
    station.listens = false;
    for nth in 0..100 {
        let asked = message(nth, Connection::NUMBER, b"");
        let answers = station.answers(address(1), &asked);
        assert_eq!(answers.len(), usize::from((nth as usize) < AWAITED), "{nth}");
    }
    assert_eq!(station.layer.associations(), AWAITED);
    station.pass(Duration::from_secs(300));
    station.sent();
    for nth in 100..200 {
        let asked = message(nth, Connection::NUMBER, b"");
        let answers = station.answers(address(1), &asked);
        assert_eq!(answers.len(), 1, "{nth}");
        let refused = (DiagnosticSegment::REFUSED, DiagnosticSegment::NO_LISTENER);
        assert_eq!(diagnosis(&answers[0]), refused);
        assert!(answers[0].len() <= asked.len());
    }
    assert_eq!(station.layer.associations(), 0);
}
