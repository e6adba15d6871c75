//! RESP2, the Redis serialization protocol: commands as clients write them, and replies.

use alloc::string::String;
use alloc::vec::Vec;

use crate::keys::{KEY_MOST, VALUE_MOST};

/// Arguments of a command, at most.
const ARGUMENTS_MOST: usize = 16;
/// Octets of a command, at most.
pub(crate) const COMMAND_MOST: usize = VALUE_MOST + KEY_MOST + 1024;
/// The longest line: a command that is one, or a count.
const LINE_MOST: usize = 4096;

/// Reads commands from a stream of octets, whole or in parts: an array of strings, or a line of
/// words.
#[derive(Default)]
pub struct RespParser {
    octets: Vec<u8>,
    /// What of it was taken.
    taken: usize,
}

/// A line at the front: its octets, and where the next one begins.
fn line(octets: &[u8]) -> Result<Option<(&[u8], usize)>, &'static str> {
    let within = &octets[..octets.len().min(LINE_MOST)];
    match within.iter().position(|octet| *octet == b'\n') {
        Some(end) => {
            let line = &octets[..end];
            Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1)))
        }
        None if within.len() == LINE_MOST => Err("Protocol error: too big inline request"),
        None => Ok(None),
    }
}

/// Returns the number in decimal digits, as `INCR` reads it.
pub(crate) fn integer(digits: &[u8]) -> Option<i64> {
    let text = core::str::from_utf8(digits).ok()?;
    let number: i64 = text.parse().ok()?;
    // Neither `+1` nor `01` is one.
    let is_plain = !text.starts_with(['+', '0']) && !text.starts_with("-0") || text == "0";
    is_plain.then_some(number)
}

impl RespParser {
    /// Takes octets of a client.
    pub fn push(&mut self, octets: &[u8]) {
        self.octets.drain(..core::mem::take(&mut self.taken));
        self.octets.extend(octets);
    }

    /// Returns the octets that wait for the rest of a command, or for their turn.
    pub fn waiting(&self) -> usize {
        self.octets.len() - self.taken
    }

    /// Returns the next command, if it is there; it has at least one word.
    ///
    /// # Errors
    /// What to say before the connection ends: nothing that follows is understood.
    pub fn next_command(&mut self) -> Result<Option<Vec<Vec<u8>>>, &'static str> {
        loop {
            let front = &self.octets[self.taken..];
            let Some((head, begin)) = line(front)? else { return Ok(None) };
            let (words, end) = if let Some(count) = head.strip_prefix(b"*") {
                match array(front, begin, count)? {
                    Some(command) => command,
                    None => return Ok(None),
                }
            } else {
                let words = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                (words.map(<[u8]>::to_vec).collect(), begin)
            };
            self.taken += end;
            if words.len() > ARGUMENTS_MOST {
                return Err("Protocol error: too many words");
            }
            if !words.is_empty() {
                return Ok(Some(words));
            }
        }
    }
}

type Found = Option<(Vec<Vec<u8>>, usize)>;

/// Reads an array of strings; `at`: behind its first line.
fn array(octets: &[u8], mut at: usize, count: &[u8]) -> Result<Found, &'static str> {
    let count = integer(count).filter(|count| *count <= ARGUMENTS_MOST as i64);
    let count = count.ok_or("Protocol error: invalid multibulk length")?;
    let mut words = Vec::new();
    for _ in 0..count {
        let Some((head, length)) = line(&octets[at..])? else { return Ok(None) };
        at += length;
        let length = head.strip_prefix(b"$").ok_or("Protocol error: expected '$'")?;
        let length = integer(length).and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| at.saturating_add(*length) <= COMMAND_MOST);
        let length = length.ok_or("Protocol error: invalid bulk length")?;
        let Some(word) = octets.get(at..at + length) else { return Ok(None) };
        let Some(end) = octets.get(at + length..at + length + 2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err("Protocol error: a string that does not end where it says");
        }
        words.push(word.to_vec());
        at += length + 2;
    }
    Ok(Some((words, at)))
}

/// A reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RespReply {
    /// A word, as `OK`.
    Simple(&'static str),
    /// An error, whose first word is its kind.
    Error(String),
    /// A number.
    Integer(i64),
    /// Octets.
    Bulk(Vec<u8>),
    /// Nothing is there.
    Nil,
    /// Several replies.
    Array(Vec<RespReply>),
}

impl RespReply {
    /// Appends the reply as it is written.
    pub fn encode(&self, octets: &mut Vec<u8>) {
        let mut line = |kind: u8, text: &str| {
            octets.push(kind);
            // A line has one end.
            octets.extend(text.bytes().map(|octet| if octet < b' ' { b' ' } else { octet }));
            octets.extend(b"\r\n");
        };
        match self {
            RespReply::Simple(text) => line(b'+', text),
            RespReply::Error(text) => line(b'-', text),
            RespReply::Integer(number) => line(b':', &alloc::format!("{number}")),
            RespReply::Nil => line(b'$', "-1"),
            RespReply::Bulk(bulk) => {
                line(b'$', &alloc::format!("{}", bulk.len()));
                octets.extend(bulk);
                octets.extend(b"\r\n");
            }
            RespReply::Array(replies) => {
                line(b'*', &alloc::format!("{}", replies.len()));
                replies.iter().for_each(|reply| reply.encode(octets));
            }
        }
    }

    /// Returns the reply as it is written.
    pub fn octets(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        self.encode(&mut octets);
        octets
    }

    /// Returns an error of Redis' general kind.
    pub(crate) fn error(what: &str) -> Self {
        RespReply::Error(alloc::format!("ERR {what}"))
    }
}
