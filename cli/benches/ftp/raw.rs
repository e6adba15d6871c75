//! The least client there can be: `USER PASS TYPE EPSV RETR QUIT`, without a process of its own and without a file. What it
//! measures is the server.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Instant;

use crate::control::Control;

/// Fetches a file of `octets` and throws it away; tells the seconds from connecting to the farewell.
pub(crate) fn fetch(server: SocketAddr, name: &str, octets: usize) -> f64 {
    let begin = Instant::now();
    let got = attempt(server, name).unwrap_or_else(|error| panic!("{server}, {name}: {error}"));
    let seconds = begin.elapsed().as_secs_f64();
    assert_eq!(got, octets, "{server}, {name}");
    seconds
}

fn attempt(server: SocketAddr, name: &str) -> io::Result<usize> {
    let mut control = Control::guest(server)?;
    let mut data = control.begin(&format!("RETR {name}"))?;
    let mut buffer = vec![0; 262_144];
    let mut got = 0;
    loop {
        match data.read(&mut buffer)? {
            0 => break,
            length => got += length,
        }
    }
    // vsftpd lingers in its close until ours arrives, and says 226 only then: 40 ms late if we waited for it first.
    drop(data);
    control.expect(226)?;
    control.ask("QUIT")?;
    Ok(got)
}
