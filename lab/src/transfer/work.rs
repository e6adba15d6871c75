//! Datagrams, and sums over them that do not ask for their order.

use clap::Args;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use stackwright::wire::Message;
use stackwright::wire::check::Crc32c;
use stackwright_artp::Congestion;
use stackwright_results::Problem;

use super::{congestion, octets};

/// What is to be sent, and how.
#[derive(Args, Clone, Debug)]
pub(super) struct Work {
    #[arg(long, value_parser = octets)]
    pub(super) octets: u64,
    #[arg(long, value_parser = octets)]
    pub(super) datagram: u64,
    #[arg(long)]
    pub(super) packet: u16,
    #[arg(long)]
    pub(super) flight: u64,
    #[arg(long)]
    pub(super) large: bool,
    #[arg(long, value_parser = congestion)]
    pub(super) congestion: Congestion,
    #[arg(long)]
    pub(super) seed: u64,
}

/// Each datagram's octets are a piece of so many that are drawn once, where it is not longer.
const DRAWN: usize = 1 << 20;

impl Work {
    /// Whether it can be done.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if u32::try_from(self.datagrams()).is_err() {
            return Err(Problem::usage("too many datagrams: the limit is 2^32"));
        }
        if self.octets == 0 || !(191..=65_507).contains(&self.packet) {
            return Err(Problem::usage(
                "send at least one octet, in packets of 191 to 65507 octets",
            ));
        }
        Ok(())
    }

    /// How many datagrams there are.
    pub(super) fn datagrams(&self) -> u64 {
        self.octets.div_ceil(self.datagram)
    }

    /// The longest one, in octets.
    pub(super) fn longest(&self) -> usize {
        self.octets.min(self.datagram) as usize
    }

    /// As arguments of a process.
    pub(super) fn arguments(&self) -> Vec<String> {
        let Work { octets, datagram, packet, flight, large, congestion, seed } = self;
        let mut all = format!(
            "--octets {octets} --datagram {datagram} --packet {packet} --flight {flight} --congestion {congestion} --seed {seed}"
        );
        if *large {
            all.push_str(" --large");
        }
        all.split(' ').map(str::to_owned).collect()
    }

    /// Writes the octets of a datagram, in place of what is there.
    pub(super) fn fill(&self, number: u64, into: &mut Vec<u8>) {
        let length = (self.octets - number * self.datagram).min(self.datagram) as usize;
        into.resize(length, 0);
        if length > DRAWN / 2 {
            return fastrand::Rng::with_seed(self.seed ^ number << 32).fill(into);
        }
        thread_local! {
            static DRAWN_ONCE: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        DRAWN_ONCE.with_borrow_mut(|drawn| {
            if drawn.is_empty() {
                drawn.resize(DRAWN, 0);
                fastrand::Rng::with_seed(self.seed).fill(drawn);
            }
            let start = (number as usize).wrapping_mul(4099) % (DRAWN - length);
            into.copy_from_slice(&drawn[start..start + length]);
        });
        let number = number.to_be_bytes();
        let common = number.len().min(length);
        into[..common].copy_from_slice(&number[8 - common..]);
    }
}

/// What was sent, or arrived.
#[derive(Default)]
pub(super) struct Sum {
    seen: Vec<u64>,
    /// Of the sums of all datagrams, each with its number.
    sum: u64,
    sha256: Option<Context>,
    pub(super) octets: u64,
    pub(super) datagrams: u64,
    pub(super) doubled: u64,
}

/// Every bit depends on every bit: else what one datagram lacks another could bring in a sum
/// (splitmix64's last step).
fn mixed(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// A sum, to be compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Summed(String);

impl Sum {
    /// A sum; by SHA-256 where there is `one` datagram only.
    pub(super) fn new(one: bool) -> Self {
        Sum { sha256: one.then(|| Context::new(&SHA256)), ..Sum::default() }
    }

    /// Adds a datagram.
    pub(super) fn add<M: Message>(&mut self, number: u32, message: &M) {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        self.doubled += u64::from(self.seen[word] & bit != 0);
        self.seen[word] |= bit;
        self.octets += message.len() as u64;
        self.datagrams += 1;
        match &mut self.sha256 {
            Some(sha256) => message.each(|octets| sha256.update(octets)),
            None => {
                let mut check = Crc32c::new();
                message.each(|octets| check.add(octets));
                let one = u64::from(number) << 32 | u64::from(check.value());
                self.sum = self.sum.wrapping_add(mixed(one));
            }
        }
    }

    /// What it is.
    pub(super) fn value(&self) -> Summed {
        Summed(match &self.sha256 {
            Some(sha256) => sha256
                .clone()
                .finish()
                .as_ref()
                .iter()
                .map(|octet| format!("{octet:02x}"))
                .collect(),
            None => format!("{:016x}", self.sum),
        })
    }
}

#[cfg(test)]
mod tests {
    use stackwright::wire::SingleBuffer;

    use super::*;

    const WORK: Work = Work {
        octets: 10_500,
        datagram: 1000,
        packet: 1200,
        flight: 1,
        large: true,
        congestion: Congestion::Document,
        seed: 3,
    };

    fn datagrams() -> Vec<(u32, Vec<u8>)> {
        let mut octets = Vec::new();
        let one = |number: u64| {
            WORK.fill(number, &mut octets);
            (number as u32, octets.clone())
        };
        (0..WORK.datagrams()).map(one).collect()
    }

    fn sum(datagrams: &[(u32, Vec<u8>)]) -> Sum {
        let mut sum = Sum::new(false);
        datagrams
            .iter()
            .for_each(|(number, octets)| sum.add(*number, &SingleBuffer::with_headroom(0, octets)));
        sum
    }

    #[test]
    fn order_is_not_asked_for_and_everything_else_is() {
        let sent = datagrams();
        let whole = sum(&sent);
        assert_eq!((whole.octets, whole.datagrams, whole.doubled), (10_500, 11, 0));
        let mut others = sent.clone();
        others.reverse();
        assert_eq!(sum(&others).value(), whole.value());
        others[4].1[999] ^= 1;
        assert_ne!(sum(&others).value(), whole.value(), "one bit");
        let mut exchanged = sent.clone();
        (exchanged[2].0, exchanged[3].0) = (3, 2);
        assert_ne!(sum(&exchanged).value(), whole.value(), "numbers");
        let mut doubled = sent.clone();
        doubled[5] = doubled[6].clone();
        assert_eq!(sum(&doubled).doubled, 1);
        assert_ne!(sum(&doubled).value(), whole.value());
    }

    #[test]
    fn one_datagram_has_a_sum_that_nobody_can_forge() {
        let mut sum = Sum::new(true);
        sum.add(0, &SingleBuffer::with_headroom(0, b"abc"));
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum.value(), Summed(known.into()));
    }
}
