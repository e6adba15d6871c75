//! What an application uses: datagrams over any stack, by blocking calls, without a runtime.
//!
//! An [`Endpoint`](blocking::Endpoint) is a stack with the driver below it. It listens, connects, and has any number of [`Association`](blocking::Association)s, each
//! of which sends and receives messages with their [`Quality`](stackwright_contract::services::Quality).
//!
//! ```
//! use stackwright_artp as artp;
//! use stackwright_compose::Over;
//! use stackwright_endpoint::{Config, System, blocking::Endpoint};
//! use stackwright_wire::BufferTree;
//!
//! // The stack: ARTP over the kernel's UDP.
//! let stack = |system: &System| {
//!     let config = artp::Config { secret: system.secret(), epoch: system.epoch(), ..artp::Config::default() };
//!     Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
//! };
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), stack)?;
//! let place = server.local().expect("it listens");
//!
//! let client = std::thread::spawn(move || {
//!     let client = Endpoint::new(Config::default(), stack)?;
//!     let association = client.connect(place)?;
//!     association.send(b"how many?")?;
//!     let (answer, _) = association.receive()?;
//!     association.close()?;
//!     Ok::<_, stackwright_endpoint::Error>(answer)
//! });
//! let association = server.accept()?;
//! let (question, _) = association.receive()?;
//! assert_eq!(question, b"how many?");
//! association.send(b"seven")?;
//! assert!(association.receive().is_err_and(|error| error.is_finished()), "the client has closed it");
//! assert_eq!(client.join().unwrap()?, b"seven");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! The stack runs on the caller's thread, **within these calls**: an application that calls nothing for long does not answer
//! its peers meanwhile, who may believe that it is dead. [`Endpoint::wait`](blocking::Endpoint::wait) is where one that has nothing to do belongs.
//!
//! Calls wait as long as they need to, or as long as a [patience](blocking::Endpoint::set_patience) allows; the `try_` calls do not
//! wait. Credit is the application's only as time: a `send` waits until there is room, and who does not receive stops the
//! peer.
//!
//! | file | what |
//! | --- | --- |
//! | `blocking/endpoint.rs` | listening, connecting, accepting, waiting |
//! | `blocking/association.rs` | sending, receiving, closing |
//! | `desk.rs` | what the stack has told and the application has not asked for yet |
//! | `system.rs` | what a new stack gets from the operating system |
//! | `error.rs` | what can go wrong |
#![forbid(unsafe_code)]

pub mod blocking;
mod desk;
mod error;
mod hold;
mod host;
mod link;
mod offered;
mod pace;
mod shared;
mod system;
#[cfg(feature = "tokio")]
mod task;

pub use error::{Error, Refused};
pub use host::Totals;
pub use link::Statistics;
pub use offered::Offered;
pub use shared::{Config, Ground, Stack, StreamStack};
pub use system::System;
#[cfg(feature = "tokio")]
pub use task::{Association, Endpoint, Run, Sending, Stream};
