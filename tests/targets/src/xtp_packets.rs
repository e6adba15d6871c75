//! Any octets as packets of XTP, to contexts that know their keys.

use stackwright_contract::{Duration, Participant};
use stackwright_simulator::Conditions;
use stackwright_transport::words::Phase;
use stackwright_transport::{Configuration, Slots};
use stackwright_trial::Trial;
use stackwright_wire::Header as _;
use stackwright_wire::check::Cxor;
use stackwright_xtp::header::{
    AddressHeader, ControlSegment, DiagnosticSegment, Internet6Address, InternetAddress,
    KeyExchange, SpanCount, SpanSegment, TrafficHeader, TrafficTerms, XtpPacket,
};
use stackwright_xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram, XtpService, context,
};
use stackwright_xtp::{Config, ContextKey};
use stackwright_xtp36r::header::{Control36r, Packet36r, Span36r};
use stackwright_xtp36r::{Messages36r, connection};

use crate::Input;
use crate::headers::check;
use crate::lower::M;
use crate::xtp::repair;

/// The keys of both contexts, where each side begins to count in 3.6, and where a check stands.
const KEYS: [u64; 2] = [0x0123_4567, 0x0123_4568];
const FIRST: u32 = u32::MAX - 1000;
const CHECK: usize = 16;

/// What is decoded is encoded to what it was decoded from.
pub fn xtp_headers(octets: &[u8]) {
    check::<XtpPacket>(octets);
    check::<ControlSegment>(octets);
    check::<SpanCount>(octets);
    check::<SpanSegment>(octets);
    check::<KeyExchange>(octets);
    check::<DiagnosticSegment>(octets);
    check::<AddressHeader>(octets);
    check::<InternetAddress>(octets);
    check::<Internet6Address>(octets);
    check::<TrafficHeader>(octets);
    check::<TrafficTerms>(octets);
    check::<Packet36r>(octets);
    check::<Control36r>(octets);
    check::<Span36r>(octets);
}

/// The first octet chooses the service; then each step is a packet for one of two contexts, a
/// message that one sends, or time.
pub fn xtp_packets(octets: &[u8]) {
    let mut input = Input(octets);
    match input.octet() % 8 {
        0 => contexts(end::<Connection>, returned, input),
        1 => contexts(end::<Stream>, returned, input),
        2 => contexts(end::<Transaction>, returned, input),
        3 => contexts(end::<AcknowledgedDatagram>, returned, input),
        4 => contexts(end::<UnacknowledgedDatagram>, returned, input),
        5 => contexts(end_36r, returned_36r, input),
        6 => contexts(end::<BulkData>, returned, input),
        _ => contexts(end::<IsochronousStream>, returned, input),
    }
}

fn config() -> Config {
    Config { packet: 300, window: 4096, retries: 3, ..Config::new([9; 16]) }
}

fn remote() -> Participant {
    Participant::from(([10, 0, 0, 9], 7))
}

fn keys(side: usize) -> (ContextKey, Option<u64>) {
    (ContextKey { ours: true, number: KEYS[side] }, (side == 1).then_some(KEYS[0]))
}

fn end<S: XtpService>(side: usize) -> Slots<S::Configuration<M>> {
    let (own, peer) = keys(side);
    context::<M, S>(&config(), Some(own), peer, remote())
}

fn end_36r(side: usize) -> Slots<Messages36r<M>> {
    let (own, peer) = keys(side);
    connection(&config(), own, peer, remote(), FIRST)
}

/// Puts the key of a context into a packet for it, and makes its length and check right.
fn returned(octets: &mut [u8], side: usize) {
    if octets.len() >= XtpPacket::LENGTH {
        octets[..8].copy_from_slice(&(KEYS[side] | 1 << 63).to_be_bytes());
        let length = (octets.len() - XtpPacket::LENGTH) as u32;
        octets[12..16].copy_from_slice(&length.to_be_bytes());
    }
    repair(octets);
}

fn returned_36r(octets: &mut [u8], side: usize) {
    if octets.len() >= Packet36r::LENGTH {
        octets[..4].copy_from_slice(&(KEYS[side] as u32 | 1 << 31).to_be_bytes());
        let length = (octets.len() - Packet36r::LENGTH) as u32;
        octets[8..12].copy_from_slice(&length.to_be_bytes());
        octets[CHECK..][..4].fill(0);
        let check = Cxor::of(octets);
        octets[CHECK..][..4].copy_from_slice(&check.to_be_bytes());
    }
}

fn contexts<C: Configuration<Message = M>>(
    make: impl Fn(usize) -> Slots<C>,
    returned: fn(&mut [u8], usize),
    mut input: Input<'_>,
) {
    let delay = Duration::from_millis(5);
    let mut ends = Trial::new(make, &Conditions { delay, ..Conditions::IDEAL }, 1);
    let now = ends.now();
    ends.ends[0].open(now);
    while !input.is_empty() {
        let what = input.octet();
        let side = usize::from(what / 128);
        let now = ends.now();
        match what % 8 {
            0..4 => {
                let length = usize::from(input.octet());
                let mut octets = input.take(length).to_vec();
                if !what.is_multiple_of(8) {
                    returned(&mut octets, side);
                }
                ends.inject(side, &octets);
            }
            4 | 5 if ends.ends[side].association.sending().waiting() < 16 => {
                let octets = vec![what; 1 + usize::from(input.octet()) * 8];
                if side == 0 || ends.ends[side].phase(now) != Phase::Idle {
                    ends.ends[side].send(now, &octets, Default::default());
                }
            }
            6 if what & 64 != 0 => ends.ends[side].association.finish(),
            _ => {
                let until = ends.now() + Duration::from_millis(1 << (input.octet() % 16));
                pass(&mut ends, until);
            }
        }
        ends.speak(|_, _, _| {});
        for side in 0..2 {
            while ends.ends[side].take(ends.now()).is_some() {}
        }
    }
    // Both close, nothing passes any more, and time does: each comes to an end.
    ends.set_conditions(&Conditions { loss: 1.0.into(), ..Conditions::IDEAL });
    ends.ends.iter_mut().for_each(|end| end.association.close());
    let until = ends.now() + Duration::from_secs(2000);
    pass(&mut ends, until);
    for end in &ends.ends {
        let phase = end.phase(ends.now());
        assert!(matches!(phase, Phase::Ended(_) | Phase::Idle), "{phase:?}");
    }
}

/// Lets time pass; what an end would do at the same time for ever is a storm.
fn pass<C: Configuration<Message = M>>(ends: &mut Trial<C>, until: stackwright_contract::Instant) {
    let mut steps = 0;
    loop {
        ends.speak(|_, _, _| {});
        if !ends.until(until) {
            return;
        }
        steps += 1;
        assert!(steps < 100_000, "a storm");
    }
}
