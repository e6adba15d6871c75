//! Messages longer than a packet: each piece is a cast of its own, one behind the other.

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{
    Batch, Credit, GroupNotice, GroupOrder, GroupProperties, GroupView,
};
use stackwright_contract::{Facts, Guarantees};
use stackwright_wire::{Header, Message};

use crate::layer::{GroupHooks, GroupPlace, OF_GROUPS};
use crate::room::Room;

const NAME: &str = "group fragments";

/// The longest message: a sender's window is not larger.
const MESSAGE_MOST: usize = Credit::ROOM.octets;

/// The header of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct PieceHeader {
    /// Whether a message begins with it.
    pub first: bool,
    /// Whether a message ends with it.
    pub last: bool,
    /// Reserved, 0.
    #[bits(6)]
    pub reserved: u8,
}

/// The hooks of the layer.
pub struct CastFragments<M> {
    /// Octets of a piece, at most.
    longest: usize,
    /// What there is of each sender's message.
    parts: Vec<Option<M>>,
    /// What the layer above has room for, and credit from below, but for headers and pieces.
    room: Room,
    below: Room,
}

impl<M: Message> CastFragments<M> {
    /// The longest piece of those who name none: one packet takes it, whatever the path.
    pub const PIECE: usize = 1200;

    /// Makes the hooks: a piece has `longest` octets, at most, and at least one.
    pub const fn new(longest: usize) -> Self {
        let longest = if longest == 0 { 1 } else { longest };
        CastFragments { longest, parts: Vec::new(), room: Room::NONE, below: Room::NONE }
    }

    /// A view begins: what is left of a member that is gone has no end, at any member.
    fn install(&mut self, view: &Arc<GroupView>) {
        self.parts.clear();
        self.parts.resize_with(view.members.len(), || None);
    }
}

impl<M: Message> GroupHooks<M> for CastFragments<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        passes: OF_GROUPS,
        header_room: PieceHeader::LENGTH,
        ..Facts::named(NAME)
    };

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, to: GroupProperties) {
        let (mut rest, mut first) = (batch.into_single(), true);
        loop {
            let last = rest.len() <= self.longest;
            let mut piece = if last { rest.take() } else { rest.split_to(self.longest) };
            piece.push(&PieceHeader { first, last, reserved: 0 });
            let messages = usize::from(!first);
            self.below.use_up(Credit { octets: PieceHeader::LENGTH, messages });
            at.send(piece.into(), GroupProperties { last: to.last && last, ..to });
            if last {
                return;
            }
            first = false;
        }
    }

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let (room, mut piece) = (batch.cost(), batch.into_single());
        let header = piece.pull::<PieceHeader>();
        let part = self.parts.get_mut(usize::from(from.member.0));
        let (Ok(header), Some(part)) = (header, part) else {
            self.room(at, room);
            return at.cx().dropped(NAME, "no header");
        };
        let before = part.take();
        let whole = match before {
            None if header.first => Some(piece),
            Some(mut before) if !header.first && before.len() + piece.len() <= MESSAGE_MOST => {
                before.join(piece);
                Some(before)
            }
            _ => None,
        };
        match whole {
            Some(whole) if header.last => {
                let batch: Batch<M> = whole.into();
                self.room.use_up(batch.cost());
                at.deliver(batch, from);
            }
            None => at.cx().dropped(NAME, "a piece that does not follow, or of too long a message"),
            some => *part = some,
        }
        self.room(at, room);
    }

    fn room(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.take(self.room.pass(credit));
    }

    fn credit(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.give(self.below.pass(credit));
    }

    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        if let GroupOrder::Install(view) = &order {
            self.install(view);
        }
        at.order(order);
    }

    /// Above the layer of views no order says so.
    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        if let GroupNotice::View(view) = &notice {
            self.install(view);
        }
        at.notice(notice);
    }

    fn ended(&mut self) {
        *self = CastFragments::new(self.longest);
    }
}
