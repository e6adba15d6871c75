//! CONNECT of HTTP/1.1 (RFC 9110 §9.3.6), with the basic login of RFC 7617.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::services::Ended;

use crate::config::Login;
use crate::dialogue::Progress;

/// A proxy that was asked, and answers with a status line and headers, up to an empty line.
#[derive(Default)]
pub(crate) struct Http {
    /// How much of what was heard was searched for the end.
    searched: usize,
}

impl Http {
    pub(crate) fn request(login: Option<&Login>, peer: SocketAddr) -> Vec<u8> {
        let login = login.map_or(String::new(), |Login { user, password }| {
            let pair = base64(format!("{user}:{password}").as_bytes());
            format!("Proxy-Authorization: Basic {pair}\r\n")
        });
        format!("CONNECT {peer} HTTP/1.1\r\nHost: {peer}\r\n{login}\r\n").into_bytes()
    }

    pub(crate) fn hear(&mut self, heard: &[u8]) -> Progress {
        let from = self.searched.saturating_sub(3);
        let end = heard[from..].windows(4).position(|four| four == b"\r\n\r\n");
        self.searched = heard.len();
        let Some(end) = end else { return Progress::More };
        let answer = from + end + 4;
        match status(heard) {
            Some(b'2') => Progress::Through(answer),
            Some(b'4') => Progress::Over(Ended::Refused(0)),
            Some(b'5') => Progress::Over(Ended::Unreachable),
            _ => Progress::Over(Ended::Reset(0)),
        }
    }
}

/// The first digit of the status, in a line such as `HTTP/1.1 200 Connection established`.
fn status(heard: &[u8]) -> Option<u8> {
    let rest = heard.strip_prefix(b"HTTP/1.")?;
    match rest {
        [_, b' ', first, second, third, ..]
            if second.is_ascii_digit() && third.is_ascii_digit() =>
        {
            Some(*first)
        }
        _ => None,
    }
}

/// Encodes octets with the alphabet of RFC 4648 §4.
fn base64(octets: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in octets.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { letter.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_vectors_of_the_specification() {
        for (octets, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(octets.as_bytes()), text);
        }
    }

    #[test]
    fn an_answer_is_understood_in_whichever_pieces() {
        let answer = b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\n220 ready";
        for split in 0..answer.len() {
            let mut http = Http::default();
            let mut progress = http.hear(&answer[..split]);
            if progress == Progress::More {
                progress = http.hear(answer);
            }
            assert_eq!(progress, Progress::Through(answer.len() - 9), "{split}");
        }
        for (answer, why) in [
            ("HTTP/1.0 407 login\r\n\r\n", Ended::Refused(0)),
            ("HTTP/1.1 503 no\r\n\r\n", Ended::Unreachable),
            ("220 ready\r\n\r\n", Ended::Reset(0)),
            ("HTTP/1.1\r\n\r\n", Ended::Reset(0)),
        ] {
            assert_eq!(Http::default().hear(answer.as_bytes()), Progress::Over(why), "{answer}");
        }
    }

    #[test]
    fn the_request_names_the_peer_twice_and_the_user() {
        let peer = "[2001:db8::1]:21".parse().unwrap();
        let login = Login { user: "a".into(), password: "b".into() };
        let request = String::from_utf8(Http::request(Some(&login), peer)).unwrap();
        assert_eq!(
            request,
            "CONNECT [2001:db8::1]:21 HTTP/1.1\r\nHost: [2001:db8::1]:21\r\n\
             Proxy-Authorization: Basic YTpi\r\n\r\n"
        );
    }
}
