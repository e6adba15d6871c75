//! Call signs of radio stations.

use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

/// A call sign and its SSID, as AX.25 transmits them (v2.2 §3.12.2) with all other bits cleared:
/// six characters in ASCII shifted left by one, padded with spaces, then the SSID in bits 1 to 4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallSign([u8; 7]);

/// Why a text is no call sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadCallSign {
    /// A call sign has one to six letters and digits.
    #[error("a call sign has one to six letters and digits")]
    Characters,
    /// An SSID is a number from 0 to 15.
    #[error("an SSID is a number from 0 to 15")]
    Ssid,
}

const PADDING: u8 = b' ' << 1;

/// The network of the addresses that follow from call signs, 10.0.0.0/8 (RFC 1918), and the largest
/// prime number that leaves its first and its last address out.
const NETWORK: u32 = 10 << 24;
const HOSTS: u64 = 16_777_213;

impl CallSign {
    /// Returns the call sign in the seven octets of an address field. The other bits of the last
    /// octet (command/response, reserved, extension) are not part of it.
    ///
    /// # Errors
    /// A character that is no letter and no digit, or none at all.
    pub fn from_octets(octets: [u8; 7]) -> Result<Self, BadCallSign> {
        let [name @ .., last] = octets;
        let length = name.iter().take_while(|octet| **octet != PADDING).count();
        let (name, padding) = name.split_at(length);
        let is_valid = |octet: &u8| is_allowed(octet >> 1) && octet & 1 == 0;
        let is_padded = padding.iter().all(|octet| *octet == PADDING);
        if name.is_empty() || !name.iter().all(is_valid) || !is_padded {
            return Err(BadCallSign::Characters);
        }
        let mut octets = octets;
        octets[6] = last & 0b0001_1110;
        Ok(CallSign(octets))
    }

    /// Returns the seven octets of an address field.
    pub const fn octets(self) -> [u8; 7] {
        self.0
    }

    /// Returns the SSID, 0 to 15.
    pub const fn ssid(self) -> u8 {
        self.0[6] >> 1
    }

    /// Returns the number of 40 bits that stands for it: six characters of six bits each, and the
    /// SSID.
    pub fn number(self) -> u64 {
        let [name @ .., _] = self.0;
        let name = name.iter().fold(0, |all, octet| all << 6 | u64::from((octet >> 1) - b' '));
        name << 4 | u64::from(self.ssid())
    }

    /// Returns the IPv4 address that follows from it, in 10.0.0.0/8: its number modulo 16 777 213,
    /// and 1. Stations that differ only in their SSID are next to each other.
    pub fn host(self) -> Ipv4Addr {
        Ipv4Addr::from(NETWORK + 1 + (self.number() % HOSTS) as u32)
    }
}

const fn is_allowed(character: u8) -> bool {
    character.is_ascii_uppercase() || character.is_ascii_digit()
}

impl FromStr for CallSign {
    type Err = BadCallSign;

    /// Reads `CALL` or `CALL-SSID`, in any case.
    fn from_str(text: &str) -> Result<Self, BadCallSign> {
        let (name, ssid) = text.split_once('-').unwrap_or((text, "0"));
        let is_number =
            (1..=2).contains(&ssid.len()) && ssid.bytes().all(|digit| digit.is_ascii_digit());
        let ssid = ssid.parse::<u8>().ok().filter(|ssid| is_number && *ssid < 16);
        if !(1..=6).contains(&name.len()) {
            return Err(BadCallSign::Characters);
        }
        let mut octets = [PADDING; 7];
        for (octet, character) in octets.iter_mut().zip(name.bytes()) {
            let character = character.to_ascii_uppercase();
            if !is_allowed(character) {
                return Err(BadCallSign::Characters);
            }
            *octet = character << 1;
        }
        octets[6] = ssid.ok_or(BadCallSign::Ssid)? << 1;
        Ok(CallSign(octets))
    }
}

/// `CALL`, or `CALL-SSID` where the SSID is not 0.
impl fmt::Display for CallSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for octet in self.0[..6].iter().filter(|octet| **octet != PADDING) {
            write!(f, "{}", char::from(octet >> 1))?;
        }
        match self.ssid() {
            0 => Ok(()),
            ssid => write!(f, "-{ssid}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn it_is_written_as_it_is_read() {
        for (text, written) in
            [("oe1xyz-7", "OE1XYZ-7"), ("N0CALL-0", "N0CALL"), ("A", "A"), ("QST-15", "QST-15")]
        {
            let call: CallSign = text.parse().expect("a call sign");
            assert_eq!(call.to_string(), written);
            assert_eq!(CallSign::from_octets(call.octets()), Ok(call));
        }
    }

    /// AX.25 v2.2 figure 3.5: N7LEM with SSID 0.
    #[test]
    fn its_octets_are_those_of_the_specification() {
        let call: CallSign = "N7LEM".parse().expect("a call sign");
        assert_eq!(call.octets(), [0x9c, 0x6e, 0x98, 0x8a, 0x9a, 0x40, 0x00]);
    }

    #[test]
    fn an_address_follows_from_it() {
        let host = |text: &str| text.parse().map(CallSign::host);
        assert_eq!(host("N0AAA"), Ok(Ipv4Addr::new(10, 99, 175, 25)));
        assert_eq!(host("N0AAA-1"), Ok(Ipv4Addr::new(10, 99, 175, 26)));
        assert_eq!(host("OE1XYZ-15"), Ok(Ipv4Addr::new(10, 123, 34, 172)));
    }

    #[test]
    fn the_other_bits_of_an_address_field_are_left_out() {
        let mut octets = "N7LEM-3".parse::<CallSign>().expect("a call sign").octets();
        octets[6] |= 0b1110_0001;
        assert_eq!(CallSign::from_octets(octets).map(CallSign::ssid), Ok(3));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "-1", "TOOLONG", "AB C", "Ä", "A/B"] {
            assert_eq!(text.parse::<CallSign>(), Err(BadCallSign::Characters), "{text}");
        }
        for text in ["A-", "A-16", "A-+1", "A--1", "A-x", "A-007"] {
            assert_eq!(text.parse::<CallSign>(), Err(BadCallSign::Ssid), "{text}");
        }
        for octets in [[PADDING; 7], [1; 7], [0x82, PADDING, 0x82, PADDING, PADDING, PADDING, 0]] {
            assert_eq!(CallSign::from_octets(octets), Err(BadCallSign::Characters));
        }
    }
}
