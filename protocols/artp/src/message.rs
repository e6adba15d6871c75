//! The fragmentation of a datagram: MSG = {SIGSZ, SIGDATA, ENCDATA} (ARTP §1.4.1).

use core::cell::Cell;
use core::mem;

use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_policies::framing::{Forgetting, Fragments};
use stackwright_transport::component;
use stackwright_transport::slots::{Framing, Joined};
use stackwright_transport::words::{Dropped, Label, PieceForm, UnitHeader, View};
use stackwright_wire::{Header as _, Message, Pool};

use crate::config::Config;
use crate::header::{Fragment, OptionHeader, Signed, Single};
use crate::protection::{Agreed, Datagram, Guard};
use crate::state::can_be_padded;

/// Splits datagrams into fragments and joins them, with their protection. The protection's octets
/// stand once, at the start of the first fragment, because the whole is fragmented.
pub struct Messages<M> {
    fragments: Fragments<M>,
    guard: Guard<M>,
    /// The number of the next datagram for which the application chooses none.
    next: u32,
    /// How many sequence numbers the datagrams had that were complete and were not delivered.
    refused: u64,
    /// Whether the peer supports datagrams without a signature header.
    single: bool,
    /// How the last datagram was cut: as a rule the next has the same length.
    cut: Cell<Cut>,
}

/// How an unprotected datagram of `octets` octets is cut where a packet has `room` octets for it.
#[derive(Clone, Copy, Default)]
struct Cut {
    octets: usize,
    room: usize,
    count: u32,
    piece: usize,
}

/// A datagram that has been begun may be overtaken as long as all begun datagrams together have no
/// more unsent octets than this multiple of the longest datagram that the peer accepts. It bounds
/// what the peer holds of incomplete datagrams.
pub(crate) const OVERTAKEN_MOST: usize = 1;

/// How many octets fewer precede a datagram that leaves as [`Single`], beside those of [`Signed`].
const SPARED: usize = Fragment::LENGTH - Single::LENGTH;

impl<M> Messages<M> {
    /// Makes it as `config` says.
    pub fn new(config: &Config) -> Self {
        let count_most = if config.large { u32::MAX } else { u32::from(u16::MAX) };
        let forgetting = if config.expires { Forgetting::Expired } else { Forgetting::Nothing };
        let guard = Guard::new(config.protection);
        let longest = config.longest.saturating_add(guard.adds(MessageKind::Data));
        let fragments = Fragments::new(count_most, longest)
            .on_the_way(config.window as usize, usize::from(config.packet))
            .forgetting(forgetting);
        Messages { fragments, guard, next: 0, refused: 0, single: false, cut: Cell::default() }
    }
}

impl<M: Message> Messages<M> {
    #[inline]
    fn cut(&self, octets: usize, room: usize) -> Option<Cut> {
        let cut = self.cut.get();
        if (cut.octets, cut.room) == (octets, room) {
            return Some(cut);
        }
        let count = self.fragments.pieces(octets, MessageKind::Data, room)?;
        let piece = evened(octets, count as usize, octets.div_ceil(count as usize), room);
        let cut = Cut { octets, room, count, piece };
        self.cut.set(cut);
        Some(cut)
    }
}

impl<M: Message> Framing<M> for Messages<M> {
    fn on_begun(&mut self, _: u64, agreed: &[u8]) {
        self.guard.begin(agreed);
        self.single =
            Agreed::read(agreed).is_some_and(|agreed| agreed.both(|proposal| proposal.single));
    }

    #[inline]
    fn begin(
        &mut self,
        mut message: M,
        properties: &MessageProperties,
        room: usize,
        pool: &Pool<M>,
    ) -> Result<(M, Label, usize), M> {
        let kind = properties.kind;
        let octets = message.len() + self.guard.adds(kind);
        // In one packet and unprotected: it can be read without being moved.
        let single = self.single && !message.is_empty() && message.len() <= room + SPARED;
        if single && kind == MessageKind::Data && self.guard.is_absent() {
            let number = properties.number.unwrap_or(self.next);
            self.next = number.wrapping_add(1);
            let properties = MessageProperties { number: Some(number), ..*properties };
            let (message, label, piece) =
                self.fragments.begin(message, &properties, room + SPARED, pool)?;
            return Ok((message, Label { form: PieceForm::Bare, ..label }, piece));
        }
        if kind == MessageKind::Data && self.guard.is_absent() {
            let Some(cut) = self.cut(octets, room) else { return Err(message) };
            let number = properties.number.unwrap_or(self.next);
            self.next = number.wrapping_add(1);
            message.push(&Signed { signature: 0 });
            let properties = MessageProperties { number: Some(number), ..*properties };
            return Ok((message, self.fragments.next_label(&properties, cut.count), cut.piece));
        }
        if self.fragments.pieces(octets, kind, room).is_none() {
            return Err(message);
        }
        let number = match kind {
            MessageKind::Data => properties.number.unwrap_or(self.next),
            MessageKind::Control => 0,
        };
        let message = self.guard.protect(message, Datagram { kind, number }, pool)?;
        if kind == MessageKind::Data {
            self.next = number.wrapping_add(1);
        }
        let octets = message.len();
        let properties = MessageProperties { number: Some(number), ..*properties };
        let (message, label, piece) = self.fragments.begin(message, &properties, room, pool)?;
        Ok((message, label, evened(octets, label.count as usize, piece, room)))
    }

    fn begin_run(
        &mut self,
        mut run: M,
        octets: usize,
        room: usize,
    ) -> Result<(M, Label, usize), M> {
        let messages = run.len() / octets;
        let Some((_, count, piece)) = self.pieces(octets, room) else { return Err(run) };
        if !run.push_each(octets, &Signed::NOTHING) {
            return Err(run);
        }
        let properties =
            MessageProperties { number: Some(self.next), ..MessageProperties::default() };
        self.next = self.next.wrapping_add(messages as u32);
        Ok((run, self.fragments.next_label(&properties, count as u32), piece))
    }

    fn pieces(&self, octets: usize, room: usize) -> Option<(usize, usize, usize)> {
        let before = self.guard.adds(MessageKind::Data);
        if !self.guard.is_absent() || octets <= room + SPARED {
            return None;
        }
        let cut = self.cut(octets + before, room)?;
        Some((before, cut.count as usize, cut.piece))
    }

    #[inline(always)] // what it looks at stays in registers
    fn join(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        body: &mut M,
        pool: &Pool<M>,
    ) -> Result<Option<Joined>, Dropped> {
        let label = &unit.label;
        if label.kind == MessageKind::Data && unit.is_whole() && self.guard.is_absent() {
            if label.form != PieceForm::Bare {
                self.guard.open_bare(body, unit.messages())?;
            }
            return self.fragments.join(view, unit, body, pool);
        }
        // A single datagram is unprotected, and this session requires protection.
        if label.form == PieceForm::Bare || unit.messages() > 1 {
            return Err(Dropped::Unjoinable);
        }
        let Some(joined) = self.fragments.join(view, unit, body, pool)? else { return Ok(None) };
        let datagram = Datagram {
            kind: joined.properties.kind,
            number: joined.properties.number.unwrap_or_default(),
        };
        match self.guard.open(body.take(), datagram, pool) {
            Ok(message) => {
                *body = message;
                Ok(Some(joined))
            }
            Err(dropped) => {
                self.refused += joined.numbers - unit.numbers(); // those of the last unit the engine knows
                Err(dropped)
            }
        }
    }

    #[inline]
    fn admits(&self, unit: &UnitHeader, octets: usize, follows: bool) -> Result<usize, Dropped> {
        Framing::<M>::admits(&self.fragments, unit, octets, follows)
    }

    #[inline]
    fn held(&self) -> usize {
        Framing::<M>::held(&self.fragments)
    }

    fn forget(&mut self, view: &View) -> u64 {
        mem::take(&mut self.refused) + self.fragments.forget(view)
    }

    fn gives_up(&self) -> bool {
        self.guard.gives_up()
    }

    fn deadline(&self) -> Instant {
        Framing::<M>::deadline(&self.fragments)
    }
}

/// Returns the octets of a fragment such that padding can make the last one as long as the others;
/// `piece` where padding cannot.
fn evened(octets: usize, count: usize, piece: usize, room: usize) -> usize {
    if count == 1 {
        return piece;
    }
    // Each step adds at least two octets to what the last one lacks.
    let even = |piece: &usize| (piece * count).checked_sub(octets).is_some_and(can_be_padded);
    (piece..=room).take(OptionHeader::LENGTH).find(even).unwrap_or(piece)
}

component! {
    <M> Messages<M>: "framing of protected messages in fragments", "cuts messages and joins them in any order",
    needs: Property::FRAGMENTS, gives: Property::BOUNDS,
}
