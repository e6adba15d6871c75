//! A transport that has the services which an image server needs, and no other, over UDP.
//! `stackwright spec gen --transport protocols/jis/src/jis.protocol` writes its module.
//!
//! ```text
//! tailored serve 127.0.0.1:4370
//! tailored call 127.0.0.1:4370
//! ```

use std::error::Error;
use std::net::SocketAddr;

use stackwright::compose::Over;
use stackwright::drivers::udp::Udp;
use stackwright::endpoint::{Config, System, multi_thread::Endpoint};
use stackwright::tailored::{self, Layer, Named};
use stackwright::wire::BufferTree;
use transport::ImagePolicies;

#[rustfmt::skip]
mod transport; // it is generated

type Images = Named<ImagePolicies<BufferTree>>;
type Stack = Over<Layer<Images>, Udp<BufferTree>>;

const MESSAGES: usize = 100;
const OCTETS: usize = 10_000;

fn stack(system: &System) -> Stack {
    let host = transport::image_host(tailored::Config::new(system.secret()));
    Over::new(tailored::layer_of(host, system.seed()), system.udp())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let manner = arguments.next();
    let address = arguments.next().unwrap_or("127.0.0.1:4370".into()).parse::<SocketAddr>()?;
    match manner.as_deref() {
        Some("serve") => serve(address).await,
        Some("call") => call(address).await,
        _ => Err("usage: tailored serve|call [ADDRESS]".into()),
    }
}

async fn serve(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(address, Config::default(), stack).await?;
    println!("{}", endpoint.local().ok_or("not listening")?);
    loop {
        let caller = endpoint.accept().await?;
        tokio::spawn(async move {
            let mut octets = 0;
            // Messages arrive in any order: the last is known by their count.
            for _ in 0..MESSAGES {
                let Ok((message, _)) = caller.receive().await else { return };
                octets += message.len();
            }
            let _ = caller.send(octets.to_string().as_bytes()).await;
            // Until the caller has it, and ends the association.
            let _ = caller.receive().await;
        });
    }
}

async fn call(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::new(Config::default(), stack)?;
    let server = endpoint.connect(address).await?;
    for _ in 0..MESSAGES {
        server.send(&[7; OCTETS]).await?;
    }
    let (octets, _) = server.receive().await?;
    println!("{} octets arrived", String::from_utf8_lossy(&octets));
    Ok(())
}
