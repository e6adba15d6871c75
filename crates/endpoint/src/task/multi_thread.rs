//! Making an endpoint whose handles any thread may use.

use stackwright_contract::Participant;

use crate::error::Error;
use crate::flavor::MultiThread;
use crate::shared::{Config, StackAny};
use crate::system::System;
use crate::task::endpoint::Endpoint;
use crate::task::run::Run;

impl<S: StackAny + Send + 'static> Endpoint<S, MultiThread> {
    /// Creates an endpoint on the stack that `make` returns. It can connect, and does not listen. A
    /// task of this runtime runs the stack until the endpoint and all its associations are dropped.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, multi_thread::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), stackwright_endpoint::Error> {
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.local(), None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the operating system has no more descriptors, or this is no runtime of tokio.
    ///
    /// # Panics
    /// If that runtime has no I/O. A message with a lifetime that waits for credit needs its timer
    /// as well (`enable_all`).
    pub fn new(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        let endpoint = Self::make(config, make)?;
        let run = Run::new(&endpoint.watch);
        tokio::spawn(async move {
            // An error shows again in the next call that waits.
            let _ = run.await;
        });
        Ok(endpoint)
    }

    /// Creates an endpoint that listens at `local`; port 0 asks for any port. It can connect, too.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, multi_thread::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    /// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// assert_ne!(endpoint.local().unwrap().port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the address is taken, or is none of this host; and as [`new`](Endpoint::new).
    ///
    /// # Panics
    /// As [`new`](Endpoint::new).
    pub async fn bind(
        local: impl Into<Participant>,
        config: Config,
        make: impl FnOnce(&System) -> S,
    ) -> Result<Self, Error> {
        Self::new(config, make)?.listen(local.into()).await
    }
}
