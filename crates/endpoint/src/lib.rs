//! Messages and streams over any stack: awaited on tokio, or by [blocking] calls without a runtime.
//!
//! An `Endpoint` is a stack with its driver. It listens, connects, and has any number of
//! `Association`s, which send and receive messages with their
//! [`MessageProperties`](stackwright_contract::services::MessageProperties), or of `Stream`s, where
//! the stack provides those.
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use stackwright_artp as artp;
//! use stackwright_compose::Over;
//! use stackwright_endpoint::{Config, Endpoint, System};
//! use stackwright_wire::BufferTree;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The stack: ARTP over the kernel's UDP.
//! let stack = |system: &System| {
//!     let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
//!     Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
//! };
//! let any_port = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
//! let server = Endpoint::bind(any_port, Config::default(), stack).await?;
//! let there = server.local().expect("it listens");
//! let client = Endpoint::new(Config::default(), stack)?;
//!
//! let asks = async {
//!     let association = client.connect(there).await?;
//!     association.send(b"how many?").await?;
//!     let (answer, _) = association.receive().await?;
//!     association.close().await?;
//!     Ok(answer)
//! };
//! let answers = async {
//!     let association = server.accept().await?;
//!     let (_question, _) = association.receive().await?;
//!     association.send(b"seven").await?;
//!     let end = association.receive().await;
//!     assert!(end.is_err_and(|error| error.is_finished()), "the client has closed it");
//!     Ok::<_, stackwright_endpoint::Error>(())
//! };
//! let (answer, ()) = tokio::try_join!(asks, answers)?;
//! assert_eq!(answer, b"seven");
//! # Ok(())
//! # }
//! ```
//!
//! These handles stay on one thread. The stack runs in the task that awaits something of its
//! endpoint, without a thread or a task of its own. While no task awaits anything, peers are not
//! answered, and may give the association up. Run `Endpoint::run` in a task of its own where the
//! application does something else meanwhile.
//!
//! For `tokio::spawn`, `multi_thread` has the same calls with handles that are `Send` and `Sync`;
//! there a task of the endpoint runs the stack.
//!
//! Every future may be dropped at any time; each method says what that means.
//!
//! Flow control shows as time: `send` waits until there is credit, and an application that does not
//! receive stops its peer. A message with a lifetime is refused before it is queued if it could not
//! arrive in time ([`Error::Late`]).
//!
//! An endpoint belongs to the process that made it. After fork(2) a child has the same sockets and
//! the same epoll instance: it must neither use nor drop an endpoint or an association of its
//! parent, which would end it for the parent, too. A child that calls execve(2) or _exit(2) leaves
//! them as they are; all descriptors are closed by execve.
//!
//! | file | what |
//! | --- | --- |
//! | `task/` | calls that are awaited (feature `tokio`, which is on by default) |
//! | `blocking/` | calls that block |
//! | `flavor.rs` | on which threads its handles may be used |
//! | `host.rs`, `hold.rs` | what endpoints and associations own, however their calls wait |
//! | `shared.rs` | the stack between the driver and the mailbox |
//! | `mailbox.rs`, `link.rs` | what the stack has told and the application has not taken; one association |
//! | `commands.rs` | commands that wait for their answers |
//! | `send_buffer.rs` | messages that are written into the memory from which they are sent |
//! | `qlog.rs` | a log of one association, on request |
//! | `pace.rs` | how long what is sent now takes to leave |
//! | `offered.rs` | datagrams and streams as applications see them |
//! | `frames.rs` | a pair of queues in place of a network device |
//! | `system.rs` | what a new stack gets from the operating system |
//! | `events.rs` | events for `tracing` (feature `tracing`) |
//! | `error.rs` | what can go wrong |
#![forbid(unsafe_code)]

pub mod blocking;
mod commands;
mod error;
mod events;
mod flavor;
pub mod frames;
mod hold;
mod host;
mod link;
mod mailbox;
mod offered;
mod pace;
mod placed;
mod qlog;
mod send_buffer;
mod shared;
mod system;
#[cfg(feature = "tokio")]
pub mod task;

pub use error::{Error, NotSent};
pub use flavor::{CurrentThread, Flavor, MultiThread};
pub use host::Totals;
pub use link::{Condition, Statistics};
pub use offered::Offered;
pub use placed::Placed;
pub use send_buffer::SendBuffer;
pub use shared::{Config, Stack, StackAny, StreamStack};
pub use system::System;
/// An endpoint whose handles stay on one thread.
#[cfg(feature = "tokio")]
pub type Endpoint<S> = task::Endpoint<S, CurrentThread>;
/// An association on such an endpoint.
#[cfg(feature = "tokio")]
pub type Association<S> = task::Association<S, CurrentThread>;
/// A stream on such an endpoint.
#[cfg(feature = "tokio")]
pub type Stream<S> = task::Stream<S, CurrentThread>;
/// A message, or a buffer, that such an endpoint sends.
#[cfg(feature = "tokio")]
pub type SendFuture<'a, S, P = <S as StackAny>::Message> =
    task::SendFuture<'a, S, CurrentThread, P>;
/// What keeps the stack of such an endpoint going.
#[cfg(feature = "tokio")]
pub type Run<S> = task::Run<S, CurrentThread>;

/// The same calls, of handles that any thread may use: for `tokio::spawn`.
///
/// ```
/// use stackwright_endpoint::{Config, System, multi_thread::Endpoint};
/// use stackwright_wire::BufferTree;
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
///     let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
///     let association = endpoint.connect(endpoint.local().unwrap()).await?; // with itself
///     association.send(b"hello").await?;
///     let hello = tokio::spawn(async move { endpoint.accept().await?.receive().await });
///     assert_eq!(hello.await??.0, b"hello");
///     Ok(())
/// }
/// ```
///
/// The stack has to be `Send`: those of this workspace are, on messages that are (both kinds are);
/// a graph is not.
#[cfg(feature = "tokio")]
pub mod multi_thread {
    use crate::flavor::MultiThread;
    use crate::shared::StackAny;
    use crate::task;

    /// An endpoint that any thread may use.
    pub type Endpoint<S> = task::Endpoint<S, MultiThread>;
    /// An association on such an endpoint.
    pub type Association<S> = task::Association<S, MultiThread>;
    /// A stream on such an endpoint.
    pub type Stream<S> = task::Stream<S, MultiThread>;
    /// A message, or a buffer, that such an endpoint sends.
    pub type SendFuture<'a, S, P = <S as StackAny>::Message> =
        task::SendFuture<'a, S, MultiThread, P>;
}
