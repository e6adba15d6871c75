//! Ready stacks for an [endpoint](crate::endpoint).

use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::System;

use crate::artp;
use crate::compose::Over;
use crate::ordered::{self, Ordered};
use crate::wire::BufferTree;

/// ARTP over the kernel's UDP: reliable messages, in no order.
pub type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

/// Streams over ARTP.
pub type ArtpStreams = Over<Ordered<BufferTree>, Artp>;

/// Returns ARTP over the kernel's UDP, with the system's secret and time of day.
///
/// ```
/// use stackwright::endpoint::{Config, blocking::Endpoint};
/// use stackwright::stacks;
/// let endpoint = Endpoint::new(Config::default(), stacks::artp)?;
/// assert_eq!(endpoint.totals().associations, 0);
/// # Ok::<_, stackwright::endpoint::Error>(())
/// ```
pub fn artp(system: &System) -> Artp {
    artp_with(system, |_| {})
}

/// Returns the same, after `change` to its configuration.
///
/// ```
/// use stackwright::endpoint::{Config, System, blocking::Endpoint};
/// use stackwright::stacks;
/// let narrow = |system: &System| stacks::artp_with(system, |config| config.packet = 576);
/// let endpoint = Endpoint::new(Config::default(), narrow)?;
/// assert_eq!(endpoint.totals().associations, 0);
/// # Ok::<_, stackwright::endpoint::Error>(())
/// ```
pub fn artp_with(system: &System, change: impl FnOnce(&mut artp::Config)) -> Artp {
    let mut config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    change(&mut config);
    let pool = System::pool();
    let upper = artp::layer_sharing(config, system.seed(), std::sync::Arc::clone(&pool));
    Over::new(upper, system.udp_with(pool))
}

/// Returns streams over ARTP over the kernel's UDP.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
/// # let _runtime = runtime.enter();
/// use stackwright::endpoint::{Config, multi_thread::Endpoint};
/// use stackwright::stacks;
/// let endpoint = Endpoint::new(Config::default(), stacks::streams)?;
/// assert_eq!(endpoint.totals().associations, 0);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
pub fn streams(system: &System) -> ArtpStreams {
    Over::new(Ordered::new(ordered::Config::default()), artp(system))
}

/// Returns the kernel's TCP: streams.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
/// # let _runtime = runtime.enter();
/// use stackwright::endpoint::{Config, multi_thread::Endpoint};
/// use stackwright::stacks;
/// let endpoint = Endpoint::new(Config::default(), stacks::tcp)?;
/// assert_eq!(endpoint.totals().associations, 0);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
pub fn tcp(system: &System) -> Tcp<BufferTree> {
    system.tcp()
}
