//! Whole endpoints of a transport over datagrams, of which the input has the network, the
//! applications and the time: two, or three in a group.

mod side;

use stackwright_contract::services::Ecn;
use stackwright_contract::{Duration, Protocol as _};
use stackwright_transport::Transport;

use crate::Input;
pub(crate) use side::Messages;
use side::{Packet, Place, Side};

struct Stage<H: Messages> {
    sides: Vec<Side<H>>,
    wire: Vec<Packet>,
    /// Makes the check of an altered packet, or of a forged one, right.
    repair: fn(&mut [u8]),
}

/// Runs two endpoints, each of which listens at an address of its own.
pub(crate) fn pair<H: Messages>(
    layers: [Transport<H>; 2],
    repair: fn(&mut [u8]),
    input: Input<'_>,
) {
    run(layers.into(), Place::of_pair, repair, input);
}

/// Runs endpoints that all listen at the address of one group: what one sends to it reaches the
/// others, each by itself.
pub(crate) fn group<H: Messages, const N: usize>(
    layers: [Transport<H>; N],
    repair: fn(&mut [u8]),
    input: Input<'_>,
) {
    run(layers.into(), |nth| Place::in_group(nth, N as u8), repair, input);
}

/// Each step takes an octet that says who acts: the network, an application, or time. At the end
/// nothing passes any more, all close, and each name gets its last word.
fn run<H: Messages>(
    layers: Vec<Transport<H>>,
    place: impl Fn(u8) -> Place,
    repair: fn(&mut [u8]),
    mut input: Input<'_>,
) {
    let sides = (0..).zip(layers).map(|(nth, layer)| Side::new(nth, place(nth), layer));
    let mut stage = Stage { sides: sides.collect(), wire: Vec::new(), repair };
    for side in &mut stage.sides {
        side.listen();
    }
    while !input.is_empty() {
        let what = input.octet();
        let side = usize::from(what) * stage.sides.len() / 256;
        match what % 16 {
            0..5 => stage.deliver(&mut input),
            5..7 => stage.inject(&mut input, side),
            7..13 => stage.sides[side].ask(&mut input),
            _ => stage.pass(Duration::from_millis(1 << (input.octet() % 18))),
        }
        stage.settle();
    }
    for side in &mut stage.sides {
        side.close_all();
    }
    for _ in 0..50 {
        stage.settle();
        stage.wire.clear();
        stage.pass(Duration::from_secs(1000));
    }
    for side in &mut stage.sides {
        let left = side.above.iter().filter(|(_, application)| !application.listens).count();
        assert_eq!(
            (left, side.layer.associations()),
            (0, 0),
            "nothing is held when all have closed"
        );
        assert_eq!(side.layer.hooks().half_open(), 0);
    }
}

impl<H: Messages> Stage<H> {
    fn settle(&mut self) {
        let Stage { sides, wire, .. } = self;
        for side in sides {
            for turn in 0.. {
                assert!(turn < 100, "a deadline that never passes");
                let mut words = 0;
                while side.hear(wire) {
                    words += 1;
                    assert!(words < 20_000, "a layer that never falls silent");
                }
                let due =
                    side.layer.next_deadline().is_some_and(|deadline| deadline <= side.cx.now());
                if due {
                    side.layer.handle_timeout(&side.cx, &mut side.said);
                }
                if side.layer.wants_flush() {
                    side.layer.flush(&side.cx, &mut side.said);
                } else if !due {
                    break;
                }
            }
            let (half_open, all) = (side.layer.hooks().half_open(), side.layer.associations());
            assert!(half_open <= all, "{half_open} of {all} are half open");
        }
    }

    /// One of the packets on their way arrives, perhaps altered, perhaps not for the last time; or
    /// it never does.
    fn deliver(&mut self, input: &mut Input<'_>) {
        let (which, how) = (input.octet(), input.octet());
        if self.wire.is_empty() {
            return;
        }
        let at = usize::from(which) % self.wire.len();
        let mut packet = if how % 8 == 0 { self.wire[at].clone() } else { self.wire.remove(at) };
        if how % 8 == 1 {
            return;
        }
        if how % 8 == 2 && !packet.octets.is_empty() {
            let place = usize::from(input.octet()) % packet.octets.len();
            packet.octets[place] ^= input.octet();
            (self.repair)(&mut packet.octets);
        }
        // Routers mark what may be marked, and take off what they do not know.
        packet.ecn = match (how / 8, packet.ecn) {
            (0..8, Ecn::Ect) | (8, _) => Ecn::Ce,
            (9, _) => Ecn::NotEct,
            (_, ecn) => ecn,
        };
        let side = usize::from(packet.recipient);
        if how % 8 == 3 && !packet.octets.is_empty() {
            let run = self.behind(at, packet);
            return self.sides[side].arrive_together(&run);
        }
        self.sides[side].arrives(&packet);
    }

    /// The packet that lay there, with those behind it that may be in one run with it.
    fn behind(&mut self, at: usize, first: Packet) -> Vec<Packet> {
        let ends = |packet: &Packet| (packet.from, packet.to, packet.recipient, packet.ecn);
        let (all, length) = (ends(&first), first.octets.len());
        let mut run = vec![first];
        while let Some(next) = self.wire.get(at)
            && ends(next) == all
            && (1..=length).contains(&next.octets.len())
            && run.last().is_some_and(|last| last.octets.len() == length)
        {
            run.push(self.wire.remove(at));
        }
        run
    }

    /// A packet arrives in another's name.
    fn inject(&mut self, input: &mut Input<'_>, side: usize) {
        let known: Vec<_> = self.sides[side].below.values().copied().collect();
        let which = input.octet();
        let (to, from) = match known.get(usize::from(which % 8)) {
            Some(ends) => *ends,
            None => self.sides[side].ends_with_another(which),
        };
        let length = usize::from(input.octet());
        let mut octets = input.take(length).to_vec();
        (self.repair)(&mut octets);
        let ecn = if which < 32 { Ecn::Ce } else { Ecn::NotEct };
        self.sides[side].arrives(&Packet { from, to, recipient: side as u8, octets, ecn });
    }

    fn pass(&mut self, time: Duration) {
        let end = self.sides[0].cx.now() + time;
        // All have the same clock, and what is due rings when it is.
        for _ in 0..2000 {
            let next = self.sides.iter().filter_map(|side| side.layer.next_deadline()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            for side in &mut self.sides {
                side.cx.set_now(next.max(side.cx.now()));
            }
            self.settle();
        }
        for side in &mut self.sides {
            side.cx.set_now(end.max(side.cx.now()));
        }
        self.settle();
    }
}
