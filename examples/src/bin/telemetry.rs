//! Readings, one each millisecond, that are of no use when they are late: each expires 20 ms after
//! it was sent, at both ends. Whoever listens is away for 100 ms now and then; what came meanwhile
//! is dropped, and he goes on with what is new.
//!
//! ```text
//! cargo run --release -p stackwright-examples --bin telemetry -- listen 127.0.0.1:7002
//! cargo run --release -p stackwright-examples --bin telemetry -- send 127.0.0.1:7002 1000     # in a second terminal
//! ```

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use stackwright::contract::services::MessageProperties;
use stackwright_endpoint::{Config, Error::Late, System, blocking::Endpoint};
use stackwright_examples::{Artp, artp_with};

/// For how long a reading is of use, in microseconds.
const LIFETIME: NonZeroU32 = NonZeroU32::new(20_000).unwrap();
/// Each so many readings, the listener is away for so long.
const READINGS: u32 = 200;
const AWAY: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["listen", place] => listen(place.parse()?),
        ["send", place, count] => send(place.parse()?, count.parse()?),
        _ => Err("telemetry listen ADDRESS:PORT, or telemetry send ADDRESS:PORT COUNT".into()),
    }
}

/// Both sides must know that something may never come.
fn expiring(system: &System) -> Artp {
    artp_with(system, |config| config.expires = true)
}

fn microseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

fn listen(place: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(place, Config::default(), expiring)?;
    println!("listening at {}", endpoint.local().unwrap_or(place));
    let station = endpoint.accept()?;
    let (mut heard, mut last, mut oldest) = (0, 0, 0);
    while let Ok((reading, properties)) = station.receive() {
        let sent = reading.first_chunk().map_or(0, |time| u64::from_be_bytes(*time));
        heard += 1;
        last = last.max(properties.number.unwrap_or(0));
        oldest = oldest.max(microseconds().saturating_sub(sent));
        if heard % READINGS == 0 {
            thread::sleep(AWAY);
        }
    }
    println!(
        "{heard} readings heard; the last was number {last}; the oldest had {} ms",
        oldest / 1000
    );
    Ok(())
}

fn send(place: SocketAddr, count: u32) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::new(Config::default(), expiring)?;
    let station = endpoint.connect(place)?;
    for number in 0..count {
        let properties = MessageProperties {
            lifetime: Some(LIFETIME),
            number: Some(number),
            ..MessageProperties::default()
        };
        let sent = station.send_with(&microseconds().to_be_bytes(), properties);
        // What would come too late is refused: the next reading is a newer one.
        sent.or_else(|error| if matches!(error, Late) { Ok(()) } else { Err(error) })?;
        let next = Instant::now() + Duration::from_millis(1);
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            endpoint.wait(Some(left))?;
        }
    }
    println!("{} readings sent", station.statistics().sent.messages);
    station.close()?;
    Ok(())
}
