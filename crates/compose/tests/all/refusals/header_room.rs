//! Onion, Resend and Udp push 270 octets.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Onion over Resend over Udp
}

fn main() {}
