//! Stations whose IP is the test.

use std::collections::BTreeSet;

use stackwright_contract::Handle;
use stackwright_contract::services::{DatagramsIndication, DatagramsRequest};
use stackwright_dsr::{Config, Dsr};
use stackwright_simulator::octets_of;
use stackwright_wire::Message as _;
use stackwright_wire::internet::complete_ipv4;

use crate::air::{AMPLE, Air, M, host, participant};

/// A packet of UDP's protocol from one station to another, which ends with its number.
pub(crate) fn packet(from: usize, to: usize, number: u32) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(host(from).octets());
    packet.extend(host(to).octets());
    complete_ipv4(&mut packet);
    packet.extend([0xaa; 16]);
    packet.extend(number.to_be_bytes());
    packet
}

/// The number of a packet, whatever is before it. `None`: it is one of DSR's own.
pub(crate) fn number(packet: &[u8]) -> Option<u32> {
    let (front, number) = packet.split_last_chunk::<4>()?;
    front.ends_with(&[0xaa; 16]).then(|| u32::from_be_bytes(*number))
}

/// Stations, and what was said of packets by their numbers.
pub(crate) struct Hosts {
    pub(crate) air: Air<Dsr<M>>,
    hops: Vec<Vec<Option<Handle>>>,
    /// With the station that it is for.
    pub(crate) given: Vec<usize>,
    pub(crate) came: BTreeSet<u32>,
    pub(crate) returned: BTreeSet<u32>,
}

impl Hosts {
    pub(crate) fn new(count: usize, seed: u64, config: &Config) -> Self {
        let air = Air::new(count, seed, |nth| {
            Dsr::new(config.clone(), seed.wrapping_mul(0x9e37_79b9).wrapping_add(nth as u64))
        });
        let hops = vec![vec![None; 16]; count];
        let (given, came, returned) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut hosts = Hosts { air, hops, given, came, returned };
        for nth in 0..count {
            let (listener, association) = (hosts.air.name(nth), hosts.air.name(nth));
            let local = participant(host(nth));
            hosts.air.ask(nth, DatagramsRequest::Listen { listener, local });
            let credit = AMPLE;
            hosts.air.ask(nth, DatagramsRequest::Await { listener, association, credit });
        }
        hosts
    }

    /// Has a station send a packet to another; returns its number.
    pub(crate) fn send(&mut self, from: usize, to: usize) -> u32 {
        let number = self.given.len() as u32;
        self.given.push(to);
        self.send_octets(from, to, &packet(from, to, number));
        number
    }

    pub(crate) fn send_octets(&mut self, from: usize, to: usize, packet: &[u8]) {
        let association = self.hops[from][to].unwrap_or_else(|| {
            let association = self.air.name(from);
            let (remote, local, credit) = (participant(host(to)), None, AMPLE);
            self.air.ask(from, DatagramsRequest::Open { association, remote, local, credit });
            self.hops[from][to] = Some(association);
            association
        });
        let (batch, properties) = (M::with_headroom(64, packet).into(), Default::default());
        self.air.ask(from, DatagramsRequest::Send { association, batch, properties });
    }

    /// Has time pass, and notes what becomes of packets.
    pub(crate) fn run(&mut self, milliseconds: u64) {
        let Hosts { air, given, came, returned, .. } = self;
        air.run(std::time::Duration::from_millis(milliseconds), |air| {
            for (nth, station) in air.stations.iter_mut().enumerate() {
                let held = station.lone.stack.held();
                let fits = |(held, bound): (&usize, usize)| *held <= bound;
                assert!(held.iter().zip(Dsr::<M>::BOUNDS).all(fits), "{held:?}");
                assert_eq!(station.reasons.of(LOOP), 0, "a route is consistent");
                for word in station.lone.said.up.drain(..) {
                    let DatagramsIndication::Delivered { batch, properties, .. } = word else {
                        continue;
                    };
                    let octets = octets_of(&batch.into_single());
                    let number = number(&octets).expect("a packet of the test");
                    assert_eq!((octets.len(), octets[9]), (40, 17), "as it was: {octets:?}");
                    if properties.returned {
                        returned.insert(number);
                    } else {
                        assert_eq!(given[number as usize], nth, "at its destination");
                        came.insert(number);
                    }
                }
            }
        });
    }

    /// Returns how often a reason was given by all.
    pub(crate) fn dropped(&self, reason: &str) -> usize {
        self.air.stations.iter().map(|station| station.reasons.of(reason)).sum()
    }
}

pub(crate) const LOOP: &str = "a packet that has taken as many hops as it may";
