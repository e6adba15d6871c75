//! A stranger that knows the group's name, and says anything.

use std::vec;
use std::vec::Vec;

use fastrand::Rng;
use stackwright_contract::services::{Credit, DatagramsRequest, MessageProperties};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{CheckedDatagrams, Heard, World};
use stackwright_wire::{Header, Message, SingleBuffer};

use super::seeds::{M, at, group, host, opened};
use crate::mesh::MeshHeader;
use crate::nak::NakHeader;
use crate::wire;

/// A packet of no member: most of it well made, and then anything.
fn packet(random: &mut Rng, seen: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; MeshHeader::LENGTH];
    let kind = random.u8(..3);
    let (rank, tag) = (random.u16(..), random.u32(..));
    MeshHeader { version: (), kind, reserved: 0, rank, tag }.encode(&mut octets);
    octets.extend(random.u64(..).to_be_bytes());
    octets.extend(wire::group(group()).to_be_bytes());
    let head = octets.len();
    octets.resize(head + NakHeader::LENGTH, 0);
    let (kind, detail, origin) = (random.u8(..6), random.u8(..5), random.u16(..4));
    let number = random.u32(..) >> random.u32(..32);
    NakHeader { kind, detail, origin, number }.encode(&mut octets[head..]);
    octets.push(random.u8(..12));
    octets.push(random.u8(..4));
    octets.extend(&seen[..random.usize(..=seen.len())]);
    octets.extend((0..random.usize(..64)).map(|_| random.u8(..) >> random.u32(..8)));
    octets
}

#[test]
fn a_stranger_that_says_anything_breaks_nothing() {
    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let mut world = World::<M>::new(seed);
        let member = opened(&mut world, 2);
        let stranger = CheckedDatagrams::checked(host(9), Credit::ROOM);
        let stranger = world.add(host(9), stranger, Heard::default());
        let association = Handle { index: 0, generation: 0 };
        let (remote, local, credit) = (at(0), None, Credit::ROOM);
        world.ask(stranger, DatagramsRequest::Open { association, remote, local, credit });
        world.run_for(Duration::from_secs(3));
        let number = |world: &World<M>| world.application(member[0]).view.as_ref().unwrap().number;
        assert!(number(&world) > 1, "both are in a view");
        for _ in 0..2_000 {
            let octets = packet(&mut random, &[0, 0, 0, 2]);
            let batch = SingleBuffer::with_headroom(0, &octets).into();
            let properties = MessageProperties::default();
            let word: DatagramsRequest<M> =
                DatagramsRequest::<M>::Send { association, batch, properties };
            world.ask(stranger, word);
            world.run_for(Duration::from_millis(1));
        }
        world.run_for(Duration::from_secs(20));
        let views: Vec<_> = member.iter().map(|one| world.application(*one).view.clone()).collect();
        assert!(views.iter().all(|view| view.is_some()), "seed {seed}: a member has no view");
    }
}

#[test]
fn a_view_is_as_large_as_it_may_be() {
    let member = [&[1][..], &[0; 8], &[4, 10, 0, 0, 1], &[0, 1]].concat();
    let view = |count: u16| {
        let head = [&[0; 16][..], &count.to_be_bytes()].concat();
        let octets = [head, member.repeat(usize::from(count))].concat();
        wire::Reader(&octets).view().map(|view| view.members.len())
    };
    assert_eq!((view(0), view(1024), view(1025)), (None, Some(1024), None));
}
