//! Making an endpoint whose handles stay on one thread.

use stackwright_contract::Participant;

use crate::error::Error;
use crate::flavor::CurrentThread;
use crate::shared::{Config, StackAny};
use crate::system::System;
use crate::task::endpoint::Endpoint;
use crate::task::run::Run;

impl<S: StackAny> Endpoint<S, CurrentThread> {
    /// Creates an endpoint on the stack that `make` returns. It can connect, and does not listen.
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
    /// If the operating system has no more descriptors, or this is no runtime of tokio.
    ///
    /// # Panics
    /// If that runtime has no I/O. A message with a lifetime that waits for credit needs its timer
    /// as well (`enable_all`).
    pub fn new(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        Self::make(config, make)
    }

    /// Creates an endpoint that listens at `local`; port 0 asks for any port. It can connect, too.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, Endpoint, System};
    /// use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
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

    /// Keeps the stack going while the application does something else, until the endpoint and all
    /// its associations are dropped. While it runs, it is the only task that the operating system
    /// wakes, so an application with thousands of tasks wants it as well.
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
    /// If the operating system cannot wait for descriptors any more.
    pub fn run(&self) -> Run<S, CurrentThread> {
        Run::new(&self.watch)
    }
}
