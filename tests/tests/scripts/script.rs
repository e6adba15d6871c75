//! A script: what an application does, what arrives, and what must leave.
//!
//! | line | |
//! | --- | --- |
//! | `call WHAT` | the application: `listen`, `connect`, `send N`, `finish`, `close`, `abort`, `pause`, `read` |
//! | `inject WORDS` | a segment arrives, 20 ms later or with the one before: the next of the peer, and an acknowledgement of all, unless it says so |
//! | `expect WORDS` | the next segment that leaves, within a second |
//! | `accept WORDS` | the application listens, a SYN with these words arrives, and it opens |
//! | `burst A..B` | segments of 1000 octets are expected with these numbers |
//! | `at A..B expect WORDS` | the same, so many milliseconds after the line before |
//! | `may WORDS` | one that may leave, and more than once, before the next that is expected |
//! | `quiet N` | nothing leaves for N milliseconds, but for what may |
//! | `told WORDS` | what the application knows: `open`, `heard=N`, `finished`, `refused`, `reset`, `over` |
//!
//! Numbers of segments count from the SYN of their side. A host whose time is real may be late.

use std::collections::VecDeque;
use std::time::Duration;

use stackwright::tcp::options::TcpTimestamps;
use stackwright::wire::internet::Tcp;

use crate::host::{Call, Host, PORTS, Why};
use crate::segment::{Options, Segment, Shown, Words};

/// The first number of the peer.
const FIRST: u32 = u32::MAX - 2000;

/// How long what arrives was on its way.
const WAY: Duration = Duration::from_millis(20);

/// How long what is expected may take, and how much longer, and how much earlier, in real time.
const USUAL: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(3);
const EARLY: Duration = Duration::from_millis(15);

/// One run of a script.
pub(crate) struct Run<'a> {
    host: &'a mut dyn Host,
    /// Whether the host opens: its ports.
    ports: [u16; 2],
    /// The first number of the host, and what it has sent up to.
    first: Option<u32>,
    host_next: u32,
    peer_next: u32,
    /// The window that the peer offers in what is injected.
    window: u16,
    /// Whether the peer has offered timestamps, and the newest of the host.
    times: bool,
    newest: u32,
    may: Vec<Words>,
    /// What has left and was not looked at, and when.
    waiting: VecDeque<(Duration, Segment)>,
    /// Whether the line before was an arrival: others follow at once.
    arrives: bool,
    /// When the line before happened.
    last: Duration,
    log: Vec<String>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(host: &'a mut dyn Host) -> Self {
        let last = host.now();
        Run {
            host,
            ports: PORTS,
            first: None,
            host_next: 0,
            peer_next: FIRST,
            window: 65_000,
            times: false,
            newest: 0,
            may: Vec::new(),
            waiting: VecDeque::new(),
            arrives: false,
            last,
            log: Vec::new(),
        }
    }

    /// Runs a script; an error names the line.
    pub(crate) fn all(mut self, script: &str) -> Result<(), String> {
        for (number, line) in script.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty()
                && let Err(why) = self.line(line)
            {
                let number = number + 1;
                return Err(format!("line {number}: {line}: {why}\n  {}", self.log.join("\n  ")));
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let result = self.one(word, rest);
        self.arrives = word == "inject";
        result
    }

    fn one(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "call" => {
                let call = Call::read(rest).ok_or("no such call")?;
                if call == Call::Connect {
                    self.ports = [PORTS[1], PORTS[0]];
                }
                self.host.call(call);
            }
            "inject" => {
                if !self.arrives {
                    self.pass(self.host.now() + WAY);
                }
                self.inject(&Words::read(rest)?);
            }
            "accept" => {
                self.host.call(Call::Listen);
                self.pass(self.host.now() + WAY);
                self.inject(&Words::read(&format!("syn {rest}"))?);
                self.expect(Words::read("syn number=0 ack=1 mss=1460")?, Duration::ZERO..USUAL)?;
                self.pass(self.host.now() + WAY);
                self.inject(&Words::default());
                return self.told("open");
            }
            "expect" => return self.expect(Words::read(rest)?, Duration::ZERO..USUAL),
            "burst" => {
                let (from, to) = rest.split_once("..").ok_or("A..B")?;
                let [from, to] = [from, to].map(str::parse::<usize>);
                let no = |_| "numbers".to_owned();
                for number in (from.map_err(no)?..to.map_err(no)?).step_by(1000) {
                    let words = Words::read(&format!("number={number} data=1000"))?;
                    self.expect(words, Duration::ZERO..USUAL)?;
                }
            }
            "at" => {
                let (range, rest) = rest.split_once(" expect ").ok_or("at A..B expect …")?;
                let (from, to) = range.split_once("..").ok_or("A..B")?;
                let [from, to] = [from, to].map(|text| text.parse().map(Duration::from_millis));
                let no = |_| "milliseconds".to_owned();
                return self.expect(Words::read(rest)?, from.map_err(no)?..to.map_err(no)?);
            }
            "may" => {
                self.may.push(Words::read(rest)?);
                return Ok(());
            }
            "quiet" => {
                let time = rest.parse().map_err(|_| "milliseconds")?;
                let until = self.host.now() + Duration::from_millis(time);
                if let Some((_, seen)) = self.next(until)? {
                    return Err(format!("there is {seen}"));
                }
            }
            "told" => return self.told(rest),
            _ => return Err("no such line".into()),
        }
        self.last = self.host.now();
        Ok(())
    }

    fn inject(&mut self, words: &Words) {
        let first = self.first.unwrap_or(0);
        let host = |number: i64| first.wrapping_add(number as u32);
        let next = self.peer_next;
        let number = words.get("number").map_or(next, |it| FIRST.wrapping_add(it as u32));
        let ack = !words.has("no-ack") && self.first.is_some();
        let window = words.get("window").map_or(self.window, |window| window as u16);
        self.window = window;
        let (syn, fin, rst) = (words.has("syn"), words.has("fin"), words.has("rst"));
        self.times |= syn && words.has("times");
        let data = words.get("data").unwrap_or(0) as usize;
        let clock = 1000 + self.host.now().as_millis() as u32;
        let value = words.get("time").map_or(clock, |value| value as u32);
        let times = TcpTimestamps { value, echo: if ack { self.newest } else { 0 } };
        let segment = Segment {
            tcp: Tcp {
                source_port: self.ports[1],
                destination_port: self.ports[0],
                sequence_number: number,
                acknowledgment_number: match words.get("ack") {
                    Some(ack) => host(ack),
                    None if ack => self.host_next,
                    None => 0,
                },
                data_offset: 0,
                rsrvd: 0,
                cwr: words.has("cwr"),
                ece: words.has("ece"),
                urg: false,
                ack,
                psh: false,
                rst,
                syn,
                fin,
                window,
                checksum: 0,
                urgent_pointer: 0,
            },
            options: Options {
                mss: words.get("mss").map(|mss| mss as u16),
                scale: words.get("scale").map(|scale| scale as u8),
                sack_ok: words.has("sack-ok"),
                times: (self.times && !rst).then_some(times),
                blocks: words
                    .blocks
                    .iter()
                    .map(|it| (host(it.0.into()), host(it.1.into())))
                    .collect(),
            },
            data,
        };
        let end = number.wrapping_add(data as u32 + u32::from(syn) + u32::from(fin));
        // The next follows on what has no number of its own.
        if !words.has("number") && !rst {
            self.peer_next = end;
        }
        self.log.push(format!("inject {}", Shown::of(&segment, [FIRST, first])));
        self.host.arrives(&segment.packet(1));
    }

    /// Returns the next segment that is not one that may leave.
    fn next(&mut self, until: Duration) -> Result<Option<(Duration, Shown)>, String> {
        loop {
            if self.waiting.is_empty() {
                let Some(packet) = self.host.leaves(until) else { return Ok(None) };
                self.waits(&packet);
            }
            let Some((at, segment)) = self.waiting.pop_front() else { continue };
            let tcp = &segment.tcp;
            if (tcp.source_port, tcp.destination_port) != (self.ports[0], self.ports[1]) {
                return Err("other ports".into());
            }
            let first = *self.first.get_or_insert(tcp.sequence_number);
            let octets = segment.data as u32 + u32::from(tcp.syn) + u32::from(tcp.fin);
            let end = tcp.sequence_number.wrapping_add(octets);
            if !tcp.rst && (end.wrapping_sub(self.host_next) as i32 > 0 || self.host_next == 0) {
                self.host_next = end;
            }
            self.newest = segment.options.times.map_or(self.newest, |times| times.value);
            let shown = Shown::of(&segment, [first, FIRST]);
            self.log.push(format!("at {:4} ms {shown}", at.as_millis()));
            if !self.may.iter().any(|may| may.fits(&shown)) {
                return Ok(Some((at, shown)));
            }
        }
    }

    fn expect(&mut self, words: Words, within: std::ops::Range<Duration>) -> Result<(), String> {
        let is_real = self.host.is_real();
        let latest = within.end + if is_real { LATE } else { Duration::ZERO };
        // One that is expected may also be like one that may leave.
        let may = std::mem::take(&mut self.may);
        let (at, seen) = loop {
            let (at, seen) = self.next(self.last + latest)?.ok_or("there is nothing")?;
            if words.fits(&seen) {
                break (at, seen);
            }
            if !may.iter().any(|may| may.fits(&seen)) {
                return Err(format!("there is {seen}"));
            }
        };
        let after = at.saturating_sub(self.last);
        let slack = if is_real { EARLY } else { Duration::ZERO };
        if after + slack < within.start {
            return Err(format!("{seen} is early: {after:?}"));
        }
        self.last = at;
        Ok(())
    }

    /// Passes time; what leaves meanwhile waits until it is looked at.
    fn pass(&mut self, until: Duration) {
        while let Some(packet) = self.host.leaves(until) {
            self.waits(&packet);
        }
    }

    fn waits(&mut self, packet: &[u8]) {
        let at = self.host.now();
        self.waiting.extend(Segment::read(packet).map(|segment| (at, segment)));
    }

    fn told(&mut self, rest: &str) -> Result<(), String> {
        let until = self.host.now() + USUAL;
        loop {
            let told = self.host.told();
            let fits = rest.split_whitespace().all(|word| match word.split_once('=') {
                Some(("heard", octets)) => octets.parse() == Ok(told.heard),
                _ => match word {
                    "open" => told.open,
                    "finished" => told.finished,
                    "refused" => told.ended == Some(Why::Refused),
                    "reset" => told.ended == Some(Why::Reset),
                    "over" => told.ended == Some(Why::Over),
                    "silent" => told.ended == Some(Why::Silent),
                    _ => false,
                },
            });
            if fits {
                return Ok(());
            }
            if self.host.now() >= until {
                return Err(format!("{told:?}"));
            }
            self.pass(self.host.now() + Duration::from_millis(1));
        }
    }
}
