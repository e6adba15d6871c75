//! Every cell of the table of states and inputs, on the machine; and every window.

mod cells;
mod machine;
