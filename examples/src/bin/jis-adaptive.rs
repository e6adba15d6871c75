//! A client of JIS over a transport that changes while data flow:
//!
//! ```text
//! jis-adaptive-server 127.0.0.1:4331 picture.jpg
//! jis-adaptive 127.0.0.1:4331 picture.jpg
//! ```

use stackwright::compose::Over;
use stackwright_examples::jis::{Wrong, adaptive, client, fetch};

fn main() -> Result<(), Wrong> {
    fetch(|driver, view| {
        let (below, most) = adaptive(driver)?;
        Ok((Over::new(client(view), below), most))
    })
}
