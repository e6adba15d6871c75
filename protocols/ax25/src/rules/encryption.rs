//! What is recognised as encrypted, of what a frame carries.
//!
//! Nothing tells encrypted octets from compressed ones. What can be recognised is how a dialogue
//! begins that will be encrypted, and it goes no further without its beginning: the handshake of
//! TLS (RFC 8446 §5.1), the greeting of SSH (RFC 4253 §4.2), in a link or in TCP over IPv4; and
//! ESP, of which every packet says that it is (RFC 4303).

/// IPv4 (AX.25 v2.2 §3.4).
const IPV4: u8 = 0xcc;
/// The protocols of IPv4.
const TCP: u8 = 6;
const ESP: u8 = 50;

/// Returns what is encrypted in the information of a frame, behind the control field of one octet
/// or of two: which of them it is, the frame alone does not say.
pub(super) fn recognised(from_control: &[u8]) -> Option<&'static str> {
    let of_frame = |behind: &[u8]| {
        let (pid, information) = behind.split_first()?;
        of_information(*pid, information)
    };
    [1, 2].into_iter().find_map(|control| of_frame(from_control.get(control..)?))
}

fn of_information(pid: u8, information: &[u8]) -> Option<&'static str> {
    if pid == IPV4 { of_ipv4(information) } else { of_stream(information) }
}

/// IPv4 (RFC 791 §3.1).
fn of_ipv4(packet: &[u8]) -> Option<&'static str> {
    let first = *packet.first()?;
    if first >> 4 != 4 {
        return None;
    }
    let payload = packet.get(4 * usize::from(first & 0xf)..)?;
    match *packet.get(9)? {
        ESP => Some("a frame that carries IPsec (ESP)"),
        TCP => of_stream(payload.get(4 * usize::from(payload.get(12)? >> 4)..)?),
        _ => None,
    }
}

/// The beginning of a stream, or of one of its segments.
fn of_stream(octets: &[u8]) -> Option<&'static str> {
    match *octets {
        // A record with the whole of a ClientHello or ServerHello, in its length and in its type.
        [22, 3, 0..=4, high, low, 1 | 2, 0, more, less, ..]
            if u16::from_be_bytes([high, low]).checked_sub(4)
                == Some(u16::from_be_bytes([more, less])) =>
        {
            Some("a frame that begins TLS")
        }
        _ if octets.starts_with(b"SSH-2.0-") && octets.contains(&b'\n') => {
            Some("a frame that begins SSH")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The first octets of a ClientHello as OpenSSL 3.0 sends it.
    const HELLO: &[u8] = &[22, 3, 1, 1, 0x2e, 1, 0, 1, 0x2a, 3, 3, 0xd5];

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = [0; 20];
        (packet[0], packet[9]) = (0x45, protocol);
        [&packet, payload].concat()
    }

    fn tcp(payload: &[u8]) -> Vec<u8> {
        let mut segment = [0; 20];
        segment[12] = 0x50;
        ipv4(TCP, &[&segment, payload].concat())
    }

    #[test]
    fn the_beginning_of_what_is_encrypted_is_recognised() {
        let ssh = b"SSH-2.0-OpenSSH_9.2\r\n";
        for (pid, information) in [
            (0xf0, HELLO.to_vec()),
            (0xf0, ssh.to_vec()),
            (IPV4, tcp(HELLO)),
            (IPV4, tcp(ssh)),
            (IPV4, ipv4(ESP, b"anything")),
        ] {
            // An I frame, modulo 8 and 128, and a UI frame.
            for control in [&[0x10][..], &[0x10, 0x00], &[0x03]] {
                let frame = [control, &[pid], &information].concat();
                assert!(recognised(&frame).is_some(), "{frame:x?}");
            }
        }
    }

    #[test]
    fn what_anybody_can_read_is_not() {
        for information in [
            b"".to_vec(),
            b"hello".to_vec(),
            b"SSH-2.0-OpenSSH is what my other machine says".to_vec(),
            HELLO[..8].to_vec(),
            [&HELLO[..8], &[0x2b]].concat(), // its lengths do not agree
            tcp(b"hello"),
            ipv4(17, HELLO),
            ipv4(ESP, b"")[..9].to_vec(),
        ] {
            for pid in [0xf0, IPV4, 0xcd, 0x08] {
                let frame = [&[0x03, pid][..], &information].concat();
                assert_eq!(recognised(&frame), None, "{frame:x?}");
            }
        }
    }

    /// Frames of random octets, as compressed files have them, pass.
    #[test]
    fn random_octets_pass() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1_000_000 {
            let frame: Vec<u8> =
                [0x10, 0xf0].into_iter().chain((0..16).map(|_| random.u8(..))).collect();
            assert_eq!(recognised(&frame), None, "{frame:x?}");
        }
    }
}
