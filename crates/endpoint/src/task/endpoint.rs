//! Listening, connecting, accepting.

use std::net::SocketAddr;
use std::sync::Arc;

use stackwright_contract::{Handle, Participant};

use crate::error::Error;
use crate::flavor::{Flavor, Lock as _};
use crate::hold::Hold;
use crate::host::{Host, Totals};
use crate::shared::{Config, Shared, Stack, StackAny, StreamStack};
use crate::system::System;
use crate::task::association::Association;
use crate::task::stream::Stream;
use crate::task::watch::{Wait, WakeOnDrop, Watch};

/// A stack with its driver, and the associations on it.
///
/// Its flavor says on which threads it, its associations and their futures may be used.
///
/// - [`CurrentThread`](crate::CurrentThread), which is [`stackwright_endpoint::Endpoint`]: all on
///   one thread, `spawn_local` on a [`LocalSet`](tokio::task::LocalSet) or one `current_thread`
///   runtime per thread. The stack runs in the task that awaits something of it. Where no task
///   awaits for long, or a future is held and not polled, [`run`](Endpoint::run) in a task of its
///   own keeps the stack going. To use several cores, give each an endpoint; they share an address
///   if the [`Config`] says so.
/// - [`MultiThread`](crate::MultiThread), which is
///   [`stackwright_endpoint::multi_thread::Endpoint`]: all are `Send` and `Sync`, for
///   `tokio::spawn` on a runtime of either kind. A task of the endpoint's own keeps the stack
///   going, and a lock lets one thread at a time run it.
///
/// [`stackwright_endpoint::Endpoint`]: crate::Endpoint
/// [`stackwright_endpoint::multi_thread::Endpoint`]: crate::multi_thread::Endpoint
///
/// Dropping it ends listening. When it is dropped with all its associations, what was not sent yet
/// is lost: close those that matter before.
///
/// ```
/// use stackwright_endpoint::{Config, Endpoint, System};
/// use stackwright_wire::BufferTree;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
/// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
/// let one = endpoint.connect(endpoint.local().unwrap()).await?; // with itself
/// one.send(b"hello").await?;
/// let other = endpoint.accept().await?;
/// assert_eq!(other.receive().await?.0, b"hello");
/// # Ok(())
/// # }
/// ```
pub struct Endpoint<S: StackAny, F: Flavor> {
    pub(super) host: Host<S, F>,
    pub(super) watch: WakeOnDrop<S, F>,
}

impl<S: StackAny, F: Flavor> Endpoint<S, F> {
    pub(super) fn make(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        let host = Host::new(config, make)?;
        let watch = WakeOnDrop(Arc::new(Watch::new(Arc::clone(&host.shared))?));
        Ok(Endpoint { host, watch })
    }

    pub(super) async fn listen(mut self, local: Participant) -> Result<Self, Error> {
        let listener = self.host.listen(local);
        let place = self.wait(listener, |shared| shared.mailbox.local(listener)).await??;
        self.host.local = place.internet();
        Ok(self)
    }

    /// Returns the Internet address at which it listens.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// assert!(endpoint.local().unwrap().ip().is_loopback());
    /// # Ok(())
    /// # }
    /// ```
    pub fn local(&self) -> Option<SocketAddr> {
        self.host.local
    }

    /// Returns how many associations it has, and how much the stack has dropped.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn totals(&self) -> Totals {
        self.host.totals()
    }

    /// Lends the stack, to be inspected. `look` calls nothing of the endpoint.
    ///
    /// ```
    /// use stackwright_contract::Protocol;
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), stackwright_endpoint::Error> {
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert!(!endpoint.look(|udp| udp.wants_flush()), "it has nothing to do");
    /// # Ok(())
    /// # }
    /// ```
    pub fn look<T>(&self, look: impl FnOnce(&S) -> T) -> T {
        look(&self.host.shared.lock().stack)
    }

    fn wait<T, L: FnMut(&mut Shared<S>) -> Option<T> + Unpin>(
        &self,
        name: Handle,
        look: L,
    ) -> Wait<'_, S, F, L> {
        Wait::new(&self.watch, name, look)
    }

    /// A name that is open; dropped before, it is given up.
    async fn open(&self, remote: Participant) -> Result<(Hold<S, F>, WakeOnDrop<S, F>), Error> {
        // In this order: what is dropped unfinished is told after it was given up.
        let watch = WakeOnDrop(Arc::clone(&self.watch));
        let hold = self.host.open(remote);
        let name = hold.name;
        self.wait(name, |shared| shared.opened(name)).await??;
        Ok((hold, watch))
    }

    async fn arrival(&self) -> Result<(Hold<S, F>, WakeOnDrop<S, F>), Error> {
        let listener = self.host.listener()?;
        let name = self.wait(listener, |shared| shared.mailbox.arrival(listener)).await??;
        Ok((self.host.hold(name), WakeOnDrop(Arc::clone(&self.watch))))
    }
}

impl<S: Stack, F: Flavor> Endpoint<S, F> {
    /// Opens an association with `remote`: an Internet address, or any participant that the stack
    /// knows how to reach. There may be any number with one peer: where a protocol numbers some
    /// between two addresses (ARTP 255), the next ones have another local port.
    ///
    /// Dropped before, the attempt is given up.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// assert_eq!(association.remote(), Some("127.0.0.1:9".parse()?));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] if there is no answer, or a refusal.
    pub async fn connect(
        &self,
        remote: impl Into<Participant>,
    ) -> Result<Association<S, F>, Error> {
        let (hold, watch) = self.open(remote.into()).await?;
        Ok(Association::new(hold, watch))
    }

    /// Accepts the next association that arrives.
    ///
    /// Dropped before, no arrival is lost: the next call returns it.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.send(b"over UDP, an arrival is a datagram").await?;
    /// let other = endpoint.accept().await?;
    /// assert_eq!(other.remote(), one.local());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where the endpoint does not listen.
    pub async fn accept(&self) -> Result<Association<S, F>, Error> {
        let (hold, watch) = self.arrival().await?;
        Ok(Association::new(hold, watch))
    }
}

impl<S: StreamStack, F: Flavor> Endpoint<S, F> {
    /// Opens a stream to `remote`: an Internet address, or any participant that the stack knows how
    /// to reach.
    ///
    /// Dropped before, the attempt is given up.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let closed: std::net::SocketAddr = "127.0.0.1:9".parse()?;
    /// let endpoint = Endpoint::new(Config::default(), System::tcp::<BufferTree>)?;
    /// assert!(endpoint.connect_stream(closed).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] if there is no answer, or a refusal.
    pub async fn connect_stream(
        &self,
        remote: impl Into<Participant>,
    ) -> Result<Stream<S, F>, Error> {
        let (hold, watch) = self.open(remote.into()).await?;
        Ok(Stream::new(hold, watch))
    }

    /// Accepts the next stream that arrives.
    ///
    /// Dropped before, no arrival is lost: the next call returns it.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// let here = endpoint.local().unwrap();
    /// let (one, other) =
    ///     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// assert_eq!(one.local(), other.remote());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where the endpoint does not listen.
    pub async fn accept_stream(&self) -> Result<Stream<S, F>, Error> {
        let (hold, watch) = self.arrival().await?;
        Ok(Stream::new(hold, watch))
    }
}
