//! Strict: associations that arrive and are not told apart.
use stackwright_base::generate;

generate! { strict pub Server { session: Absent } }

fn main() {}
