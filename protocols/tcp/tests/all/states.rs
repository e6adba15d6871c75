//! The table of RFC 9293 §3.10.7.4, with RFC 5961: each state, each kind of segment, each place of
//! its number and of its acknowledgement. (What a listener, one that asks and one that waits answer
//! is tried in `forged.rs` and beside the host.)

use stackwright_tcp::TcpState::{self, *};

use crate::forged::{Attack, Segment};
use crate::scene::{ISS, Scene};

const STATES: [TcpState; 7] =
    [SynReceived, Established, FinWait1, FinWait2, CloseWait, Closing, LastAck];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Reset,
    Syn,
    SynAck,
    Ack,
    Data,
    Fin,
    /// Data without an acknowledgement.
    Bare,
}

const KINDS: [Kind; 7] =
    [Kind::Reset, Kind::Syn, Kind::SynAck, Kind::Ack, Kind::Data, Kind::Fin, Kind::Bare];

/// Where the number of a segment is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Number {
    /// One before the expected: with one octet, it is old.
    Below,
    At,
    Within,
    Beyond,
}

const NUMBERS: [Number; 4] = [Number::Below, Number::At, Number::Within, Number::Beyond];

/// Where the acknowledgement is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Acks {
    /// Below the first number that is not acknowledged.
    Old,
    /// That number.
    Una,
    /// All that was sent.
    All,
    /// More.
    Unsent,
}

const ACKS: [Acks; 4] = [Acks::Old, Acks::Una, Acks::All, Acks::Unsent];

/// What is said at once.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Answer {
    Nothing,
    Ack,
    SynAck,
    /// A reset with the number that was acknowledged.
    Reset,
}

/// Returns a connection whose end `1` is in a state, what it expects, and the acknowledgements that
/// are [`Acks::Una`] and [`Acks::All`].
fn in_state(state: TcpState) -> (Attack, u32, [u32; 2]) {
    let mut attack = Attack::usual();
    if state == SynReceived {
        attack.scene = Scene::usual();
        let said = attack.hears_with(|syn| {
            syn.header.sequence_number = ISS[0];
            (syn.header.syn, syn.header.ack) = (true, false);
        });
        assert!(said.len() == 1 && said[0].header.syn);
        return (attack, ISS[0].wrapping_add(1), [ISS[1], ISS[1].wrapping_add(1)]);
    }
    let mut expected = attack.expected.header.sequence_number;
    let mut acks = [attack.expected.header.acknowledgment_number; 2];
    let finish = |attack: &mut Attack| {
        attack.scene.ends[1].association.finish();
        assert_eq!(attack.scene.speaks(1).len(), 1, "its FIN");
    };
    if matches!(state, FinWait1 | FinWait2 | Closing) {
        finish(&mut attack);
        acks[1] = acks[1].wrapping_add(1);
    }
    if matches!(state, CloseWait | Closing | LastAck) {
        assert!(attack.hears_with(|segment| segment.header.fin = true)[0].is_ack());
        expected = expected.wrapping_add(1);
    }
    if state == LastAck {
        finish(&mut attack);
        acks[1] = acks[1].wrapping_add(1);
    }
    if state == FinWait2 {
        let said = attack.hears_with(|segment| segment.header.acknowledgment_number = acks[1]);
        assert!(said.is_empty());
        acks[0] = acks[1];
    }
    (attack, expected, acks)
}

/// What §3.10.7.4 demands.
fn demanded(state: TcpState, kind: Kind, number: Number, acks: Acks) -> (Answer, TcpState) {
    use Answer::{Nothing, Reset, SynAck};
    let is_within = matches!(number, Number::At | Number::Within);
    match kind {
        // RFC 5961 §3.2: only the expected number resets.
        Kind::Reset => {
            return match number {
                Number::At => (Nothing, Closed),
                Number::Within => (Answer::Ack, state),
                _ => (Nothing, state),
            };
        }
        // The peer has not heard our answer, or asks as well (§3.5, figure 8).
        Kind::Syn if state == SynReceived && number == Number::Below => return (SynAck, state),
        Kind::SynAck if state == SynReceived && number == Number::Below => {
            return if acks == Acks::All { (Answer::Ack, Established) } else { (SynAck, state) };
        }
        // RFC 5961 §4.2.
        Kind::Syn | Kind::SynAck => return (Answer::Ack, state),
        // First, the number.
        _ if !is_within => return (Answer::Ack, state),
        // Fifth: without an acknowledgement it is dropped.
        Kind::Bare => return (Nothing, state),
        Kind::Ack | Kind::Data | Kind::Fin => {}
    }
    // Fifth, the acknowledgement.
    let state = match (state, acks) {
        (SynReceived, Acks::All) => Established,
        (SynReceived, _) => return (Reset, state),
        (_, Acks::Unsent) => return (Answer::Ack, state),
        (FinWait1, Acks::All) => FinWait2,
        (Closing, Acks::All) => return (Nothing, TimeWait),
        (LastAck, Acks::All) => return (Nothing, Closed),
        _ => state,
    };
    let is_behind = matches!(state, CloseWait | Closing | LastAck);
    match (kind, number) {
        // Seventh, data: ignored behind a FIN, whose sender is told what has arrived; acknowledged
        // later, unless something is missing.
        (Kind::Data, _) if is_behind => (Answer::Ack, state),
        (Kind::Data, Number::Within) => (Answer::Ack, state),
        // Eighth, the FIN: there is only one.
        (Kind::Fin, _) if is_behind => (Nothing, state),
        (Kind::Fin, Number::At) => {
            let next = match state {
                FinWait1 => Closing,
                FinWait2 => TimeWait,
                _ => CloseWait,
            };
            (Answer::Ack, next)
        }
        (Kind::Fin, _) => (Answer::Ack, state),
        _ => (Nothing, state),
    }
}

fn change(segment: &mut Segment, kind: Kind) {
    let header = &mut segment.header;
    match kind {
        Kind::Reset => header.rst = true,
        Kind::Syn => (header.syn, header.ack) = (true, false),
        Kind::SynAck => header.syn = true,
        Kind::Ack => {}
        Kind::Data => segment.data = vec![b'x'],
        Kind::Fin => header.fin = true,
        Kind::Bare => (header.ack, segment.data) = (false, vec![b'x']),
    }
}

#[test]
fn every_segment_in_every_state_is_handled_as_the_table_demands() {
    let mut cells = 0;
    for state in STATES {
        for (kind, number) in KINDS.into_iter().flat_map(|kind| NUMBERS.map(|at| (kind, at))) {
            for acks in ACKS {
                let (mut attack, expected, [una, all]) = in_state(state);
                let now = attack.scene.now;
                assert_eq!(TcpState::of(&attack.scene.ends[1].association, now), state);
                let ack = match acks {
                    Acks::Old => una.wrapping_sub(1),
                    Acks::Una => una,
                    Acks::All => all,
                    Acks::Unsent => all.wrapping_add(1),
                };
                let said = attack.hears_with(|segment| {
                    segment.header.sequence_number = match number {
                        Number::Below => expected.wrapping_sub(1),
                        Number::At => expected,
                        Number::Within => expected.wrapping_add(10),
                        Number::Beyond => expected.wrapping_add(1 << 22),
                    };
                    segment.header.acknowledgment_number = ack;
                    change(segment, kind);
                });
                let answer = match &said[..] {
                    [] => Answer::Nothing,
                    [one] if one.is_ack() => Answer::Ack,
                    [one] if one.header.syn && one.header.ack => Answer::SynAck,
                    [one] if one.header.rst && !one.header.ack => {
                        assert_eq!(one.header.sequence_number, ack);
                        Answer::Reset
                    }
                    _ => panic!("{state} {kind:?} {number:?} {acks:?}: {} segments", said.len()),
                };
                let then = TcpState::of(&attack.scene.ends[1].association, now);
                let cell = format!("{state}: {kind:?}, {number:?}, acknowledges {acks:?}");
                assert_eq!((answer, then), demanded(state, kind, number, acks), "{cell}");
                cells += 1;
            }
        }
    }
    println!("{cells} cells");
}
