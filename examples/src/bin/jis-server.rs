//! A server of one picture, over the transport that the phase of JIS selects.

use stackwright::compose::Over;
use stackwright_examples::jis::{Picture, Wrong, serve, tailored};

fn main() -> Result<(), Wrong> {
    serve(|driver, shelf| {
        let (below, most) = tailored(driver)?;
        Ok(Over::new(stackwright_jis::server::<Picture, _>(shelf, most), below))
    })
}
