//! What `#[derive(Header)]` writes.

mod headers;
mod vectors;

use headers::{Address, Bits, CallSign, Colour, Ipv4, LittleNumbers, Numbers};
use proptest::prelude::*;
use stackwright_wire::{Header, Malformed};

/// What every header owes: it comes back as it was, writes only its own octets, and wants all of
/// them.
fn owes<H: Header + PartialEq + std::fmt::Debug>(header: &H) -> Vec<u8> {
    let mut octets = vec![0xee; H::LENGTH + 3];
    header.encode(&mut octets);
    assert_eq!(octets[H::LENGTH..], [0xee; 3], "nothing behind the header is touched");
    assert_eq!(H::decode(&octets).as_ref(), Ok(header));
    for shorter in 0..H::LENGTH {
        assert_eq!(H::decode(&octets[..shorter]), Err(Malformed::TooShort), "{shorter} octets");
    }
    octets.truncate(H::LENGTH);
    let mut again = vec![0x11; H::LENGTH];
    H::decode(&octets).expect("it was just decoded").encode(&mut again);
    assert_eq!(again, octets, "the octets follow from the header alone");
    octets
}

fn bits(width: u32) -> impl Strategy<Value = u64> {
    any::<u64>().prop_map(move |value| value >> (64 - width))
}

fn colour() -> impl Strategy<Value = Colour> {
    prop_oneof![Just(Colour::Red), Just(Colour::Green), Just(Colour::Blue)]
}

proptest! {
    #[test]
    fn numbers(one: u8, two: u16, four: u32, eight: u64, sixteen: u128) {
        let octets = owes(&Numbers { one, two, four, eight, sixteen });
        let by_hand = [
            &one.to_be_bytes()[..], &two.to_be_bytes(), &four.to_be_bytes(), &eight.to_be_bytes(),
            &sixteen.to_be_bytes(),
        ].concat();
        prop_assert_eq!(octets, by_hand);
    }

    #[test]
    fn little_numbers(
        one: u8, two: u16, three in bits(24), octets: [u8; 3], colour in colour(), eight: u64,
        sixteen: u128,
    ) {
        let three = three as u32;
        let numbers = LittleNumbers { one, two, three, magic: (), octets, colour, eight, sixteen };
        let written = owes(&numbers);
        let by_hand = [
            &one.to_le_bytes()[..], &two.to_le_bytes(), &three.to_le_bytes()[..3],
            &[0x4d, 0x3c, 0x2b, 0x1a],
            &octets, &[colour as u8, 0], &eight.to_le_bytes(), &sixteen.to_le_bytes(),
        ].concat();
        prop_assert_eq!(written, by_hand);
    }

    /// Against a string of binary digits, put together by hand.
    #[test]
    fn bits_of_all_widths(
        (three, twelve, thirty_three, rest) in (bits(3), bits(12), bits(33), bits(3)), flag: bool,
        colour in colour(), sequence in bits(24), hundred: u128, twenty in bits(20), kind: u8,
        octets: [u8; 32],
    ) {
        let hundred = hundred >> 28;
        let octets: [u8; 40] =
            std::array::from_fn(|index| octets[index % 32].wrapping_add(index as u8));
        let header = Bits {
            three: three as u8, flag, twelve: twelve as u16, marker: (), thirty_three, colour,
            rest: rest as u8,
            sequence: sequence as u32, hundred, twenty: twenty as u32, r#type: kind, octets,
        };
        let digits = format!(
            "{three:03b}{:b}{twelve:012b}10{thirty_three:033b}{:02b}{rest:03b}{sequence:024b}{hundred:0100b}{twenty:020b}{kind:08b}",
            u8::from(flag), colour as u8,
        );
        let digits: Vec<u8> = digits.bytes().map(|digit| digit - b'0').collect();
        let mut by_hand: Vec<u8> =
            digits.chunks(8).map(|eight| eight.iter().fold(0, |octet, bit| octet << 1 | bit)).collect();
        by_hand.extend(octets);
        prop_assert_eq!(owes(&header), by_hand);
    }

    /// Whatever octets come, a header that is decoded encodes to the same.
    #[test]
    fn any_octets(octets: Vec<u8>) {
        fn check<H: Header>(octets: &[u8]) -> Result<(), TestCaseError> {
            if let Ok(header) = H::decode(octets) {
                let mut again = vec![0; H::LENGTH];
                header.encode(&mut again);
                prop_assert_eq!(&again[..], &octets[..H::LENGTH]);
            }
            Ok(())
        }
        check::<Numbers>(&octets)?;
        check::<Ipv4>(&octets)?;
        check::<Bits>(&octets)?;
        check::<LittleNumbers>(&octets)?;
        check::<Address>(&octets)?;
    }
}

#[test]
fn a_wrong_field_is_named() {
    let good = Address {
        callsign: CallSign(*b"OE1XYZ"),
        command: true,
        reserved: (),
        ssid: 7,
        last: false,
    };
    let octets = owes(&good);
    let wrong = |place: usize, bits: u8| {
        let mut octets = octets.clone();
        octets[place] ^= bits;
        Address::decode(&octets).expect_err("it is wrong")
    };
    assert_eq!(wrong(0, 1), Malformed::Field("callsign"));
    assert_eq!(wrong(6, 0b0010_0000), Malformed::Field("reserved"));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "`ssid` has more than its 4 bits"]
fn a_value_that_is_too_wide_is_a_bug() {
    let callsign = CallSign(*b"OE1XYZ");
    let address = Address { callsign, command: false, reserved: (), ssid: 16, last: false };
    address.encode(&mut [0; Address::LENGTH]);
}

#[test]
#[should_panic = "room for the header"]
fn to_encode_takes_room() {
    let address = Address {
        callsign: CallSign([b' '; 6]),
        command: false,
        reserved: (),
        ssid: 0,
        last: true,
    };
    address.encode(&mut [0; 6]);
}

/// As the front door does it.
mod under_another_name {
    mod front {
        pub(super) use stackwright_wire as wire;
    }

    /// Two octets.
    #[derive(super::Header, PartialEq, Debug)]
    #[header(crate = front::wire)]
    struct Small {
        /// Both of them.
        both: u16,
    }

    #[test]
    fn works() {
        super::owes(&Small { both: 0xabcd });
    }
}
