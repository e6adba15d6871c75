//! Calls that block, without a runtime.
//!
//! ```
//! use stackwright_artp as artp;
//! use stackwright_compose::Over;
//! use stackwright_endpoint::{Config, System, blocking::Endpoint};
//! use stackwright_wire::BufferTree;
//!
//! // The stack: ARTP over the kernel's UDP.
//! let stack = |system: &System| {
//!     let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
//!     Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
//! };
//! let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
//! let server = Endpoint::bind(here, Config::default(), stack)?;
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
//! let end = association.receive();
//! assert!(end.is_err_and(|error| error.is_finished()), "the client has closed it");
//! assert_eq!(client.join().unwrap()?, b"seven");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! The stack runs on the caller's thread, **within these calls**: an application that makes no call
//! for long does not answer its peers, which may give the association up. An application that has
//! nothing else to do waits in [`Endpoint::wait`].
//!
//! Calls wait without limit, or as long as a [timeout](Endpoint::set_timeout) allows; the `try_`
//! calls do not wait.
//!
//! | file | what |
//! | --- | --- |
//! | `endpoint.rs` | listening, connecting, accepting, waiting |
//! | `association.rs` | sending, receiving, closing |

mod association;
mod endpoint;

pub use association::Association;
pub use endpoint::Endpoint;
