//! Neighbour discovery for IPv6: solicitations and advertisements (RFC 4861 §7), duplicate address
//! detection (RFC 4862 §5.4).

use core::net::Ipv6Addr;

use stackwright_contract::Context;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{
    Ipv6, NdpOptions, Neighbor, group_address, is_group, pseudo_header,
};
use stackwright_wire::{Header, Message};

use crate::neighbors::State;
use crate::version::{Key, Version};
use crate::{NAME, Out, Resolve};

const ICMP: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
/// No router forwards it, so whoever sent a packet that has it is on the link (RFC 4861 §3.1).
const HOP_LIMIT: u8 = 255;
/// Octets of an option with an address.
const OPTION: usize = 8;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// What a packet says.
struct Heard {
    source: Ipv6Addr,
    message: Neighbor,
    target: Ipv6Addr,
    /// The link-layer address in its options.
    address: Option<[u8; 6]>,
}

/// Returns the group of all hosts whose addresses end like this one (RFC 4291 §2.7.1).
fn solicited_node(host: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = host.octets();
    let (high, low) = (0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, high, low)
}

/// Returns whether a packet is one of those that are handled here. Redirects, and what routers and
/// hosts say to each other, pass upward.
pub(crate) fn is_ndp<M: Message>(packet: &mut M) -> bool {
    let front = packet.front(Ipv6::LENGTH + 1);
    front.is_some_and(|front| {
        front[6] == ICMP && [SOLICITATION, ADVERTISEMENT].contains(&front[Ipv6::LENGTH])
    })
}

impl<M: Message> Resolve<M> {
    /// Asks for the address of a host: all that have its group, or at `to` only.
    pub(crate) fn ask_ndp(
        &mut self,
        cx: &Context,
        to: Option<[u8; 6]>,
        from: Ipv6Addr,
        host: Ipv6Addr,
        out: Out<'_, M>,
    ) {
        let group = solicited_node(host);
        let key =
            (to.or_else(|| group_address(group.into())).unwrap_or([0xff; 6]), Version::V6.kind());
        let destination = if to.is_some() { host } else { group };
        let option = (!from.is_unspecified()).then_some(SOURCE_ADDRESS);
        self.send_ndp(cx, key, (from, destination), neighbor(SOLICITATION, host), option, out);
    }

    /// Asks whether somebody has an address that we want (RFC 4862 §5.4.2).
    pub(crate) fn probe_ndp(&mut self, cx: &Context, host: Ipv6Addr, out: Out<'_, M>) {
        self.ask_ndp(cx, None, Ipv6Addr::UNSPECIFIED, host, out);
    }

    /// Tells all that an address is ours (RFC 4861 §7.2.6).
    pub(crate) fn announce_ndp(&mut self, cx: &Context, host: Ipv6Addr, out: Out<'_, M>) {
        let message = Neighbor { overrides: true, ..neighbor(ADVERTISEMENT, host) };
        let key = Version::V6.all();
        self.send_ndp(cx, key, (host, ALL_NODES), message, Some(TARGET_ADDRESS), out);
    }

    fn send_ndp(
        &mut self,
        cx: &Context,
        key: Key,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        message: Neighbor,
        option: Option<u8>,
        out: Out<'_, M>,
    ) {
        let Some(hardware) = self.hardware else { return };
        let mut octets = [0; Ipv6::LENGTH + Neighbor::LENGTH + OPTION];
        let length = octets.len() - if option.is_some() { 0 } else { OPTION };
        let (packet, _) = octets.split_at_mut(length);
        let (header, body) = packet.split_at_mut(Ipv6::LENGTH);
        let payload_length = body.len() as u16;
        let checksum =
            pseudo_header(source.into(), destination.into(), ICMP, payload_length.into());
        Neighbor { checksum, ..message }.encode(body);
        if let (Some(kind), Some(option)) = (option, body.get_mut(Neighbor::LENGTH..)) {
            option[..2].copy_from_slice(&[kind, 1]);
            option[2..].copy_from_slice(&hardware);
        }
        let check = Internet::of(body);
        body[2..4].copy_from_slice(&check.to_be_bytes());
        Ipv6 {
            version: (),
            traffic_class: 0,
            flow_label: 0,
            payload_length,
            next_header: ICMP,
            hop_limit: HOP_LIMIT,
            source: source.octets(),
            destination: destination.octets(),
        }
        .encode(header);
        self.transmit_own(cx, key, packet, out);
    }

    /// Handles a solicitation or an advertisement that arrived from a station.
    pub(crate) fn on_ndp(&mut self, cx: &Context, key: Key, mut packet: M, out: Out<'_, M>) {
        match understand(&mut packet) {
            Err(reason) => cx.dropped(NAME, reason),
            Ok(heard) if heard.message.icmp_type == SOLICITATION => {
                self.on_solicitation(cx, key, &heard, out);
            }
            Ok(heard) => self.on_advertisement(cx, &heard, out),
        }
    }

    /// RFC 4861 §7.2.3, RFC 4862 §5.4.3.
    fn on_solicitation(&mut self, cx: &Context, key: Key, heard: &Heard, out: Out<'_, M>) {
        let Some((listener, own)) = self.own(heard.target.into()) else {
            return; // it asks for another host of the group
        };
        let is_probe = heard.source.is_unspecified();
        if !own.is_usable() {
            // Whoever looks for duplicates wants the address, too; others ask too early.
            return if is_probe {
                self.conflict(cx, listener, out)
            };
        }
        let (to, destination) =
            if is_probe { (Version::V6.all(), ALL_NODES) } else { (key, heard.source) };
        if let Some(address) = heard.address
            && self.own(heard.source.into()).is_none()
        {
            let host = heard.source.into();
            let known = self.neighbor(host);
            let id = known.unwrap_or_else(|| self.add_neighbor(cx, host, false, out));
            self.learn(cx, id, address, out);
        }
        let message = Neighbor {
            solicited: !is_probe,
            overrides: true,
            ..neighbor(ADVERTISEMENT, heard.target)
        };
        self.send_ndp(cx, to, (heard.target, destination), message, Some(TARGET_ADDRESS), out);
    }

    /// RFC 4861 §7.2.5, RFC 4862 §5.4.4. It never makes an entry.
    fn on_advertisement(&mut self, cx: &Context, heard: &Heard, out: Out<'_, M>) {
        if let Some((listener, _)) = self.own(heard.target.into()) {
            cx.dropped(NAME, "an advertisement of our own address");
            return self.conflict(cx, listener, out);
        }
        let Some(id) = self.neighbor(heard.target.into()) else {
            return cx.dropped(NAME, "an advertisement that nobody asked for");
        };
        let Some(neighbor) = self.neighbors.get_mut(id) else { return };
        let Neighbor { solicited, overrides, .. } = heard.message;
        match (neighbor.state, heard.address) {
            (State::Permanent, _) => {}
            (State::Incomplete, None) => {
                cx.dropped(NAME, "an advertisement without the address that was asked for");
            }
            (State::Incomplete, Some(address)) if solicited => self.confirm(cx, id, address, out),
            (State::Incomplete, Some(address)) => self.learn(cx, id, address, out),
            (state, Some(address)) if address != neighbor.address && !overrides => {
                if matches!(state, State::Reachable(_)) {
                    neighbor.state = State::Stale;
                }
            }
            (_, address) if solicited => {
                let address = address.unwrap_or(neighbor.address);
                self.confirm(cx, id, address, out);
            }
            (_, Some(address)) => self.learn(cx, id, address, out),
            (_, None) => {}
        }
    }
}

/// Returns a message about a host, without flags.
fn neighbor(icmp_type: u8, target: Ipv6Addr) -> Neighbor {
    Neighbor {
        icmp_type,
        code: 0,
        checksum: 0,
        router: false,
        solicited: false,
        overrides: false,
        rsrvd: 0,
        target: target.octets(),
    }
}

/// Returns what a packet says, if it is valid (RFC 4861 §7.1.1, §7.1.2).
fn understand<M: Message>(packet: &mut M) -> Result<Heard, &'static str> {
    const SHORT: &str = "a neighbour discovery packet that is cut short";
    let header: Ipv6 = packet.pull().map_err(|_| SHORT)?;
    let body = packet.front(header.payload_length.into()).ok_or(SHORT)?;
    let message = Neighbor::decode(body).map_err(|_| SHORT)?;
    let (source, destination) = (Ipv6Addr::from(header.source), Ipv6Addr::from(header.destination));
    let target = Ipv6Addr::from(message.target);
    let sum = pseudo_header(source.into(), destination.into(), ICMP, body.len() as u32);
    let mut check = Internet::new();
    check.add(&sum.to_be_bytes());
    check.add(body);
    let options = NdpOptions::of(&body[Neighbor::LENGTH..]);
    let is_solicitation = message.icmp_type == SOLICITATION;
    let kind = if is_solicitation { SOURCE_ADDRESS } else { TARGET_ADDRESS };
    let option = options.find(kind);
    let address = option.and_then(|value| value.try_into().ok());
    let address = address.filter(|address| !is_group(*address) && *address != [0; 6]);
    let is_whole = options.is_whole();
    let is_sound = if is_solicitation && source.is_unspecified() {
        destination == solicited_node(target) && option.is_none()
    } else {
        is_solicitation || !(destination.is_multicast() && message.solicited)
    };
    match () {
        () if header.hop_limit != HOP_LIMIT => {
            Err("a neighbour discovery packet that may come from beyond the link")
        }
        () if check.value() != 0 => Err("a neighbour discovery packet whose check does not agree"),
        () if message.code != 0 || !is_whole => Err("a malformed neighbour discovery packet"),
        () if target.is_multicast() || source.is_multicast() || !is_sound => {
            Err("a neighbour discovery packet that no host sends")
        }
        () => Ok(Heard { source, message, target, address }),
    }
}
