//! A server of one picture, over a transport that changes while data flow: tables go in order,
//! pieces in any.

use stackwright::compose::Over;
use stackwright_examples::jis::{Picture, Wrong, adaptive, serve};
use stackwright_jis::Stages;

fn main() -> Result<(), Wrong> {
    serve(|driver, shelf| {
        let (below, most) = adaptive(driver)?;
        let staged = Over::new(Stages::new(), below);
        Ok(Over::new(stackwright_jis::server::<Picture, _>(shelf, most), staged))
    })
}
