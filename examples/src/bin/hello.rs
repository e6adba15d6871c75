//! A message from one end of an association to the other: the first example of the README.

use stackwright::{compose::Over, wire::BufferTree};
use stackwright_artp as artp;
use stackwright_endpoint::{Config, Endpoint, System};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stack = |system: &System| {
        let config = artp::Config::new(system.secret());
        Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
    };
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0), Config::default(), stack).await?;
    let here = endpoint.local().ok_or("not listening")?;
    let (one, other) = tokio::try_join!(endpoint.connect(here), endpoint.accept())?;
    one.send(b"hello").await?;
    let (octets, _) = other.receive().await?;
    println!("{}", String::from_utf8_lossy(&octets));
    Ok(())
}
