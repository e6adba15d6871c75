//! Keys, in an order in which a cursor stays where it is while others come and go: that of their
//! hashes.

use alloc::vec::Vec;
use core::hash::Hasher;

use siphasher::sip::SipHasher13;

/// The longest key, in octets.
pub const KEY_MOST: usize = 512;

/// The longest value, in octets.
pub const VALUE_MOST: usize = 512 << 10;

/// A key, behind its hash.
pub(crate) type Hashed = (u64, Vec<u8>);

pub(crate) fn hashed(key: &[u8]) -> Hashed {
    let mut hasher = SipHasher13::new();
    hasher.write(key);
    // A cursor of 0 is the beginning, and the end.
    (hasher.finish().max(1), key.into())
}

/// Returns whether a text fits a pattern of `*`, `?`, `[a-z]`, `[^a]` and `\`.
pub(crate) fn fits(mut pattern: &[u8], mut text: &[u8]) -> bool {
    // Behind the last star, and what it may take one more octet of.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.first(), text.first()) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                pattern = &pattern[1..];
                star = Some((pattern, text));
                continue;
            }
            (Some(_), Some(octet)) => {
                let (is_it, length) = one(pattern, *octet);
                if is_it {
                    (pattern, text) = (&pattern[length..], &text[1..]);
                    continue;
                }
            }
            _ => {}
        }
        match star {
            Some((behind, rest)) if !rest.is_empty() => {
                (pattern, text) = (behind, &rest[1..]);
                star = Some((behind, text));
            }
            _ => return false,
        }
    }
}

/// Returns whether the first part of a pattern fits an octet, and how long that part is.
fn one(pattern: &[u8], octet: u8) -> (bool, usize) {
    match pattern {
        [b'?', ..] => (true, 1),
        [b'\\', plain, ..] => (*plain == octet, 2),
        [b'[', set @ ..] => {
            let Some(end) = set.iter().skip(1).position(|octet| *octet == b']') else {
                return (octet == b'[', 1);
            };
            let (set, length) = (&set[..=end], end + 3);
            let (negated, set) = match set {
                [b'^', set @ ..] => (true, set),
                set => (false, set),
            };
            let mut rest = set;
            let mut is_in = false;
            while let [first, tail @ ..] = rest {
                let (last, tail) = match tail {
                    [b'-', last, tail @ ..] => (last, tail),
                    tail => (first, tail),
                };
                is_in |= (first.min(last)..=first.max(last)).contains(&&octet);
                rest = tail;
            }
            (is_in != negated, length)
        }
        [plain, ..] => (*plain == octet, 1),
        [] => (false, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_as_redis_says() {
        let all = [
            ("*", "", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hello", false),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxaxxbxxcx", false),
            ("[", "[", true),
            ("", "a", false),
        ];
        for (pattern, text, is_so) in all {
            assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), is_so, "{pattern} {text}");
        }
    }
}
