//! A program that speaks AGW.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use stackwright::agw::AgwHeader;
use stackwright::wire::Header;

/// A frame: its port, its kind, between which call signs, its data.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Frame {
    pub(crate) port: u8,
    pub(crate) kind: char,
    pub(crate) from: String,
    pub(crate) data: Vec<u8>,
}

pub(crate) struct Program(TcpStream);

fn octets(text: &str) -> [u8; 10] {
    let mut octets = [0; 10];
    octets[..text.len()].copy_from_slice(text.as_bytes());
    octets
}

impl Program {
    pub(crate) fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).expect("the station listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        Program(stream)
    }

    /// Connects, and registers a call sign.
    pub(crate) fn registered(to: SocketAddr, call: &str) -> Self {
        let mut program = Self::connect(to);
        program.ask(b'X', call, "", b"");
        assert_eq!(program.next().data, [1], "{call} is free");
        program
    }

    pub(crate) fn ask(&mut self, kind: u8, from: &str, to: &str, data: &[u8]) {
        self.ask_on(0, kind, [from, to], data);
    }

    /// Says something about a port.
    pub(crate) fn ask_on(&mut self, port: u8, kind: u8, calls: [&str; 2], data: &[u8]) {
        let ([from, to], length) = (calls.map(octets), data.len() as u32);
        let header = AgwHeader { port, from, to, length, pid: 0xf0, ..AgwHeader::of(kind) };
        let mut frame = vec![0; AgwHeader::LENGTH];
        header.encode(&mut frame);
        frame.extend_from_slice(data);
        self.0.write_all(&frame).expect("it reads");
    }

    pub(crate) fn next(&mut self) -> Frame {
        let mut head = [0; AgwHeader::LENGTH];
        self.0.read_exact(&mut head).expect("an answer");
        let header = AgwHeader::decode(&head).expect("any octets are a header");
        let mut data = vec![0; header.length as usize];
        self.0.read_exact(&mut data).expect("its data");
        let from = header.from.split(|octet| *octet == 0).next().unwrap_or_default();
        let from = String::from_utf8(from.to_vec()).expect("text");
        Frame { port: header.port, kind: char::from(header.kind), from, data }
    }

    /// Returns the data of the next frame, which is of this kind.
    pub(crate) fn expect(&mut self, kind: char) -> Vec<u8> {
        let frame = self.next();
        assert_eq!(frame.kind, kind, "{frame:?}");
        frame.data
    }

    /// Returns so much data of a link.
    pub(crate) fn data(&mut self, octets: usize) -> Vec<u8> {
        let mut data = Vec::new();
        while data.len() < octets {
            data.extend(self.expect('D'));
        }
        data
    }

    pub(crate) fn another(&self) -> Self {
        Program(self.0.try_clone().expect("a descriptor"))
    }
}
