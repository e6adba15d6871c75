//! A disk that may show half a file.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Archive over ScratchDisk
}

fn main() {}
