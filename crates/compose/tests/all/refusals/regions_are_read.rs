//! Nobody can encipher what nobody reads.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Images over Cipher over Tcp
}

fn main() {}
