//! Alternatives exclude each other.
use stackwright_base::generate;

generate! { pub Undecided { events: Simple + DeltaList } }

fn main() {}
