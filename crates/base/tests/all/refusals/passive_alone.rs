//! Passive opening depends on active opening.
use stackwright_base::generate;

generate! { pub Waiting { opening: Passive } }

fn main() {}
