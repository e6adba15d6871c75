//! A feature is selected twice.
use stackwright_base::generate;

generate! { pub Twofold { events: Simple, opening: Active, events: DeltaList } }

fn main() {}
