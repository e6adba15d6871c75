//! A program at Direwolf's AGW port: it uses Direwolf's own links.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const HEADER: usize = 36;
/// What Direwolf puts into one frame.
const LONGEST: usize = 256;

pub(crate) struct Agw {
    stream: TcpStream,
    unread: Vec<u8>,
    own: String,
}

/// What Direwolf tells.
pub(crate) struct Event {
    pub(crate) kind: u8,
    pub(crate) from: String,
    pub(crate) data: Vec<u8>,
}

impl Agw {
    /// Registers a call sign.
    pub(crate) fn new(address: SocketAddr, own: &str) -> Self {
        let stream = TcpStream::connect(address).expect("Direwolf listens");
        stream.set_read_timeout(Some(Duration::from_millis(10))).expect("a time");
        let mut agw = Agw { stream, unread: Vec::new(), own: own.into() };
        agw.ask(b'X', "", &[]);
        agw.wait(b'X', Duration::from_secs(10));
        agw
    }

    fn ask(&mut self, kind: u8, peer: &str, data: &[u8]) {
        let mut frame = [0; HEADER];
        (frame[4], frame[6]) = (kind, 0xf0);
        frame[8..8 + self.own.len()].copy_from_slice(self.own.as_bytes());
        frame[18..18 + peer.len()].copy_from_slice(peer.as_bytes());
        frame[28..32].copy_from_slice(&(data.len() as u32).to_le_bytes());
        self.stream.write_all(&[&frame, data].concat()).expect("Direwolf reads");
    }

    pub(crate) fn call(&mut self, peer: &str) {
        self.ask(b'C', peer, &[]);
        self.wait(b'C', Duration::from_secs(60));
    }

    pub(crate) fn send(&mut self, peer: &str, octets: &[u8]) {
        self.send_in(peer, octets, LONGEST);
    }

    /// Sends octets in parts of this length; of longer ones than a frame carries, Direwolf makes
    /// segments.
    pub(crate) fn send_in(&mut self, peer: &str, octets: &[u8], part: usize) {
        octets.chunks(part).for_each(|part| self.ask(b'D', peer, part));
    }

    pub(crate) fn release(&mut self, peer: &str) {
        self.ask(b'd', peer, &[]);
    }

    /// Returns the next event, if it comes within some milliseconds.
    pub(crate) fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(head) = self.unread.first_chunk::<HEADER>() {
                let length = u32::from_le_bytes([head[28], head[29], head[30], head[31]]) as usize;
                if self.unread.len() >= HEADER + length {
                    let from = head[8..18].iter().take_while(|octet| **octet != 0);
                    let from = from.map(|octet| char::from(*octet)).collect();
                    let kind = head[4];
                    let data = self.unread.drain(..HEADER + length).skip(HEADER).collect();
                    return Some(Event { kind, from, data });
                }
            }
            let mut octets = [0; 4096];
            match self.stream.read(&mut octets) {
                Ok(0) => panic!("Direwolf has gone"),
                Ok(length) => self.unread.extend_from_slice(&octets[..length]),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return None,
                Err(why) => panic!("{why}"),
            }
        }
    }

    /// Sends a frame without a link, by way of a digipeater.
    pub(crate) fn unproto(&mut self, to: &str, via: &str, text: &str) {
        let mut path = [0; 11];
        path[0] = 1;
        path[1..=via.len()].copy_from_slice(via.as_bytes());
        self.ask(b'V', to, &[&path, text.as_bytes()].concat());
    }

    /// Tells of the frames without a link that are heard.
    pub(crate) fn monitor(&mut self) {
        self.ask(b'm', "", &[]);
    }

    /// Waits for an event of a kind, and drops others.
    pub(crate) fn wait(&mut self, kind: u8, most: Duration) -> Event {
        let begin = Instant::now();
        while begin.elapsed() < most {
            if let Some(event) = self.event().filter(|event| event.kind == kind) {
                return event;
            }
        }
        panic!("Direwolf does not tell {:?}", char::from(kind));
    }
}
