//! What a transport may stand on: the kernel's two adapters, real or simulated.

use std::net::IpAddr;
use std::sync::Arc;

use stackwright::compose::graph::{Erased, Node};
use stackwright::wire::Pool;
use stackwright_contract::services::Credit;
use stackwright_drivers::Registry;
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::udp::Udp;
use stackwright_simulator::{CheckedDatagrams, SimulatedStreams};

use super::M;
use super::ground::{Ground, Grounded};

/// Where the adapter of one stack is.
pub(crate) enum Lowers {
    /// At an address in the simulator.
    Simulated(IpAddr),
    /// On this machine.
    Real { registry: Arc<Registry>, pool: Arc<Pool<M>> },
}

/// What a simulated adapter takes in a batch.
const ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

type Adapter = Box<dyn Node<M, Ground>>;

impl Lowers {
    pub(super) fn datagrams(self) -> Adapter {
        match self {
            Lowers::Simulated(address) => {
                Box::new(Erased(Grounded(CheckedDatagrams::<M>::checked(address, ROOM))))
            }
            Lowers::Real { registry, pool } => {
                Box::new(Erased(Grounded(Udp::<M>::new(registry, 0, pool))))
            }
        }
    }

    pub(super) fn streams(self) -> Adapter {
        match self {
            Lowers::Simulated(address) => {
                Box::new(Erased(Grounded(SimulatedStreams::<M>::new(address))))
            }
            // What a scenario says does not depend on how the system is set up.
            Lowers::Real { registry, pool } => Box::new(Erased(Grounded(
                Tcp::<M>::new(registry, 0, pool).with_congestion("cubic"),
            ))),
        }
    }
}
