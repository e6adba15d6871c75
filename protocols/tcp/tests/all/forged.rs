//! Segments that may be forged, or are strange: RFC 5961, RFC 7323 §5, and what RFC 9293 §3.10.7
//! says of them.

use fastrand::Rng;
use stackwright_tcp::Config;
use stackwright_tcp::options::{TcpOption, TcpOptions, TcpTimestamps};
use stackwright_transport::words::{Ending, MILLISECOND, Phase};
use stackwright_wire::Header;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::Tcp;

use crate::scene::{ISS, Scene, key, octets};

/// A header that says nothing.
pub(crate) const SILENT: Tcp = Tcp {
    source_port: 0,
    destination_port: 0,
    sequence_number: 0,
    acknowledgment_number: 0,
    data_offset: 5,
    rsrvd: 0,
    cwr: false,
    ece: false,
    urg: false,
    ack: false,
    psh: false,
    rst: false,
    syn: false,
    fin: false,
    window: 1000,
    checksum: 0,
    urgent_pointer: 0,
};

/// A segment, and where it goes: from the end `0` to the end `1`.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) header: Tcp,
    pub(crate) times: Option<TcpTimestamps>,
    pub(crate) sack: Vec<(u32, u32)>,
    pub(crate) data: Vec<u8>,
}

impl Segment {
    /// Returns it with its check.
    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut octets = vec![0; Tcp::LENGTH];
        if let Some(TcpTimestamps { value, echo }) = self.times {
            octets.extend([1, 1, 8, 10]);
            octets.extend(value.to_be_bytes());
            octets.extend(echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            octets.extend([1, 1, 5, 2 + 8 * self.sack.len() as u8]);
            for (start, end) in &self.sack {
                octets.extend(start.to_be_bytes());
                octets.extend(end.to_be_bytes());
            }
        }
        let data_offset = (octets.len() / 4) as u8;
        Tcp { data_offset, ..self.header.clone() }.encode(&mut octets);
        octets.extend(&self.data);
        let mut check = Internet::new();
        // The pseudo-header of an end that knows no hosts: protocol and length.
        check.add(&[0, 6]);
        check.add(&(octets.len() as u16).to_be_bytes());
        check.add(&octets);
        octets[16..18].copy_from_slice(&check.value().to_be_bytes());
        octets
    }

    /// Reads one that leaves.
    pub(crate) fn read(octets: &[u8]) -> Self {
        let header = Tcp::decode(octets).expect("a header");
        let before = 4 * usize::from(header.data_offset);
        let (mut times, mut sack) = (None, Vec::new());
        for option in TcpOptions::new(&octets[Tcp::LENGTH..before]) {
            match option {
                TcpOption::Timestamps(said) => times = Some(said),
                TcpOption::Sack(blocks) => sack.extend(blocks),
                _ => {}
            }
        }
        Segment { header, times, sack, data: octets[before..].to_vec() }
    }

    pub(crate) fn is_ack(&self) -> bool {
        let Tcp { ack, syn, fin, rst, .. } = self.header;
        (ack, syn, fin, rst) == (true, false, false, false) && self.data.is_empty()
    }
}

/// An open connection whose end `1` is attacked, and the segment that it expects next of its peer.
pub(crate) struct Attack {
    pub(crate) scene: Scene,
    pub(crate) expected: Segment,
}

/// How many octets each has said.
pub(crate) const SAID: u32 = 3000;

impl Attack {
    fn new(config: impl Fn(u8) -> Config) -> Self {
        let mut scene = Scene::opened([config(0), config(1)]);
        for side in [0, 1] {
            scene.send(side, &octets(SAID as usize));
        }
        scene.until(1, |scene| scene.ends.iter().all(|end| end.heard.len() == SAID as usize));
        (0..100).for_each(|_| scene.step());
        let [own, theirs] = ISS.map(|iss| iss.wrapping_add(1 + SAID));
        let stamp = (scene.now.nanoseconds() / MILLISECOND) as u32;
        let times = TcpTimestamps { value: stamp, echo: 1000 + stamp };
        let header = Tcp {
            source_port: key(0).own,
            destination_port: key(0).peer,
            sequence_number: own,
            acknowledgment_number: theirs,
            ack: true,
            ..SILENT
        };
        let times = config(0).timestamps.then_some(times);
        let expected = Segment { header, times, sack: Vec::new(), data: Vec::new() };
        Attack { scene, expected }
    }

    pub(crate) fn usual() -> Self {
        Attack::new(|side| Config::new([side; 16]))
    }

    /// Has the end hear a segment. Returns what it says to that at once.
    pub(crate) fn hears(&mut self, segment: &Segment) -> Vec<Segment> {
        self.scene.hears(1, &segment.octets());
        self.scene.speaks(1).iter().map(|said| Segment::read(said)).collect()
    }

    /// The same, for a change of what is expected.
    pub(crate) fn hears_with(&mut self, change: impl FnOnce(&mut Segment)) -> Vec<Segment> {
        let mut segment = self.expected.clone();
        change(&mut segment);
        self.hears(&segment)
    }

    /// Checks that it was answered by what the end has received and sent, and nothing else.
    fn is_challenged(&self, said: &[Segment]) {
        assert_eq!(said.len(), 1, "one answer");
        assert!(said[0].is_ack());
        let Tcp { sequence_number, acknowledgment_number, .. } = said[0].header;
        let expected = &self.expected.header;
        let numbers = (expected.acknowledgment_number, expected.sequence_number);
        assert_eq!((sequence_number, acknowledgment_number), numbers);
        self.lives();
    }

    fn lives(&self) {
        assert_eq!(self.scene.phase(1), Phase::Open);
        assert_eq!(self.scene.ends[1].heard.len(), SAID as usize);
    }

    /// A second passes.
    fn rests(&mut self) {
        (0..1000).for_each(|_| self.scene.step());
    }
}

/// RFC 5961 §3.2.
#[test]
fn a_reset_is_believed_at_the_expected_number_and_nowhere_else() {
    for (ahead, is_answered) in [(1, true), (40_000, true), (1 << 30, false), (u32::MAX, false)] {
        let mut attack = Attack::usual();
        let said = attack.hears_with(|segment| {
            segment.header.rst = true;
            let number = segment.header.sequence_number.wrapping_add(ahead);
            segment.header.sequence_number = number;
        });
        match is_answered {
            true => attack.is_challenged(&said),
            false => assert_eq!(said.len(), 0, "{ahead}"),
        }
        attack.lives();
    }
    for ack in [false, true] {
        let mut attack = Attack::usual();
        // A reset needs neither an acknowledgement nor timestamps (RFC 7323 §5.2).
        let said = attack.hears_with(|segment| {
            (segment.header.rst, segment.header.ack, segment.times) = (true, ack, None);
        });
        assert_eq!(said.len(), 0);
        assert_eq!(attack.scene.phase(1), Phase::Ended(Ending::Reset(0)));
    }
}

/// RFC 5961 §4.2.
#[test]
fn a_request_for_an_open_connection_is_answered_and_changes_nothing() {
    for (ahead, ack) in [(0, false), (0, true), (1 << 30, false), (u32::MAX - SAID, true)] {
        let mut attack = Attack::usual();
        let said = attack.hears_with(|segment| {
            (segment.header.syn, segment.header.ack) = (true, ack);
            let number = segment.header.sequence_number.wrapping_add(ahead);
            segment.header.sequence_number = number;
        });
        attack.is_challenged(&said);
    }
}

/// RFC 5961 §5.2.
#[test]
fn data_with_an_acknowledgement_that_cannot_be_is_not_taken() {
    let far = 1 << 24;
    for (ahead, is_fine) in
        [(0, true), (u32::MAX - 99, true), (1, false), (0_u32.wrapping_sub(far), false)]
    {
        let mut attack = Attack::usual();
        let said = attack.hears_with(|segment| {
            let number = segment.header.acknowledgment_number.wrapping_add(ahead);
            segment.header.acknowledgment_number = number;
            segment.data = b"x".to_vec();
        });
        match is_fine {
            true => assert_eq!(attack.scene.ends[1].heard.len(), SAID as usize + 1, "{ahead}"),
            false => attack.is_challenged(&said),
        }
    }
}

/// RFC 9293 §3.10.7.4, first: the number; and what is beyond the window.
#[test]
fn what_is_outside_the_window_is_answered_and_not_taken() {
    // The window is no larger than a megabyte.
    for (ahead, octets) in [(1 << 21, 1), (1 << 21, 0), (u32::MAX, 0), (u32::MAX - 9, 5)] {
        let mut attack = Attack::usual();
        let said = attack.hears_with(|segment| {
            let number = segment.header.sequence_number.wrapping_add(ahead);
            (segment.header.sequence_number, segment.data) = (number, vec![b'x'; octets]);
            segment.header.fin = octets == 1;
        });
        attack.is_challenged(&said);
        assert!(!attack.scene.ends[1].association.heard_all(attack.scene.now));
    }
}

/// What is old and new at once, and what was cut off at the window, is taken in part.
#[test]
fn a_segment_is_trimmed_to_the_window() {
    let mut attack = Attack::usual();
    attack.hears_with(|segment| {
        segment.header.sequence_number = segment.header.sequence_number.wrapping_sub(10);
        segment.data = octets(SAID as usize + 5)[SAID as usize - 10..].to_vec();
    });
    assert_eq!(attack.scene.ends[1].heard, octets(SAID as usize + 5));
    // A window of 64 KB and what waits for the application in it.
    let config = |side| Config { window_most: 60_000, scales: false, ..Config::new([side; 16]) };
    let mut attack = Attack::new(config);
    attack.scene.ends[1].reads = false;
    let said = attack.hears_with(|segment| segment.data = vec![b'x'; 60_000]);
    assert_eq!((said.len(), said[0].header.window), (1, 0));
    let said = attack.hears_with(|segment| {
        segment.header.sequence_number = segment.header.sequence_number.wrapping_add(60_000);
        segment.data = b"y".to_vec();
    });
    assert_eq!((said.len(), said[0].header.window), (1, 0), "a probe is answered");
    assert_eq!(said[0].header.acknowledgment_number, ISS[0].wrapping_add(1 + SAID + 60_000));
}

/// The number of a FIN is nobody's data: one that claims it, as old data, adds nothing to a half
/// that has ended.
#[test]
fn nothing_is_taken_at_the_number_of_the_end() {
    for before in [0, 10] {
        let mut attack = Attack::usual();
        attack.hears_with(|segment| segment.header.fin = true);
        assert!(attack.scene.ends[1].association.heard_all(attack.scene.now));
        attack.hears_with(|segment| {
            segment.header.sequence_number = segment.header.sequence_number.wrapping_sub(before);
            segment.data = vec![b'x'; before as usize + 1];
        });
        assert_eq!(attack.scene.ends[1].heard.len(), SAID as usize, "{before}");
    }
}

/// RFC 7323 §3.2 and §5.3.
#[test]
fn an_old_timestamp_is_answered_and_none_is_dropped() {
    let mut attack = Attack::usual();
    let said = attack.hears_with(|segment| {
        let times = segment.times.as_mut().expect("they were negotiated");
        times.value = times.value.wrapping_sub(5000);
        segment.data = b"x".to_vec();
    });
    attack.is_challenged(&said);
    let said = attack.hears_with(|segment| {
        (segment.times, segment.data) = (None, b"x".to_vec());
    });
    assert_eq!(said.len(), 0);
    attack.lives();
}

/// RFC 5961 §7: a hundred thousand forged segments change nothing, and call forth few.
#[test]
fn forged_segments_at_random_numbers_are_answered_ten_times_a_second() {
    let mut attack = Attack::usual();
    let mut random = Rng::with_seed(1);
    let (mut answers, mut seconds) = (0, 0);
    for nth in 0..100_000 {
        let mut segment = attack.expected.clone();
        let header = &mut segment.header;
        (header.sequence_number, header.acknowledgment_number) = (random.u32(..), random.u32(..));
        // None of them hits the one number of four thousand million.
        if header.sequence_number == attack.expected.header.sequence_number {
            continue;
        }
        (header.rst, header.syn) = (nth % 3 == 0, nth % 3 == 1);
        (header.fin, header.ack) = (random.bool(), random.bool());
        segment.data = octets(random.usize(..9));
        answers += attack.hears(&segment).len();
        if nth % 20_000 == 19_999 {
            attack.rests();
            seconds += 1;
        }
    }
    attack.lives();
    assert!((10..=10 * (seconds + 1)).contains(&answers), "{answers} in {seconds} s");
    let said = attack.hears_with(|segment| {
        segment.times.as_mut().expect("they were negotiated").value += 6000;
        segment.data = octets(SAID as usize + 100)[SAID as usize..].to_vec();
    });
    assert!(said.len() <= 1);
    assert_eq!(attack.scene.ends[1].heard, octets(SAID as usize + 100), "it goes on");
}

/// Memory is bounded whatever the octets of a segment: out of order, one octet each.
#[test]
fn small_segments_behind_a_gap_do_not_wait_for_it_in_any_number() {
    let mut attack = Attack::usual();
    let all = octets(SAID as usize + 40_001);
    for ahead in 1..40_000 {
        attack.hears_with(|segment| {
            let number = segment.header.sequence_number.wrapping_add(ahead);
            segment.header.sequence_number = number;
            segment.data = vec![all[(SAID + ahead) as usize]];
        });
    }
    let taken = attack.scene.ends[1].association.receipts().beyond().iter();
    let taken: u64 = taken.map(|span| span.end - span.start).sum();
    // A window of 64 KB or somewhat more.
    assert!((500..3000).contains(&taken), "{taken}");
    // What fills the gap is always taken.
    attack.hears_with(|segment| segment.data = vec![all[SAID as usize]]);
    let heard = &attack.scene.ends[1].heard;
    assert!(heard.len() as u64 == u64::from(SAID) + 1 + taken && *heard == all[..heard.len()]);
}

/// RFC 2018: what was never sent cannot have arrived.
#[test]
fn blocks_of_what_was_never_sent_are_not_believed() {
    let mut attack = Attack::usual();
    let next = attack.expected.header.acknowledgment_number;
    attack.scene.send(1, &octets(4000));
    assert_eq!(attack.scene.speaks(1).len(), 3);
    let in_flight = |attack: &Attack| attack.scene.ends[1].association.sending().in_flight();
    assert_eq!(in_flight(&attack), 4000);
    attack.hears_with(|segment| {
        segment.sack =
            vec![(next + 2896, next + 4001), (next + 8000, next + 9000), (next + 9, next + 8)];
    });
    assert_eq!(in_flight(&attack), 4000);
    attack.hears_with(|segment| segment.sack = vec![(next + 1448, next + 2896)]);
    assert_eq!(in_flight(&attack), 4000 - 1448);
}

/// A peer that reports what it says it expects contradicts itself: what it does not acknowledge is
/// sent again, and nothing waits for ever.
#[test]
fn a_block_at_the_expected_number_is_not_believed() {
    let mut attack = Attack::usual();
    let next = attack.expected.header.acknowledgment_number;
    attack.scene.send(1, &octets(4000));
    assert_eq!(attack.scene.speaks(1).len(), 3);
    attack.hears_with(|segment| segment.header.acknowledgment_number = next + 1448);
    attack.hears_with(|segment| segment.sack = vec![(next + 1, next + 4000)]);
    let again = (0..9).any(|_| {
        let (now, association) = (attack.scene.now, &mut attack.scene.ends[1].association);
        attack.scene.now = association.next_deadline(now).expect("it waits").max(now);
        association.handle_timeout(attack.scene.now);
        attack.scene.speaks(1).iter().any(|said| said.len() > 1000)
    });
    assert!(again);
}

/// RFC 2018 §8: a receiver may drop again what it has reported.
#[test]
fn what_was_reported_and_dropped_again_is_sent_again() {
    // Of a segment that was held, some may be there again.
    for cut in [0, 100] {
        let mut attack = Attack::usual();
        let next = attack.expected.header.acknowledgment_number;
        attack.scene.send(1, &octets(4000));
        assert_eq!(attack.scene.speaks(1).len(), 3);
        attack.hears_with(|segment| segment.sack = vec![(next + 1448, next + 4000)]);
        let waits = |attack: &Attack| {
            let sending = attack.scene.ends[1].association.sending();
            (sending.in_flight(), sending.is_idle())
        };
        assert_eq!(waits(&attack), (1448, false));
        let said =
            attack.hears_with(|segment| segment.header.acknowledgment_number = next + 1448 + cut);
        let numbers = Vec::from_iter(said.iter().map(|said| said.header.sequence_number));
        assert_eq!(numbers, [next + 1448, next + 2 * 1448]);
        assert!(said.iter().map(|said| said.data.len()).eq([1448, 4000 - 2 * 1448]));
        attack.hears_with(|segment| segment.header.acknowledgment_number = next + 4000);
        assert_eq!(waits(&attack), (0, true));
    }
}

/// What was not sent cannot be acknowledged: neither the window nor the flight changes.
#[test]
fn optimistic_acknowledgements_gain_nothing() {
    let mut attack = Attack::usual();
    let next = attack.expected.header.acknowledgment_number;
    attack.scene.send(1, &octets(1 << 20));
    let sent: usize = attack.scene.speaks(1).iter().map(|said| said.len() - 32).sum();
    let stands = |attack: &Attack| {
        (attack.scene.window(1), attack.scene.ends[1].association.sending().in_flight())
    };
    let before = stands(&attack);
    assert_eq!(before.1, sent as u64);
    for ahead in (1..1 << 20).step_by(1449) {
        attack.hears_with(|segment| {
            segment.header.acknowledgment_number = next.wrapping_add(sent as u32 + ahead);
        });
    }
    assert_eq!(stands(&attack), before);
}

/// RFC 3465: a window grows by octets, and not by acknowledgements.
#[test]
fn a_segment_that_is_acknowledged_octet_by_octet_counts_once() {
    let grown = [1, 1448].map(|step| {
        let mut attack = Attack::usual();
        let next = attack.expected.header.acknowledgment_number;
        attack.scene.send(1, &octets(1 << 20));
        assert!(attack.scene.speaks(1).len() > 4);
        let before = attack.scene.window(1);
        for ahead in (step..=1448).step_by(step) {
            attack.hears_with(|segment| {
                segment.header.acknowledgment_number = next.wrapping_add(ahead as u32);
            });
        }
        attack.scene.window(1) - before
    });
    assert!(grown[0] <= grown[1] && grown[1] <= 1448, "{grown:?}");
}

/// Forged data that both believe has them answer each other's acknowledgements, but not for ever.
#[test]
fn an_acknowledgement_storm_dies_down() {
    let mut attack = Attack::usual();
    let there = Segment { data: octets(10), ..attack.expected.clone() };
    let mut back = there.clone();
    (back.header.source_port, back.header.destination_port) = (key(1).own, key(1).peer);
    let numbers = (there.header.acknowledgment_number, there.header.sequence_number);
    (back.header.sequence_number, back.header.acknowledgment_number) = numbers;
    let times = there.times.expect("they were negotiated");
    back.times = Some(TcpTimestamps { value: times.echo, echo: times.value });
    attack.scene.hears(1, &there.octets());
    attack.scene.hears(0, &back.octets());
    let said = [10, 50, 540].map(|seconds| {
        attack.scene.segments = 0;
        (0..seconds).for_each(|_| attack.rests());
        attack.scene.segments
    });
    // Each acknowledges the data, and answers the other as often as it may in a second.
    assert!((20..50).contains(&said[0]) && said[1..] == [0, 0], "{said:?}");
}

/// RFC 9293 §3.10.7.3.
#[test]
fn one_that_asks_heeds_only_what_answers_it() {
    let asks = || {
        let mut scene = Scene::usual();
        let now = scene.now;
        scene.ends[1].association.open(now);
        let said = scene.speaks(1);
        assert_eq!(said.len(), 1);
        let mut expected = Attack::usual().expected;
        expected.header.acknowledgment_number = ISS[1].wrapping_add(1);
        expected.times = None;
        Attack { scene, expected }
    };
    for ack in [ISS[1], ISS[1].wrapping_add(2)] {
        for rst in [false, true] {
            let mut attack = asks();
            let said = attack.hears_with(|segment| {
                (segment.header.acknowledgment_number, segment.header.rst) = (ack, rst);
                segment.header.syn = !rst;
            });
            assert_eq!(attack.scene.phase(1), Phase::Opening);
            assert_eq!(said.len(), usize::from(!rst));
            for said in said {
                assert_eq!((said.header.rst, said.header.ack), (true, false));
                assert_eq!(said.header.sequence_number, ack);
            }
        }
    }
    let mut attack = asks();
    attack.hears_with(|segment| (segment.header.rst, segment.header.ack) = (true, false));
    attack.hears_with(|segment| segment.data = b"x".to_vec());
    assert_eq!(attack.scene.phase(1), Phase::Opening, "no reset, and no answer");
    attack.hears_with(|segment| segment.header.rst = true);
    assert_eq!(attack.scene.phase(1), Phase::Ended(Ending::Refused(0)));
}

/// RFC 9293 §3.10.7.4 (SYN-RECEIVED): an acknowledgement of what was never said is reset.
#[test]
fn one_that_answers_resets_what_does_not_confirm_it() {
    let mut attack = Attack { scene: Scene::usual(), expected: Attack::usual().expected };
    attack.expected.header.sequence_number = ISS[0];
    let said = attack.hears_with(|segment| {
        (segment.header.syn, segment.header.ack, segment.times) = (true, false, None);
    });
    assert!(said.len() == 1 && said[0].header.syn && said[0].header.ack);
    attack.expected.header.sequence_number = ISS[0].wrapping_add(1);
    attack.expected.times = None;
    let wrong = ISS[1].wrapping_add(9);
    let said = attack.hears_with(|segment| segment.header.acknowledgment_number = wrong);
    assert_eq!((said.len(), said[0].header.rst), (1, true));
    assert_eq!(said[0].header.sequence_number, wrong);
    attack.hears_with(|segment| {
        (segment.header.acknowledgment_number, segment.data) =
            (ISS[1].wrapping_add(1), b"hello".to_vec());
    });
    assert_eq!(attack.scene.phase(1), Phase::Open);
    assert_eq!(attack.scene.ends[1].heard, b"hello");
}
