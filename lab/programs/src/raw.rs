//! The least client there can be: `USER PASS TYPE EPSV RETR QUIT`, without a process of its own and
//! without a file. What it measures is the server.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Instant;

use crate::control::Control;

/// Fetches a file of `octets` and throws it away; tells the seconds from connecting to the
/// farewell.
///
/// # Errors
///
/// When the server refuses, or sends another number of octets.
pub fn fetch(server: SocketAddr, name: &str, octets: usize) -> io::Result<f64> {
    let begin = Instant::now();
    let got = attempt(server, name)?;
    let seconds = begin.elapsed().as_secs_f64();
    if got == octets {
        Ok(seconds)
    } else {
        Err(io::Error::other(format!("{name} has {octets} octets, {got} came")))
    }
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
    // vsftpd lingers in its close until ours arrives, and says 226 only then: 40 ms late if we
    // waited for it first.
    drop(data);
    control.expect(226)?;
    control.ask("QUIT")?;
    Ok(got)
}
