//! Nothing below is reliable.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Mail over Pipe
}

fn main() {}
