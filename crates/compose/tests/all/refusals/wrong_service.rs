//! A lower neighbour of another service.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Mail over Udp
}

fn main() {}
