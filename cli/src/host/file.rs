//! The file of a host: its stacks, and which users may do what.

use std::fs;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, User};
use serde::Deserialize;
use stackwright_drivers::ipc::{
    AddressBlock, AdmissionPolicy, Allowance, DescriptorGrant, Openable, Users,
};

use crate::problem::Problem;
use crate::quantity;

/// How long a file may be, in octets.
const FILE_MOST: u64 = 64 << 10;

/// What one user has where the file does not say it.
const ASSOCIATIONS: usize = 100;
const BUFFERS: usize = 16 << 20;

/// What the file says.
#[derive(Debug, PartialEq)]
pub(super) struct HostFile {
    pub(super) at: PathBuf,
    pub(super) stacks: Vec<PathBuf>,
    pub(super) policy: AdmissionPolicy,
    pub(super) grants: Vec<DescriptorGrant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    at: PathBuf,
    #[serde(default)]
    stack: Stacks,
    #[serde(default)]
    allow: Vec<AllowTable>,
    #[serde(default)]
    grant: Vec<GrantTable>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stacks {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl Default for Stacks {
    fn default() -> Self {
        Stacks::Several(Vec::new())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowTable {
    user: Option<UserName>,
    group: Option<GroupName>,
    #[serde(default)]
    listen: Vec<Ports>,
    #[serde(default)]
    connect: Vec<Block>,
    associations: Option<usize>,
    buffers: Option<Octets>,
    rate: Option<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantTable {
    user: Option<UserName>,
    group: Option<GroupName>,
    open: Vec<Opens>,
}

/// A value that is written as a text.
macro_rules! written {
    ($name:ident($inner:ty), $read:expr) => {
        #[derive(Deserialize)]
        #[serde(try_from = "String")]
        struct $name($inner);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                let read: fn(&str) -> Result<$inner, String> = $read;
                read(&text).map($name)
            }
        }
    };
}

written!(UserName(u32), |name| {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let found = User::from_name(name).ok().flatten();
    found.map(|user| user.uid.as_raw()).ok_or_else(|| format!("this system has no user {name}"))
});
written!(GroupName(Group), |name| {
    let found = match name.parse() {
        Ok(number) => Group::from_gid(Gid::from_raw(number)),
        Err(_) => Group::from_name(name),
    };
    found.ok().flatten().ok_or_else(|| format!("this system has no group {name}"))
});
written!(Ports(RangeInclusive<u16>), |text| {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("ports are written as in \"4330\", \"4400-4499\", or \"0\" for any".into()),
    }
});
written!(Block(AddressBlock), |text| text.parse().map_err(str::to_owned));
written!(Octets(u64), |text| quantity::octets(text).map_err(str::to_owned));
written!(Rate(NonZero<u64>), |text| quantity::rate(text).map_err(str::to_owned));
written!(Opens(Openable), |text| text.parse().map_err(str::to_owned));

/// Returns whose a table is.
fn users(user: Option<UserName>, group: Option<GroupName>) -> Result<Users, String> {
    match (user, group) {
        (Some(UserName(user)), None) => Ok(Users::One(user)),
        (None, Some(GroupName(Group { gid, mem, .. }))) => {
            let known = mem.iter().filter_map(|name| User::from_name(name).ok().flatten());
            let members = known.map(|user| user.uid.as_raw()).collect();
            Ok(Users::Group { group: gid.as_raw(), members })
        }
        _ => Err("each [[allow]] and [[grant]] has a user or a group".into()),
    }
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn load(path: &Path) -> Result<HostFile, Problem> {
    let flawed = |why| Problem::HostFile { path: path.into(), why };
    let unread = |why| Problem::Path { path: path.into(), why };
    if fs::metadata(path).map_err(unread)?.len() > FILE_MOST {
        return Err(flawed(format!("it is longer than {FILE_MOST} octets")));
    }
    let text = fs::read_to_string(path).map_err(unread)?;
    let mut file = read(&text).map_err(flawed)?;
    // A stack that is a file is found beside this one.
    let beside = path.parent().unwrap_or(Path::new(""));
    for stack in file.stacks.iter_mut().filter(|stack| stack.extension().is_some()) {
        *stack = beside.join(&stack);
    }
    Ok(file)
}

/// Reads the text of a file.
fn read(text: &str) -> Result<HostFile, String> {
    let Text { at, stack, allow, grant } =
        toml::from_str(text).map_err(|error| error.to_string())?;
    let allowance = |table: AllowTable| -> Result<Allowance, String> {
        Ok(Allowance {
            users: users(table.user, table.group)?,
            listen: table.listen.into_iter().map(|Ports(ports)| ports).collect(),
            connect: table.connect.into_iter().map(|Block(block)| block).collect(),
            associations: table.associations.unwrap_or(ASSOCIATIONS),
            buffers: table
                .buffers
                .map_or(BUFFERS, |Octets(octets)| usize::try_from(octets).unwrap_or(usize::MAX)),
            rate: table.rate.map(|Rate(rate)| rate),
        })
    };
    let allowed = allow.into_iter().map(allowance).collect::<Result<Vec<_>, _>>()?;
    let grants = grant.into_iter().map(|table| {
        let open = table.open.into_iter().map(|Opens(open)| open).collect();
        Ok::<_, String>(DescriptorGrant { users: users(table.user, table.group)?, open })
    });
    let grants = grants.collect::<Result<Vec<_>, _>>()?;
    let stacks = match stack {
        Stacks::One(stack) => vec![stack],
        Stacks::Several(stacks) => stacks,
    };
    if stacks.is_empty() && grants.is_empty() {
        return Err("a host has a stack, or a [[grant]]".into());
    }
    // Without an allowance the mode of its sockets keeps other users away.
    let own = (!allowed.is_empty()).then(|| rustix::process::geteuid().as_raw());
    Ok(HostFile { at, stacks, policy: AdmissionPolicy { own, allowed }, grants })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_page_is_read() {
        let page = include_str!("../../../docs/transports.md");
        let example = page.split_once("```toml\n# host.toml\n").expect("the page has it").1;
        let (example, _) = example.split_once("```").expect("it ends");
        // The users of the example are not on every system.
        let example = example.replace("\"mail\"", "\"7\"").replace("\"radio\"", "\"0\"");
        let HostFile { at, stacks, policy, grants } = read(&example).expect("it is right");
        assert_eq!(at, Path::new("/run/stackwright"));
        assert_eq!(stacks, [Path::new("artp"), Path::new("xtp")]);
        assert_eq!(policy.own, Some(rustix::process::geteuid().as_raw()));
        let [mail, radio] = &policy.allowed[..] else { panic!("two are allowed something") };
        assert_eq!(mail.users, Users::One(7));
        assert_eq!(mail.listen, [4330..=4330, 4400..=4499, 0..=0]);
        assert_eq!(mail.connect.len(), 2);
        assert_eq!((mail.associations, mail.buffers), (100, 16_000_000));
        assert_eq!(mail.rate, NonZero::new(1_250_000));
        assert!(matches!(radio.users, Users::Group { group: 0, .. }));
        assert_eq!((radio.associations, radio.buffers, radio.rate), (ASSOCIATIONS, BUFFERS, None));
        let [grant] = &grants[..] else { panic!("one grant") };
        let serial = Openable::Serial("/dev/ttyUSB0".into());
        assert_eq!(grant.open, [Openable::Tcp(990), Openable::Udp(990), Openable::Ip(36), serial]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, says) in [
            ("stack = \"artp\"", "missing field `at`"),
            ("at = \"/run/x\"", "a host has a stack"),
            ("at = \"/run/x\"\nstacks = \"artp\"", "unknown field `stacks`"),
            ("[[allow]]\nuser = \"no such user\"", "this system has no user no such user"),
            ("[[allow]]\ngroup = \"no such group\"", "this system has no group no such group"),
            ("[[allow]]\nlisten = [\"0\"]", "has a user or a group"),
            ("[[allow]]\nuser = \"0\"\ngroup = \"0\"", "has a user or a group"),
            ("[[allow]]\nuser = \"0\"\nlisten = [\"4499-4400\"]", "ports are written as"),
            ("[[allow]]\nuser = \"0\"\nlisten = [\"65536\"]", "ports are written as"),
            ("[[allow]]\nuser = \"0\"\nconnect = [\"here\"]", "192.0.2.0/24"),
            ("[[allow]]\nuser = \"0\"\nrate = \"fast\"", "write octets a second"),
            ("[[allow]]\nuser = \"0\"\nbuffers = \"many\"", "write a number"),
            ("[[grant]]\nuser = \"0\"\nopen = [\"xdp veth1\"]", "\"udp 990\""),
            ("[[grant]]\nuser = \"0\"\nopen = [\"ip 0\"]", "\"ip 36\""),
            ("[[grant]]\nuser = \"0\"", "missing field `open`"),
        ] {
            let head = "at = \"/run/x\"\nstack = \"artp\"\n";
            let whole = if text.starts_with("[[") { format!("{head}{text}") } else { text.into() };
            let said = read(&whole).expect_err(text);
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
