//! The commands of Redis that there are, and what clients are told.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::services::Rank;

use crate::replica::{Hindrance, Outcome, Replica};
use crate::resp::RespReply;
use crate::store::{KeyValueStore, operation};

/// What a command asks for.
#[derive(Debug)]
pub enum RedisCommand {
    /// It is answered.
    Reply(RespReply),
    /// It is answered by [`redis_info`].
    Info,
    /// It is answered with `OK`, and the connection ends.
    Quit,
    /// An operation of [`KeyValueStore`] that changes nothing.
    Reads(Vec<u8>),
    /// An operation of [`KeyValueStore`].
    Writes(Vec<u8>),
}

/// Commands of the store: how many words may follow, and whether it is changed.
const STORE: &[(&str, usize, usize, bool)] = &[
    ("DBSIZE", 0, 0, false),
    ("DECR", 1, 1, true),
    ("DECRBY", 2, 2, true),
    ("DEL", 1, usize::MAX, true),
    ("EXISTS", 1, usize::MAX, false),
    ("EXPIRE", 2, 2, true),
    ("GET", 1, 1, false),
    ("INCR", 1, 1, true),
    ("INCRBY", 2, 2, true),
    ("KEYS", 1, 1, false),
    ("PERSIST", 1, 1, true),
    ("PEXPIRE", 2, 2, true),
    ("PTTL", 1, 1, false),
    ("SCAN", 1, 5, false),
    ("SET", 2, 6, true),
    ("SETNX", 2, 2, true),
    ("STRLEN", 1, 1, false),
    ("TTL", 1, 1, false),
];

/// Returns what a command, which has at least one word, asks for.
pub fn redis_command(words: &[Vec<u8>]) -> RedisCommand {
    let Some((name, rest)) = words.split_first() else {
        return RedisCommand::Reply(RespReply::error("empty command"));
    };
    let name = name.to_ascii_uppercase();
    let stores = STORE.iter().find(|(store, ..)| store.as_bytes() == name);
    if let Some((_, least, most, writes)) = stores {
        if !(*least..=*most).contains(&rest.len()) {
            return RedisCommand::Reply(wrong_number(&name));
        }
        let operation = operation(&[core::slice::from_ref(&name), rest].concat());
        let kind = if *writes { RedisCommand::Writes } else { RedisCommand::Reads };
        return kind(operation);
    }
    let first = rest.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    RedisCommand::Reply(match (name.as_slice(), rest) {
        (b"PING", []) => RespReply::Simple("PONG"),
        (b"PING" | b"ECHO", [word]) => RespReply::Bulk(word.clone()),
        (b"QUIT", _) => return RedisCommand::Quit,
        (b"INFO", _) => return RedisCommand::Info,
        (b"COMMAND", _) => RespReply::Array(Vec::new()),
        (b"SELECT", [_]) if first == b"0" => RespReply::Simple("OK"),
        (b"SELECT", [_]) => RespReply::error("DB index is out of range"),
        (b"CONFIG", [_, _, ..]) if first == b"GET" => RespReply::Array(Vec::new()),
        (b"CLIENT", [_, ..]) if matches!(&*first, b"SETNAME" | b"SETINFO") => {
            RespReply::Simple("OK")
        }
        (b"HELLO", []) => hello(),
        (b"HELLO", [version, ..]) if version == b"2" => hello(),
        (b"HELLO", _) => RespReply::Error("NOPROTO unsupported protocol version".to_owned()),
        (b"CONFIG" | b"CLIENT", [_, ..]) => {
            RespReply::error(&format!("unknown subcommand {}", quoted(&first)))
        }
        (b"PING" | b"ECHO" | b"SELECT" | b"CONFIG" | b"CLIENT", _) => wrong_number(&name),
        _ => RespReply::error(&format!("unknown command {}", quoted(&words[0]))),
    })
}

fn quoted(word: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(&word[..word.len().min(64)]))
}

fn wrong_number(name: &[u8]) -> RespReply {
    let name = quoted(&name.to_ascii_lowercase());
    RespReply::error(&format!("wrong number of arguments for {name} command"))
}

fn hello() -> RespReply {
    let text = |text: &str| RespReply::Bulk(text.as_bytes().to_vec());
    RespReply::Array(alloc::vec![
        text("server"),
        text("stackwright"),
        text("version"),
        text(env!("CARGO_PKG_VERSION")),
        text("proto"),
        RespReply::Integer(2),
        text("mode"),
        text("group"),
    ])
}

/// Returns why nothing is done now, and what brings it back.
fn refusal(hindrance: &Hindrance) -> String {
    match hindrance {
        Hindrance::NoGroup => "NOQUORUM this replica is in no group, or was left behind: it \
             joins as soon as a member answers it"
            .to_owned(),
        Hindrance::NoState => "LOADING this replica gets the state from the others".to_owned(),
        Hindrance::NoQuorum { silent, needed } => {
            let names: Vec<_> = silent.iter().map(|one| format!("{one}")).collect();
            format!(
                "NOQUORUM {} {}: nothing is changed until {needed} of them can be reached again. \
                 A process that has ended does not come back: without a quorum the group is to be \
                 begun anew",
                names.join(", "),
                if names.len() == 1 { "is silent" } else { "are silent" },
            )
        }
    }
}

/// Returns the reply for what became of an operation.
pub fn redis_outcome(outcome: Outcome) -> Vec<u8> {
    let error = match outcome {
        Outcome::Done(reply) => return reply,
        Outcome::Refused(hindrance) => refusal(&hindrance),
        Outcome::Late => "TIMEOUT the group is changing; it was not done".to_owned(),
        Outcome::Unknown => "UNKNOWN the group changed; it may or may not be done".to_owned(),
    };
    RespReply::Error(error).octets()
}

/// Returns the reply to `INFO`.
pub fn redis_info(replica: &Replica<KeyValueStore>) -> RespReply {
    let (keys, octets) = replica.state().map_or((0, 0), |(store, _)| store.size());
    let hindrance = replica.hindrance();
    let (number, members, voters) = replica.view().map_or((0, Vec::new(), 0), |view| {
        let voters = view.members.iter().filter(|member| member.votes).count();
        (view.number, view.members.clone(), voters)
    });
    let role = match &hindrance {
        Some(Hindrance::NoGroup) => "none",
        Some(Hindrance::NoState) => "joining",
        _ if replica.is_first() => "first",
        _ => "member",
    };
    let mut lines = format!(
        "# Server\r\nstackwright_version:{}\r\n\r\n# Group\r\nrole:{role}\r\nview:{number}\r\n\
         members:{}\r\nvoters:{voters}\r\nquorum:{}\r\n",
        env!("CARGO_PKG_VERSION"),
        members.len(),
        if hindrance.is_none() { "yes" } else { "no" },
    );
    if let Some(hindrance) = hindrance {
        lines += &format!("reason:{}\r\n", refusal(&hindrance));
    }
    for (rank, member) in members.iter().enumerate() {
        let votes = if member.votes { "votes" } else { "joins" };
        let (silent, lag) = replica.member(Rank(rank as u16));
        let silent = if silent { "silent" } else { "heard" };
        lines += &format!("member{rank}:{},{votes},{silent},lag={lag}\r\n", member.participant);
    }
    lines += &format!("\r\n# Memory\r\nused_memory:{octets}\r\n");
    lines += &format!("\r\n# Keyspace\r\ndb0:keys={keys}\r\n");
    RespReply::Bulk(lines.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::RespParser;
    use alloc::vec;

    fn reply(line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        match redis_command(&words) {
            RedisCommand::Reply(reply) => String::from_utf8(reply.octets()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn errors_are_those_of_redis() {
        assert_eq!(reply("get"), "-ERR wrong number of arguments for 'get' command\r\n");
        assert_eq!(reply("lpush a 1"), "-ERR unknown command 'lpush'\r\n");
        assert_eq!(reply("select 1"), "-ERR DB index is out of range\r\n");
        assert_eq!(reply("hello 3"), "-NOPROTO unsupported protocol version\r\n");
        assert_eq!(reply("ping"), "+PONG\r\n");
        assert_eq!(reply("config get save"), "*0\r\n");
    }

    #[test]
    fn commands_come_whole_or_in_parts() {
        let octets = b"PING\r\n\r\n*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n*0\r\nget  x \n";
        for length in [1, 2, 7, octets.len()] {
            let (mut parser, mut commands) = (RespParser::default(), Vec::new());
            for part in octets.chunks(length) {
                parser.push(part);
                while let Some(command) = parser.next_command().unwrap() {
                    commands.push(command);
                }
            }
            let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect();
            let all: Vec<Vec<Vec<u8>>> =
                vec![words(&[b"PING"]), words(&[b"GET", b"a\r\nb"]), words(&[b"get", b"x"])];
            assert_eq!(commands, all, "in parts of {length}");
            assert_eq!(parser.waiting(), 0);
        }
    }

    #[test]
    fn what_a_client_may_make_wait_is_bounded() {
        let says = |octets: &[u8]| {
            let mut parser = RespParser::default();
            parser.push(octets);
            parser.next_command()
        };
        assert!(says(b"*17\r\n").is_err() && says(b"*x\r\n").is_err());
        assert!(says(b"*1\r\n$999999999\r\n").is_err() && says(b"*1\r\n$-1\r\n").is_err());
        assert!(says(b"*1\r\n:1\r\n").is_err() && says(b"*1\r\n$1\r\nabc").is_err());
        assert!(says(&[b'a'; 4096]).is_err() && says(&[b'a'; 4095]).is_ok());
        let two = format!("*3\r\n$524288\r\n{0}\r\n$524288\r\n", "x".repeat(524_288));
        assert!(says(two.as_bytes()).is_err(), "one value is as long as a value may be");
    }
}
