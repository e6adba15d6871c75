//! Octets that others have written down, tables, pictures, dissections.

use stackwright_wire::check::Internet;
use stackwright_wire::{ByteOrder, Header, Malformed, dissect, dissect_fields};

use crate::layouts::headers::{Address, Bits, CallSign, Ipv4, LittleNumbers};

/// Example 1 of RFC 791, appendix A, with addresses and a check in place.
const RFC_791: [u8; 20] =
    [0x45, 0, 0, 21, 0, 111, 0, 0, 123, 1, 0x53, 0x3d, 192, 0, 2, 1, 198, 51, 100, 7];

#[test]
fn internet_header() {
    let header = Ipv4::decode(&RFC_791).expect("the example of RFC 791");
    assert_eq!(Internet::of(&RFC_791), 0, "a header with its own check");
    let Ipv4 {
        ihl, tos, total_length, identification, df, mf, fragment_offset, ttl, protocol, ..
    } = header;
    assert_eq!((ihl, tos, total_length, identification), (5, 0, 21, 111));
    assert_eq!((df, mf, fragment_offset, ttl, protocol), (false, false, 0, 123, 1));
    assert_eq!((header.source, header.destination), ([192, 0, 2, 1], [198, 51, 100, 7]));
    let mut octets = [0; 20];
    Ipv4 { checksum: 0, ..header.clone() }.encode(&mut octets);
    assert_eq!(Internet::of(&octets), header.checksum);

    let mut version_6 = RFC_791;
    version_6[0] = 0x65;
    assert_eq!(Ipv4::decode(&version_6), Err(Malformed::Field("version")));
}

/// As in the example of AX.25 v2.2 §3.12.2: NJ7P as destination, SSID 0, a command.
#[test]
fn shifted_address() {
    let octets = [0x9c, 0x94, 0x6e, 0xa0, 0x40, 0x40, 0xe0];
    let header = Address {
        callsign: CallSign(*b"NJ7P  "),
        command: true,
        reserved: (),
        ssid: 0,
        last: false,
    };
    assert_eq!(Address::decode(&octets), Ok(header.clone()));
    let mut again = [0; 7];
    header.encode(&mut again);
    assert_eq!(again, octets);
}

#[test]
fn table_of_fields() {
    let rows: Vec<_> = Ipv4::FIELDS
        .iter()
        .map(|field| (field.name, field.offset, field.bits, field.doc))
        .collect();
    assert_eq!(rows[1], ("ihl", 4, 4, "Length of the header in words of 32 bits."));
    assert_eq!(rows[2], ("tos", 8, 8, "Type of service, in the words of 1981."));
    assert_eq!(rows[13], ("destination", 128, 32, "Whither."));
    assert_eq!(Bits::FIELDS[10].name, "type");
    let orders = LittleNumbers::FIELDS.iter().map(|field| (field.name, field.order));
    assert!(orders.clone().any(|row| row == ("octets", ByteOrder::Network)));
    assert!(orders.clone().any(|row| row == ("two", ByteOrder::LittleEndian)));
}

#[test]
fn diagram() {
    assert_eq!(
        Ipv4::DIAGRAM,
        " 0                   1                   2                   3
 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|version|  ihl  |      tos      |         total_length          |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|        identification         |r|d|m|     fragment_offset     |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|      ttl      |   protocol    |           checksum            |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|                            source                             |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|                          destination                          |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 r     bit 48   reserved
 d     bit 49   df
 m     bit 50   mf
"
    );
}

#[test]
fn diagram_of_long_and_crooked_fields() {
    assert_eq!(
        Bits::DIAGRAM,
        " 0                   1                   2                   3
 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|three|f|        twelve         |mar|                           |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+ +-+-+-+-+-+-+-+-+-+-+-+-+-+
|            thirty_three             |col|rest |               |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|           sequence            |                               |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+                               +
|                            hundred                            |
+                                                               +
|                                                               |
+                                       +-+-+-+-+-+-+-+-+-+-+-+-+
|                                       |        twenty         |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|               |     type      |                               |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+                               +
|                                                               |
+                                                               +
:                      octets (40 octets)                       :
+                                                               +
|                                                               |
+                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
|                               |
+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 f     bit 3    flag
 mar   bit 16   marker
 col   bit 51   colour
"
    );
}

#[test]
fn dissection() {
    let shown = dissect::<Ipv4>(&RFC_791).expect("twenty octets").to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "Ipv4");
    assert_eq!(lines[1], "  version          4           (0x4)         Format of the header.");
    assert_eq!(lines[13], "  source           3221225985  (0xc0000201)  Whence.");
    assert_eq!(dissect::<Ipv4>(&RFC_791[1..]).err(), Some(Malformed::TooShort));
}

#[test]
fn dissection_of_what_would_not_decode() {
    let shown = dissect::<Ipv4>(&[0xff; 20]).expect("twenty octets");
    assert_eq!(shown.values().next().and_then(|(_, value)| value), Some(15));
}

#[test]
fn dissection_by_the_table_alone() {
    let octets: Vec<u8> = (1..=100).collect();
    let little =
        dissect_fields(LittleNumbers::NAME, LittleNumbers::FIELDS, &octets).expect("enough octets");
    let values: Vec<Option<u64>> = little.values().map(|(_, value)| value).collect();
    assert_eq!(
        values[..5],
        [Some(1), Some(0x0302), Some(0x0006_0504), Some(0x0a09_0807), Some(0x000b_0c0d)]
    );
    assert_eq!(values[7], None);
    let shown = little.to_string();
    assert!(
        shown.contains("0x2726252423222120 1f1e1d1c1b1a1918".replace(' ', "").as_str()),
        "{shown}"
    );
    let bits = dissect::<Bits>(&octets).expect("enough octets").to_string();
    // The hundred bits from bit 80 on, which do not fill their first octet.
    let first = u128::from_be_bytes(octets[10..26].try_into().expect("sixteen octets")) >> 28;
    assert!(bits.contains(&format!("{first:#027x}")), "{bits}");
}
