//! The table of RFC 9293 §3.10.7, with RFC 5961: each of the eleven states, each kind of segment,
//! each place of its number and of its acknowledgement, and where that is demanded.

use stackwright_base::{Arrival, Unexpected};
use stackwright_contract::{Context, Participant};
use stackwright_tcp::TcpState::{self, *};
use stackwright_tcp::options::TcpTimestamps;
use stackwright_tcp::{Config, TcpHost};
use stackwright_transport::{Crowd, Farewell, Host as _};
use stackwright_wire::Message as _;
use stackwright_wire::internet::Tcp;

use crate::forged::{Attack, SILENT, Segment};
use crate::scene::{ISS, M, Scene, key};

/// Those of a connection, and those of a station without one.
const STATES: [TcpState; 8] =
    [SynSent, SynReceived, Established, FinWait1, FinWait2, CloseWait, Closing, LastAck];
const STATION: [TcpState; 3] = [Listen, TimeWait, Closed];

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
    /// A reset with the number that was acknowledged, and one that acknowledges the segment.
    Reset,
    ResetAck,
}

/// Returns a connection whose end `1` is in a state, what it expects, and the acknowledgements that
/// are [`Acks::Una`] and [`Acks::All`].
fn in_state(state: TcpState) -> (Attack, u32, [u32; 2]) {
    let mut attack = Attack::usual();
    if state == SynSent {
        attack.scene = Scene::usual();
        attack.scene.ends[1].association.open(attack.scene.now);
        assert_eq!(attack.scene.speaks(1).len(), 1, "its SYN");
        return (attack, ISS[0], [ISS[1], ISS[1].wrapping_add(1)]);
    }
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

/// What is demanded: the answer, the state behind it, and the paragraph.
type Demanded = (Answer, TcpState, &'static str);

/// What §3.10.7.4 and §3.10.7.3 demand of a connection.
fn demanded(state: TcpState, kind: Kind, number: Number, acks: Acks) -> Demanded {
    use Answer::{Nothing, Reset, SynAck};
    let is_within = matches!(number, Number::At | Number::Within);
    if state == SynSent {
        return match (kind, acks) {
            (Kind::Syn, _) => (SynAck, SynReceived, "9293 §3.10.7.3, fourth; §3.5, figure 8"),
            (Kind::Bare, _) => (Nothing, state, "9293 §3.10.7.3, fifth"),
            (Kind::Reset, Acks::All) => (Nothing, Closed, "9293 §3.10.7.3, second"),
            (Kind::Reset, _) => (Nothing, state, "9293 §3.10.7.3, first: but for a reset"),
            (Kind::SynAck, Acks::All) => (Answer::Ack, Established, "9293 §3.10.7.3, fourth"),
            (_, Acks::All) => (Nothing, state, "9293 §3.10.7.3, fifth"),
            _ => (Reset, state, "9293 §3.10.7.3, first"),
        };
    }
    match kind {
        Kind::Reset => {
            return match number {
                Number::At => (Nothing, Closed, "5961 §3.2: the expected number"),
                Number::Within => (Answer::Ack, state, "5961 §3.2: another one in the window"),
                _ => (Nothing, state, "9293 §3.10.7.4, first: but for a reset"),
            };
        }
        // The peer has not heard our answer, or asks as well.
        Kind::Syn if state == SynReceived && number == Number::Below => {
            return (SynAck, state, "9293 §3.5, figure 8");
        }
        Kind::SynAck if state == SynReceived && number == Number::Below => {
            return match acks {
                Acks::All => (Answer::Ack, Established, "9293 §3.5, figure 8"),
                _ => (SynAck, state, "9293 §3.5, figure 8"),
            };
        }
        Kind::Syn | Kind::SynAck => return (Answer::Ack, state, "5961 §4.2"),
        _ if !is_within => return (Answer::Ack, state, "9293 §3.10.7.4, first"),
        Kind::Bare => return (Nothing, state, "9293 §3.10.7.4, fifth: without ACK"),
        Kind::Ack | Kind::Data | Kind::Fin => {}
    }
    let state = match (state, acks) {
        (SynReceived, Acks::All) => Established,
        (SynReceived, _) => return (Reset, state, "9293 §3.10.7.4, fifth, SYN-RECEIVED"),
        (_, Acks::Unsent) => return (Answer::Ack, state, "5961 §5.2"),
        (FinWait1, Acks::All) => FinWait2,
        (Closing, Acks::All) => return (Nothing, TimeWait, "9293 §3.10.7.4, fifth, CLOSING"),
        (LastAck, Acks::All) => return (Nothing, Closed, "9293 §3.10.7.4, fifth, LAST-ACK"),
        _ => state,
    };
    let is_behind = matches!(state, CloseWait | Closing | LastAck);
    match (kind, number) {
        // Whoever sends behind its FIN is told what has arrived.
        (Kind::Data, _) if is_behind => (Answer::Ack, state, "9293 §3.10.7.4, seventh: ignored"),
        (Kind::Data, Number::Within) => (Answer::Ack, state, "5681 §4.2: something is missing"),
        (Kind::Data, _) => (Nothing, state, "9293 §3.8.6.3: acknowledged later"),
        (Kind::Fin, _) if is_behind => (Nothing, state, "9293 §3.10.7.4, eighth: it remains"),
        (Kind::Fin, Number::At) => {
            let next = match state {
                FinWait1 => Closing,
                FinWait2 => TimeWait,
                _ => CloseWait,
            };
            (Answer::Ack, next, "9293 §3.10.7.4, eighth")
        }
        (Kind::Fin, _) => (Answer::Ack, state, "5681 §4.2: something is missing"),
        _ => (Nothing, state, "9293 §3.10.7.4, fifth"),
    }
}

/// What §3.10.7.1, §3.10.7.2 and §3.10.7.4 demand of a station without the connection.
fn demanded_of_station(state: TcpState, kind: Kind, number: Number) -> Demanded {
    use Answer::{Nothing, Reset, ResetAck, SynAck};
    let is_newer = matches!(number, Number::Within | Number::Beyond);
    match (state, kind) {
        (TimeWait, Kind::Reset) => (Nothing, state, "1337 §3: no reset ends it"),
        (TimeWait, Kind::Syn) if is_newer => (SynAck, SynReceived, "6191 §2; 1122 §4.2.2.13"),
        (TimeWait, Kind::Syn | Kind::SynAck) => (Answer::Ack, state, "5961 §4.2"),
        (TimeWait, Kind::Fin) => (Answer::Ack, state, "9293 §3.10.7.4, eighth"),
        // Erratum: also where the number is wrong. Two that wait would answer each other.
        (TimeWait, Kind::Ack) => (Nothing, state, "9293 §3.10.7.4, fifth"),
        // Erratum: also where the number is right. It is late, and so is its sender.
        (TimeWait, _) => (Answer::Ack, state, "9293 §3.10.7.4, first"),
        (_, Kind::Reset) => (Nothing, state, "9293 §3.10.7.1 and §3.10.7.2, first"),
        (Listen, Kind::Syn) => (SynAck, SynReceived, "9293 §3.10.7.2, third"),
        (Listen, Kind::Bare) => (Nothing, state, "9293 §3.10.7.2, fourth"),
        (_, Kind::Syn | Kind::Bare) => (ResetAck, state, "9293 §3.10.7.1: without ACK"),
        (Listen, _) => (Reset, state, "9293 §3.10.7.2, second"),
        _ => (Reset, state, "9293 §3.10.7.1: with ACK"),
    }
}

/// Returns what a station in a state answers. A connection that begins answers with SYN and ACK.
fn of_station(state: TcpState, expected: u32, segment: &Segment) -> (Answer, TcpState) {
    let (mut host, cx) = (TcpHost::<M>::new(Config::new([1; 16])), Context::new(1));
    let [local, remote] = [1, 2].map(|last| Participant::from(([10, 0, 0, last], 7)));
    let header = Tcp { ack: true, acknowledgment_number: expected, ..SILENT };
    // With the same timestamp as the segment has: the number decides.
    let times = segment
        .times
        .map(|TcpTimestamps { value: echo, echo: value }| TcpTimestamps { value, echo });
    let last = Segment { header, times, sack: Vec::new(), data: Vec::new() };
    let (ends, packet) = ((local, remote), last.octets());
    if state == TimeWait {
        let farewell = Farewell { packet: &packet, wait: 0, tells: false, stranger: false };
        host.bury(&cx, (&key(1), remote), farewell);
    }
    let mut packet = M::with_headroom(0, &segment.octets());
    let crowd = Crowd { half_open: 0, gives_way: false };
    let why = Unexpected::NoListener;
    let answer = match state {
        Closed => host.unawaited(&cx, ends, &key(1), &mut packet, why),
        _ => match host.arrival(&cx, ends, &key(1), &mut packet, crowd) {
            Arrival::Welcome => return (Answer::SynAck, SynReceived),
            Arrival::Answered(answer) => Some(answer),
            _ => None,
        },
    };
    let said = answer.map(|answer| {
        let mut octets = Vec::new();
        answer.append_to(&mut octets);
        Segment::read(&octets)
    });
    (answered(said.as_slice(), segment.header.acknowledgment_number), state)
}

/// Returns what the segments are that were said to one that acknowledges `ack`.
fn answered(said: &[Segment], ack: u32) -> Answer {
    match said {
        [] => Answer::Nothing,
        [one] if one.is_ack() => Answer::Ack,
        [one] if one.header.syn && one.header.ack => Answer::SynAck,
        [one] if one.header.rst && one.header.ack => Answer::ResetAck,
        [one] if one.header.rst => {
            assert_eq!(one.header.sequence_number, ack);
            Answer::Reset
        }
        _ => panic!("{} segments", said.len()),
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
    for state in STATES.into_iter().chain(STATION) {
        for (kind, number) in KINDS.into_iter().flat_map(|kind| NUMBERS.map(|at| (kind, at))) {
            for acks in ACKS {
                let is_station = STATION.contains(&state);
                let (mut attack, expected, [una, all]) =
                    in_state(if is_station { LastAck } else { state });
                let now = attack.scene.now;
                let of = |attack: &Attack| TcpState::of(&attack.scene.ends[1].association, now);
                assert!(is_station || of(&attack) == state);
                let ack = match acks {
                    Acks::Old => una.wrapping_sub(1),
                    Acks::Una => una,
                    Acks::All => all,
                    Acks::Unsent => all.wrapping_add(1),
                };
                let mut segment = attack.expected.clone();
                segment.header.sequence_number = match number {
                    Number::Below => expected.wrapping_sub(1),
                    Number::At => expected,
                    Number::Within => expected.wrapping_add(10),
                    Number::Beyond => expected.wrapping_add(1 << 22),
                };
                segment.header.acknowledgment_number = ack;
                change(&mut segment, kind);
                let (answer, then, demanded) = if is_station {
                    let (answer, then) = of_station(state, expected, &segment);
                    (answer, then, demanded_of_station(state, kind, number))
                } else {
                    let said = attack.hears(&segment);
                    (answered(&said, ack), of(&attack), demanded(state, kind, number, acks))
                };
                let cell = format!("{state}: {kind:?}, {number:?}, acknowledges {acks:?}");
                let (.., paragraph) = demanded;
                assert_eq!((answer, then, paragraph), demanded, "{cell}");
                assert!(paragraph.contains('§'), "{cell}: RFC {paragraph}");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 11 * 7 * 4 * 4);
}
