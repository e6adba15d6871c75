//! Addresses of data associations in the form of PORT and PASV (RFC 959 §4.1.2), EPRT and EPSV (RFC
//! 2428).

use alloc::format;
use alloc::string::String;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// Parses `h1,h2,h3,h4,p1,p2`; `None` where it is of another form.
pub fn parse_port(text: &str) -> Option<SocketAddr> {
    let mut octets = [0u8; 6];
    let mut parts = text.split(',');
    for octet in &mut octets {
        let part = parts.next()?.trim();
        if part.is_empty() || !part.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse().ok()?;
    }
    if parts.next().is_some() {
        return None;
    }
    let [a, b, c, d, high, low] = octets;
    Some(SocketAddr::V4(SocketAddrV4::new(
        Ipv4Addr::new(a, b, c, d),
        u16::from_be_bytes([high, low]),
    )))
}

/// Formats an address as `h1,h2,h3,h4,p1,p2`.
pub fn format_port(address: SocketAddrV4) -> String {
    let [a, b, c, d] = address.ip().octets();
    let [high, low] = address.port().to_be_bytes();
    format!("{a},{b},{c},{d},{high},{low}")
}

/// Finds the six numbers in the text of a 227 reply, whose punctuation varies (RFC 1123 §4.1.2.6).
pub fn find_port(text: &str) -> Option<SocketAddr> {
    let mut starts =
        text.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(index, _)| index);
    starts.find_map(|start| {
        let rest = &text[start..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | ' '))
            .unwrap_or(rest.len());
        parse_port(rest[..end].trim_end_matches([',', ' ']))
    })
}

/// The reason for which an EPRT is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadEprt {
    /// It is not of the form `|family|address|port|`.
    Form,
    /// The family is neither 1 nor 2.
    Family,
}

/// Parses `|family|address|port|`, where `|` may be any printable delimiter.
///
/// # Errors
/// The reason for which it is refused.
pub fn parse_eprt(text: &str) -> Result<SocketAddr, BadEprt> {
    let delimiter = text.chars().next().filter(|c| ('!'..='~').contains(c)).ok_or(BadEprt::Form)?;
    let mut parts = text[1..].split(delimiter);
    let mut part = || parts.next().ok_or(BadEprt::Form);
    let (family, address, port, end) = (part()?, part()?, part()?, part()?);
    if !end.is_empty() || parts.next().is_some() {
        return Err(BadEprt::Form);
    }
    let address: IpAddr = match family {
        "1" => IpAddr::V4(address.parse().map_err(|_| BadEprt::Form)?),
        "2" => IpAddr::V6(address.parse().map_err(|_| BadEprt::Form)?),
        family if family.bytes().all(|digit| digit.is_ascii_digit()) && !family.is_empty() => {
            return Err(BadEprt::Family);
        }
        _ => return Err(BadEprt::Form),
    };
    Ok(SocketAddr::new(address, port.parse().map_err(|_| BadEprt::Form)?))
}

/// Formats an address as `|family|address|port|`.
pub fn format_eprt(address: SocketAddr) -> String {
    let family = if address.is_ipv4() { 1 } else { 2 };
    format!("|{family}|{}|{}|", address.ip(), address.port())
}

/// Finds the port in the text of a 229 reply: `(|||port|)`.
pub fn find_epsv(text: &str) -> Option<u16> {
    // Other words may be in parentheses, too.
    text.split('(').skip(1).find_map(|text| epsv(text.split_once(')')?.0))
}

fn epsv(inner: &str) -> Option<u16> {
    let delimiter = inner.chars().next()?;
    let mut parts = inner.split(delimiter);
    let port = parts.nth(3)?;
    if port.bytes().all(|digit| digit.is_ascii_digit()) { port.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_reads_what_it_writes_and_nothing_else() {
        let address: SocketAddrV4 = "10.1.2.255:65534".parse().unwrap();
        assert_eq!(format_port(address), "10,1,2,255,255,254");
        assert_eq!(parse_port("10,1,2,255,255,254"), Some(address.into()));
        for wrong in [
            "",
            "1,2,3,4,5",
            "1,2,3,4,5,6,7",
            "256,1,1,1,1,1",
            "+1,1,1,1,1,1",
            "1,,1,1,1,1",
            "-1,1,1,1,1,1",
        ] {
            assert_eq!(parse_port(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_six_numbers_are_found_in_any_text() {
        let expected = parse_port("127,0,0,1,4,1");
        for text in [
            "Entering Passive Mode (127,0,0,1,4,1).",
            "Entering Passive Mode. 127,0,0,1,4,1",
            "=127,0,0,1,4,1",
            "2 ways: 127,0,0,1,4,1,",
            "Entering Passive Mode (127, 0, 0, 1, 4, 1)",
            "Entering Passive Mode ( 127 ,0,0 , 1,4,1 )",
        ] {
            assert_eq!(find_port(text), expected, "{text}");
        }
        assert_eq!(find_port("Entering Passive Mode"), None);
    }

    #[test]
    fn eprt_in_both_families_and_with_any_delimiter() {
        for text in ["|1|127.0.0.1|99|", "|2|::1|65535|", "!2!::1!65535!"] {
            let address = parse_eprt(text).unwrap();
            assert_eq!(parse_eprt(&format_eprt(address)), Ok(address));
        }
        for wrong in [
            "",
            "|",
            "|1|::1|99|",
            "|2|127.0.0.1|99|",
            "|1|127.0.0.1|65536|",
            "|1|127.0.0.1|99",
            "|1|127.0.0.1|99||",
        ] {
            assert_eq!(parse_eprt(wrong), Err(BadEprt::Form), "{wrong}");
        }
        assert_eq!(parse_eprt("|7|x|99|"), Err(BadEprt::Family));
        assert_eq!(parse_eprt("é1é127.0.0.1é99é"), Err(BadEprt::Form));
    }

    #[test]
    fn epsv_port() {
        assert_eq!(find_epsv("Entering Extended Passive Mode (|||6446|)"), Some(6446));
        assert_eq!(find_epsv("ok (!!!21!)"), Some(21));
        assert_eq!(find_epsv("Entering (IPv4) Extended Passive Mode (|||6446|)."), Some(6446));
        for wrong in ["", "(|||99999|)", "(||6446|)", "(|||x|)", "|||6446|", "()"] {
            assert_eq!(find_epsv(wrong), None, "{wrong}");
        }
    }
}
