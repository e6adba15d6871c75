//! The client of `jis-tcp` with a TCP of its own, smoltcp's, on a TUN device whose other end is
//! the kernel. It needs a right (CAP_NET_ADMIN), or a device that belongs to its user:
//!
//! ```text
//! ip tuntap add dev tun0 mode tun user $USER
//! ip address add 10.77.0.1/24 dev tun0
//! ip link set tun0 up
//! jis-tcp-server 10.77.0.1:4331 picture.jpg
//! TUN=tun0 ADDRESS=10.77.0.2/24 jis-smoltcp 10.77.0.1:4331 picture.jpg
//! ```

use std::env;

use stackwright::compose::Over;
use stackwright::framed::Framed;
use stackwright_examples::jis::{SmolTcp, Wrong, client, fetch};
use stackwright_jis::jpeg::BODY_MOST;

fn main() -> Result<(), Wrong> {
    let device = env::var("TUN").map_err(|_| "TUN names the device, as in TUN=tun0")?;
    let address = env::var("ADDRESS").ok().and_then(|address| address.parse().ok());
    let address = address.ok_or("ADDRESS is the own one, as in ADDRESS=10.77.0.2/24")?;
    fetch(|driver, view| {
        let below = Over::new(Framed::default(), SmolTcp::new(driver, &device, address)?);
        Ok((Over::new(client(view), below), BODY_MOST))
    })
}
