//! A map without sessions.
use stackwright_base::generate;

generate! { pub Lost { session: Absent, map: OpenAddressing } }

fn main() {}
