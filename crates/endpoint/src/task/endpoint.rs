//! Listening, connecting, accepting.

use std::net::SocketAddr;
use std::rc::Rc;

use stackwright_contract::{Handle, Participant};

use crate::error::Error;
use crate::hold::Hold;
use crate::host::{Host, Totals};
use crate::shared::{Config, Shared, Stack, StackAny, StreamStack};
use crate::system::System;
use crate::task::association::Association;
use crate::task::run::Run;
use crate::task::stream::Stream;
use crate::task::watch::{Wait, WakeOnDrop, Watch};

/// A stack with the driver below it, and the associations on it.
///
/// It is one thread's, and its stack runs in whichever task awaits something of it: `spawn_local` on a
/// [`LocalSet`](tokio::task::LocalSet), or one `current_thread` runtime a thread. Who has more than one core gives each an
/// endpoint, at one address where the [`Config`] says that they share it. Where no task awaits for long, or a future of ours is held and not polled, [`run`](Endpoint::run) in a task of
/// its own keeps the stack going.
///
/// When it is dropped nobody arrives any more. When it is dropped with all its associations, what was not sent yet is lost:
/// close those that matter before.
///
/// ```
/// use stackwright_endpoint::{Config, Endpoint, System};
/// use stackwright_wire::BufferTree;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Endpoint::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?, Config::default(), System::udp::<BufferTree>).await?;
/// let one = endpoint.connect(endpoint.local().unwrap()).await?; // with itself
/// one.send(b"hello").await?;
/// let other = endpoint.accept().await?;
/// assert_eq!(other.receive().await?.0, b"hello");
/// # Ok(())
/// # }
/// ```
pub struct Endpoint<S: StackAny> {
    pub(super) host: Host<S>,
    pub(super) watch: WakeOnDrop<S>,
}

impl<S: StackAny> Endpoint<S> {
    /// An endpoint on the stack that `make` makes: it connects, and does not listen.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), stackwright_endpoint::Error> {
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.local(), None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the operating system has no more descriptors, or this is no runtime of tokio.
    ///
    /// # Panics
    /// Where that runtime has no I/O. A message with a lifetime that waits for room needs its time, too (`enable_all`).
    pub fn new(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        let host = Host::new(config, make)?;
        let watch = WakeOnDrop(Rc::new(Watch::new(Rc::clone(&host.shared))?));
        Ok(Endpoint { host, watch })
    }

    /// The same, which listens at `local`; at port 0, anywhere.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?, Config::default(), System::udp::<BufferTree>).await?;
    /// assert_ne!(endpoint.local().unwrap().port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where that address is taken, or there is none such here; and as [`new`](Endpoint::new).
    ///
    /// # Panics
    /// As [`new`](Endpoint::new).
    pub async fn bind(
        local: impl Into<Participant>,
        config: Config,
        make: impl FnOnce(&System) -> S,
    ) -> Result<Self, Error> {
        let mut endpoint = Self::new(config, make)?;
        let listener = endpoint.host.listen(local.into());
        let place = endpoint.wait(listener, |shared| shared.mailbox.local(listener)).await??;
        endpoint.host.local = place.internet();
        Ok(endpoint)
    }

    /// Where it listens.
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

    /// Keeps the stack going while the application does something else, until the endpoint and all its associations are
    /// dropped. Where it runs, it is the only one that the operating system wakes: who has thousands of tasks wants it, too.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// tokio::task::LocalSet::new().run_until(async {
    ///     let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    ///     let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    ///     let run = tokio::task::spawn_local(endpoint.run());
    ///     tokio::time::sleep(Duration::from_millis(1)).await; // peers are answered meanwhile
    ///     drop(endpoint);
    ///     run.await??;
    ///     Ok(())
    /// }).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the operating system cannot wait for descriptors any more.
    pub fn run(&self) -> Run<S> {
        Run::new(&self.watch)
    }

    /// How many associations it has, and what the stack has dropped.
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

    /// Lends the stack, to be looked at.
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
        look(&self.host.shared.borrow().stack)
    }

    fn wait<T, F: FnMut(&mut Shared<S>) -> Option<T> + Unpin>(
        &self,
        name: Handle,
        look: F,
    ) -> Wait<'_, S, F> {
        Wait::new(&self.watch, name, look)
    }

    /// A name that is open; dropped before, it is given up.
    async fn open(&self, remote: Participant) -> Result<(Hold<S>, WakeOnDrop<S>), Error> {
        // In this order: what is dropped unfinished is told after it was given up.
        let watch = WakeOnDrop(Rc::clone(&self.watch));
        let hold = self.host.open(remote);
        let name = hold.name;
        self.wait(name, |shared| shared.opened(name)).await??;
        Ok((hold, watch))
    }

    async fn arrival(&self) -> Result<(Hold<S>, WakeOnDrop<S>), Error> {
        let listener = self.host.listener()?;
        let name = self.wait(listener, |shared| shared.mailbox.arrival(listener)).await??;
        Ok((self.host.hold(name), WakeOnDrop(Rc::clone(&self.watch))))
    }
}

impl<S: Stack> Endpoint<S> {
    /// An association with who listens at `remote`, once it is open.
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
    /// [`Error::Ended`] where nobody answers, or it is refused.
    pub async fn connect(&self, remote: impl Into<Participant>) -> Result<Association<S>, Error> {
        let (hold, watch) = self.open(remote.into()).await?;
        Ok(Association::new(hold, watch))
    }

    /// The next who arrives.
    ///
    /// Dropped before, nobody is lost: the next call finds him.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.send(b"who arrives over UDP arrives with a datagram").await?;
    /// let other = endpoint.accept().await?;
    /// assert_eq!(other.remote(), one.local());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where the endpoint does not listen.
    pub async fn accept(&self) -> Result<Association<S>, Error> {
        let (hold, watch) = self.arrival().await?;
        Ok(Association::new(hold, watch))
    }
}

impl<S: StreamStack> Endpoint<S> {
    /// A stream to who listens at `remote`, once it is open.
    ///
    /// Dropped before, the attempt is given up.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let nobody: std::net::SocketAddr = "127.0.0.1:9".parse()?;
    /// let endpoint = Endpoint::new(Config::default(), System::tcp::<BufferTree>)?;
    /// assert!(endpoint.connect_stream(nobody).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where nobody answers, or it is refused.
    pub async fn connect_stream(&self, remote: impl Into<Participant>) -> Result<Stream<S>, Error> {
        let (hold, watch) = self.open(remote.into()).await?;
        Ok(Stream::new(hold, watch))
    }

    /// The next stream that arrives.
    ///
    /// Dropped before, none is lost: the next call finds it.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// let here = endpoint.local().unwrap();
    /// let (one, other) = tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// assert_eq!(one.local(), other.remote());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where the endpoint does not listen.
    pub async fn accept_stream(&self) -> Result<Stream<S>, Error> {
        let (hold, watch) = self.arrival().await?;
        Ok(Stream::new(hold, watch))
    }
}
