//! Pictures by JIS over several transports: the same pictures, clients and servers, so that
//! programs differ in the protocol alone. The lab's tables `jis-size` and `jis` measure them.

mod blocking;
mod by_hand;
mod client;
mod server;
mod smol_tcp;

use std::error::Error;
use std::io;

use stackwright::compose::Over;
use stackwright::drivers::Driver;
use stackwright::drivers::tcp::Tcp;
use stackwright::drivers::udp::Udp;
use stackwright::framed::Framed;
use stackwright::tailored::configurations::{Fitting, Selective};
use stackwright::tailored::{self, Named, TailoredHost};
use stackwright::wire::{BufferTree, Pool};
use stackwright_jis::body_most;
use stackwright_jis::generated::{ACCEPTS, HASH};

pub use blocking::fetch_by_hand;
pub use by_hand::ByHand;
pub use client::{TimedView, client, fetch};
pub use server::serve;
pub use smol_tcp::SmolTcp;

/// How messages are held.
pub type Picture = BufferTree;

/// What goes wrong.
pub type Wrong = Box<dyn Error>;

/// The transport that the phase of JIS selects.
pub type Tailored = Over<tailored::Layer<Images>, Udp<Picture>>;

/// Makes the transport that the phase of JIS selects, and returns the longest body of an ADU.
///
/// # Errors
/// If the system gives no random octets.
pub fn tailored(driver: &Driver) -> io::Result<(Tailored, usize)> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret)?;
    let (host, most) = host(secret);
    let udp = Udp::new(driver.registry(), 0, pool());
    Ok((layer(host, fastrand::u64(..), udp), most))
}

type Images = Named<Selective<Picture>>;

fn host(secret: [u8; 16]) -> (TailoredHost<Images>, usize) {
    let host = TailoredHost::new(Named::new(stackwright_jis::VALUES), config(secret));
    let most = body_most(host.unit_most());
    (host, most)
}

fn config(secret: [u8; 16]) -> tailored::Config {
    tailored::Config { protocol: HASH, accepts: ACCEPTS, ..tailored::Config::new(secret) }
}

/// A transport of JIS that changes while data flow.
pub type Adaptive = Over<tailored::Layer<Named<Fitting<Picture>>>, Udp<Picture>>;

/// Makes the transport that changes while data flow, and returns the longest body of an ADU.
///
/// # Errors
/// If the system gives no random octets.
pub fn adaptive(driver: &Driver) -> io::Result<(Adaptive, usize)> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret)?;
    let host = TailoredHost::new(Named::new(stackwright_jis::STAGED_VALUES), config(secret));
    let most = body_most(host.unit_most());
    let udp = Udp::new(driver.registry(), 0, pool());
    Ok((Over::new(tailored::layer_of(host, fastrand::u64(..)), udp), most))
}

fn layer(host: TailoredHost<Images>, seed: u64, udp: Udp<Picture>) -> Tailored {
    Over::new(tailored::layer_of(host, seed), udp)
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
