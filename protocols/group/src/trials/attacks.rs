//! What a stranger, or a member out of its mind, may try.

use std::vec;
use std::vec::Vec;

use stackwright_compose::{Over, stack};
use stackwright_contract::services::{
    Credit, DatagramsRequest, GroupView, GroupsIndication, GroupsRequest, MessageProperties,
};
use stackwright_contract::{Duration, Handle, IndicationOf};
use stackwright_simulator::{CheckedDatagrams, Deed, Event, Heard, StationId};
use stackwright_wire::{Header, Message, SingleBuffer};

use super::calm::Calm;
use super::seeds::{Ballots, Casts, M, Silence, at, group, host, mark};
use crate::mesh::MeshHeader;
use crate::nak::NakHeader;
use crate::{Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, Views, ViewsConfig, wire};

const EVIL: usize = 9;
const IN_VIEW: u8 = 0;
const OUTSIDE: u8 = 1;
const ASSOCIATION: Handle = Handle { index: 0, generation: 0 };

stack! {
    /// Members that have no order among each other.
    Unordered = Ballots over Silence over Casts over Mesh<M> over CheckedDatagrams<M>
}

type Stranger = StationId<CheckedDatagrams<M>, Heard<IndicationOf<CheckedDatagrams<M>>>>;

/// A stranger that speaks to the first member.
fn stranger(calm: &mut Calm) -> Stranger {
    let udp = CheckedDatagrams::checked(host(EVIL), Credit::ROOM);
    let stranger = calm.world.add(host(EVIL), udp, Heard::default());
    let (remote, local, credit) = (at(0), None, Credit::ROOM);
    let association = ASSOCIATION;
    calm.world.ask(stranger, DatagramsRequest::Open { association, remote, local, credit });
    calm.world.run_for(Duration::from_millis(10));
    stranger
}

fn say(calm: &mut Calm, stranger: Stranger, octets: &[u8]) {
    let batch = SingleBuffer::with_headroom(0, octets).into();
    let properties = MessageProperties::default();
    let word = DatagramsRequest::<M>::Send { association: ASSOCIATION, batch, properties };
    calm.world.ask(stranger, word);
}

fn mesh(kind: u8, rank: u16, tag: u32) -> Vec<u8> {
    let mut octets = vec![0; MeshHeader::LENGTH];
    MeshHeader { version: (), kind, mark: mark(), rank, tag }.encode(&mut octets);
    octets
}

fn with_mark(mark: u8, mut octets: Vec<u8>) -> Vec<u8> {
    octets[1] = mark;
    octets
}

fn nak(kind: u8, origin: u16, number: u32) -> Vec<u8> {
    let mut octets = vec![0; NakHeader::LENGTH];
    NakHeader { kind, detail: 0, origin, number }.encode(&mut octets);
    octets
}

/// What a process in no view says to the layers above.
fn outside(name: u64, port: u16, incarnation: u64, message: &[u8]) -> Vec<u8> {
    let front = [incarnation.to_be_bytes(), name.to_be_bytes()].concat();
    [mesh(OUTSIDE, port, 0), front, message.to_vec()].concat()
}

/// JOIN of a process that begins no group, to no view.
fn join(name: u64, port: u16, incarnation: u64) -> Vec<u8> {
    let message = [&[6, 0][..], &[0; 4 + 12 + 12]].concat();
    outside(name, port, incarnation, &[nak(2, 0, 0), message].concat())
}

/// JOIN to the view that there is.
fn join_view(calm: &Calm, port: u16, incarnation: u64) -> Vec<u8> {
    let view = calm.view(0).unwrap();
    let mut octets = [&[6, 0][..], &view.number.to_be_bytes()].concat();
    wire::push_ballot(&mut octets, view.ballot);
    octets.extend([0; 12]);
    outside(wire::group(group()), port, incarnation, &[nak(2, 0, 0), octets].concat())
}

fn tag(calm: &Calm) -> u32 {
    wire::tag(wire::group(group()), calm.view(0).unwrap())
}

#[test]
fn a_packet_of_another_group_view_or_member_is_dropped() {
    let mut calm = Calm::new(3, 3, 1, 0);
    calm.world.keep_drops();
    let stranger = stranger(&mut calm);
    let (tag, name) = (tag(&calm), wire::group(group()));
    let cast = [nak(0, 1, 1), b"not of this member".to_vec()].concat();
    for (octets, why) in [
        ([mesh(IN_VIEW, 1, tag), cast.clone()].concat(), "not from the member of that rank"),
        ([mesh(IN_VIEW, 3, tag), cast.clone()].concat(), "not from the member of that rank"),
        ([mesh(IN_VIEW, 1, tag ^ 1), cast].concat(), "of another view"),
        (join(name ^ 1, 4370, 1), "of another group"),
        (with_mark(mark() ^ 1, join(name, 4370, 1)), "of another stack"),
        (with_mark(0, [mesh(IN_VIEW, 1, tag), nak(1, 0, 0)].concat()), "of another stack"),
        (vec![0x20; 64], "no header of a group"),
    ] {
        let before = calm.world.drops(calm.members[0]).of(why);
        say(&mut calm, stranger, &octets);
        calm.world.run_for(Duration::from_millis(5));
        assert_eq!(calm.world.drops(calm.members[0]).of(why), before + 1, "{why}");
    }
    assert!(calm.are_together(&[0, 1, 2]) && calm.broken().is_empty());
}

/// A process that has another stack begins no group with the members, and joins none of theirs.
#[test]
fn stacks_do_not_mix() {
    let mut calm = Calm::new(3, 3, 1, 0);
    calm.world.keep_drops();
    let mesh = Mesh::new(MeshConfig { peers: (0..3).map(at).collect() });
    let udp = CheckedDatagrams::checked(host(EVIL), Credit::ROOM);
    let casts = Over::new(MicroLayer::new(Nak::new(NakConfig::default())), Over::new(mesh, udp));
    let silence = MicroLayer::new(Detector::new(Duration::from_millis(200)));
    let views = MicroLayer::new(Views::new(ViewsConfig::default()));
    let stack = Unordered::new(views, Over::new(silence, casts));
    let other = calm.world.add(host(EVIL), stack, Heard::default());
    let (association, remote, credit) = (ASSOCIATION, group(), Credit::ROOM);
    let local = Some(at(EVIL));
    calm.world.ask(other, GroupsRequest::Open { association, remote, local, credit });
    (0..200).for_each(|_| calm.step(&[0, 1, 2]));
    assert!(calm.world.drops(calm.members[0]).of("of another stack") > 10, "it asks");
    assert!(calm.are_together(&[0, 1, 2]) && calm.broken().is_empty());
    let views = |told: &&_| matches!(told, GroupsIndication::Told { .. });
    assert_eq!(calm.world.application(other).0.iter().filter(views).count(), 0);
}

/// All that members say comes again ten seconds later, in another view.
#[test]
fn packets_of_an_old_view_change_nothing() {
    const LATER: Duration = Duration::from_secs(10);
    let mut calm = Calm::new(3, 4, 1, 0);
    for from in 0..4 {
        for to in (0..4).filter(|to| *to != from) {
            let deed = Deed::Duplicate { by: LATER };
            let events = (0..400).map(|nth| Event { nth, deed }).collect();
            calm.world.network_mut().script(host(from), host(to), events);
        }
    }
    (0..100).for_each(|_| calm.step(&[0, 1, 2]));
    calm.open(3);
    assert!(calm.comes_together(&[0, 1, 2, 3], 2000));
    (0..300).for_each(|_| calm.step(&[0, 1, 2, 3]));
    calm.leave(3);
    assert!(calm.comes_together(&[0, 1, 2], 2000));
    let number = calm.view(0).unwrap().number;
    calm.world.keep_drops();
    (0..1500).for_each(|_| calm.step(&[0, 1, 2]));
    assert!(calm.world.drops(calm.members[0]).of("of another view") > 100, "they came again");
    assert_eq!(calm.view(0).unwrap().number, number, "no view follows");
    assert!(calm.are_together(&[0, 1, 2]) && calm.broken().is_empty());
}

/// 100 000 a second, each of another process.
#[test]
fn a_flood_of_joins_is_bounded() {
    let mut calm = Calm::new(3, 3, 1, 0);
    let stranger = stranger(&mut calm);
    calm.world.keep_drops();
    let mut most = 0;
    for turn in 0..500_u64 {
        for nth in 0..100 {
            let octets = join_view(&calm, 1000 + (nth as u16), 100 * turn + nth);
            say(&mut calm, stranger, &octets);
        }
        calm.world.run_for(Duration::from_millis(1));
        most = most.max(calm.view(0).map_or(0, |view| view.members.len()));
    }
    assert!((4..=3 + 8).contains(&most), "{most} members: eight of an address join at once");
    assert!(calm.world.drops(calm.members[0]).of("there are too many joiners") > 1000);
    let answered = calm.world.network().counts(host(0), host(EVIL)).offered;
    assert!(answered < 5_000, "{answered} packets answer 50 000");
    assert!(calm.comes_together(&[0, 1, 2], 5000), "and none of them stays");
    assert_eq!(calm.broken(), [""; 0]);
}

/// What was recorded of a process names another view, if any: it is asked which one it means.
#[test]
fn who_joins_names_the_view() {
    let mut calm = Calm::new(3, 3, 1, 0);
    let stranger = stranger(&mut calm);
    let number = calm.view(0).unwrap().number;
    let heard = calm.world.network().counts(host(0), host(EVIL)).offered;
    for turn in 0..20_000 {
        say(&mut calm, stranger, &join(wire::group(group()), 4370, turn));
        calm.world.run_for(Duration::from_micros(50));
    }
    assert_eq!(calm.view(0).unwrap().number, number, "no view follows");
    let answered = calm.world.network().counts(host(0), host(EVIL)).offered - heard;
    assert!((500..=1300).contains(&answered), "{answered} answers in a second");
    let octets = join_view(&calm, 4370, 7);
    say(&mut calm, stranger, &octets);
    assert!(calm.passes(500, |calm| calm.view(0).unwrap().members.len() == 4), "it joins");
}

/// NEWER of a group that was here before, under the same name and with the same key.
#[test]
fn an_answer_of_another_life_of_the_group_is_ignored() {
    let mut calm = Calm::new(3, 3, 1, 0);
    let stranger = stranger(&mut calm);
    let here = calm.view(0).unwrap().clone();
    let mut newer = [&[10, 0][..], &500_u32.to_be_bytes(), &[0; 12 + 12]].concat();
    wire::push_view(
        &mut newer,
        &GroupView { number: 500, members: here.members[1..].into(), ..(*here).clone() },
    );
    let octets = outside(wire::group(group()), 4370, 7, &[nak(2, 0, 0), newer].concat());
    say(&mut calm, stranger, &octets);
    calm.world.run_for(Duration::from_secs(2));
    assert_eq!(calm.view(0), Some(&here), "it stays");
    assert!(calm.are_together(&[0, 1, 2]) && calm.broken().is_empty());
}

/// ANNOUNCE of the view before: each answer is longer, and there are ten a second.
#[test]
fn a_flood_of_questions_has_few_answers() {
    let mut calm = Calm::new(3, 3, 1, 0);
    let stranger = stranger(&mut calm);
    let announce = [&[9, 0][..], &[0; 4 + 12 + 12]].concat();
    let announce = [nak(2, 0, 0), announce].concat();
    let octets = outside(wire::group(group()), 4370, 7, &announce);
    for _ in 0..2000 {
        say(&mut calm, stranger, &octets);
        calm.world.run_for(Duration::from_millis(1));
    }
    let answered = calm.world.network().counts(host(0), host(EVIL)).offered;
    assert!((20..=8 + 20 + 1).contains(&answered), "{answered} answers to 2000 questions");
}

/// A host that slept takes nobody for dead, and nobody else had a chance to.
#[test]
fn members_that_slept_together_stay_together() {
    let mut calm = Calm::new(3, 3, 1, 0);
    let number = calm.view(0).unwrap().number;
    for member in calm.members.clone() {
        calm.world.suspend(member, Duration::from_secs(600));
    }
    calm.world.run_for(Duration::from_secs(602));
    assert!(calm.are_together(&[0, 1, 2]) && calm.broken().is_empty());
    assert_eq!(calm.view(0).unwrap().number, number, "no view follows");
}

#[test]
fn a_member_that_slept_alone_joins_again() {
    for asleep in 0..3 {
        let mut calm = Calm::new(3, 3, 1, 0);
        let others: Vec<_> = (0..3).filter(|other| *other != asleep).collect();
        calm.world.suspend(calm.members[asleep], Duration::from_secs(600));
        calm.world.run_for(Duration::from_secs(590));
        let has_two = |calm: &Calm| calm.view(others[0]).unwrap().members.len() == 2;
        assert!(has_two(&calm), "they go on without {asleep}");
        let number = calm.view(others[0]).unwrap().number;
        calm.world.run_for(Duration::from_secs(10));
        assert!(calm.comes_together(&[0, 1, 2], 3000), "{asleep} is there again");
        assert!(calm.view(0).unwrap().number <= number + 2, "it disturbs nobody");
        assert_eq!(calm.broken(), [""; 0]);
    }
}
