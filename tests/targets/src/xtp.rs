//! Two whole endpoints of XTP.

use stackwright_contract::services::{Credit, Datagrams};
use stackwright_wire::Header as _;
use stackwright_wire::check::Internet;
use stackwright_xtp::header::{XtpOptions, XtpPacket};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, IsochronousStream, Transaction, UnacknowledgedDatagram,
    XtpService,
};
use stackwright_xtp::{Config, layer};

use crate::lower::M;
use crate::{Input, pair};

/// Where the check of a packet stands.
const CHECK: usize = 16;

/// The first octets choose the service, and configure.
pub fn xtp(octets: &[u8]) {
    let mut input = Input(octets);
    match input.octet() % 5 {
        0 => endpoints::<Connection>(input),
        1 => endpoints::<Transaction>(input),
        2 => endpoints::<AcknowledgedDatagram>(input),
        3 => endpoints::<UnacknowledgedDatagram>(input),
        _ => endpoints::<IsochronousStream>(input),
    }
}

fn endpoints<S: XtpService<Transfer<M> = Datagrams<M>>>(mut input: Input<'_>) {
    let layers = [0, 1].map(|nth| layer::<M, S>(config(nth, &mut input), u64::from(nth)));
    pair::run(layers, repair, input);
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
