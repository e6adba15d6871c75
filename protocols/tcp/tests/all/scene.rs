//! Two ends in memory.

use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_tcp::{Config, Tcp, TcpFormat, TcpKey, policies};
use stackwright_transport::slots::Congestion as _;
use stackwright_transport::words::{MILLISECOND, Phase};
use stackwright_transport::{Association, Memory};
use stackwright_wire::{BufferTree, Message};

pub(crate) type M = BufferTree;

/// Room for everything.
pub(crate) const ALL: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// The ports of the end that is `0`, or `1`.
pub(crate) fn key(side: usize) -> TcpKey {
    let ports = [40_000, 80];
    TcpKey { own: ports[side], peer: ports[1 - side] }
}

/// The first numbers wrap soon.
pub(crate) const ISS: [u32; 2] = [7, u32::MAX - 1000];

pub(crate) fn format(side: usize, config: &Config) -> TcpFormat<M> {
    TcpFormat::new(config, key(side), ISS[side], 1000 * side as u32)
}

/// One end.
pub(crate) struct End {
    pub(crate) association: Association<Tcp<M>>,
    pub(crate) memory: Memory<M>,
    /// What it has received.
    pub(crate) heard: Vec<u8>,
    pub(crate) reads: bool,
    /// How much had arrived with each octet that was expedited.
    pub(crate) expedited: Vec<usize>,
}

/// Two ends, a millisecond apart.
pub(crate) struct Scene {
    pub(crate) ends: [End; 2],
    pub(crate) now: Instant,
    /// Whether each segment is answered before the next arrives, and what was answered.
    pub(crate) answers_each: bool,
    answered: [Vec<Vec<u8>>; 2],
    /// How many segments left, and the longest of them.
    pub(crate) segments: usize,
    pub(crate) longest: usize,
}

impl Scene {
    pub(crate) fn new(configs: [Config; 2]) -> Self {
        let ends = [0, 1].map(|side| {
            let slots = policies(format(side, &configs[side]), &configs[side]);
            let memory = Memory::new(2048, 64, 256).with_runs(configs[side].run);
            let association = Association::sharing(slots, &memory);
            End { association, memory, heard: Vec::new(), reads: true, expedited: Vec::new() }
        });
        Scene {
            ends,
            now: Instant::from_nanoseconds(1_000_000_000),
            answers_each: false,
            answered: Default::default(),
            segments: 0,
            longest: 0,
        }
    }

    /// With the usual settings.
    pub(crate) fn usual() -> Self {
        Scene::new([Config::new([0; 16]), Config::new([1; 16])])
    }

    pub(crate) fn phase(&self, side: usize) -> Phase {
        self.ends[side].association.phase(self.now)
    }

    /// Returns the congestion window of an end.
    pub(crate) fn window(&self, side: usize) -> u64 {
        self.ends[side].association.slots().congestion().window()
    }

    pub(crate) fn send(&mut self, side: usize, octets: &[u8]) {
        self.send_with(side, octets, MessageProperties::default());
    }

    pub(crate) fn send_with(&mut self, side: usize, octets: &[u8], properties: MessageProperties) {
        let End { association, memory, .. } = &mut self.ends[side];
        let message = M::with_headroom(64, octets);
        let sent = association.send(self.now, message, properties, memory);
        assert!(sent.is_ok(), "a stream takes anything");
    }

    /// Returns what an end has to say now.
    pub(crate) fn speaks(&mut self, side: usize) -> Vec<Vec<u8>> {
        let End { association, memory, .. } = &mut self.ends[side];
        let mut said = Vec::new();
        while let Some(batch) = association.transmit(self.now, memory, ALL) {
            for packet in batch {
                let mut octets = vec![0; packet.len()];
                packet.copy_to(&mut octets);
                said.push(octets);
            }
        }
        self.segments += said.len();
        self.longest = said.iter().map(Vec::len).max().unwrap_or(0).max(self.longest);
        said
    }

    /// Has a segment arrive.
    pub(crate) fn hears(&mut self, side: usize, segment: &[u8]) {
        let now = self.now;
        let End { association, memory, heard, reads, expedited } = &mut self.ends[side];
        let mut packet = M::with_headroom(0, segment);
        let _ = association.receive(now, None, &mut packet, None, memory, Credit::default());
        while *reads && let Some((octets, properties)) = association.take_octets(now, usize::MAX) {
            let from = heard.len();
            if properties.priority == MessageProperties::EXPEDITED {
                expedited.push(from + octets.len());
            }
            heard.resize(from + octets.len(), 0);
            octets.copy_to(&mut heard[from..]);
        }
    }

    /// Passes a millisecond: what both have to say is said, `carry` decides what arrives of it.
    pub(crate) fn step_with(&mut self, mut carry: impl FnMut(usize, &[u8]) -> bool) {
        self.now = self.now.later(MILLISECOND);
        for side in [0, 1] {
            self.ends[side].association.handle_timeout(self.now);
        }
        let said = [0, 1].map(|side| {
            let mut said = std::mem::take(&mut self.answered[side]);
            said.extend(self.speaks(side));
            said
        });
        for (side, segments) in said.iter().enumerate() {
            for segment in segments.iter().filter(|segment| carry(side, segment)) {
                self.hears(1 - side, segment);
                if self.answers_each {
                    let answers = self.speaks(1 - side);
                    self.answered[1 - side].extend(answers);
                }
            }
        }
    }

    pub(crate) fn step(&mut self) {
        self.step_with(|_, _| true);
    }

    /// Passes time until `done`, at most `seconds`.
    pub(crate) fn until(&mut self, seconds: u64, done: impl Fn(&Self) -> bool) {
        for _ in 0..1000 * seconds {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!("not after {seconds} s: {:?} and {:?}", self.phase(0), self.phase(1));
    }

    /// With an open connection.
    pub(crate) fn opened(configs: [Config; 2]) -> Self {
        let mut scene = Scene::new(configs);
        scene.ends[0].association.open(scene.now);
        scene.until(1, |scene| [0, 1].map(|side| scene.phase(side)) == [Phase::Open; 2]);
        scene
    }
}

/// Octets no two of which are alike at places that a mistake would confuse.
pub(crate) fn octets(count: usize) -> Vec<u8> {
    (0..count as u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}
