//! The upper joint is right, the lower one is not.

mod toys;

use stackwright_compose::stack;
use toys::*;

stack! {
    pub(crate) Wrong = Mail over Sort over Kiss over SerialLine
}

fn main() {}
