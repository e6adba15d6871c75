//! Derived headers, decoded and encoded.

use std::hint::black_box;

use stackwright_gate::subject::{Figure, Subject};
use stackwright_wire::Header;
use stackwright_wire::internet::{Ipv4, Ipv6, Tcp, Udp};

const ROUNDS: usize = 1024;
/// More octets than any of these headers has.
const ROOM: usize = 64;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    both::<Ipv4>(figures, 0x45);
    both::<Ipv6>(figures, 0x60);
    both::<Udp>(figures, 0);
    both::<Tcp>(figures, 0x50);
}

fn both<H: Header + 'static>(figures: &mut Vec<Figure>, first: u8) {
    let rounds = ROUNDS as u64;
    figures.push(Figure::new(format!("header/{}/decode", H::NAME), rounds, move || {
        Decode::<H>::new(first)
    }));
    figures.push(Figure::new(format!("header/{}/encode", H::NAME), rounds, move || {
        Encode::<H>::new(first)
    }));
}

/// Random octets that are a header: what has but one value lies in the first octet, or is the
/// reserved bit of IPv4.
fn valid<H: Header>(random: &mut fastrand::Rng, first: u8) -> [u8; ROOM] {
    let mut octets = [0; ROOM];
    loop {
        random.fill(&mut octets);
        octets[0] = first;
        if H::decode(&octets).is_ok() {
            return octets;
        }
    }
}

struct Decode<H> {
    octets: Vec<[u8; ROOM]>,
    headers: Vec<Option<H>>,
}

impl<H: Header> Decode<H> {
    fn new(first: u8) -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let octets = (0..ROUNDS).map(|_| valid::<H>(&mut random, first)).collect();
        Decode { octets, headers: (0..ROUNDS).map(|_| None).collect() }
    }
}

impl<H: Header> Subject for Decode<H> {
    fn ready(&mut self) {
        self.headers.fill_with(|| None);
    }

    fn work(&mut self) -> u64 {
        for (octets, header) in black_box(&self.octets).iter().zip(&mut self.headers) {
            *header = H::decode(octets).ok();
        }
        black_box(&self.headers);
        self.headers.iter().flatten().count() as u64
    }
}

struct Encode<H> {
    headers: Vec<H>,
    octets: [u8; ROOM],
}

impl<H: Header> Encode<H> {
    fn new(first: u8) -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let header = |_| H::decode(&valid::<H>(&mut random, first)).expect("it is valid");
        Encode { headers: (0..ROUNDS).map(header).collect(), octets: [0; ROOM] }
    }
}

impl<H: Header> Subject for Encode<H> {
    fn work(&mut self) -> u64 {
        for header in black_box(&self.headers) {
            header.encode(black_box(&mut self.octets));
        }
        self.octets[..H::LENGTH].iter().map(|octet| u64::from(*octet)).sum()
    }
}
