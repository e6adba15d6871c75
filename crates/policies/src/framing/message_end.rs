//! Messages whose last packet is marked.

use core::mem;

use stackwright_contract::Instant;
use stackwright_contract::services::MessageProperties;
use stackwright_transport::component;
use stackwright_transport::slots::{Framing, Joined};
use stackwright_transport::words::{Dropped, Label, UnitHeader, View};
use stackwright_wire::{Message, Pool};

/// Marks the last packet of a message (XTP's EOM). Units have to arrive in order; where one is
/// missing, everything up to the next mark is discarded, because only a mark tells where a message
/// begins; unless the message that follows has a number, whose first packet bears it (XTP's BTAG).
/// The application may give its messages numbers, which are delivered with them; with
/// [`numbering`](MessageEnd::numbering), all have one.
///
/// A message has at most `most` octets. Where octets are numbered, an empty message cannot be sent:
/// its mark would have no number, and could not be acknowledged.
///
/// Choose it for messages over a format that has one bit for them.
///
/// ```
/// use stackwright_policies::framing::MessageEnd;
/// use stackwright_wire::BufferTree;
/// let marks = MessageEnd::<BufferTree>::new(10 << 20);
/// # let _ = marks;
/// ```
#[derive(Debug)]
pub struct MessageEnd<M> {
    most: usize,
    open: Option<Open<M>>,
    /// Whether what arrives belongs to a message of which something is missing.
    skips: bool,
    /// The number that comes next where nothing is missing.
    next: u64,
    /// The number of the next message, where all have one.
    counts: Option<u32>,
    /// How many numbers were discarded since [`forget`](Framing::forget) was called.
    gone: u64,
}

/// A message whose mark has not arrived.
#[derive(Debug)]
struct Open<M> {
    message: M,
    numbers: u64,
    /// The message's own number, if it has one.
    number: Option<u32>,
}

impl<M> MessageEnd<M> {
    /// What both sides [agreed](stackwright_transport::slots::Format::agreed) on where the first
    /// number that will come may be within a message: everything up to the next mark is discarded.
    pub const WITHIN: &'static [u8] = b"within a message";

    /// Creates the policy for messages of at most `most` octets.
    pub const fn new(most: usize) -> Self {
        MessageEnd { most, open: None, skips: false, next: 0, counts: None, gone: 0 }
    }

    /// Numbers messages to which the application gives no number: of those that follow a lost
    /// packet, none is discarded.
    #[must_use]
    pub fn numbering(self) -> Self {
        MessageEnd { counts: Some(0), ..self }
    }
}

impl<M: Message> MessageEnd<M> {
    fn discard(&mut self, pool: &Pool<M>) {
        if let Some(open) = self.open.take() {
            self.gone += open.numbers;
            open.message.reclaim(pool);
        }
    }
}

impl<M: Message> Framing<M> for MessageEnd<M> {
    fn begin(
        &mut self,
        message: M,
        properties: &MessageProperties,
        room: usize,
        _: &Pool<M>,
    ) -> Result<(M, Label, usize), M> {
        if message.len() > self.most {
            return Err(message);
        }
        let number = properties.number.or(self.counts);
        self.counts = self.counts.map(|count| number.unwrap_or(count).wrapping_add(1));
        // Nothing overtakes: the priority is the association's.
        let priority = MessageProperties::default().priority;
        // A count says that there is a number.
        let count = u32::from(number.is_some());
        Ok((
            message,
            Label { message: number.unwrap_or(0), count, priority, ..Label::default() },
            room,
        ))
    }

    fn on_begun(&mut self, first: u64, agreed: &[u8]) {
        (self.next, self.skips) = (first, agreed == Self::WITHIN);
    }

    /// Refuses what makes a message too long: its sender is told, and nothing can replace it.
    fn admits(&self, unit: &UnitHeader, octets: usize, follows: bool) -> Result<usize, Dropped> {
        let begins = unit.label.count > 0 && unit.label.index == 0;
        let open = self.open.as_ref().filter(|_| !begins && unit.span.start == self.next);
        let octets = open.map_or(0, |open| open.message.len()) + octets;
        if follows && octets > self.most { Err(Dropped::TooLong) } else { Ok(0) }
    }

    fn join(
        &mut self,
        _: &View,
        unit: &UnitHeader,
        message: &mut M,
        pool: &Pool<M>,
    ) -> Result<Option<Joined>, Dropped> {
        let (numbers, is_last, body) = (unit.numbers(), unit.label.last, message.take());
        let follows = self.next == unit.span.start;
        self.next = unit.span.end;
        let number = (unit.label.count > 0).then_some(unit.label.message);
        if number.is_some() && unit.label.index == 0 {
            self.discard(pool);
            self.skips = false;
        } else if !follows {
            self.discard(pool);
            self.skips = true;
        }
        let octets = self.open.as_ref().map_or(0, |open| open.message.len()) + body.len();
        if octets > self.most {
            self.discard(pool);
            self.skips = true;
        }
        if self.skips {
            self.skips = !is_last;
            body.reclaim(pool);
            return Err(Dropped::Unjoinable);
        }
        let open = match self.open.take() {
            None => Open { message: body, numbers, number },
            Some(mut open) => {
                open.message.join(body);
                Open { numbers: open.numbers + numbers, ..open }
            }
        };
        if is_last {
            *message = open.message;
            return Ok(Some(Joined {
                properties: MessageProperties {
                    number: open.number,
                    priority: unit.label.priority,
                    ..MessageProperties::default()
                },
                numbers: open.numbers,
            }));
        }
        self.open = Some(open);
        Ok(None)
    }

    fn forget(&mut self, _: &View) -> u64 {
        mem::take(&mut self.gone)
    }

    fn deadline(&self) -> Instant {
        if self.gone > 0 { Instant::START } else { Instant::END }
    }
}

component! {
    <M> MessageEnd<M>: "framing by marks", "marks the last packet of a message",
    needs: Property::MARKS, needs_one_of: Property::TOTAL.and(Property::FORGIVES), gives: Property::BOUNDS,
    // The mark of a piece that is abandoned is lost with it.
    shuns: Property::ABANDONS,
}
