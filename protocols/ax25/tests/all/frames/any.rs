//! Any octets: nothing panics, and what is read is written alike.

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_ax25::SYNTAX;
use stackwright_ax25::header::{
    Addresses, ControlField, DigipeaterPath, Modulus, Role, Supervisory, Unnumbered,
};
use stackwright_ax25::segment::{self, Reassembly};
use stackwright_ax25::xid::{Functions, XID_MOST, XidParameters};
use stackwright_contract::CallSign;
use stackwright_wire::syntax::walk;
use stackwright_wire::{BufferTree, Message};

fn call() -> impl Strategy<Value = CallSign> {
    "[A-Z0-9]{1,6}-[0-9]".prop_map(|text| text.parse().expect("a call sign"))
}

fn addresses() -> impl Strategy<Value = Addresses> {
    let role = prop_oneof![Just(Role::Command), Just(Role::Response), Just(Role::Unsaid)];
    (call(), call(), role, vec(call(), 0..=8), 0..9usize).prop_map(
        |(destination, source, role, path, travelled)| {
            let mut path = DigipeaterPath::through(&path).expect("at most eight");
            (0..travelled).for_each(|_| path.repeat());
            Addresses { destination, source, role, path }
        },
    )
}

fn control(count: u8) -> impl Strategy<Value = ControlField> {
    let supervisory = prop_oneof![
        Just(Supervisory::ReceiveReady),
        Just(Supervisory::ReceiveNotReady),
        Just(Supervisory::Reject),
        Just(Supervisory::SelectiveReject)
    ];
    prop_oneof![
        (0..count, 0..count, any::<bool>())
            .prop_map(|(sent, received, poll)| ControlField::Information { sent, received, poll }),
        (supervisory, 0..count, any::<bool>())
            .prop_map(|(kind, received, poll)| ControlField::Supervisory { kind, received, poll }),
        (0..9usize, any::<bool>())
            .prop_map(|(kind, poll)| ControlField::unnumbered(Unnumbered::ALL[kind], poll)),
    ]
}

fn controls() -> impl Strategy<Value = (Modulus, ControlField)> {
    prop_oneof![
        control(8).prop_map(|control| (Modulus::Eight, control)),
        control(128).prop_map(|control| (Modulus::Extended, control)),
    ]
}

fn parameters() -> impl Strategy<Value = XidParameters> {
    let functions = proptest::option::of((0u32..1 << 24).prop_map(Functions));
    (any::<Option<u16>>(), functions, proptest::option::of(0u32..1 << 28), any::<Option<u8>>())
        .prop_flat_map(|(classes, functions, longest, window)| {
            (any::<Option<u16>>(), any::<Option<u8>>()).prop_map(move |(timeout, tries)| {
                XidParameters { classes, functions, longest, window, timeout, tries }
            })
        })
}

proptest! {
    #[test]
    fn a_head_is_read_as_it_was_written(
        addresses in addresses(),
        (modulus, control) in controls(),
    ) {
        let mut octets = [0; 80];
        let at = addresses.encode(&mut octets);
        let length = control.encode(modulus, &mut octets[at..]);
        prop_assert_eq!(Addresses::decode(&octets), Ok((addresses, at)));
        prop_assert_eq!(ControlField::decode(&octets[at..], modulus), Ok((control, length)));
        for short in 0..at {
            prop_assert!(Addresses::decode(&octets[..short]).is_err());
        }
        prop_assert!(ControlField::decode(&octets[at..at + length - 1], modulus).is_err());
    }

    #[test]
    fn any_octets_are_a_head_or_none(octets in vec(any::<u8>(), 0..100)) {
        // All bits of characters but the shifted one: a call sign is likely then.
        let likely: Vec<u8> = octets.iter().map(|octet| (b'A' + octet % 26) << 1).collect();
        for octets in [octets, likely] {
            if let Ok((addresses, at)) = Addresses::decode(&octets) {
                let mut again = [0; 80];
                prop_assert_eq!(addresses.encode(&mut again), at);
                let (there, _) = Addresses::decode(&again).expect("it was just written");
                prop_assert_eq!(there.path, addresses.path);
            }
            for modulus in [Modulus::Eight, Modulus::Extended] {
                if let Ok((control, length)) = ControlField::decode(&octets, modulus) {
                    let mut again = [0; 2];
                    prop_assert_eq!(control.encode(modulus, &mut again), length);
                    prop_assert_eq!(&again[..length], &octets[..length]);
                }
            }
            let shown = walk(SYNTAX, &octets);
            prop_assert!(shown.found.len() <= octets.len() + 1);
        }
    }

    #[test]
    fn an_xid_is_read_as_it_was_written(parameters in parameters()) {
        let mut octets = [0; XID_MOST];
        let length = parameters.encode(&mut octets);
        prop_assert_eq!(XidParameters::decode(&octets[..length]), Ok(parameters));
        for short in 1..length {
            prop_assert!(XidParameters::decode(&octets[..short]).is_err());
        }
    }

    #[test]
    fn any_octets_are_an_xid_or_none(
        mut octets in vec(any::<u8>(), 4..60),
        length in 0..60u8,
        parameters in vec(any::<(u8, u8, u8)>(), 0..8),
    ) {
        let _read = XidParameters::decode(&octets);
        octets[..4].copy_from_slice(&[0x82, 0x80, 0, length]);
        let _read = XidParameters::decode(&octets);
        let mut octets = vec![0x82, 0x80, 0, 0];
        for (id, length, fill) in parameters {
            let length = length % 8;
            octets.extend([id % 12, length]);
            octets.extend((0..length).map(|_| fill));
        }
        octets[3] = (octets.len() - 4) as u8;
        prop_assert!(XidParameters::decode(&octets).is_ok());
    }

    #[test]
    fn segments_become_what_they_were(
        octets in vec(any::<u8>(), 0..600),
        longest in 3..300usize,
        pid in any::<u8>().prop_filter("no segment of segments", |pid| *pid != 8),
    ) {
        let Some(count) = segment::count(octets.len(), longest) else { return Ok(()) };
        let mut message = BufferTree::with_headroom(4, &octets);
        let mut reassembly = Reassembly::default();
        for place in 0..count {
            let own = (place == 0).then_some(pid);
            let segment = segment::next(&mut message, own, count - place, longest);
            prop_assert!(segment.len() <= longest);
            let whole = reassembly.take(segment).expect("in place");
            prop_assert_eq!(whole.is_some(), place + 1 == count);
            if let Some((there, whole)) = whole {
                let mut again = vec![0; whole.len()];
                whole.copy_to(&mut again);
                prop_assert_eq!((there, &again), (pid, &octets));
            }
        }
        prop_assert!(message.is_empty());
    }

    #[test]
    fn any_segments_are_bounded(segments in vec(vec(any::<u8>(), 0..5), 0..400)) {
        let mut reassembly = Reassembly::default();
        for segment in segments {
            let _whole = reassembly.take(BufferTree::with_headroom(0, &segment));
            prop_assert!(reassembly.held() <= segment::SEGMENTS_MOST * 5);
        }
    }
}
