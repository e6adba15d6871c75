//! Pictures by JIS over several transports: the same pictures, clients and servers, so that programs
//! differ in the protocol alone. The lab's tables `jis-size` and `jis` measure them.

mod by_hand;
mod client;
mod server;

use std::error::Error;
use std::io;

use stackwright::compose::Over;
use stackwright::drivers::Driver;
use stackwright::drivers::tcp::Tcp;
use stackwright::drivers::udp::Udp;
use stackwright::framed::Framed;
use stackwright::tailored::configurations::Selective;
use stackwright::tailored::{self, Named, TailoredHost};
use stackwright::wire::{BufferTree, Pool};
use stackwright_jis::body_most;
use stackwright_jis::generated::HASH;

pub use by_hand::ByHand;
pub use client::fetch;
pub use server::serve;

/// How messages are held.
pub type Picture = BufferTree;

/// What goes wrong.
pub type Wrong = Box<dyn Error>;

/// The transport that the phase of JIS selects.
pub type Tailored = Over<tailored::Layer<Named<Selective<Picture>>>, Udp<Picture>>;

/// Makes the transport that the phase of JIS selects, and returns the longest body of an ADU.
///
/// # Errors
/// If the system gives no random octets.
pub fn tailored(driver: &Driver) -> io::Result<(Tailored, usize)> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret)?;
    let config = tailored::Config { protocol: HASH, ..tailored::Config::new(secret) };
    let host = TailoredHost::new(Named::new(stackwright_jis::VALUES), config);
    let most = body_most(host.unit_most());
    let layer =
        tailored::layer_of(host, u64::from_ne_bytes(secret[..8].try_into().unwrap_or_default()));
    Ok((Over::new(layer, Udp::new(driver.registry(), 0, pool())), most))
}

/// Messages over the kernel's TCP.
pub type Tcps = Over<Framed<Picture>, Tcp<Picture>>;

/// Makes messages over the kernel's TCP; `congestion` is one of its controls.
pub fn tcp(driver: &Driver, congestion: Option<&'static str>) -> Tcps {
    let tcp = Tcp::new(driver.registry(), 0, pool());
    let tcp = match congestion {
        Some(name) => tcp.with_congestion(name),
        None => tcp,
    };
    Over::new(Framed::default(), tcp)
}

fn pool() -> std::sync::Arc<Pool<Picture>> {
    std::sync::Arc::new(Pool::new(64 << 10, 64))
}
