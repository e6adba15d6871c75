//! What is not an equation.

use stackwright_compose::stack;

stack! { pub(crate) NothingBelow = Mail over }

stack! { pub(crate) TwoWords = Mail over over Tcp }

stack! { pub(crate) NoWord = Mail Tcp }

stack! { pub(crate) NothingBeside = FileServer over (Tcp beside) }

stack! { pub(crate) Empty = }

stack! { Mail over Tcp }

stack! { pub(crate) Parameter<M> = Mail over Tcp }

fn main() {}
