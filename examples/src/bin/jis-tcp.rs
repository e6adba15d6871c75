//! The client of `jis-tailored` over the kernel's TCP, each ADU behind its length.

use stackwright::compose::Over;
use stackwright_examples::jis::{Wrong, client, fetch, tcp};
use stackwright_jis::jpeg::BODY_MOST;

fn main() -> Result<(), Wrong> {
    fetch(|driver, view| {
        let layer = client(view);
        Ok((Over::new(layer, tcp(driver, None)), BODY_MOST))
    })
}
