//! The UDP adapter against plain sockets of the standard library.

mod arrivals;
mod ends;
mod exchange;
mod marks;
mod runs;
mod sharing;
mod side;
