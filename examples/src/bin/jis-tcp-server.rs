//! The server of `jis-server` over the kernel's TCP. The variable CONGESTION names the congestion
//! control.

use stackwright::compose::Over;
use stackwright_examples::jis::{Picture, Wrong, serve, tcp};
use stackwright_jis::jpeg::BODY_MOST;

fn main() -> Result<(), Wrong> {
    let congestion = std::env::var("CONGESTION").ok();
    let congestion = congestion.as_deref().map(|name| if name == "bbr" { "bbr" } else { "cubic" });
    serve(move |driver, shelf| {
        let layer = stackwright_jis::server::<Picture, _>(shelf, BODY_MOST);
        Ok(Over::new(layer, tcp(driver, congestion)))
    })
}
