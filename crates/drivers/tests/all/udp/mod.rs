//! The UDP adapter against plain sockets of the standard library.

mod arrivals;
mod batches;
mod ends;
mod exchange;
mod groups;
mod marks;
mod sharing;
mod side;
mod sources;
