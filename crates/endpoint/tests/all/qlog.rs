//! A log of an association, on request.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_endpoint::{Config, System, blocking::Endpoint};
use stackwright_wire::BufferTree;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn it_tells_of_the_opening_the_path_and_the_end() {
    let stack = |system: &System| {
        let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
    };
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let endpoint = Endpoint::bind(any, Config::default(), stack).unwrap();
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let other = endpoint.accept().unwrap();
    let kept = Kept::default();
    one.qlog(kept.clone());
    for _ in 0..10 {
        one.send(&[7; 20_000]).unwrap();
        other.receive().unwrap();
    }
    let place = one.local().unwrap();
    one.close().unwrap();
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    // RFC 7464: each record begins with RS and ends with LF.
    let records: Vec<_> = text.split_terminator('\n').collect();
    assert!(records.iter().all(|record| record.starts_with("\x1e{") && record.ends_with('}')));
    assert!(records[0].contains(r#""qlog_format":"JSON-SEQ""#), "{text}");
    assert!(records[1].contains("connectivity:connection_started"), "{text}");
    assert!(records[1].contains(&format!(r#""src_port":{}"#, place.port())), "{text}");
    let mut paths = records.iter().filter(|record| record.contains("recovery:metrics_updated"));
    let path = paths.next_back().unwrap();
    for field in ["smoothed_rtt", "min_rtt", "congestion_window", "bytes_in_flight"] {
        assert!(path.contains(field), "{path}");
    }
    assert!(records.last().unwrap().contains("connectivity:connection_closed"), "{text}");
}
