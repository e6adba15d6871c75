//! Addresses of lines to a TNC: `serial:///dev/ttyUSB0?baud=9600`, `pty:PATH`, `tcp://host:8001`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use stackwright::wire::Pool;
use stackwright_drivers::Driver;
use stackwright_drivers::line::Line;

use crate::address::{host_and_port, resolve};
use crate::problem::Problem;
use crate::stacks::Message;

/// The port at which Direwolf and others offer KISS.
pub(crate) const KISS_PORT: u16 = 8001;

/// The speed of a serial line where none is said, in bit/s.
const BAUD: u32 = 9600;

/// Where a line goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LineAddress {
    /// A serial device.
    Serial { path: PathBuf, baud: u32 },
    /// A pseudo terminal that is made here.
    Pty { link: PathBuf },
    /// A device server.
    Tcp { host: String, port: u16 },
}

impl LineAddress {
    /// Takes an address apart.
    ///
    /// # Errors
    /// Says what is wrong with it, and what to write in its place.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.contains(char::is_control) {
            return Err("it contains control characters");
        }
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(if text.starts_with('/') {
                "write serial:// before the path of a device, as in serial:///dev/ttyUSB0"
            } else {
                "it has no scheme; write tcp://host:8001, serial:///dev/ttyUSB0 or pty:PATH"
            });
        };
        match scheme.to_ascii_lowercase().as_str() {
            "serial" => serial(rest),
            "pty" => pty(rest),
            "tcp" => tcp(rest),
            _ if rest.bytes().all(|octet| octet.is_ascii_digit()) => {
                Err("write tcp:// before a host and its port, as in tcp://host:8001")
            }
            _ => Err("the scheme is not tcp, serial, pty or axudp"),
        }
    }

    /// Opens it in a lane of `driver`. What is at its other end need not be there yet.
    pub(crate) fn open(
        self,
        driver: &Driver,
        lane: usize,
        pool: Arc<Pool<Message>>,
    ) -> Result<Line<Message>, Problem> {
        let registry = driver.registry();
        Ok(match self {
            LineAddress::Serial { path, baud } => Line::serial(path, baud, registry, lane, pool),
            LineAddress::Pty { link } => Line::pty(&link, registry, lane, pool)
                .map_err(|why| Problem::Path { path: link, why })?,
            LineAddress::Tcp { host, port } => {
                Line::tcp(resolve(&host, port)?, registry, lane, pool)
            }
        })
    }
}

fn serial(rest: &str) -> Result<LineAddress, &'static str> {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = decoded(path)?;
    if !path.is_absolute() {
        return Err("the device needs its whole path, as in serial:///dev/ttyUSB0");
    }
    let mut baud = BAUD;
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let number = setting.strip_prefix("baud=").ok_or("after the ? only baud may be set")?;
        let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
        baud = number
            .parse()
            .ok()
            .filter(|baud| is_number && (1..=20_000_000).contains(baud))
            .ok_or("baud is a number of bit/s, as in ?baud=9600")?;
    }
    Ok(LineAddress::Serial { path, baud })
}

fn pty(rest: &str) -> Result<LineAddress, &'static str> {
    let link = decoded(rest.strip_prefix("//").unwrap_or(rest))?;
    if link == Path::new("") {
        return Err("it does not say where to put the terminal; write pty:PATH, as in pty:./tnc");
    }
    Ok(LineAddress::Pty { link })
}

fn tcp(rest: &str) -> Result<LineAddress, &'static str> {
    let place = rest.strip_prefix("//").ok_or("write // before the host, as in tcp://host:8001")?;
    let place = place.strip_suffix('/').unwrap_or(place);
    if place.contains(['/', '?', '#', '@']) {
        return Err("only a host and a port may stand in it, as in tcp://host:8001");
    }
    let (host, port) = host_and_port(place)?;
    match port {
        Some(0) => Err("port 0 is no port of a TNC"),
        port => Ok(LineAddress::Tcp { host, port: port.unwrap_or(KISS_PORT) }),
    }
}

fn decoded(path: &str) -> Result<PathBuf, &'static str> {
    let path = percent_decode_str(path).decode_utf8().map_err(|_| "the path is not UTF-8")?;
    if path.contains('\0') {
        return Err("the path contains a zero octet");
    }
    Ok(PathBuf::from(path.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_device_a_terminal_or_a_host() {
        let serial = |path: &str, baud| LineAddress::Serial { path: path.into(), baud };
        let pty = |link: &str| LineAddress::Pty { link: link.into() };
        let tcp = |host: &str, port| LineAddress::Tcp { host: host.into(), port };
        for (text, line) in [
            ("serial:///dev/ttyUSB0?baud=9600", serial("/dev/ttyUSB0", 9600)),
            ("serial:///dev/ttyUSB0", serial("/dev/ttyUSB0", 9600)),
            ("serial:/dev/ttyACM1?baud=12345", serial("/dev/ttyACM1", 12_345)),
            (" SERIAL:///dev/a%20b? ", serial("/dev/a b", 9600)),
            ("pty:./tnc", pty("./tnc")),
            ("pty:///tmp/tnc", pty("/tmp/tnc")),
            ("tcp://127.0.0.1:8101", tcp("127.0.0.1", 8101)),
            ("tcp://Tnc.example", tcp("tnc.example", 8001)),
            ("tcp://[::1]:8001/", tcp("[::1]", 8001)),
        ] {
            assert_eq!(LineAddress::parse(text), Ok(line), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (text, says) in [
            ("", "tcp://host:8001"),
            ("ttyUSB0", "serial:///dev/ttyUSB0"),
            ("/dev/ttyUSB0", "serial:// before"),
            ("localhost:8001", "tcp:// before"),
            ("udp://host:8001", "tcp, serial, pty or axudp"),
            ("serial://ttyUSB0", "whole path"),
            ("serial:", "whole path"),
            ("serial:///dev/ttyUSB0?speed=9600", "only baud"),
            ("serial:///dev/ttyUSB0?baud=fast", "?baud=9600"),
            ("serial:///dev/ttyUSB0?baud=+9600", "?baud=9600"),
            ("serial:///dev/ttyUSB0?baud=0", "?baud=9600"),
            ("serial:///dev/%00", "zero octet"),
            ("pty:", "pty:PATH"),
            ("tcp:host", "tcp://host:8001"),
            ("tcp://", "no host"),
            ("tcp://host:0", "port 0"),
            ("tcp://host:70000", "65535"),
            ("tcp://me@host", "only a host and a port"),
            ("tcp://host/path", "only a host and a port"),
            ("tcp://::1", "brackets"),
            ("tcp://host\n", ""),
            ("tcp://ho\nst", "control characters"),
        ] {
            match LineAddress::parse(text) {
                Err(why) => assert!(why.contains(says), "{text}: {why}"),
                Ok(_) => assert_eq!(says, "", "{text}"),
            }
        }
    }
}
