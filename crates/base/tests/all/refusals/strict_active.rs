//! Strict: associations that are opened and not told apart.
use stackwright_base::generate;

generate! { strict pub Client { session: Absent, opening: Active } }

fn main() {}
