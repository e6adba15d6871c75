//! A radio channel without radios: it runs by the clock, and each of its stations has a TNC that
//! programs reach by KISS over TCP.
//!
//! ```
//! use stackwright::channel::{ChannelDescription, RadioChannel};
//! let text = "rate = '1200 b/s'\nspeed = 20\n\
//!             [[station]]\nname = 'N0AAA'\nkiss = '127.0.0.1:0'\n\
//!             [[station]]\nname = 'N0BBB'\nkiss = '127.0.0.1:0'\n";
//! let channel = RadioChannel::start(&ChannelDescription::read(text)?)?;
//! assert_ne!(channel.tnc(0), channel.tnc(1));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use stackwright_contract::services::FramesIndication;
use stackwright_contract::{Either, Outlet, RequestOf};
use stackwright_drivers::air::Air;
pub use stackwright_drivers::air::LiveChannel;
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::{Driver, Waker};
use stackwright_kiss::{ChannelAccess, Hub, HubConfig};
use stackwright_simulator::AccessParameters;
pub use stackwright_simulator::{
    Activity, ChannelCounts, ChannelDescription, ChannelFlaw, HdlcFrame, OnAir, StationDescription,
};
use stackwright_wire::{BufferTree, Pool};

use crate::compose::{Beside, Over};

/// The TNC of a station: programs share what is on the air.
type Tnc = Over<Hub<BufferTree>, Beside<Tcp<BufferTree>, Air<BufferTree>>>;

/// A channel that runs, until it is dropped.
pub struct RadioChannel {
    live: LiveChannel,
    stations: Vec<Running>,
}

/// The thread of a station.
struct Running {
    tnc: Option<SocketAddr>,
    ends: Arc<AtomicBool>,
    waker: Option<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl RadioChannel {
    /// Starts a channel: the TNCs listen when it returns.
    ///
    /// # Errors
    /// If a TNC cannot listen at its address, or the operating system has no more threads or
    /// descriptors.
    pub fn start(description: &ChannelDescription) -> io::Result<Self> {
        let live = LiveChannel::new(description);
        let mut channel = RadioChannel { live, stations: Vec::new() };
        for (index, station) in description.stations.iter().enumerate() {
            let running = match station.kiss {
                Some(at) => Running::start(&channel.live, index, at, description)?,
                None => Running { tnc: None, ends: Arc::default(), waker: None, thread: None },
            };
            channel.stations.push(running);
        }
        Ok(channel)
    }

    /// Returns where programs find the TNC of a station, if it has one.
    pub fn tnc(&self, station: usize) -> Option<SocketAddr> {
        self.stations.get(station)?.tnc
    }

    /// Returns the channel: what stations did, the counters, the time on the air.
    pub fn live(&self) -> &LiveChannel {
        &self.live
    }
}

impl Drop for RadioChannel {
    fn drop(&mut self) {
        for station in &self.stations {
            station.ends.store(true, Relaxed);
            // Where it cannot be woken, its next event ends it.
            let _ = station.waker.as_ref().map(Waker::wake);
        }
        for station in &mut self.stations {
            let _ = station.thread.take().map(JoinHandle::join);
        }
    }
}

impl Running {
    fn start(
        live: &LiveChannel,
        index: usize,
        at: SocketAddr,
        description: &ChannelDescription,
    ) -> io::Result<Self> {
        let driver = Driver::new(description.seed ^ index as u64)?;
        let pool = Arc::new(Pool::new(4096, 64));
        let config = HubConfig { longest: description.longest, ..HubConfig::at(at) };
        let config = HubConfig { room: live.room(), ..config };
        let air = live.station(index, &driver, Arc::clone(&pool))?;
        let tcp = Tcp::new(driver.registry(), 0, Arc::clone(&pool));
        let tnc = Over::new(Hub::new(config, pool), Beside::new(tcp, air));
        let (ends, waker) = (Arc::new(AtomicBool::new(false)), driver.waker()?);
        let (said, listens) = mpsc::channel();
        let station = Served { live: live.clone(), index, driver, tnc, ends: Arc::clone(&ends) };
        let thread = std::thread::Builder::new().name(format!("station {index}"));
        let thread = thread.spawn(move || station.run(&said))?;
        let tnc = listens.recv().unwrap_or_else(|_| Err(io::ErrorKind::AddrNotAvailable.into()));
        match tnc {
            Ok(tnc) => {
                Ok(Running { tnc: Some(tnc), ends, waker: Some(waker), thread: Some(thread) })
            }
            Err(why) => {
                let _ = thread.join();
                Err(io::Error::new(why.kind(), format!("{at}: {why}")))
            }
        }
    }
}

/// A station, on its thread.
struct Served {
    live: LiveChannel,
    index: usize,
    driver: Driver,
    tnc: Tnc,
    ends: Arc<AtomicBool>,
}

impl Served {
    fn run(mut self, said: &mpsc::Sender<io::Result<SocketAddr>>) {
        let mut listens = false;
        let own = self.live.access(self.index);
        let mut set = ChannelAccess::default();
        while !self.ends.load(Relaxed) {
            if let Err(why) = self.driver.turn(&mut self.tnc, &mut Nobody, None) {
                let _ = said.send(Err(why));
                return;
            }
            match self.tnc.upper.listening() {
                Some(Ok(there)) if !listens => {
                    listens = true;
                    let _ = there.internet().map(|there| said.send(Ok(there)));
                }
                Some(Err(why)) => {
                    let _ = said.send(Err(io::Error::other(why.to_string())));
                    return;
                }
                _ => {}
            }
            let access = self.tnc.upper.access(0);
            if access != set {
                set = access;
                self.live.set_access(self.index, told(own, access));
            }
        }
    }
}

/// Returns the access of a station to which programs have said something.
fn told(own: AccessParameters, said: ChannelAccess) -> AccessParameters {
    AccessParameters {
        key_up: said.tx_delay.unwrap_or(own.key_up),
        tail: said.tx_tail.unwrap_or(own.tail),
        // A slot of nothing would be drawn without end.
        slot: said.slot_time.filter(|slot| !slot.is_zero()).unwrap_or(own.slot),
        persistence: said
            .persistence
            .map_or(own.persistence, |units| (f64::from(units) + 1.0) / 256.0),
        full_duplex: said.full_duplex.unwrap_or(own.full_duplex),
    }
}

/// Nothing is above the hub.
struct Nobody;

impl Outlet<Tnc> for Nobody {
    fn indicate(&mut self, _: FramesIndication<BufferTree>) {}

    fn request(&mut self, never: RequestOf<Tnc>) {
        match never {
            Either::Left(never) | Either::Right(never) => match never {},
        }
    }
}
