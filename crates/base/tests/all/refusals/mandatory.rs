//! Messages cannot be absent.
use stackwright_base::generate;

generate! { pub Silent { message: Absent } }

fn main() {}
