//! Packets by rules: what arrives stands for one packet, and is no longer than what stands for it.

use std::net::Ipv4Addr;

use stackwright::compress::{LinkHosts, RULE_OCTETS_MOST, ReplacedHeader, RuleSet};

const HOSTS: LinkHosts =
    LinkHosts { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

/// A text of rules before an empty line, if it is one, and octets of a packet: they are made short
/// and come back, and taken for short ones, whose packet comes back.
pub fn compress(octets: &[u8]) {
    let at = octets.windows(2).position(|two| two == b"\n\n");
    let (text, octets) = at.map_or((&[][..], octets), |at| (&octets[..at], &octets[at + 2..]));
    let text = std::str::from_utf8(text).ok().filter(|text| !text.is_empty());
    let rules = text.and_then(|text| text.parse().ok()).unwrap_or_else(RuleSet::built_in);
    let front = |octets: &[u8]| octets[..octets.len().min(RULE_OCTETS_MOST + 1)].to_vec();
    let compressed = |packet: &[u8]| rules.compress(&front(packet), packet.len(), HOSTS);
    let expanded = |short: &[u8]| rules.expand(&front(short), short.len(), HOSTS);
    let replaced = |header: ReplacedHeader, octets: &[u8]| {
        [&header.octets, &octets[header.replaces..]].concat()
    };
    if let Some(header) = compressed(octets) {
        let short = replaced(header, octets);
        let whole = replaced(expanded(&short).expect("a rule has made it"), &short);
        assert!(whole == octets && short.len() < octets.len());
    }
    if let Some(header) = expanded(octets) {
        let whole = replaced(header, octets);
        let short = compressed(&whole).expect("a rule has made it");
        assert!(replaced(short, &whole).len() <= octets.len());
    }
}
