//! There is no such feature.
use stackwright_base::generate;

generate! { pub Coloured { events: Simple, colour: Red } }

fn main() {}
