//! A chat: a server that tells everybody what one says, and clients. Many associations, one thread
//! on each side.
//!
//! ```text
//! cargo run --release -p stackwright-examples --bin chat -- serve 127.0.0.1:7001
//! cargo run --release -p stackwright-examples --bin chat -- 127.0.0.1:7001 anna     # in a second terminal, and a third
//! ```

use std::env;
use std::error::Error;
use std::io::{self, BufRead};
use std::iter;
use std::net::SocketAddr;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::Duration;

use stackwright::contract::services::MessageProperties;
use stackwright_endpoint::{Config, blocking::Endpoint};
use stackwright_examples::{ArtpAssociation, artp};

/// How long a client listens to the server before it looks whether something was typed.
const LOOK: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", place] => serve(place.parse()?),
        [place, name] => talk(place.parse()?, name),
        _ => Err("chat serve ADDRESS:PORT, or chat ADDRESS:PORT NAME".into()),
    }
}

fn serve(place: SocketAddr) -> Result<(), Box<dyn Error>> {
    let server = Endpoint::bind(place, Config::default(), artp)?;
    println!("a chat at {}", server.local().unwrap_or(place));
    let mut guests: Vec<ArtpAssociation> = Vec::new();
    loop {
        server.wait(None)?;
        guests.extend(iter::from_fn(|| server.try_accept().ok()));
        let heard = |guest| iter::from_fn(move || ArtpAssociation::try_receive(guest).ok());
        let lines: Vec<_> = guests.iter().flat_map(heard).collect();
        for (line, _) in lines {
            println!("{}", String::from_utf8_lossy(&line));
            for guest in &guests {
                // Who does not keep up misses a line, and stops nobody.
                let _ = guest.try_send(&line, MessageProperties::default());
            }
        }
        guests.retain(|guest| !guest.has_ended());
    }
}

fn talk(place: SocketAddr, name: &str) -> Result<(), Box<dyn Error>> {
    let client = Endpoint::new(Config::default(), artp)?;
    let server = client.connect(place)?;
    server.send(format!("{name} is here").as_bytes())?;
    let (tell, typed) = mpsc::channel();
    thread::spawn(move || {
        io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
    });
    loop {
        match typed.try_recv() {
            Ok(line) => server.send(format!("{name}: {line}").as_bytes())?,
            Err(TryRecvError::Disconnected) => return Ok(server.close()?),
            Err(TryRecvError::Empty) => drop(client.wait(Some(LOOK))?),
        }
        while let Ok((line, _)) = server.try_receive() {
            println!("{}", String::from_utf8_lossy(&line));
        }
        if server.has_ended() {
            return Err("the server has gone".into());
        }
    }
}
