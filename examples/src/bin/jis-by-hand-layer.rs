//! The client of `jis-tailored` with a layer that is written by hand, for one association.

use stackwright::compose::Over;
use stackwright_examples::jis::{ByHand, Picture, Wrong, fetch, tailored};

fn main() -> Result<(), Wrong> {
    fetch(|driver, view| {
        let (below, most) = tailored(driver)?;
        Ok((Over::new(ByHand::<Picture>::new(view), below), most))
    })
}
