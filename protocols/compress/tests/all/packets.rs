use std::env;

use stackwright_compress::{LinkHosts, RULE_OCTETS_MOST, ReplacedHeader, RuleSet};
use stackwright_wire::check::Internet;

use crate::{DATA, hosts, packet};

const XSTP: u8 = 253;

/// How many packets each rule is tried with.
fn count() -> usize {
    env::var("STACKWRIGHT_PACKETS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

fn compress(rules: &RuleSet, packet: &[u8]) -> Option<Vec<u8>> {
    let front = &packet[..packet.len().min(RULE_OCTETS_MOST)];
    let ReplacedHeader { octets, replaces } = rules.compress(front, packet.len(), hosts())?;
    Some([&octets, &packet[replaces..]].concat())
}

fn expand(rules: &RuleSet, octets: &[u8]) -> Option<Vec<u8>> {
    let front = &octets[..octets.len().min(RULE_OCTETS_MOST)];
    let ReplacedHeader { octets: header, replaces } = rules.expand(front, octets.len(), hosts())?;
    Some([&header, &octets[replaces..]].concat())
}

/// Returns a residue of a rule, which is as good as any other, behind its number.
fn residue(random: &mut fastrand::Rng, number: u8) -> Vec<u8> {
    let mut octets: Vec<u8> = (0..random.usize(1..120)).map(|_| random.u8(..)).collect();
    octets[0] = number << 4 | octets[0] & 0xf;
    octets
}

/// Whatever residue arrives, the packet that it stands for is sent as one that stands for it, and
/// in no more octets.
#[test]
fn packets_of_every_rule_come_back() {
    let (rules, mut random) = (RuleSet::built_in(), fastrand::Rng::with_seed(1));
    for number in (0..15).filter(|number| rules.name(*number).is_some()) {
        let (mut tried, most) = (0, count());
        while tried < most {
            let arrived = residue(&mut random, number);
            let Some(whole) = expand(&rules, &arrived) else { continue };
            let short = compress(&rules, &whole).expect("a rule has made it");
            assert_eq!(expand(&rules, &short).as_ref(), Some(&whole), "{number}");
            assert!(short.len() <= arrived.len() && short.len() < whole.len(), "{number}");
            assert_eq!(Internet::of(&whole[..20]), 0, "its check");
            assert_eq!(usize::from(whole[2]) << 8 | usize::from(whole[3]), whole.len());
            tried += 1;
        }
    }
}

/// A header in which any bit is another is that of another packet, or described by no rule.
#[test]
fn a_changed_bit_is_not_lost() {
    let rules = RuleSet::built_in();
    let data = packet(XSTP, hosts().source, hosts().destination, &[&DATA[..], b"data"].concat());
    for bit in 0..8 * data.len() {
        let mut changed = data.clone();
        changed[bit / 8] ^= 0x80 >> (bit % 8);
        // With the check made good, and without.
        let check = Internet::update(
            u16::from_be_bytes([data[10], data[11]]),
            u16::from_be_bytes([data[bit / 16 * 2], data[bit / 16 * 2 + 1]]),
            u16::from_be_bytes([changed[bit / 16 * 2], changed[bit / 16 * 2 + 1]]),
        );
        let mut good = changed.clone();
        if bit < 160 {
            good[10..12].copy_from_slice(&check.to_be_bytes());
        }
        for packet in [changed, good] {
            if let Some(short) = compress(&rules, &packet) {
                assert_eq!(expand(&rules, &short), Some(packet), "bit {bit}");
            }
        }
    }
}

#[test]
fn what_is_no_packet_is_refused() {
    let (rules, mut random) = (RuleSet::built_in(), fastrand::Rng::with_seed(2));
    for _ in 0..count() {
        let octets: Vec<u8> = (0..random.usize(0..80)).map(|_| random.u8(..)).collect();
        let _ = (compress(&rules, &octets), expand(&rules, &octets));
    }
    assert_eq!(expand(&rules, &[]), None);
    assert_eq!(expand(&rules, &[0xe0; 40]), None, "no rule has this number");
    assert_eq!(expand(&rules, &[0x00; 3]), None, "its residue is longer");
    let data = packet(XSTP, hosts().source, hosts().destination, &DATA);
    assert_eq!(compress(&rules, &data[..19]), None);
    assert_eq!(compress(&rules, &[&data[..], b"x"].concat()), None, "its length is another");
    let fragment = [&data[..6], &[0x20], &data[7..]].concat();
    assert_eq!(compress(&rules, &fragment), None, "its check is wrong");
}

/// Octets of headers in a frame of data, layer by layer: 98 in the thesis.
#[test]
fn headers_are_short() {
    let rules = RuleSet::built_in();
    let LinkHosts { source, destination } = hosts();
    let far = [44, 0, 0, 1].into();
    let data = packet(XSTP, source, destination, &DATA);
    let relayed = packet(XSTP, far, destination, &DATA);
    let of_dsr = |relays: u8| {
        let front = [XSTP, 0, 0, 4 + 4 * relays, 96, 2 + 4 * relays, 0, relays];
        let list: Vec<u8> = (1..=relays).flat_map(|relay| [10, 1, 2, relay]).collect();
        packet(48, [10, 0, 0, 1].into(), destination, &[&front, &list[..], &DATA].concat())
    };
    let all = [
        ("direct", data, 12),
        ("relayed", relayed, 32),
        ("through one", of_dsr(1), 24),
        ("through two", of_dsr(2), 27),
        ("through three", of_dsr(3), 30),
    ];
    for (what, packet, most) in all {
        let short = compress(&rules, &packet).expect("a rule describes it").len();
        let (sum, whole) = (1 + 16 + short, packet.len());
        let all = 1 + 16 + whole;
        println!("{what}: KISS 1, AX.25 16, IPv4 to XSTP {short} of {whole}: {sum} of {all}");
        assert!(short <= most, "{what}: {short} octets");
    }
}

#[test]
fn rules_are_text() {
    let text = "rule 3 any 8=45 32=sent 32=sent 8=sent 16=sent 32=sent 32=sent # a comment";
    let rules: RuleSet = text.parse().expect("rules");
    assert_eq!(rules.name(3), Some("any"));
    let lines = text.split('#').next().unwrap_or_default().replace(' ', "\n");
    let same: RuleSet = lines.parse().expect("rules");
    assert_eq!(rules.check(), same.check());
    assert_ne!(rules.check(), RuleSet::built_in().check());
    for (text, word) in [
        ("8=45", "8=45"),
        ("rule 15 beacon", "rule"),
        ("rule 1 a rule 1 b", "rule"),
        ("rule 1 a 33=sent", "33=sent"),
        ("rule 1 a 4=10", "4=10"),
        ("rule 1 a 8=length", "8=length"),
        ("rule 1 short 8=45", "short"),
        ("rule 1 a 16=check 32=sent 32=sent 32=sent 32=sent 16=sent", "a"),
    ] {
        assert_eq!(text.parse::<RuleSet>().expect_err(text).word, word);
    }
}
