//! Every cell of the table of states and inputs, on the machine; and every window.

mod carried;
mod cells;
mod machine;
mod places;
mod table;
mod times;
mod versions;
