//! Two lowers beside each other in the wrong order.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = FileServer over Disk beside Tcp
}

fn main() {}
