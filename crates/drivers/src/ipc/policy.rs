//! Which users of this machine may use a server, and for what.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZero;
use std::ops::RangeInclusive;

use stackwright_contract::services::AssociationRequest;
use stackwright_contract::{Address, Participant};

use super::word::Crossing;

/// Users that may use a server. The kernel says who a program is (unix(7), `SO_PEERCRED`).
///
/// Its user may do all. [`AdmissionPolicy::default`] takes every program for that of its user: the
/// mode of its socket keeps the others away.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AdmissionPolicy {
    /// The server's own user; `None`: all are.
    pub own: Option<u32>,
    /// What others may do: the first that is for a user holds.
    pub allowed: Vec<Allowance>,
}

/// What users may do that are not the server's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// Who they are.
    pub users: Users,
    /// Ports at which they may listen, or from which they may connect; 0: any that is free.
    pub listen: Vec<RangeInclusive<u16>>,
    /// Networks to which they may connect.
    pub connect: Vec<AddressBlock>,
    /// Associations of one user at a time.
    pub associations: usize,
    /// Octets that the server holds for one user in both directions.
    pub buffers: usize,
    /// Octets a second that one user may send.
    pub rate: Option<NonZero<u64>>,
}

/// Users of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Users {
    /// One user.
    One(u32),
    /// A group of them, and those whom the system's list of groups names as its members.
    Group {
        /// The group, which may be the first of a user's.
        group: u32,
        /// Its members.
        members: Vec<u32>,
    },
}

/// A program's user, as the kernel says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserId {
    /// The user.
    pub user: u32,
    /// The first of its groups.
    pub group: u32,
}

impl Users {
    /// Returns whether a user is one of them.
    pub fn include(&self, who: UserId) -> bool {
        match self {
            Users::One(user) => *user == who.user,
            Users::Group { group, members } => *group == who.group || members.contains(&who.user),
        }
    }
}

/// Addresses that begin alike (RFC 4632 §3.1): `192.0.2.0/24`, `2001:db8::/32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressBlock {
    first: IpAddr,
    bits: u8,
}

impl AddressBlock {
    /// Returns the addresses that have the first `bits` bits of `first`; `None` where it has fewer.
    pub fn new(first: IpAddr, bits: u8) -> Option<Self> {
        let most = if first.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(AddressBlock { first, bits })
    }

    /// Returns whether it has this address. One of IPv4 is the same in the form of IPv6
    /// (RFC 4291 §2.5.5.2), and nowhere is this host, as it is to connect(2).
    pub fn has(&self, address: IpAddr) -> bool {
        let address = match address.to_canonical() {
            IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            address => address,
        };
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differ = first.to_bits() ^ address.to_bits();
                differ.checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differ = first.to_bits() ^ address.to_bits();
                differ.checked_shr(128 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for AddressBlock {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (first, bits) = text.split_once('/').unwrap_or((text, ""));
        let first: Option<IpAddr> = first.parse().ok();
        let all = first.map_or(0, |first| if first.is_ipv4() { 32 } else { 128 });
        let bits = if bits.is_empty() { Some(all) } else { bits.parse().ok() };
        first
            .zip(bits)
            .and_then(|(first, bits)| AddressBlock::new(first, bits))
            .ok_or("a network is written as in 192.0.2.0/24 or 2001:db8::/32")
    }
}

/// Why a request of an application is refused, and what its host file would have to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// Another server has taken over.
    Replaced,
    /// The user is not admitted.
    User(UserId),
    Listen {
        user: UserId,
        port: u16,
    },
    Connect {
        user: UserId,
        host: IpAddr,
    },
    /// An address that no allowance can name.
    Address {
        user: UserId,
        address: Address,
    },
    Associations {
        user: UserId,
        most: usize,
    },
    Buffers {
        user: UserId,
        most: usize,
    },
    Applications {
        user: UserId,
        most: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Replaced => to.write_str("another server has taken over: ask again"),
            Refused::User(UserId { user, .. }) => write!(
                to,
                "user {user} is not admitted: the host file needs [[allow]] with user = \"{user}\""
            ),
            Refused::Listen { user: UserId { user, .. }, port } => write!(
                to,
                "user {user} may not use port {port}: the host file needs listen = [\"{port}\"] in \
                 the [[allow]] of user = \"{user}\""
            ),
            Refused::Connect { user: UserId { user, .. }, host } => write!(
                to,
                "user {user} may not connect to {host}: the host file needs \
                 connect = [\"{host}\"] in the [[allow]] of user = \"{user}\""
            ),
            Refused::Address { user: UserId { user, .. }, address } => write!(
                to,
                "user {user} may not use {}: only addresses of the Internet can be allowed to \
                 others than the server's own user",
                Participant { interface: None, address: *address }
            ),
            Refused::Associations { user: UserId { user, .. }, most } => write!(
                to,
                "user {user} has {most} associations, and no more are allowed: close one, or the \
                 host file needs more than associations = {most} in the [[allow]] of \
                 user = \"{user}\""
            ),
            Refused::Buffers { user: UserId { user, .. }, most } => write!(
                to,
                "more than {most} octets are held for user {user}: the program has to read \
                 sooner, or the host file needs more buffers in the [[allow]] of user = \"{user}\""
            ),
            Refused::Applications { user: UserId { user, .. }, most } => write!(
                to,
                "user {user} has {most} programs connected, which is the most: end one of them"
            ),
        }
    }
}

impl AdmissionPolicy {
    /// Returns the user of a program that is not the server's own.
    pub(super) fn stranger(&self, program: Participant) -> Option<UserId> {
        let who = match program.address {
            Address::Program { user, group } => UserId { user, group },
            // No user has this number (chown(2)).
            _ => UserId { user: u32::MAX, group: u32::MAX },
        };
        self.own.is_some_and(|own| own != who.user).then_some(who)
    }

    /// Returns what a user may do that is not the server's own.
    pub(super) fn allowance(&self, who: UserId) -> Result<&Allowance, Refused> {
        let allowed = self.allowed.iter().find(|allowed| allowed.users.include(who));
        allowed.ok_or(Refused::User(who))
    }

    /// Returns why a user is not admitted, if it is not.
    pub(super) fn refuses(&self, stranger: Option<UserId>) -> Option<Refused> {
        stranger.and_then(|who| self.allowance(who).err())
    }
}

impl Allowance {
    /// Judges the addresses of a request.
    pub(super) fn check<T: Crossing>(
        &self,
        user: UserId,
        request: &AssociationRequest<T>,
    ) -> Result<(), Refused> {
        match request {
            AssociationRequest::Listen { local, .. } => self.check_local(user, *local),
            AssociationRequest::Open { remote, local, .. } => {
                if let Some(local) = local {
                    self.check_local(user, *local)?;
                }
                let (host, _) = internet(user, *remote)?;
                let is_allowed = self.connect.iter().any(|block| block.has(host));
                is_allowed.then_some(()).ok_or(Refused::Connect { user, host })
            }
            _ => Ok(()),
        }
    }

    fn check_local(&self, user: UserId, local: Participant) -> Result<(), Refused> {
        let (_, port) = internet(user, local)?;
        let is_allowed = self.listen.iter().any(|ports| ports.contains(&port));
        is_allowed.then_some(()).ok_or(Refused::Listen { user, port })
    }
}

/// Returns the host and the port of an address; there is the port 0 where it has none.
fn internet(user: UserId, participant: Participant) -> Result<(IpAddr, u16), Refused> {
    match participant.address {
        Address::Internet { host, port, .. } => Ok((host, port)),
        Address::InternetProtocol { host, .. } => Ok((host, 0)),
        address => Err(Refused::Address { user, address }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_addresses_that_begin_alike() {
        let has = |block: &str, address: &str| {
            block.parse::<AddressBlock>().expect("a block").has(address.parse().expect("one"))
        };
        for (block, address, is_in) in [
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false),
            ("0.0.0.0/0", "203.0.113.1", true),
            ("0.0.0.0/0", "::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "192.0.2.1", false),
            // Other forms of an address do not evade what is allowed.
            ("127.0.0.0/8", "::ffff:127.0.0.1", true),
            ("::/0", "::ffff:127.0.0.1", false),
            ("127.0.0.1", "0.0.0.0", true),
            ("0.0.0.0/8", "0.0.0.0", false),
        ] {
            assert_eq!(has(block, address), is_in, "{block} {address}");
        }
        for wrong in ["192.0.2.0/33", "2001:db8::/129", "/24", "here/8", "1.2.3/8", "1.2.3.4/-1"] {
            assert!(wrong.parse::<AddressBlock>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_allowance_for_a_user_or_its_group_holds() {
        let allowance = |users, associations| Allowance {
            users,
            listen: Vec::new(),
            connect: Vec::new(),
            associations,
            buffers: 0,
            rate: None,
        };
        let policy = AdmissionPolicy {
            own: Some(1),
            allowed: vec![
                allowance(Users::One(7), 1),
                allowance(Users::Group { group: 40, members: vec![7, 8] }, 2),
            ],
        };
        let most = |user, group| {
            let who = policy.stranger(Address::Program { user, group }.into()).expect("another");
            policy.allowance(who).map(|allowance| allowance.associations)
        };
        assert_eq!(policy.stranger(Address::Program { user: 1, group: 40 }.into()), None);
        assert!(policy.stranger(Participant::OTHER_END).is_some());
        assert_eq!(most(7, 40), Ok(1));
        assert_eq!(most(8, 1), Ok(2));
        assert_eq!(most(9, 40), Ok(2));
        let nobody = UserId { user: 9, group: 9 };
        assert_eq!(most(9, 9), Err(Refused::User(nobody)));
        assert_eq!(most(0, 0), Err(Refused::User(UserId { user: 0, group: 0 })));
    }
}
