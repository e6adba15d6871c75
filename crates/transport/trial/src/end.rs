//! One end.

use std::collections::VecDeque;

use stackwright_base::Arrival;
use stackwright_contract::services::{Batch, BatchMessages, Credit, MessageProperties};
use stackwright_contract::{Instant, Participant};
use stackwright_simulator::DriftingClock;
use stackwright_transport::words::{Dropped, Ending, Phase};
use stackwright_transport::{
    Association, Configuration, Delivery, Farewell, Graveyard, Memory, Slots,
};
use stackwright_wire::{BufferTree, Message};

/// Room for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// One end of a trial.
pub struct End<C: Configuration<Message = BufferTree>> {
    /// The association.
    pub association: Association<C>,
    /// Its memory.
    pub memory: Memory<BufferTree>,
    /// Its clock.
    pub clock: DriftingClock,
    /// Whether its application takes what is for it.
    pub takes: bool,
    /// Whether packets lie one behind the other.
    runs: bool,
    /// Whether the last message lies apart.
    lays_out: bool,
    /// Packets that left together, and have not been sent yet; and how many ever did.
    run: Option<BatchMessages<BufferTree>>,
    pub(crate) together: u64,
    /// Whether messages may go up as they come, and one that did.
    at_once: bool,
    up: Option<(BufferTree, MessageProperties)>,
    /// What its station remembers of it when it is over; none: it has no listener.
    over: Option<Graveyard<()>>,
    /// What its station answers.
    answers: VecDeque<BufferTree>,
}

/// How long packets are, and how much room is before them.
const PACKET: usize = 2048;
const HEADROOM: usize = 32;

/// The other end, for the station's memory.
const PEER: Participant = Participant::OTHER_END;

/// What its application has buffers for.
const BUFFERS: usize = 16 << 10;

impl<C: Configuration<Message = BufferTree>> End<C> {
    pub(crate) fn new(slots: Slots<C>) -> Self {
        let (association, memory) = (Association::new(slots), Memory::new(PACKET, HEADROOM, 64));
        End {
            association,
            memory,
            clock: DriftingClock::default(),
            takes: true,
            runs: false,
            lays_out: false,
            run: None,
            together: 0,
            at_once: true,
            up: None,
            over: None,
            answers: VecDeque::new(),
        }
    }

    /// Its station answers for it when it is over (`Host::bury`).
    pub(crate) fn buried(self) -> Self {
        End { over: Some(Graveyard::default()), ..self }
    }

    pub(crate) fn through_inbox(&mut self) {
        self.at_once = false;
    }

    pub(crate) fn in_runs(&mut self) {
        self.runs = true;
        self.memory = Memory::new(PACKET, HEADROOM, 64).with_runs(8 * PACKET);
    }

    /// Asks for an association.
    pub fn open(&mut self, now: Instant) {
        self.association.open(self.clock.reads(now));
    }

    /// Sends a message, which is not too long.
    pub fn send(&mut self, now: Instant, octets: &[u8], properties: MessageProperties) {
        assert!(
            self.offer(now, octets, properties),
            "a message of {} octets is too long",
            octets.len()
        );
    }

    /// Sends a message; whether it is not too long for the peer.
    pub fn offer(&mut self, now: Instant, octets: &[u8], properties: MessageProperties) -> bool {
        let message = self.message(octets);
        self.association.send(self.clock.reads(now), message, properties, &self.memory).is_ok()
    }

    /// Where packets lie one behind the other, every second message lies so that nothing of it has
    /// to be copied, if it can.
    fn message(&mut self, octets: &[u8]) -> BufferTree {
        self.lays_out = self.runs && !self.lays_out;
        let laid_out = if self.lays_out {
            self.association.draft(octets.len(), 1, &self.memory)
        } else {
            None
        };
        let Some(mut message) = laid_out else { return BufferTree::with_headroom(64, octets) };
        let mut rest = octets;
        for (_, piece) in message.segments_mut() {
            let (now, later) = rest.split_at(piece.len());
            piece.copy_from_slice(now);
            rest = later;
        }
        assert!(rest.is_empty(), "it has as many octets, and nobody else holds them");
        message
    }

    /// What arrived next.
    pub fn take(&mut self, now: Instant) -> Option<(Vec<u8>, MessageProperties)> {
        if !self.takes {
            return None;
        }
        let up = self.up.take();
        let (message, properties) =
            up.or_else(|| self.association.take(self.clock.reads(now), EVERYTHING))?;
        let mut octets = vec![0; message.len()];
        message.copy_to(&mut octets);
        Some((octets, properties))
    }

    /// Where the association stands.
    pub fn phase(&self, now: Instant) -> Phase {
        self.association.phase(self.clock.reads(now))
    }

    pub(crate) fn receive(
        &mut self,
        now: Instant,
        packets: &[Vec<u8>],
        mut dropped: impl FnMut(Dropped),
    ) {
        let now = self.clock.reads(now);
        if packets.iter().filter(|_| self.is_answered_for(now)).count() > 0 {
            return;
        }
        let mut rest = packets;
        while let [first, behind @ ..] = rest {
            // In one run are those that are equally long, and the next if it is shorter.
            let equal = behind.iter().take_while(|packet| packet.len() == first.len()).count();
            let shorter =
                behind.get(equal).is_some_and(|last| (1..first.len()).contains(&last.len()));
            let (run, others) = rest.split_at(1 + equal + usize::from(shorter));
            rest = others;
            if !self.runs || run.len() == 1 || first.is_empty() {
                for packet in run {
                    self.receive_one(now, BufferTree::with_headroom(0, packet), None, &mut dropped);
                }
                continue;
            }
            let run = Batch::new(BufferTree::with_headroom(0, &run.concat()), first.len());
            let mut run = run.into_iter();
            while let Some(packet) = run.next() {
                self.receive_one(now, packet, Some(&mut run), &mut dropped);
            }
        }
    }

    fn receive_one(
        &mut self,
        now: Instant,
        mut packet: BufferTree,
        behind: Option<&mut BatchMessages<BufferTree>>,
        dropped: &mut impl FnMut(Dropped),
    ) {
        let room = self.room();
        match self.association.receive(now, None, &mut packet, behind, &mut self.memory, room) {
            Ok(Some(Delivery { properties, .. })) => self.up = Some((packet, properties)),
            Ok(None) => {}
            Err(why) => dropped(why),
        }
    }

    /// Its application takes one message as it comes, and the others when it looks.
    fn room(&self) -> Credit {
        let one = Credit { messages: 1, ..EVERYTHING };
        if self.takes && self.at_once && self.up.is_none() { one } else { Credit::default() }
    }

    /// Has its station answer a packet, where it has told its peer that it is over. Returns whether
    /// it has.
    fn is_answered_for(&mut self, now: Instant) -> bool {
        let why = match self.association.phase(now) {
            Phase::Ended(why @ (Ending::Finished | Ending::Reset(_))) => why,
            _ => return false,
        };
        let Some(over) = &mut self.over else { return false };
        let arrival = over.arrival(now, PEER, (), HEADROOM).or_else(|| {
            let mut packet = Vec::new();
            let wait = self.association.farewell(now, why, &mut packet)?;
            let farewell = Farewell { packet: &packet, wait, tells: false, stranger: false };
            over.bury(PEER, (), farewell, Instant::END);
            over.arrival(now, PEER, (), HEADROOM)
        });
        let is_over = arrival.is_some();
        if let Some(Arrival::Answered(answer)) = arrival {
            self.answers.push_back(answer);
        }
        is_over
    }

    pub(crate) fn transmit(&mut self, now: Instant) -> Option<BufferTree> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if let Some(packet) = self.run.as_mut().and_then(Iterator::next) {
            return Some(packet);
        }
        let now = self.clock.reads(now);
        self.association.set_room(now, BUFFERS);
        let run = self.association.transmit(now, &mut self.memory, EVERYTHING)?;
        if run.count() > 1 {
            self.together += run.count() as u64;
        }
        self.run = Some(run.into_iter());
        self.run.as_mut().and_then(Iterator::next)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.association.handle_timeout(self.clock.reads(now));
    }

    pub(crate) fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let at = self.association.next_deadline(self.clock.reads(now))?;
        Some(self.clock.shows(at).max(now))
    }
}
