//! Octets that the specification, or a computation by hand, says.

use stackwright_ax25::header::{
    Addresses, ControlField, DigipeaterPath, Modulus, Role, Supervisory, Unnumbered,
};
use stackwright_ax25::segment::{self, Reassembly};
use stackwright_ax25::xid::{BALANCED_HALF_DUPLEX, Functions, XID_MOST, XidParameters};
use stackwright_contract::CallSign;
use stackwright_wire::check::Crc16;
use stackwright_wire::{BufferTree, Message};

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

const UI: &[u8] = &[
    0x86, 0xa2, 0x40, 0x40, 0x40, 0x40, 0xe0, 0x9c, 0x60, 0x86, 0x82, 0x98, 0x98, 0x6f, 0x03, 0xf0,
    0x48, 0x69,
];
const SABM: &[u8] =
    &[0x9c, 0x60, 0x86, 0x82, 0x98, 0x98, 0xee, 0xac, 0x8a, 0x66, 0xb0, 0xb2, 0xb4, 0x61, 0x3f];

/// A frame as its head and what follows, and back.
fn is(octets: &[u8], addresses: Addresses, control: ControlField, rest: &[u8]) {
    let (decoded, at) = Addresses::decode(octets).expect("addresses");
    assert_eq!(decoded, addresses);
    let (decoded, length) =
        ControlField::decode(&octets[at..], Modulus::Eight).expect("a control field");
    assert_eq!((decoded, &octets[at + length..]), (control, rest));
    let mut encoded = [0; 80];
    assert_eq!(addresses.encode(&mut encoded), at);
    assert_eq!(control.encode(Modulus::Eight, &mut encoded[at..]), length);
    assert_eq!(&encoded[..at + length], &octets[..at + length]);
}

#[test]
fn a_ui_frame_to_all() {
    let addresses = Addresses {
        destination: call("CQ"),
        source: call("N0CALL-7"),
        role: Role::Command,
        path: DigipeaterPath::DIRECT,
    };
    is(UI, addresses, ControlField::unnumbered(Unnumbered::Ui, false), &[0xf0, 0x48, 0x69]);
    assert_eq!(Crc16::of(UI).to_le_bytes(), [0xe7, 0xee]);
}

#[test]
fn a_sabm_that_asks() {
    let addresses = Addresses {
        destination: call("N0CALL-7"),
        source: call("VE3XYZ"),
        role: Role::Command,
        path: DigipeaterPath::DIRECT,
    };
    is(SABM, addresses, ControlField::unnumbered(Unnumbered::Sabm, true), &[]);
    assert_eq!(Crc16::of(SABM), 0xedd4);
}

#[test]
fn control_fields_of_both_kinds() {
    for (control, eight, extended) in [
        (ControlField::Information { sent: 5, received: 3, poll: true }, 0x7a, [0x0a, 0x07]),
        (ControlField::Information { sent: 0, received: 0, poll: false }, 0x00, [0x00, 0x00]),
        (s(Supervisory::ReceiveReady, 7, false), 0xe1, [0x01, 0x0e]),
        (s(Supervisory::ReceiveNotReady, 1, true), 0x35, [0x05, 0x03]),
        (s(Supervisory::Reject, 2, false), 0x49, [0x09, 0x04]),
        (s(Supervisory::SelectiveReject, 4, true), 0x9d, [0x0d, 0x09]),
    ] {
        let mut octets = [0; 2];
        assert_eq!(control.encode(Modulus::Eight, &mut octets), 1);
        assert_eq!(octets[0], eight);
        assert_eq!(ControlField::decode(&octets, Modulus::Eight), Ok((control, 1)));
        assert_eq!(control.encode(Modulus::Extended, &mut octets), 2);
        assert_eq!(octets, extended);
        assert_eq!(ControlField::decode(&octets, Modulus::Extended), Ok((control, 2)));
    }
    for (kind, octet) in
        Unnumbered::ALL.into_iter().zip([0x2f, 0x6f, 0x43, 0x0f, 0x63, 0x87, 0x03, 0xaf, 0xe3])
    {
        for modulus in [Modulus::Eight, Modulus::Extended] {
            for poll in [false, true] {
                let wire = octet | if poll { 0x10 } else { 0 };
                let control = ControlField::unnumbered(kind, poll);
                assert_eq!(ControlField::decode(&[wire], modulus), Ok((control, 1)));
                let mut octets = [0];
                control.encode(modulus, &mut octets);
                assert_eq!(octets, [wire]);
            }
        }
    }
}

fn s(kind: Supervisory, received: u8, poll: bool) -> ControlField {
    ControlField::Supervisory { kind, received, poll }
}

#[test]
fn a_path_is_travelled_one_digipeater_after_the_other() {
    let mut path = DigipeaterPath::through(&[call("RELAY-1"), call("RELAY-2")]).expect("two");
    assert_eq!((path.len(), path.next(), path.is_travelled()), (2, Some(call("RELAY-1")), false));
    path.repeat();
    assert_eq!((path.next(), path.is_travelled()), (Some(call("RELAY-2")), false));
    let addresses =
        Addresses { destination: call("B"), source: call("A"), role: Role::Response, path };
    let mut octets = [0; 80];
    let length = addresses.encode(&mut octets);
    assert_eq!(length, 28);
    assert_eq!((octets[6], octets[13], octets[20], octets[27]), (0x60, 0xe0, 0xe2, 0x65));
    assert_eq!(Addresses::decode(&octets[..length]), Ok((addresses, length)));
    path.repeat();
    assert_eq!((path.next(), path.is_travelled()), (None, true));
    let back = DigipeaterPath::through(&[call("RELAY-2"), call("RELAY-1")]);
    assert_eq!(Some(path.reversed()), back);
    assert!(DigipeaterPath::through(&[call("A"); 9]).is_none());
}

/// Figure 4.6 of version 2.2, with the classes that it means: it prints 00 20.
#[test]
fn the_xid_of_the_specification() {
    let octets = [
        0x82, 0x80, 0x00, 0x17, 0x02, 0x02, 0x21, 0x00, 0x03, 0x03, 0x86, 0xa8, 0x02, 0x06, 0x02,
        0x04, 0x00, 0x08, 0x01, 0x02, 0x09, 0x02, 0x10, 0x00, 0x0a, 0x01, 0x03,
    ];
    let functions = [
        Functions::REJECT,
        Functions::SELECTIVE_REJECT,
        Functions::EXTENDED_ADDRESS,
        Functions::CHECK_16,
        Functions::TEST,
        Functions::MODULO_128,
        Functions::SYNCHRONOUS,
    ];
    let parameters = XidParameters {
        classes: Some(BALANCED_HALF_DUPLEX),
        functions: Some(functions.into_iter().fold(Functions::default(), Functions::and)),
        longest: Some(128),
        window: Some(2),
        timeout: Some(4096),
        tries: Some(3),
    };
    assert_eq!(XidParameters::decode(&octets), Ok(parameters));
    let mut encoded = [0; XID_MOST];
    let length = parameters.encode(&mut encoded);
    assert_eq!(&encoded[..length], octets);
    assert_eq!(XidParameters::decode(&[]), Ok(XidParameters::default()), "it only asks");
}

#[test]
fn a_message_in_three_segments() {
    let mut message = BufferTree::with_headroom(0, b"ABCDEF");
    let mut reassembly = Reassembly::default();
    assert_eq!(segment::count(6, 4), Some(3));
    let expected: [&[u8]; 3] =
        [&[0x82, 0xf0, 0x41, 0x42], &[0x01, 0x43, 0x44, 0x45], &[0x00, 0x46]];
    for (place, octets) in expected.into_iter().enumerate() {
        let pid = (place == 0).then_some(0xf0);
        let segment = segment::next(&mut message, pid, 3 - place, 4);
        let mut there = vec![0; segment.len()];
        segment.copy_to(&mut there);
        assert_eq!(there, octets);
        let whole = reassembly.take(segment).expect("in place");
        assert_eq!(whole.is_some(), place == 2);
        if let Some((pid, whole)) = whole {
            let mut octets = [0; 6];
            assert_eq!((pid, whole.copy_to(&mut octets), &octets), (0xf0, 6, b"ABCDEF"));
        }
    }
    assert_eq!(segment::count(128 * 3 - 1, 4), Some(128));
    assert_eq!(segment::count(128 * 3, 4), None);
    assert_eq!(
        (segment::count(9, 0), segment::count(9, 1), segment::count(9, 2)),
        (None, None, None)
    );
}
