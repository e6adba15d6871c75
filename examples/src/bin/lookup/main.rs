//! The protocol of `docs/your-protocol-in-thirty-lines.md` between two processes.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use stackwright::compose::Over;
use stackwright::contract::services::Credit;
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::drivers::{Driver, udp::Udp};
use stackwright::wire::{BufferTree, Message, Pool};
use stackwright_role::{RoleIndication, RoleLayer, RolePart, RoleRequest, Speaking};

#[rustfmt::skip]
mod network; // it is generated

type Octets = BufferTree;

/// The server's application.
struct Names;

impl network::server::Functions<Octets> for Names {
    fn address(&self, name: &Octets) -> u32 {
        let mut octets = vec![0; name.len()];
        name.copy_to(&mut octets);
        if octets == b"printer" { 0x0a00_0001 } else { 0 }
    }
}

/// The client's: the name that is asked for.
struct Asked(Option<Octets>);

impl network::client::Functions<Octets> for Asked {
    fn keep(&mut self, name: &Octets) {
        self.0 = Some(name.share());
    }

    fn kept(&self) -> Octets {
        self.0.as_ref().expect("it is kept before it is sent").share()
    }
}

/// What a role tells, until the program looks at it.
struct Told<O>(Vec<RoleIndication<O>>);

impl<S: Protocol<Provides = Speaking<I, O>>, I, O> Outlet<S> for Told<O> {
    fn indicate(&mut self, told: RoleIndication<O>) {
        self.0.push(told);
    }

    fn request(&mut self, request: RequestOf<S>) {
        let _ = request; // nothing is below UDP but the system
    }
}

/// Each association has a part of its own.
type Stack<P, N> = Over<RoleLayer<Octets, P, N>, Udp<Octets>>;

fn stack<P: RolePart<Octets>, N: FnMut() -> P>(driver: &Driver, part: N) -> Stack<P, N> {
    let pool = Arc::new(Pool::new(64 << 10, 64));
    Over::new(RoleLayer::new(part), Udp::new(driver.registry(), 0, pool))
}

/// How much may arrive before the role hears it.
const CREDIT: Credit = Credit { octets: 16 << 10, messages: 16 };
const FIRST: Handle = Handle { index: 0, generation: 0 };
/// Clients at a time.
const CLIENTS: u32 = 256;

fn serve(local: SocketAddr) -> Result<(), Box<dyn Error>> {
    let mut driver = Driver::new(fastrand::u64(..))?;
    let mut stack = stack(&driver, || network::server::Part::new(Names));
    let mut told = Told(Vec::new());
    let listen = RoleRequest::Listen { listener: FIRST, local: local.into() };
    driver.request(&mut stack, listen, &mut told);
    let mut free: Vec<_> = (1..=CLIENTS).map(|index| Handle { index, generation: 0 }).collect();
    loop {
        for one in told.0.drain(..) {
            match one {
                RoleIndication::Listening { local, .. } => println!("listening at {local}"),
                RoleIndication::Ended { name: FIRST, why } => return Err(why.into()),
                RoleIndication::Ended { name, .. } => free.push(name),
                _ => {}
            }
        }
        // A name is used once: the next client has it with another generation.
        for Handle { index, generation } in free.drain(..) {
            let association = Handle { index, generation: generation + 1 };
            let awaits = RoleRequest::Await { listener: FIRST, association, credit: CREDIT };
            driver.request(&mut stack, awaits, &mut told);
        }
        driver.turn(&mut stack, &mut told, None)?;
    }
}

fn ask(server: SocketAddr, name: &str) -> Result<(), Box<dyn Error>> {
    let mut driver = Driver::new(fastrand::u64(..))?;
    let mut stack = stack(&driver, || network::client::Part::new(Asked(None)));
    let mut told = Told(Vec::new());
    let (association, remote) = (FIRST, server.into());
    let open = RoleRequest::Open { association, remote, local: None, credit: CREDIT };
    driver.request(&mut stack, open, &mut told);
    // It is held until the association is open.
    let input = network::client::Input::Find { name: Octets::with_headroom(64, name.as_bytes()) };
    driver.request(&mut stack, RoleRequest::Tell { association, input }, &mut told);
    loop {
        for one in told.0.drain(..) {
            match one {
                RoleIndication::Told {
                    output: network::client::Output::Found { address }, ..
                } => {
                    println!("{name} is {}", Ipv4Addr::from(address));
                    return Ok(());
                }
                RoleIndication::Told { .. } => return Err("no answer".into()),
                RoleIndication::Ended { why, .. } => return Err(why.into()),
                _ => {}
            }
        }
        driver.turn(&mut stack, &mut told, None)?;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", local] => serve(local.parse()?),
        ["ask", server, name] => ask(server.parse()?, name),
        _ => Err("usage: lookup serve ADDRESS:PORT | lookup ask ADDRESS:PORT NAME".into()),
    }
}
