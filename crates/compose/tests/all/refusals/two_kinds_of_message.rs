//! A stack has one kind of message.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = SmallPages over Tcp
}

fn main() {}
