//! An end in Rust, by calls that block: what `end.c` does over ARTP, on the stack that the C
//! interface has.

use std::io::IoSliceMut;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use clap::{Args, ValueEnum};
use stackwright::compose::Over;
use stackwright_artp as artp;
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, Error, Stack, System};
use stackwright_results::Problem;
use stackwright_wire::BufferTree;

/// Takes part in the table `bindings`.
#[derive(Args, Debug)]
pub(crate) struct BindingsEnd {
    work: BindingsWork,
    /// The octets of a message.
    length: usize,
    /// The peer's port, and how long; a server without.
    #[arg(requires = "seconds")]
    port: Option<u16>,
    #[arg(default_value_t = 0.0)]
    seconds: f64,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum BindingsWork {
    /// A message and the same back: seconds an exchange.
    Echo,
    /// Messages one way, until the last has arrived: Mb/s.
    Bulk,
}

impl BindingsEnd {
    /// Does it, and prints the port of a server, or the figure.
    ///
    /// # Errors
    /// The endpoint's.
    pub(crate) fn run(&self) -> Result<(), Problem> {
        self.obey().map_err(|why| Problem::new(why.to_string()))
    }

    fn obey(&self) -> Result<(), Error> {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let Some(port) = self.port else {
            let endpoint = Endpoint::bind(at(0), Config::default(), stack)?;
            println!("{}", endpoint.local().map_or(0, |local| local.port()));
            return self.serve(endpoint.accept()?);
        };
        let endpoint = Endpoint::new(Config::default(), stack)?;
        println!("{:.12}", self.ask(endpoint.connect(at(port))?)?);
        Ok(())
    }

    fn serve(&self, peer: Association<impl Stack>) -> Result<(), Error> {
        let mut room = vec![0; self.length];
        let end = loop {
            match peer.receive_into(&mut [IoSliceMut::new(&mut room)]) {
                Err(end) => break end,
                Ok(_) if self.work == BindingsWork::Echo => peer.send(&room)?,
                Ok(_) => {}
            }
        };
        if end.is_finished() { peer.close() } else { Err(end) }
    }

    fn ask(&self, peer: Association<impl Stack>) -> Result<f64, Error> {
        let mut room = vec![0; self.length];
        let (begin, mut messages) = (Instant::now(), 0.0);
        while begin.elapsed().as_secs_f64() < self.seconds {
            peer.send(&room)?;
            if self.work == BindingsWork::Echo {
                peer.receive_into(&mut [IoSliceMut::new(&mut room)])?;
            }
            messages += 1.0;
        }
        let exchange = begin.elapsed().as_secs_f64() / messages;
        peer.close()?;
        let rate = 8e-6 * messages * self.length as f64 / begin.elapsed().as_secs_f64();
        Ok(if self.work == BindingsWork::Echo { exchange } else { rate })
    }
}

fn stack(system: &System) -> impl Stack + use<> {
    let config =
        artp::Config { epoch: system.epoch(), expires: true, ..artp::Config::new(system.secret()) };
    let pool = System::pool();
    let artp = artp::layer_sharing::<BufferTree>(config, system.seed(), pool.clone());
    Over::new(artp, system.udp_with(pool))
}
