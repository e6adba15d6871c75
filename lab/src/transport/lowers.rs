//! What a transport may stand on: the kernel's two, real or simulated.

use std::net::IpAddr;
use std::sync::Arc;

use stackwright::wire::Pool;
use stackwright_contract::services::{Credit, Datagrams, Streams};
use stackwright_contract::{Protocol, Service};
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::udp::Udp;
use stackwright_drivers::{Readiness, Registry};
use stackwright_simulator::{CheckedDatagrams, Segments, SimulatedStreams};

use super::M;

/// One of the two.
pub(crate) trait Lowers {
    /// What both use.
    type Uses: Service;
    type Datagrams: Protocol<Provides = Datagrams<M>, Uses = Self::Uses> + 'static;
    type Streams: Protocol<Provides = Streams<M>, Uses = Self::Uses> + 'static;
    fn datagrams(self) -> Self::Datagrams;
    fn streams(self) -> Self::Streams;
}

/// At an address in the simulator.
pub(crate) struct Simulated(pub(crate) IpAddr);

/// What a simulated adapter takes in a batch.
const ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

impl Lowers for Simulated {
    type Uses = Segments<M>;
    type Datagrams = CheckedDatagrams<M>;
    type Streams = SimulatedStreams<M>;

    fn datagrams(self) -> Self::Datagrams {
        CheckedDatagrams::checked(self.0, ROOM)
    }

    fn streams(self) -> Self::Streams {
        SimulatedStreams::new(self.0)
    }
}

/// Of this machine, for one stack.
pub(crate) struct Real {
    pub(crate) registry: Arc<Registry>,
    pub(crate) pool: Arc<Pool<M>>,
}

impl Lowers for Real {
    type Uses = Readiness;
    type Datagrams = Udp<M>;
    type Streams = Tcp<M>;

    fn datagrams(self) -> Udp<M> {
        Udp::new(self.registry, 0, self.pool)
    }

    fn streams(self) -> Tcp<M> {
        // What a scenario says does not depend on how the system is set up.
        Tcp::new(self.registry, 0, self.pool).with_congestion("cubic")
    }
}
