//! A message from one end of an association to the other: the first example of the README.

use stackwright::endpoint::{Config, multi_thread::Endpoint};
use stackwright::stacks;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0), Config::default(), stacks::artp).await?;
    let here = endpoint.local().ok_or("not listening")?;
    let (one, other) = tokio::try_join!(endpoint.connect(here), endpoint.accept())?;
    tokio::spawn(async move { one.send(b"hello").await });
    let (octets, _) = other.receive().await?;
    println!("{}", String::from_utf8_lossy(&octets));
    Ok(())
}
