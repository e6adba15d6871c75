//! What is reliable below a filter that drops is not reliable above it.

mod toys;

use stackwright_compose::filter::Filtered;
use stackwright_compose::stack;
use stackwright_contract::services::Streams;
use stackwright_toys::Dropper;
use stackwright_wire::BufferTree;
use toys::*;

type Drops = Filtered<Dropper, Streams<BufferTree>>;

stack! {
    pub(crate) Wrong = Mail over Drops over Tcp
}

fn main() {}
