//! The check of a packet: that which is asked for, over what it shall cover, and of the length that
//! a dissector takes it for.

use stackwright_policies::profile::Bounds;
use stackwright_simulator::Conditions;
use stackwright_tailored::header::{OpeningHashes, PacketCheck, TailoredHeader};
use stackwright_tailored::{Config, Planned, SYNTAX, TailoredHost, TailoredKey, demand};
use stackwright_transport::Boxed;
use stackwright_transport::words::Dropped;
use stackwright_trial::Trial;
use stackwright_trial::setting::M;
use stackwright_wire::Header;
use stackwright_wire::check::{Crc32c, Cxor, Internet};
use stackwright_wire::syntax::{Found, walk};

const BODY: [u8; 40] = [7; 40];

type Ends = Trial<Boxed<M, TailoredHeader>>;

/// Two ends with this check, and the packet with which the first one opens.
fn opening(check: &[&str]) -> (Ends, Vec<u8>) {
    let services = [("reliable", &[][..]), ("flow_control", &["64"]), ("checksum", check)];
    let demanded = demand(services).expect("there are such services");
    let plan = demanded.plan().expect("it can be met");
    let slots = |side: usize| {
        let planned = Planned::<M>::new(plan.clone(), &Bounds::DEFAULT).expect("it fits");
        let mut host = TailoredHost::new(planned, Config::new([side as u8; 16]));
        if !demanded.covers_body {
            host = host.checking_headers();
        }
        host.association(TailoredKey { ours: side == 0, number: 9 }, 7)
    };
    let mut ends = Trial::new(slots, &Conditions { loss: 1.0.into(), ..Conditions::IDEAL }, 1);
    let now = ends.now();
    ends.ends[0].open(now);
    ends.ends[0].send(now, &BODY, Default::default());
    let mut packet = Vec::new();
    while packet.is_empty() {
        ends.speak(|_, _, octets| packet = octets.to_vec());
        ends.step();
    }
    (ends, packet)
}

/// Returns what the called side drops of a packet, and why.
fn dropped(check: &[&str], packet: &[u8]) -> Vec<Dropped> {
    let (mut ends, _) = opening(check);
    ends.inject(1, packet);
    ends.step();
    ends.dropped().iter().map(|(_, why)| *why).collect()
}

/// Returns the check of octets, in the order of the wire.
fn sum_of(check: PacketCheck, octets: &[u8]) -> Vec<u8> {
    match check {
        PacketCheck::Absent => Vec::new(),
        PacketCheck::Internet => {
            let mut sum = Internet::new();
            sum.add(octets);
            sum.value().to_be_bytes().to_vec()
        }
        PacketCheck::Crc32c => Crc32c::of(octets).to_le_bytes().to_vec(),
        PacketCheck::Cxor => Cxor::of(octets).to_be_bytes().to_vec(),
    }
}

#[test]
fn a_packet_has_the_check_that_is_asked_for() {
    for (name, kind) in [
        ("internet", PacketCheck::Internet),
        ("crc32c", PacketCheck::Crc32c),
        ("cxor", PacketCheck::Cxor),
    ] {
        for covers in ["full", "header"] {
            let check = [name, covers];
            let (_, packet) = opening(&check);
            let header = TailoredHeader::decode(&packet).expect("a header");
            assert_eq!(header.check, kind);
            let field = TailoredHeader::LENGTH..TailoredHeader::LENGTH + kind.octets();
            let mut summed = packet[..packet.len() - BODY.len()].to_vec();
            summed[field.clone()].fill(0);
            if covers == "full" {
                summed.extend_from_slice(&BODY);
            }
            assert_eq!(packet[field.clone()], sum_of(kind, &summed), "{check:?}");
            assert_eq!(dropped(&check, &packet), []);
            // A bit of the body, and one of a hash.
            for (place, is_covered) in [(packet.len() - 1, covers == "full"), (field.end, true)] {
                let mut altered = packet.clone();
                altered[place] ^= 4;
                let expected = if is_covered { vec![Dropped::Corrupt] } else { vec![] };
                assert_eq!(dropped(&check, &altered), expected, "{check:?}, octet {place}");
            }
        }
    }
}

#[test]
fn a_dissector_knows_the_length_of_each_check() {
    for (check, name) in
        [("internet", "InternetCheck"), ("crc32c", "LongCheck"), ("cxor", "LongCheck")]
    {
        let (_, packet) = opening(&[check]);
        let shown = walk(SYNTAX, &packet);
        assert!(shown.faults.is_empty(), "{check}: {:?}", shown.faults);
        let names: Vec<&str> = shown.found.iter().map(Found::name).collect();
        assert_eq!(names, [TailoredHeader::NAME, name, OpeningHashes::NAME], "{check}");
        assert_eq!(shown.rest, BODY, "{check}");
    }
}
