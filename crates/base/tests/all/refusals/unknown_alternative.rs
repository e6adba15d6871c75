//! There is no such alternative.
use stackwright_base::generate;

generate! { pub Turning { events: Wheel, opening: Active } }

fn main() {}
