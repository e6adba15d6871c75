//! A client of JIS whose role is generated, over the transport that its phase selects:
//!
//! ```text
//! jis-server 127.0.0.1:4331 picture.jpg
//! jis-tailored 127.0.0.1:4331 picture.jpg
//! ```

use stackwright::compose::Over;
use stackwright_examples::jis::{Wrong, client, fetch, tailored};

fn main() -> Result<(), Wrong> {
    fetch(|driver, view| {
        let (below, most) = tailored(driver)?;
        Ok((Over::new(client(view), below), most))
    })
}
