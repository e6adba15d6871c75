//! They do not pass where nobody lets them through.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Terminal over Sort over Resend over Udp
}

fn main() {}
