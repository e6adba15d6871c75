//! `perf serve --cores N`: several threads at one address, each with a stack of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use stackwright_endpoint::Config;

use super::serve::{Served, Told, attend, unheard};
use super::transport::{Endpoint, Make};
use crate::problem::Problem;

/// Serves with so many threads, until `stop`.
pub(super) fn serve(
    cores: u16,
    told: &Told<'_>,
    config: Config,
    make: &Make,
    stop: &Arc<AtomicBool>,
) -> Result<(), Problem> {
    let config = Config { shared_port: true, ..config };
    thread::scope(|scope| {
        let (mut begins, mut threads) = (Vec::new(), Vec::new());
        let mut address = told.place.address;
        for _ in 0..cores {
            let (core, make) = (Core { address, config, told, stop }, make.clone());
            let ((says, bound), (begin, begun)) = (channel(), channel());
            threads.push(scope.spawn(move || core.run(&make, &says, &begun)));
            begins.push(begin);
            // The first finds a port, and the others are where it is.
            match bound.recv() {
                Ok(place) => address = place,
                // Why, it says when it is joined.
                Err(_) => {
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
        }
        if threads.len() == usize::from(cores) && !stop.load(Ordering::Relaxed) {
            told.serving(address);
        }
        // All are there: with whom somebody is from now on, he stays.
        drop(begins);
        let served: Vec<_> = threads.into_iter().map(join).collect();
        told.served(&served.into_iter().collect::<Result<Vec<_>, _>>()?);
        Ok(())
    })
}

fn join(thread: ScopedJoinHandle<'_, Result<Served, Problem>>) -> Result<Served, Problem> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One of the threads.
struct Core<'a> {
    address: SocketAddr,
    config: Config,
    told: &'a Told<'a>,
    stop: &'a Arc<AtomicBool>,
}

impl Core<'_> {
    /// Says where it is, and serves when `begins` is hung up.
    fn run(
        self,
        make: &Make,
        says: &Sender<SocketAddr>,
        begins: &Receiver<()>,
    ) -> Result<Served, Problem> {
        let Core { address, config, told, stop } = self;
        let endpoint = Endpoint::bind(address, config, make.stacks())
            .map_err(|error| unheard(address, error))?;
        let _ = says.send(endpoint.local().unwrap_or(address));
        let _ = begins.recv();
        let served = attend(&endpoint, Some(told), stop);
        // Who cannot serve any more leaves peers whom nobody hears.
        stop.store(true, Ordering::Relaxed);
        served
    }
}
