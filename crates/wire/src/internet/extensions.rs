//! Options of IPv4 and extension headers of IPv6, read one after the other. Each walk ends: it
//! goes forward in octets that are there, and nothing is allocated.

use crate::Malformed;

/// An option of IPv4, or of an extension header of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InternetOption<'a> {
    /// Its type.
    pub kind: u8,
    /// Where its type is, in octets from the first of what is walked.
    pub at: usize,
    /// What it says.
    pub data: &'a [u8],
}

/// Iterates over the options of an IPv4 header (RFC 791 §3.1), without those that are padding.
/// Behind an error nothing follows.
#[derive(Clone, Debug)]
pub struct Ipv4Options<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Ipv4Options<'a> {
    /// Begins at the first octet behind the addresses.
    pub const fn new(octets: &'a [u8]) -> Self {
        Ipv4Options { octets, at: 0 }
    }
}

impl<'a> Iterator for Ipv4Options<'a> {
    type Item = Result<InternetOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            match *self.octets.get(at)? {
                0 => return None,
                1 => self.at += 1,
                kind => {
                    // Its length counts its type and itself.
                    let length = self.octets.get(at + 1).map_or(0, |length| usize::from(*length));
                    let data = self.octets.get(at + 2..at + length);
                    self.at = if data.is_some() { at + length } else { self.octets.len() };
                    let option = data.map(|data| InternetOption { kind, at, data });
                    return Some(option.ok_or(Malformed::Field("length")));
                }
            }
        }
    }
}

/// Iterates over the options of a hop-by-hop or destination options header (RFC 8200 §4.2), without
/// those that are padding. Behind an error nothing follows.
#[derive(Clone, Debug)]
pub struct ExtensionOptions<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> ExtensionOptions<'a> {
    /// Begins in the header `octets`, behind its first two.
    pub const fn new(octets: &'a [u8]) -> Self {
        ExtensionOptions { octets, at: 2 }
    }
}

impl<'a> Iterator for ExtensionOptions<'a> {
    type Item = Result<InternetOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            let kind = *self.octets.get(at)?;
            if kind == 0 {
                self.at += 1; // Pad1 has no length
                continue;
            }
            let length = self.octets.get(at + 1).map_or(usize::MAX, |length| (*length).into());
            let data = self.octets.get(at + 2..(at + 2).saturating_add(length));
            self.at = if data.is_some() { at + 2 + length } else { self.octets.len() };
            if kind != 1 || data.is_none() {
                let option = data.map(|data| InternetOption { kind, at, data });
                return Some(option.ok_or(Malformed::Field("length")));
            }
        }
    }
}

/// An extension header of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extension<'a> {
    /// What it is: the number that the header before it says.
    pub kind: u8,
    /// Where it begins, in octets from the end of the IPv6 header.
    pub at: usize,
    /// All of it, at least 8 octets.
    pub octets: &'a [u8],
    /// What follows it.
    pub next: u8,
}

/// Iterates over the extension headers between an IPv6 header and its payload (RFC 8200 §4). It
/// ends at the first that is none. Behind an error nothing follows.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    octets: &'a [u8],
    at: usize,
    kind: u8,
}

impl<'a> Extensions<'a> {
    /// Options for every router on the way.
    pub const HOP_BY_HOP: u8 = 0;
    /// Whom the packet passes.
    pub const ROUTING: u8 = 43;
    /// Which part of a packet it is.
    pub const FRAGMENT: u8 = 44;
    /// Options for the destination.
    pub const DESTINATION: u8 = 60;

    /// Begins at the first octet behind the IPv6 header, which says that `kind` is there.
    pub const fn new(kind: u8, octets: &'a [u8]) -> Self {
        Extensions { octets, at: 0, kind }
    }

    /// Returns whether a header of this number is one that is walked over.
    #[inline]
    pub const fn is_one(kind: u8) -> bool {
        matches!(kind, Self::HOP_BY_HOP | Self::ROUTING | Self::FRAGMENT | Self::DESTINATION)
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Result<Extension<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, at) = (self.kind, self.at);
        if !Self::is_one(kind) {
            return None;
        }
        let units = match self.octets.get(at + 1) {
            Some(_) if kind == Self::FRAGMENT => 1,
            Some(length) => usize::from(*length) + 1,
            None => usize::MAX / 8,
        };
        let Some(octets) = self.octets.get(at..at.saturating_add(units * 8)) else {
            self.kind = u8::MAX; // which is none
            return Some(Err(Malformed::TooShort));
        };
        (self.at, self.kind) = (at + octets.len(), octets[0]);
        Some(Ok(Extension { kind, at, octets, next: octets[0] }))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn options_of_both_versions_are_walked_to_their_end() {
        let octets = [1, 7, 4, 9, 8, 1, 148, 2, 0, 99];
        let options: Vec<_> = Ipv4Options::new(&octets).map(Result::unwrap).collect();
        assert_eq!(
            options,
            [
                InternetOption { kind: 7, at: 1, data: &[9, 8] },
                InternetOption { kind: 148, at: 6, data: &[] },
            ]
        );
        for malformed in [&[7][..], &[7, 0], &[7, 1, 0, 0], &[7, 5, 0, 0]] {
            let mut options = Ipv4Options::new(malformed);
            assert!(options.next().is_some_and(|option| option.is_err()), "{malformed:?}");
            assert_eq!(options.next(), None);
        }
        let octets = [59, 0, 0, 1, 1, 0, 5, 2, 0, 0];
        let options: Vec<_> = ExtensionOptions::new(&octets).map(Result::unwrap).collect();
        assert_eq!(options, [InternetOption { kind: 5, at: 6, data: &[0, 0] }]);
        let mut options = ExtensionOptions::new(&[59, 0, 1, 5, 0, 0, 0, 0]);
        assert_eq!(options.next(), Some(Err(Malformed::Field("length"))));
        assert_eq!(options.next(), None);
    }

    #[test]
    fn extension_headers_are_walked_up_to_what_is_none() {
        let mut octets = [0; 32];
        (octets[0], octets[8], octets[9], octets[24]) = (60, 44, 1, 17);
        let extensions: Vec<_> = Extensions::new(0, &octets).map(Result::unwrap).collect();
        let seen: Vec<_> =
            extensions.iter().map(|e| (e.kind, e.at, e.octets.len(), e.next)).collect();
        assert_eq!(seen, [(0, 0, 8, 60), (60, 8, 16, 44), (44, 24, 8, 17)]);
        assert_eq!(Extensions::new(6, &octets).next(), None);
        let mut short = Extensions::new(60, &octets[8..20]);
        assert_eq!(short.next(), Some(Err(Malformed::TooShort)));
        assert_eq!(short.next(), None);
    }
}
