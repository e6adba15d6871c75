//! What resends does not sort.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Pages over Resend over Udp
}

fn main() {}
