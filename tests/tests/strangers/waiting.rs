//! How many trials run at once that wait for other programs.

use std::num::NonZero;
use std::thread::available_parallelism;

use libtest_mimic::Arguments;

/// Returns the command line's arguments. Unless it says how many trials run at once, there are as
/// many as processors, and `waiting` that wait for a modem or for a timeout: all together need a
/// sixth of the time of one processor.
pub(crate) fn arguments(waiting: usize) -> Arguments {
    let mut arguments = Arguments::from_args();
    let processors = available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert(processors + waiting);
    arguments
}
