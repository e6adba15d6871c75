//! Whole endpoints of XTP: two, and three in a group.

use stackwright_contract::services::{Credit, Datagrams};
use stackwright_wire::Header as _;
use stackwright_wire::check::Internet;
use stackwright_xtp::header::{XtpOptions, XtpPacket};
use stackwright_xtp::multicast::{
    self, GroupConfig, GroupService, ReliableMulticast, UnacknowledgedMulticast,
};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, IsochronousStream, Transaction, UnacknowledgedDatagram,
    XtpService,
};
use stackwright_xtp::{Config, layer};

use crate::lower::M;
use crate::{Input, endpoints};

/// Where the check of a packet stands.
const CHECK: usize = 16;

/// The first octets choose the service, and configure.
pub fn xtp(octets: &[u8]) {
    let mut input = Input(octets);
    match input.octet() % 5 {
        0 => pair::<Connection>(input),
        1 => pair::<Transaction>(input),
        2 => pair::<AcknowledgedDatagram>(input),
        3 => pair::<UnacknowledgedDatagram>(input),
        _ => pair::<IsochronousStream>(input),
    }
}

fn pair<S: XtpService<Transfer<M> = Datagrams<M>>>(mut input: Input<'_>) {
    let layers = [0, 1].map(|nth| layer::<M, S>(config(nth, &mut input), u64::from(nth)));
    endpoints::pair(layers, repair, input);
}

/// The same for a group of three, each of which may send.
pub fn xtp_group(octets: &[u8]) {
    let mut input = Input(octets);
    match input.octet() % 2 {
        0 => group::<ReliableMulticast>(input),
        _ => group::<UnacknowledgedMulticast>(input),
    }
}

fn group<S: GroupService<Transfer<M> = Datagrams<M>>>(mut input: Input<'_>) {
    let layers = [0, 1, 2].map(|nth| {
        let common = config(nth, &mut input);
        let usual = GroupConfig::new(common.secret);
        let config = GroupConfig { common, members: u16::from(input.octet() % 4), ..usual };
        multicast::layer::<M, S>(config, u64::from(nth))
    });
    endpoints::group(layers, repair, input);
}

fn config(nth: u8, input: &mut Input<'_>) -> Config {
    let choices = input.octet();
    Config {
        packet: 256 + u16::from(input.octet()),
        window: 256 << (choices % 8),
        checks_data: choices & 8 != 0,
        retries: u32::from(choices / 16 % 4) + 1,
        half_open_most: usize::from(choices / 64) * 2,
        send: Credit { octets: 1 << 20, messages: 64 },
        sync: u32::MAX - 3,
        ..Config::new([nth; 16])
    }
}

/// Makes the check right, so that what is read is what was altered.
pub(crate) fn repair(octets: &mut [u8]) {
    let Ok(header) = XtpPacket::decode(octets.get(..XtpPacket::LENGTH).unwrap_or_default()) else {
        return;
    };
    octets[CHECK..][..2].fill(0);
    let end =
        if header.options.has(XtpOptions::NOCHECK) { XtpPacket::LENGTH } else { octets.len() };
    let check = Internet::of(&octets[..end]);
    octets[CHECK..][..2].copy_from_slice(&check.to_be_bytes());
}
