//! SOCKS 5 (RFC 1928), with the user and password of RFC 1929.

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use stackwright_contract::services::Ended;

use crate::config::Login;
use crate::dialogue::Progress;

pub(crate) const VERSION: u8 = 5;
pub(crate) const NO_LOGIN: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
pub(crate) const CONNECT: u8 = 1;
pub(crate) const IPV4: u8 = 1;
pub(crate) const NAME: u8 = 3;
pub(crate) const IPV6: u8 = 4;

/// What the proxy's next octets are.
pub(crate) struct Socks {
    step: Step,
    login: Option<Vec<u8>>,
    connect: Vec<u8>,
}

enum Step {
    /// The method that it chooses.
    Method,
    /// Whether the login is right.
    Login,
    /// The reply to CONNECT.
    Reply,
}

impl Socks {
    pub(crate) fn begin(login: Option<&Login>, peer: SocketAddr) -> Option<(Self, Vec<u8>)> {
        let (first, login) = match login {
            None => (vec![VERSION, 1, NO_LOGIN], None),
            Some(login) => {
                let mut said = vec![1]; // the version of the login (RFC 1929 §2)
                for part in [&login.user, &login.password] {
                    said.push(u8::try_from(part.len()).ok().filter(|length| *length > 0)?);
                    said.extend_from_slice(part.as_bytes());
                }
                (vec![VERSION, 2, NO_LOGIN, USER_AND_PASSWORD], Some(said))
            }
        };
        let mut connect = vec![VERSION, CONNECT, 0];
        push_address(&mut connect, peer);
        Some((Socks { step: Step::Method, login, connect }, first))
    }

    /// Takes what it understands from `heard`.
    pub(crate) fn hear(&mut self, heard: &mut Vec<u8>) -> Progress {
        match (&self.step, heard.as_slice()) {
            (Step::Method, [VERSION, method, ..]) => {
                let method = *method;
                heard.drain(..2);
                match (method, self.login.take()) {
                    (NO_LOGIN, _) => self.connect(),
                    (USER_AND_PASSWORD, Some(login)) => {
                        self.step = Step::Login;
                        Progress::Say(login)
                    }
                    // It wants a login that nobody gave, or one that is not known here.
                    _ => Progress::Over(Ended::Refused(0)),
                }
            }
            (Step::Login, [_, status, ..]) => {
                let status = *status;
                heard.drain(..2);
                if status == 0 { self.connect() } else { Progress::Over(Ended::Refused(0)) }
            }
            (Step::Reply, [VERSION, 0, _, kind, first, ..]) => {
                // The address from which the proxy connects, and its port: nobody needs them.
                let address = match *kind {
                    IPV4 => 4,
                    IPV6 => 16,
                    NAME => 1 + usize::from(*first),
                    _ => return Progress::Over(Ended::Reset(0)),
                };
                let length = 4 + address + 2;
                if heard.len() < length { Progress::More } else { Progress::Through(length) }
            }
            (_, [] | [VERSION]) | (Step::Login, [_]) => Progress::More,
            (Step::Reply, [VERSION, 0, ..]) => Progress::More,
            (Step::Reply, [VERSION, code, ..]) => Progress::Over(refusal(*code)),
            _ => Progress::Over(Ended::Reset(0)),
        }
    }

    fn connect(&mut self) -> Progress {
        self.step = Step::Reply;
        Progress::Say(core::mem::take(&mut self.connect))
    }
}

/// What a reply other than success means (RFC 1928 §6).
fn refusal(code: u8) -> Ended {
    match code {
        2 => Ended::Refused(0), // not allowed by the ruleset
        3..=6 => Ended::Unreachable,
        7 | 8 => Ended::Unavailable,
        _ => Ended::Reset(0),
    }
}

/// Writes an address with its kind, and a port.
pub(crate) fn push_address(said: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(host) => {
            said.push(IPV4);
            said.extend_from_slice(&host.octets());
        }
        IpAddr::V6(host) => {
            said.push(IPV6);
            said.extend_from_slice(&host.octets());
        }
    }
    said.extend_from_slice(&address.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 7], 21))
    }

    #[test]
    fn a_proxy_without_a_login_is_asked_for_the_peer() {
        let (mut socks, first) = Socks::begin(None, peer()).unwrap();
        assert_eq!(first, [5, 1, 0]);
        let mut heard = vec![5];
        assert_eq!(socks.hear(&mut heard), Progress::More);
        heard.push(0);
        let connect = vec![5, 1, 0, 1, 192, 0, 2, 7, 0, 21];
        assert_eq!(socks.hear(&mut heard), Progress::Say(connect));
        heard.extend([5, 0, 0, 3, 2, b'h', b'i', 0]);
        assert_eq!(socks.hear(&mut heard), Progress::More);
        heard.extend([80, b'!']);
        assert_eq!(socks.hear(&mut heard), Progress::Through(9));
    }

    #[test]
    fn a_login_is_given_where_it_is_asked_for() {
        let login = Login { user: "ann".into(), password: "x".into() };
        let begin = || Socks::begin(Some(&login), peer()).unwrap();
        let (mut socks, first) = begin();
        assert_eq!(first, [5, 2, 0, 2]);
        let said = vec![1, 3, b'a', b'n', b'n', 1, b'x'];
        assert_eq!(socks.hear(&mut vec![5, 2]), Progress::Say(said));
        assert!(matches!(socks.hear(&mut vec![1, 0]), Progress::Say(_)));
        assert_eq!(socks.hear(&mut vec![5, 5, 0, 1]), Progress::Over(Ended::Unreachable));
        let (mut socks, _) = begin();
        assert!(matches!(socks.hear(&mut vec![5, 2]), Progress::Say(_)));
        assert_eq!(socks.hear(&mut vec![1, 1]), Progress::Over(Ended::Refused(0)));
        let long = Login { user: "x".repeat(256), password: "x".into() };
        assert!(Socks::begin(Some(&long), peer()).is_none());
    }

    #[test]
    fn what_is_not_socks_ends_it() {
        for octets in [&b"HTTP"[..], &[4, 0], &[5, 255]] {
            let (mut socks, _) = Socks::begin(None, peer()).unwrap();
            assert!(matches!(socks.hear(&mut octets.to_vec()), Progress::Over(_)), "{octets:?}");
        }
    }
}
