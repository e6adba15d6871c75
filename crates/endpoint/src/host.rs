//! What an endpoint owns, however its calls wait: the stack, and the listener.

use std::net::SocketAddr;
use std::sync::Arc;

use stackwright_contract::services::Ended;
use stackwright_contract::{Handle, Participant};

use crate::error::Error;
use crate::flavor::{CurrentThread, Flavor, Lock};
use crate::hold::Hold;
use crate::shared::{Config, Shared, StackAny};
use crate::system::System;

/// Counters of an endpoint.
///
/// ```
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
/// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
/// let association = endpoint.connect(endpoint.local().unwrap())?;
/// let totals = endpoint.totals();
/// assert_eq!((totals.associations, totals.dropped), (1, 0));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Associations that have not ended, including those that arrived and were not accepted, and
    /// those that were dropped and are still being closed.
    pub associations: usize,
    /// Returns how many packets and words the stack has dropped, because of faults of the network
    /// and of peers.
    pub dropped: u64,
}

pub(crate) struct Host<S: StackAny, F: Flavor = CurrentThread> {
    pub(crate) shared: Arc<F::Lock<Shared<S>>>,
    listener: Option<Handle>,
    pub(crate) local: Option<SocketAddr>,
}

impl<S: StackAny, F: Flavor> Host<S, F> {
    pub(crate) fn new(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        Ok(Host { shared: Shared::new::<F>(config, make)?, listener: None, local: None })
    }

    /// Asks for a listener, whose name is given.
    pub(crate) fn listen(&mut self, local: Participant) -> Handle {
        let listener = self.shared.lock().mailbox.listen(local);
        self.listener = Some(listener);
        listener
    }

    /// The listener, where there is one.
    pub(crate) fn listener(&self) -> Result<Handle, Error> {
        self.listener.ok_or(Ended::Unlistened.into())
    }

    /// Asks for an association.
    pub(crate) fn open(&self, remote: Participant) -> Hold<S, F> {
        let name = self.shared.lock().mailbox.open(remote);
        self.hold(name)
    }

    pub(crate) fn hold(&self, name: Handle) -> Hold<S, F> {
        Hold::new(Arc::clone(&self.shared), name)
    }

    pub(crate) fn totals(&self) -> Totals {
        let shared = self.shared.lock();
        Totals { associations: shared.mailbox.names.iter().count(), dropped: shared.dropped() }
    }
}

impl<S: StackAny, F: Flavor> Drop for Host<S, F> {
    fn drop(&mut self) {
        if let Some(listener) = self.listener {
            let shared = &mut *self.shared.lock();
            shared.mailbox.unlisten(listener);
            // A stack in a server hears of it when it leaves.
            let _ = shared.let_leave(0, || None);
        }
    }
}
