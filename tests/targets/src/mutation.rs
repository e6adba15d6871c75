//! New inputs from old ones, by chance.

use fastrand::Rng;

/// The longest input that is made, in octets.
const LONGEST: usize = 4096;

/// What often stands at an edge.
const PIECES: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"-",
    b"\xFF",
    b"\xFF\xF4\xFF\xF2",
    b"\xFF\xFD\x01",
    b"4294967296",
    b"18446744073709551615",
    b"9223372036854775807",
    b"-1",
    b"|",
    b"(|||1|)",
    b",",
    b"(",
    b")",
    b"..",
    b"/",
    b"USER ftp\r\n",
    b"PASS x\r\n",
    b"PASV\r\n",
    b"EPSV\r\n",
    b"RETR a\r\n",
    b"STOR a\r\n",
    b"LIST\r\n",
    b"ABOR\r\n",
    b"QUIT\r\n",
    b"REST 9\r\n",
    b"SIZE a\r\n",
    b"PORT 10,0,0,2,7,208\r\n",
    b"220 x\r\n",
    b"331 x\r\n",
    b"230 x\r\n",
    b"200 x\r\n",
    b"213 20\r\n",
    b"229 x (|||2000|)\r\n",
    b"150 x\r\n",
    b"226 x\r\n",
    b"421 x\r\n",
    b"550 x\r\n",
    b"211-x\r\n",
    "é".as_bytes(),
];

/// An endless supply of inputs; the same seed and corpus give the same.
#[derive(Debug)]
pub struct Mutations<'a> {
    random: Rng,
    corpus: &'a [Vec<u8>],
    input: Vec<u8>,
}

impl<'a> Mutations<'a> {
    /// From `corpus`, which may be empty.
    pub fn new(corpus: &'a [Vec<u8>], seed: u64) -> Self {
        Mutations { random: Rng::with_seed(seed), corpus, input: Vec::new() }
    }

    /// Another input.
    pub fn another(&mut self) -> &[u8] {
        let Mutations { random, corpus, input } = self;
        input.clear();
        if !corpus.is_empty() {
            input.extend_from_slice(&corpus[random.usize(..corpus.len())]);
        }
        for _ in 0..1 + random.usize(..6) {
            mutate(random, corpus, input);
        }
        input.truncate(LONGEST);
        input
    }
}

fn mutate(random: &mut Rng, corpus: &[Vec<u8>], input: &mut Vec<u8>) {
    let at = random.usize(..=input.len());
    let length = random.usize(..=(input.len() - at).min(32));
    match random.u8(..9) {
        0 if at < input.len() => input[at] ^= 1 << random.u8(..8),
        1 if at < input.len() => input[at] = random.u8(..),
        2 => drop(input.drain(at..at + length)),
        3 => {
            let again = input[at..at + length].to_vec();
            input.splice(at..at, again);
        }
        4..6 => {
            let piece = PIECES[random.usize(..PIECES.len())];
            input.splice(at..at, piece.iter().copied());
        }
        6 => {
            let mut fresh = vec![0; random.usize(..16)];
            random.fill(&mut fresh);
            input.splice(at..at, fresh);
        }
        7 if !corpus.is_empty() => {
            let other = &corpus[random.usize(..corpus.len())];
            let from = random.usize(..=other.len());
            let piece = &other[from..(from + random.usize(..64)).min(other.len())];
            input.splice(at..at, piece.iter().copied());
        }
        _ => input.truncate(at),
    }
}

/// A shorter input for which `fails` still holds: octets are left out as long as that is so.
pub fn shortened(input: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut shortest = input.to_vec();
    let mut length = shortest.len().div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < shortest.len() {
            let mut shorter = shortest.clone();
            shorter.drain(at..(at + length).min(shorter.len()));
            if fails(&shorter) {
                shortest = shorter;
            } else {
                at += length;
            }
        }
        length = if length == 1 { 0 } else { length.div_ceil(2) };
    }
    shortest
}
