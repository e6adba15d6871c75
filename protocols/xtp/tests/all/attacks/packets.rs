//! Packets that a test writes, and reads.

use stackwright_wire::Header;
use stackwright_wire::check::Internet;
use stackwright_xtp::header::{
    AddressHeader, ControlSegment, DiagnosticSegment, InternetAddress, KeyExchange, SpanCount,
    SpanSegment, TrafficHeader, XtpKind, XtpOptions, XtpPacket,
};

/// Where the length of a packet stands, and its check.
const LENGTH: usize = 12;
const CHECK: usize = 16;

/// The octets of a header.
pub(crate) fn encoded<H: Header>(header: &H) -> Vec<u8> {
    let mut octets = vec![0; H::LENGTH];
    header.encode(&mut octets);
    octets
}

/// A header with the sender's own key, without options.
pub(crate) fn own(key: u64, format: XtpKind) -> XtpPacket {
    XtpPacket {
        returned: false,
        key,
        options: XtpOptions::NONE,
        version: (),
        format,
        length: 0,
        check: 0,
        sort: 0,
        sync: 0,
        sequence: 0,
    }
}

/// A header with the key of its receiver's context, without options.
pub(crate) fn returned(key: u64, format: XtpKind) -> XtpPacket {
    XtpPacket { returned: true, ..own(key, format) }
}

/// Makes the check of a packet right.
pub(crate) fn seal(octets: &mut [u8]) {
    octets[CHECK..][..2].fill(0);
    let check = Internet::of(octets);
    octets[CHECK..][..2].copy_from_slice(&check.to_be_bytes());
}

/// A packet: the length and the check are put in.
pub(crate) fn packet(header: XtpPacket, segments: &[&[u8]]) -> Vec<u8> {
    let body = segments.concat();
    let mut octets = [encoded(&header), body].concat();
    let length = (octets.len() - XtpPacket::LENGTH) as u32;
    octets[LENGTH..][..4].copy_from_slice(&length.to_be_bytes());
    seal(&mut octets);
    octets
}

/// The segments of a FIRST before its data, for a service.
pub(crate) fn opening(service: u8) -> Vec<u8> {
    let address = AddressHeader { length: 16, domain: 0, format: AddressHeader::INTERNET };
    let ends = InternetAddress {
        destination: 0x0aff_0001,
        source: 0,
        destination_port: 7,
        source_port: 0,
    };
    let traffic = TrafficHeader { length: 8, service, format: 0 };
    [encoded(&address), encoded(&ends), encoded(&traffic), vec![0; 4]].concat()
}

/// A FIRST with the sender's `key`.
pub(crate) fn first(key: u64, service: u8, options: XtpOptions, data: &[u8]) -> Vec<u8> {
    packet(XtpPacket { options, ..own(key, XtpKind::First) }, &[&opening(service), data])
}

/// Which report a packet makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) received: u64,
    pub(crate) allocated: u64,
    pub(crate) echo: u32,
}

fn segment(said: Said) -> Vec<u8> {
    let Said { received, allocated, echo } = said;
    encoded(&ControlSegment { received, allocated, echo })
}

/// A CNTL.
pub(crate) fn control(header: XtpPacket, said: Said) -> Vec<u8> {
    packet(XtpPacket { format: XtpKind::Control, ..header }, &[&segment(said)])
}

/// An ECNTL that counts its spans.
pub(crate) fn error_control(header: XtpPacket, said: Said, spans: &[(u64, u64)]) -> Vec<u8> {
    let count = encoded(&SpanCount { spans: spans.len() as u32 });
    let spans =
        spans.iter().map(|(left, right)| encoded(&SpanSegment { left: *left, right: *right }));
    let spans = spans.collect::<Vec<_>>().concat();
    packet(XtpPacket { format: XtpKind::ErrorControl, ..header }, &[&segment(said), &count, &spans])
}

/// A TCNTL that tells a key.
pub(crate) fn traffic_control(header: XtpPacket, said: Said, key: u64, service: u8) -> Vec<u8> {
    let exchange = encoded(&KeyExchange { reserved: 0, key });
    let traffic = encoded(&TrafficHeader { length: 8, service, format: 0 });
    let segments = [&segment(said)[..], &exchange, &traffic, &[0; 4]];
    packet(XtpPacket { format: XtpKind::TrafficControl, ..header }, &segments)
}

/// A DIAG with END.
pub(crate) fn diagnostic(header: XtpPacket, code: u32, value: u32) -> Vec<u8> {
    let header = XtpPacket { options: XtpOptions::END, format: XtpKind::Diagnostic, ..header };
    packet(header, &[&encoded(&DiagnosticSegment { code, value })])
}

/// A DATA.
pub(crate) fn data(header: XtpPacket, octets: &[u8]) -> Vec<u8> {
    packet(XtpPacket { format: XtpKind::Data, ..header }, &[octets])
}

/// The header of a packet that a station sent.
pub(crate) fn header(octets: &[u8]) -> XtpPacket {
    XtpPacket::decode(octets).expect("a header")
}

/// The key that a TCNTL tells.
pub(crate) fn told_key(octets: &[u8]) -> u64 {
    assert_eq!(header(octets).format, XtpKind::TrafficControl);
    let at = XtpPacket::LENGTH + ControlSegment::LENGTH;
    KeyExchange::decode(&octets[at..]).expect("a key").key
}

/// The report of a CNTL, an ECNTL or a TCNTL.
pub(crate) fn report(octets: &[u8]) -> Said {
    let ControlSegment { received, allocated, echo } =
        ControlSegment::decode(&octets[XtpPacket::LENGTH..]).expect("a report");
    Said { received, allocated, echo }
}

/// What a DIAG says.
pub(crate) fn diagnosis(octets: &[u8]) -> (u32, u32) {
    assert_eq!(header(octets).format, XtpKind::Diagnostic);
    let DiagnosticSegment { code, value } =
        DiagnosticSegment::decode(&octets[XtpPacket::LENGTH..]).expect("a diagnosis");
    (code, value)
}
