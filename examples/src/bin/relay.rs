//! An active router: whoever arrives is led onward, and each datagram is changed on its way. This
//! one speaks up.
//!
//! ```text
//! cargo run --release -p stackwright-examples --bin chat -- serve 127.0.0.1:7001
//! cargo run --release -p stackwright-examples --bin relay -- 127.0.0.1:7003 127.0.0.1:7001   # in a second terminal
//! cargo run --release -p stackwright-examples --bin chat -- 127.0.0.1:7003 anna              # in a third one
//! ```

use std::env;
use std::error::Error;
use std::net::SocketAddr;

use stackwright::compose::Over;
use stackwright::contract::Outlet;
use stackwright::contract::services::MessageProperties;
use stackwright::wire::{BufferTree, Message};
use stackwright_drivers::Stop;
use stackwright_endpoint::System;
use stackwright_examples::artp;
use stackwright_relay::{Arrival, Config, Direction, Indication, Relay, Relaying, Request};

fn main() -> Result<(), Box<dyn Error>> {
    let mut places = env::args().skip(1).map(|place| place.parse::<SocketAddr>());
    let (Some(local), Some(onward)) = (places.next().transpose()?, places.next().transpose()?)
    else {
        return Err(
            "relay ADDRESS:PORT, where it listens, and ADDRESS:PORT, where it leads to".into()
        );
    };
    let (mut driver, system) = System::with_driver()?;
    let whither = move |_: Arrival| Some(onward.into());
    let mut stack = Over::new(Relay::new(Config::default(), whither, speak_up), artp(&system));
    driver.request(&mut stack, Request::Relay { local: local.into() }, &mut Ears);
    Ok(driver.run(&mut stack, &mut Ears)?)
}

/// What becomes of a datagram.
fn speak_up(
    direction: Direction,
    message: BufferTree,
    properties: MessageProperties,
) -> Option<(BufferTree, MessageProperties)> {
    if direction == Direction::Back {
        return Some((message, properties)); // untouched, and not copied
    }
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets.make_ascii_uppercase();
    Some((BufferTree::with_headroom(128, &octets), properties))
}

/// Says what happens, and never stops.
struct Ears;

impl<P: stackwright::contract::Protocol<Provides = Relaying>> Outlet<P> for Ears {
    fn indicate(&mut self, indication: Indication) {
        match indication {
            Indication::Relaying { local } => println!("relaying at {local}"),
            Indication::NotRelaying { why } => println!("not relaying: {why}"),
            Indication::Arrived { peer, onward } => println!("{peer} is led to {onward}"),
            Indication::Left { peer, why, passed: [there, back], .. } => {
                println!("{peer} left ({why}): {there} datagrams onward, {back} back");
            }
        }
    }

    fn request(&mut self, _nothing_is_below: stackwright::contract::RequestOf<P>) {}
}

impl Stop for Ears {
    fn stops(&self) -> bool {
        false
    }
}
