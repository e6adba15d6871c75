//! TCP inside a program: a client and a server, each with a stack of its own. Between them are two
//! queues, where a WireGuard library would encrypt; here the wire loses packets, by a seed.
//!
//! ```sh
//! cargo run -p stackwright-examples --bin inside -- 7     # the seed
//! ```

use std::net::{Ipv4Addr, SocketAddr};

use stackwright::compose::Over;
use stackwright::endpoint::frames::{QueuePort, Queues, queues};
use stackwright::endpoint::{Config, Endpoint, System};
use stackwright::ip::{Config as Host, Ip, Point};
use stackwright::tcp::{Config as Tcp, TcpLayer, layer};
use stackwright::wire::BufferTree;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type M = BufferTree;
type Stack = Over<TcpLayer<M>, Over<Ip<M>, Over<Point<M>, QueuePort<M>>>>;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// TCP over IP at an address of its own, over a pair of queues, whose other end stays in `wire`.
fn host(system: &System, own: Ipv4Addr, wire: &mut Option<Queues<M>>) -> Stack {
    let (port, ours) = queues(&system.registry(), 1420, 256).expect("a descriptor");
    *wire = Some(ours);
    let ip = Ip::new(Host { seed: system.seed(), ..Host::host(own.into(), 24) });
    let tcp = layer(Tcp::new(system.secret()), system.seed());
    Over::new(tcp, Over::new(ip, Over::new(Point::default(), port)))
}

/// Carries packets one way, and loses one of twenty.
async fn carry(from: &Queues<M>, to: &Queues<M>, mut random: fastrand::Rng) {
    while let Some(packet) = from.receive().await {
        if random.u8(..20) > 0 {
            // A full queue loses packets, too.
            let _ = to.send(packet);
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed: u64 = std::env::args().nth(1).map_or(Ok(1), |seed| seed.parse())?;
    let (mut near, mut far) = (None, None);
    let here = SocketAddr::from((SERVER, 80));
    let make = |system: &System| host(system, SERVER, &mut far);
    let server = Endpoint::bind(here, Config::default(), make).await?;
    let client = Endpoint::new(Config::default(), |system| host(system, CLIENT, &mut near))?;
    let (near, far) = (near.ok_or("no wire")?, far.ok_or("no wire")?);
    let asks = async {
        let mut stream = client.connect_stream(here).await?;
        stream.write_all(b"a megabyte, please").await?;
        stream.shutdown().await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, Box<dyn std::error::Error>>(answer)
    };
    let answers = async {
        let mut stream = server.accept_stream().await?;
        let mut question = String::new();
        stream.read_to_string(&mut question).await?;
        stream.write_all(&question.as_bytes().repeat(60_000)).await?;
        stream.close().await?;
        // The stack acknowledges what is still on its way.
        Ok::<_, Box<dyn std::error::Error>>(server.run().await)
    };
    let random = fastrand::Rng::with_seed(seed);
    let answer = tokio::select! {
        answer = asks => answer?,
        done = answers => Err(done.err().ok_or("the server is gone")?)?,
        _ = async { tokio::join!(carry(&near, &far, random.clone()), carry(&far, &near, random)) } =>
            return Err("the wire is cut".into()),
    };
    let is_whole = answer == b"a megabyte, please".repeat(60_000);
    println!(
        "{} octets over a lossy wire: {}",
        answer.len(),
        if is_whole { "whole" } else { "damaged" }
    );
    Ok(())
}
