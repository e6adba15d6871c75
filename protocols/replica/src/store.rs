//! Keys and values in memory, with the time at which they expire, as Redis has them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Bound;

use crate::keys::{Hashed, KEY_MOST, VALUE_MOST, fits, hashed};
use crate::machine::Machine;
use crate::pieces::{Front, push_counted};
use crate::resp::{RespReply, integer};

/// Octets of all keys and values, with what an entry costs beside them.
const STORE_MOST: usize = 64 << 20;
const ENTRY: usize = 64;
/// Octets of the keys in one reply.
const KEYS_MOST: usize = 1 << 20;
/// Keys that one `SCAN` looks at, at most.
const SCANNED_MOST: i64 = 1000;

const SYNTAX: &str = "syntax error";
const NO_INTEGER: &str = "value is not an integer or out of range";

/// The state machine of a store: its operations are commands, with words that have their length
/// before them.
#[derive(Default)]
pub struct KeyValueStore {
    entries: BTreeMap<Hashed, Entry>,
    deadlines: BTreeSet<(u64, Hashed)>,
    octets: usize,
}

struct Entry {
    value: Vec<u8>,
    /// When it expires, in the group's milliseconds.
    deadline: Option<u64>,
}

/// Returns a command as an operation.
pub(crate) fn operation(words: &[Vec<u8>]) -> Vec<u8> {
    let mut octets = Vec::new();
    words.iter().for_each(|word| push_counted(&mut octets, word));
    octets
}

fn words(operation: &[u8]) -> Vec<&[u8]> {
    let mut front = Front(operation);
    core::iter::from_fn(|| front.counted()).collect()
}

type Reply = Result<RespReply, &'static str>;

impl KeyValueStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the reply to an operation that changes nothing.
    pub fn read(&self, time: u64, operation: &[u8]) -> Vec<u8> {
        let words = words(operation);
        let reply = self.answer(time, &words).unwrap_or(Err("it is no command that reads"));
        reply.unwrap_or_else(RespReply::error).octets()
    }

    /// Returns how many keys there are, and their octets and those of their values.
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.octets)
    }

    fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(&hashed(key))
    }

    /// Answers what changes nothing.
    fn answer(&self, time: u64, words: &[&[u8]]) -> Option<Reply> {
        let count = |count: usize| Ok(RespReply::Integer(count as i64));
        let left = |key: &[u8], unit: u64| {
            Ok(RespReply::Integer(match self.get(key) {
                None => -2,
                Some(Entry { deadline: None, .. }) => -1,
                // Redis rounds as well.
                Some(Entry { deadline: Some(deadline), .. }) => {
                    ((deadline.saturating_sub(time) + unit / 2) / unit) as i64
                }
            }))
        };
        Some(match words {
            [b"GET", key] => {
                Ok(self.get(key).map_or(RespReply::Nil, |it| RespReply::Bulk(it.value.clone())))
            }
            [b"STRLEN", key] => count(self.get(key).map_or(0, |entry| entry.value.len())),
            [b"EXISTS", keys @ ..] => count(keys.iter().filter_map(|key| self.get(key)).count()),
            [b"TTL", key] => left(key, 1000),
            [b"PTTL", key] => left(key, 1),
            [b"DBSIZE"] => count(self.entries.len()),
            [b"KEYS", pattern] => self.keys(pattern),
            [b"SCAN", cursor, options @ ..] => self.scan(cursor, options),
            _ => return None,
        })
    }

    fn keys(&self, pattern: &[u8]) -> Reply {
        let (mut keys, mut octets) = (Vec::new(), 0);
        for (_, key) in self.entries.keys().filter(|(_, key)| fits(pattern, key)) {
            octets += key.len() + 16;
            if octets > KEYS_MOST {
                return Err("too many keys for one reply: SCAN returns them in parts");
            }
            keys.push(RespReply::Bulk(key.clone()));
        }
        Ok(RespReply::Array(keys))
    }

    fn scan(&self, cursor: &[u8], options: &[&[u8]]) -> Reply {
        let cursor = core::str::from_utf8(cursor).ok().and_then(|text| text.parse::<u64>().ok());
        let cursor = cursor.ok_or("invalid cursor")?;
        let (mut pattern, mut most): (&[u8], i64) = (b"*", 10);
        for option in options.chunks(2) {
            match (option[0].to_ascii_uppercase().as_slice(), option.get(1)) {
                (b"MATCH", Some(wanted)) => pattern = wanted,
                (b"COUNT", Some(count)) => {
                    most = integer(count).filter(|count| *count > 0).ok_or(NO_INTEGER)?;
                }
                _ => return Err(SYNTAX),
            }
        }
        let from = Bound::Included((cursor, Vec::new()));
        let (mut keys, mut seen, mut last, mut next) = (Vec::new(), 0, None, 0);
        for ((hash, key), _) in self.entries.range((from, Bound::Unbounded)) {
            // Keys of one hash are behind one cursor.
            if seen >= most.min(SCANNED_MOST) && last != Some(*hash) {
                next = *hash;
                break;
            }
            (seen, last) = (seen + 1, Some(*hash));
            if fits(pattern, key) {
                keys.push(RespReply::Bulk(key.clone()));
            }
        }
        let next = RespReply::Bulk(alloc::format!("{next}").into_bytes());
        Ok(RespReply::Array([next, RespReply::Array(keys)].into()))
    }

    fn change(&mut self, time: u64, words: &[&[u8]]) -> Reply {
        let yes_or_no = |is_so: bool| Ok(RespReply::Integer(i64::from(is_so)));
        match words {
            [b"SET", key, value, options @ ..] => self.set(time, key, value, options),
            [b"SETNX", key, value] => {
                let reply = self.set(time, key, value, &[b"NX"])?;
                yes_or_no(reply != RespReply::Nil)
            }
            [b"DEL", keys @ ..] => {
                let gone = keys.iter().filter(|key| self.remove(&hashed(key)));
                Ok(RespReply::Integer(gone.count() as i64))
            }
            [b"INCR", key] => self.add(key, Some(1)),
            [b"DECR", key] => self.add(key, Some(-1)),
            [b"INCRBY", key, more] => self.add(key, integer(more)),
            [b"DECRBY", key, less] => {
                self.add(key, integer(less).and_then(|less| less.checked_neg()))
            }
            [b"EXPIRE", key, seconds] => {
                let after = integer(seconds).and_then(|seconds| seconds.checked_mul(1000));
                self.expire(time, key, after)
            }
            [b"PEXPIRE", key, after] => self.expire(time, key, integer(after)),
            [b"PERSIST", key] => {
                let key = hashed(key);
                let had = self.entries.get(&key).is_some_and(|entry| entry.deadline.is_some());
                self.set_deadline(&key, None);
                yes_or_no(had)
            }
            _ => Err(SYNTAX),
        }
    }

    fn set(&mut self, time: u64, key: &[u8], value: &[u8], options: &[&[u8]]) -> Reply {
        let (mut exists, mut deadline, mut keeps) = (None, None, false);
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let unit = match option.to_ascii_uppercase().as_slice() {
                b"NX" if exists.is_none() => {
                    exists = Some(false);
                    continue;
                }
                b"XX" if exists.is_none() => {
                    exists = Some(true);
                    continue;
                }
                b"KEEPTTL" if deadline.is_none() => {
                    keeps = true;
                    continue;
                }
                b"EX" if deadline.is_none() && !keeps => 1000,
                b"PX" if deadline.is_none() && !keeps => 1,
                _ => return Err(SYNTAX),
            };
            let after = integer(options.next().ok_or(SYNTAX)?).ok_or(NO_INTEGER)?;
            let after = after.checked_mul(unit).filter(|after| *after > 0);
            let after = after.ok_or("invalid expire time in 'set' command")?;
            deadline = Some(time.saturating_add(after as u64));
        }
        let key = hashed(key);
        let before = self.entries.get(&key);
        if exists.is_some_and(|exists| exists != before.is_some()) {
            return Ok(RespReply::Nil);
        }
        if keeps {
            deadline = before.and_then(|entry| entry.deadline);
        }
        self.put(key, value.into(), deadline)?;
        Ok(RespReply::Simple("OK"))
    }

    fn add(&mut self, key: &[u8], more: Option<i64>) -> Reply {
        let more = more.ok_or(NO_INTEGER)?;
        let key = hashed(key);
        let before = self.entries.get(&key);
        let deadline = before.and_then(|entry| entry.deadline);
        let number = before.map_or(Some(0), |entry| integer(&entry.value)).ok_or(NO_INTEGER)?;
        let sum = number.checked_add(more).ok_or("increment or decrement would overflow")?;
        self.put(key, alloc::format!("{sum}").into_bytes(), deadline)?;
        Ok(RespReply::Integer(sum))
    }

    fn expire(&mut self, time: u64, key: &[u8], after: Option<i64>) -> Reply {
        let after = after.ok_or(NO_INTEGER)?;
        let key = hashed(key);
        let is_there = self.entries.contains_key(&key);
        if after <= 0 {
            self.remove(&key);
        } else {
            self.set_deadline(&key, Some(time.saturating_add(after as u64)));
        }
        Ok(RespReply::Integer(i64::from(is_there)))
    }

    fn put(
        &mut self,
        key: Hashed,
        value: Vec<u8>,
        deadline: Option<u64>,
    ) -> Result<(), &'static str> {
        if key.1.len() > KEY_MOST {
            return Err("a key has at most 512 octets");
        }
        if value.len() > VALUE_MOST {
            return Err("string exceeds maximum allowed size: a value has at most 524288 octets");
        }
        let before = self.entries.get(&key);
        let (more, less) = match before {
            Some(before) => (value.len(), before.value.len()),
            None => (key.1.len() + value.len() + ENTRY, 0),
        };
        if more > less && self.octets + more - less > STORE_MOST {
            return Err(FULL);
        }
        self.octets = self.octets + more - less;
        if let Some(deadline) = before.and_then(|before| before.deadline) {
            self.deadlines.remove(&(deadline, key.clone()));
        }
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, key.clone()));
        }
        self.entries.insert(key, Entry { value, deadline });
        Ok(())
    }

    fn set_deadline(&mut self, key: &Hashed, deadline: Option<u64>) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if let Some(before) = core::mem::replace(&mut entry.deadline, deadline) {
            self.deadlines.remove(&(before, key.clone()));
        }
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, key.clone()));
        }
    }

    fn remove(&mut self, key: &Hashed) -> bool {
        let Some(entry) = self.entries.remove(key) else { return false };
        self.octets -= key.1.len() + entry.value.len() + ENTRY;
        if let Some(deadline) = entry.deadline {
            self.deadlines.remove(&(deadline, key.clone()));
        }
        true
    }
}

/// The error that is not of the general kind.
const FULL: &str = "OOM command not allowed when used memory > 'maxmemory'.";

impl Machine for KeyValueStore {
    fn apply(&mut self, time: u64, operation: &[u8]) -> Vec<u8> {
        self.pass(time);
        let words = words(operation);
        let reply = self.answer(time, &words).unwrap_or_else(|| self.change(time, &words));
        let error = |what| match what {
            FULL => RespReply::Error(FULL.into()),
            what => RespReply::error(what),
        };
        reply.unwrap_or_else(error).octets()
    }

    fn pass(&mut self, time: u64) {
        while let Some((deadline, key)) = self.deadlines.first()
            && *deadline <= time
        {
            let key = key.clone();
            self.remove(&key);
        }
    }

    fn waits_for_time(&self) -> bool {
        !self.deadlines.is_empty()
    }

    fn snapshot(&self, octets: &mut Vec<u8>) {
        octets.reserve(self.octets);
        for ((_, key), Entry { value, deadline }) in &self.entries {
            push_counted(octets, key);
            push_counted(octets, value);
            octets.extend(deadline.unwrap_or(u64::MAX).to_be_bytes());
        }
    }

    fn restore(&mut self, octets: &[u8]) -> bool {
        *self = Self::new();
        let mut front = Front(octets);
        while !front.0.is_empty() {
            let (Some(key), Some(value)) = (front.counted(), front.counted()) else { return false };
            let Some(deadline) = front.u64() else { return false };
            let deadline = (deadline != u64::MAX).then_some(deadline);
            if self.put(hashed(key), value.into(), deadline).is_err() {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn say(store: &mut KeyValueStore, time: u64, line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let reply = store.apply(time, &operation(&words));
        String::from_utf8(reply).unwrap().replace("\r\n", " ").trim_end().into()
    }

    #[test]
    fn commands_do_what_redis_says() {
        let mut store = KeyValueStore::new();
        for (time, line, reply) in [
            (0, "GET a", "$-1"),
            (0, "SET a 1", "+OK"),
            (0, "SET a 2 NX", "$-1"),
            (0, "SETNX a 2", ":0"),
            (0, "SET b 2 XX", "$-1"),
            (0, "SET a 1 NX XX", "-ERR syntax error"),
            (0, "SET a 1 EX 0", "-ERR invalid expire time in 'set' command"),
            (0, "INCR a", ":2"),
            (0, "INCRBY a 40", ":42"),
            (0, "DECRBY a 2", ":40"),
            (0, "GET a", "$2 40"),
            (0, "SET t text", "+OK"),
            (0, "INCR t", "-ERR value is not an integer or out of range"),
            (0, "SET m 9223372036854775807", "+OK"),
            (0, "INCR m", "-ERR increment or decrement would overflow"),
            (0, "EXISTS a t a x", ":3"),
            (0, "TTL a", ":-1"),
            (0, "TTL x", ":-2"),
            (0, "EXPIRE a 10", ":1"),
            (5000, "TTL a", ":5"),
            (5000, "INCR a", ":41"),
            (9999, "GET a", "$2 41"),
            (10_000, "GET a", "$-1"),
            (10_000, "PERSIST a", ":0"),
            (10_000, "SET a 1 PX 50", "+OK"),
            (10_010, "PERSIST a", ":1"),
            (10_090, "DEL a t x", ":2"),
            (10_090, "EXPIRE m -1", ":1"),
            (10_090, "DBSIZE", ":0"),
        ] {
            assert_eq!(say(&mut store, time, line), reply, "{line}");
        }
        assert_eq!(store.size(), (0, 0));
    }

    #[test]
    fn a_scan_finds_what_stays_whatever_goes() {
        let mut store = KeyValueStore::new();
        for number in 0..1000 {
            say(&mut store, 0, &alloc::format!("SET k{number} x"));
        }
        let (mut cursor, mut seen) = (String::from("0"), 0);
        for turn in 0.. {
            let reply = say(&mut store, 0, &alloc::format!("SCAN {cursor} COUNT 20 MATCH k?"));
            let words: Vec<_> = reply.split(' ').collect();
            seen += words.iter().filter(|word| word.starts_with('k')).count();
            cursor = words[2].into();
            if cursor == "0" {
                break;
            }
            say(&mut store, 0, &alloc::format!("DEL k{}", 100 + turn));
        }
        assert_eq!(seen, 10);
    }

    #[test]
    fn a_store_is_bounded_and_its_snapshot_is_itself() {
        let mut store = KeyValueStore::new();
        let value = "x".repeat(VALUE_MOST);
        let mut count = 0;
        while say(&mut store, 0, &alloc::format!("SET {count} {value}")) == "+OK" {
            count += 1;
        }
        assert_eq!(count, STORE_MOST / VALUE_MOST - 1);
        let full = alloc::format!("SET full {value}");
        assert!(say(&mut store, 0, &full).starts_with("-OOM "), "one more");
        assert_eq!(say(&mut store, 0, "SET 0 less PX 7"), "+OK");
        let long = alloc::format!("SET {} 1", "k".repeat(513));
        assert_eq!(say(&mut store, 0, &long), "-ERR a key has at most 512 octets");
        let mut octets = Vec::new();
        store.snapshot(&mut octets);
        let mut other = KeyValueStore::new();
        assert!(other.restore(&octets) && other.size() == store.size());
        let mut again = Vec::new();
        other.snapshot(&mut again);
        assert!(octets == again);
        assert_eq!(say(&mut other, 7, "GET 0"), "$-1");
        assert!(!other.restore(&octets[..octets.len() - 1]));
    }
}
