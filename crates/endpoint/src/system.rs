//! What a new stack gets from the operating system.

use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::udp::Udp;
use stackwright_drivers::{Driver, Registry};
use stackwright_wire::{Message, Pool};

/// The octets of a block: any datagram fits into one.
const BLOCK: usize = 64 << 10;
/// How many blocks are kept.
const BLOCKS_MOST: usize = 64;

/// What a stack gets from the operating system when it is created: descriptors, secrets, the time
/// of day.
///
/// ```
/// use stackwright_drivers::udp::Udp;
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
/// # Ok::<_, stackwright_endpoint::Error>(())
/// ```
#[derive(Debug)]
pub struct System {
    registry: Arc<Registry>,
    random: [u8; 32],
    epoch: u64,
    pub(crate) shared_port: bool,
}

impl System {
    /// Creates a driver and the system of a stack on it, for applications that run a stack without
    /// an endpoint.
    ///
    /// ```
    /// let (driver, system) = stackwright_endpoint::System::with_driver()?;
    /// assert_eq!(driver.context().dropped_count(), 0);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    pub fn with_driver() -> io::Result<(Driver, Self)> {
        let mut random = [0; 32];
        // So few octets come whole, or not at all (getrandom(2)).
        getrandom(&mut random, GetRandomFlags::empty())?;
        let chances = u64::from_ne_bytes(*random[8..].first_chunk().expect("there are 32"));
        let driver = Driver::new(chances)?;
        let registry = driver.registry();
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let epoch = u64::try_from(epoch).unwrap_or(u64::MAX);
        Ok((driver, System { registry, random, epoch, shared_port: false }))
    }

    /// Creates the kernel's UDP, as the only adapter of the stack; its port is shared where
    /// [`Config::shared_port`](crate::Config) says so.
    ///
    /// ```
    /// # use stackwright_endpoint::System;
    /// let (_driver, system) = System::with_driver()?;
    /// # use stackwright_contract::Protocol;
    /// # use stackwright_wire::BufferTree;
    /// assert!(!system.udp::<BufferTree>().wants_flush());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn udp<M: Message>(&self) -> Udp<M> {
        self.udp_with(Self::pool())
    }

    /// Creates a pool of blocks for the layers of one stack that take one: a block that one layer
    /// is done with, another uses again.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stackwright_artp as artp;
    /// use stackwright_compose::Over;
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let stack = |system: &System| {
    ///     let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    ///     let pool = System::pool::<BufferTree>();
    ///     let artp = artp::layer_sharing(config, system.seed(), Arc::clone(&pool));
    ///     Over::new(artp, system.udp_with(pool))
    /// };
    /// let endpoint = Endpoint::new(Config::default(), stack)?;
    /// # Ok::<_, stackwright_endpoint::Error>(())
    /// ```
    #[must_use]
    pub fn pool<M: Message>() -> Arc<Pool<M>> {
        Arc::new(Pool::new(BLOCK, BLOCKS_MOST))
    }

    /// Creates the kernel's UDP with the blocks of `pool`, of at least 64 KiB. Endpoints of one
    /// thread, of which one receives at a time, can share a pool.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::{BufferTree, Pool};
    /// let pool = Arc::new(Pool::<BufferTree>::new(64 << 10, 8));
    /// let endpoints: Result<Vec<_>, _> = (0..100)
    ///     .map(|_| {
    ///         let udp = |system: &System| system.udp_with(Arc::clone(&pool));
    ///         Endpoint::new(Config::default(), udp)
    ///     })
    ///     .collect();
    /// assert_eq!(endpoints?.len(), 100);
    /// # Ok::<_, stackwright_endpoint::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the blocks of the pool are shorter.
    pub fn udp_with<M: Message>(&self, pool: Arc<Pool<M>>) -> Udp<M> {
        let udp = Udp::new(self.registry(), 0, pool);
        if self.shared_port { udp.sharing_port() } else { udp }
    }

    /// Creates the kernel's TCP, as the only adapter of the stack.
    ///
    /// ```
    /// use stackwright_endpoint::System;
    /// use stackwright_contract::Protocol;
    /// use stackwright_wire::BufferTree;
    /// let (_driver, system) = System::with_driver()?;
    /// assert!(!system.tcp::<BufferTree>().wants_flush());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn tcp<M: Message>(&self) -> Tcp<M> {
        Tcp::new(self.registry(), 0, Self::pool())
    }

    /// Returns the registry in which adapters register their descriptors.
    ///
    /// ```
    /// # use stackwright_endpoint::System;
    /// let (_driver, system) = System::with_driver()?;
    /// let _for_an_adapter = system.registry();
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// Returns a random number that no peer knows, for maps whose keys a peer chooses.
    ///
    /// ```
    /// # use stackwright_endpoint::System;
    /// let (_driver, system) = System::with_driver()?;
    /// assert_ne!(system.seed(), System::with_driver()?.1.seed(), "each has its own");
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn seed(&self) -> u64 {
        u64::from_ne_bytes(*self.random.first_chunk().expect("there are 32"))
    }

    /// Returns random octets that no peer knows.
    ///
    /// ```
    /// # use stackwright_endpoint::System;
    /// let (_driver, system) = System::with_driver()?;
    /// assert_ne!(system.secret(), System::with_driver()?.1.secret(), "each has its own");
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn secret(&self) -> [u8; 16] {
        *self.random.last_chunk().expect("there are 32")
    }

    /// Returns the time of day at the start of the stack's time, in microseconds since 1970.
    ///
    /// ```
    /// # use stackwright_endpoint::System;
    /// let (_driver, system) = System::with_driver()?;
    /// assert!(system.epoch() > 1_700_000_000_000_000, "it is after 2023");
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}
