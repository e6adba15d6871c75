//! The 48 selections as types, in the order of the model.

use stackwright_base::events::{DeltaList, Simple, TimingWheel};
use stackwright_base::{Configuration, Features, events, opening, session};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

/// What is done with each of them.
pub(crate) trait Visit {
    fn visit<C: Configuration + 'static>(&mut self);
}

/// Visits all of them.
pub(crate) fn all(visitor: &mut impl Visit) {
    sessions::<SingleBuffer>(visitor);
    sessions::<BufferTree>(visitor);
}

fn sessions<M: Message>(visitor: &mut impl Visit) {
    managers::<M, session::Absent>(visitor);
    managers::<M, session::Present>(visitor);
}

fn managers<M: Message, S: session::Alternative + 'static>(visitor: &mut impl Visit) {
    openings::<M, S, events::Absent>(visitor);
    openings::<M, S, Simple>(visitor);
    openings::<M, S, DeltaList>(visitor);
    openings::<M, S, TimingWheel>(visitor);
}

fn openings<M: Message, S: session::Alternative + 'static, E: events::Alternative + 'static>(
    visitor: &mut impl Visit,
) {
    visitor.visit::<Features<M, S, E, opening::Absent>>();
    visitor.visit::<Features<M, S, E, opening::Active>>();
    visitor.visit::<Features<M, S, E, opening::ActivePassive>>();
}
