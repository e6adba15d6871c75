//! A client of AGW: of a running station, or another program that serves it.

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use stackwright::agw::{AgwHeader, DATA_MOST};
use stackwright::wire::Header as _;

use crate::address::{host_and_port, resolve};
use crate::problem::Problem;

/// The usual port of AGW.
const AGW_PORT: u16 = 8000;

/// How long a server may take for each answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// A connection to a server of AGW.
pub(crate) struct AgwClient {
    /// Where it is, as the command says it.
    place: String,
    stream: TcpStream,
}

impl AgwClient {
    /// Connects to `HOST:PORT`, or `HOST`.
    pub(crate) fn connect(place: &str) -> Result<Self, Problem> {
        let (host, port) =
            host_and_port(place).map_err(|why| Problem::Unfit { what: place.into(), why })?;
        let mut last = ErrorKind::AddrNotAvailable.into();
        for address in resolve(&host, port.unwrap_or(AGW_PORT))? {
            match TcpStream::connect_timeout(&address, ANSWERS_WITHIN) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
                    return Ok(AgwClient { place: place.into(), stream });
                }
                Err(why) => last = why,
            }
        }
        Err(Self::failed(place, &last))
    }

    fn failed(place: &str, why: &Error) -> Problem {
        Problem::Nobody { url: place.into(), why: why.to_string() }
    }

    /// Asks for something, with `data` behind the header.
    pub(crate) fn ask(&mut self, header: AgwHeader, data: &[u8]) -> Result<(), Problem> {
        let mut frame = vec![0; AgwHeader::LENGTH];
        AgwHeader { length: data.len() as u32, ..header }.encode(&mut frame);
        frame.extend_from_slice(data);
        self.stream.write_all(&frame).map_err(|why| Self::failed(&self.place, &why))
    }

    /// Returns the next frame of the server.
    pub(crate) fn answer(&mut self) -> Result<(AgwHeader, Vec<u8>), Problem> {
        self.read().map_err(|why| Self::failed(&self.place, &why))
    }

    fn read(&mut self) -> Result<(AgwHeader, Vec<u8>), Error> {
        let mut head = [0; AgwHeader::LENGTH];
        self.stream.read_exact(&mut head)?;
        let header = AgwHeader::decode(&head).map_err(Error::other)?;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        if length > DATA_MOST {
            return Err(Error::other("a frame that is too long"));
        }
        let mut data = vec![0; length];
        self.stream.read_exact(&mut data)?;
        Ok((header, data))
    }

    /// Returns the same connection for another thread, which waits for frames without end.
    pub(crate) fn listening(&self) -> Result<Self, Problem> {
        self.stream.set_read_timeout(None)?;
        Ok(AgwClient { place: self.place.clone(), stream: self.stream.try_clone()? })
    }
}
