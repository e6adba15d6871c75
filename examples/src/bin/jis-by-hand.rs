//! The client of `jis-tailored` as an application by hand over an association of an endpoint.

use stackwright_examples::jis::{Wrong, fetch_by_hand};

fn main() -> Result<(), Wrong> {
    fetch_by_hand()
}
