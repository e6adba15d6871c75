//! Segments as packets of IPv4, and in words: `syn ack=1 mss=1460`.

use std::collections::BTreeMap;
use std::fmt;

use stackwright::tcp::options::{TcpOption, TcpOptions, TcpTimestamps};
use stackwright::wire::Header as _;
use stackwright::wire::check::Internet;
use stackwright::wire::internet::{Ipv4, Tcp, pseudo_header};

/// The addresses of both sides.
pub(crate) const HOSTS: [[u8; 4]; 2] = [[10, 77, 0, 1], [10, 77, 0, 2]];

/// A segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) tcp: Tcp,
    pub(crate) options: Options,
    pub(crate) data: usize,
}

/// The options of a segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) scale: Option<u8>,
    pub(crate) sack_ok: bool,
    pub(crate) times: Option<TcpTimestamps>,
    pub(crate) blocks: Vec<(u32, u32)>,
}

impl Options {
    fn read(octets: &[u8]) -> Self {
        let mut options = Options::default();
        for option in TcpOptions::new(octets) {
            match option {
                TcpOption::MaximumSegmentSize(mss) => options.mss = Some(mss),
                TcpOption::WindowScale(scale) => options.scale = Some(scale),
                TcpOption::SackPermitted => options.sack_ok = true,
                TcpOption::Timestamps(times) => options.times = Some(times),
                TcpOption::Sack(blocks) => options.blocks = blocks.collect(),
                TcpOption::Other(_) => {}
            }
        }
        options
    }

    fn write(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        if let Some(mss) = self.mss {
            octets.extend([2, 4]);
            octets.extend(mss.to_be_bytes());
        }
        if self.sack_ok {
            octets.extend([1, 1, 4, 2]);
        }
        if let Some(scale) = self.scale {
            octets.extend([1, 3, 3, scale]);
        }
        if let Some(TcpTimestamps { value, echo }) = self.times {
            octets.extend([1, 1, 8, 10]);
            octets.extend(value.to_be_bytes());
            octets.extend(echo.to_be_bytes());
        }
        if !self.blocks.is_empty() {
            octets.extend([1, 1, 5, 2 + 8 * self.blocks.len() as u8]);
            for (start, end) in &self.blocks {
                octets.extend(start.to_be_bytes());
                octets.extend(end.to_be_bytes());
            }
        }
        octets
    }
}

impl Segment {
    /// Reads a packet; `None` if it is no whole segment of TCP.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let ip = Ipv4::decode(packet).ok().filter(|ip| ip.protocol == 6)?;
        let segment = packet.get(4 * usize::from(ip.ihl)..usize::from(ip.total_length))?;
        let tcp = Tcp::decode(segment).ok()?;
        let before = 4 * usize::from(tcp.data_offset);
        let options = Options::read(segment.get(Tcp::LENGTH..before)?);
        Some(Segment { tcp, options, data: segment.len() - before })
    }

    /// Returns the packet, from the host of that number to the other. An octet of data follows from
    /// its number.
    pub(crate) fn packet(&self, from: usize) -> Vec<u8> {
        let mut octets = vec![0; Tcp::LENGTH];
        octets.extend(self.options.write());
        let data_offset = (octets.len() / 4) as u8;
        Tcp { data_offset, checksum: 0, ..self.tcp.clone() }.encode(&mut octets);
        octets.resize(octets.len() + self.data, b'x');
        let [source, destination] = [HOSTS[from], HOSTS[1 - from]];
        let sum = pseudo_header(source.into(), destination.into(), 6, octets.len() as u32);
        let mut check = Internet::new();
        check.add(&sum.to_be_bytes());
        check.add(&octets);
        octets[16..18].copy_from_slice(&check.value().to_be_bytes());
        let [high, low] = (20 + octets.len() as u16).to_be_bytes();
        let mut packet = vec![0x45, 0, high, low, 0, 0, 0x40, 0, 64, 6, 0, 0];
        packet.extend([source, destination].concat());
        let check = Internet::of(&packet).to_be_bytes();
        packet[10..12].copy_from_slice(&check);
        packet.extend(octets);
        packet
    }
}

/// What a line says of a segment: names, each with the least and the most that it may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    values: BTreeMap<String, (i64, i64)>,
    /// Ranges, as they stand in SACK.
    pub(crate) blocks: Vec<(u32, u32)>,
}

/// The words: flags stand alone; `no-ack` is of use where a segment is injected.
const WORDS: [&str; 16] = [
    "syn", "fin", "rst", "ece", "cwr", "no-ack", "sack-ok", "number", "ack", "window", "data",
    "mss", "scale", "time", "echo", "times",
];

impl Words {
    /// Reads the words of a line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut words = Words::default();
        for word in text.split_whitespace() {
            let number =
                |text: &str| text.parse::<i64>().map_err(|_| format!("`{word}`: a number"));
            let (name, value) = word.split_once('=').unwrap_or((word, "1"));
            if name == "sack" {
                for block in value.split(',') {
                    let (start, end) = block.split_once('-').ok_or(format!("`{word}`: a-b"))?;
                    words.blocks.push((number(start)? as u32, number(end)? as u32));
                }
                continue;
            }
            if !WORDS.contains(&name) {
                return Err(format!("`{word}` says nothing of a segment"));
            }
            let (least, most) = value.split_once("..").unwrap_or((value, value));
            words.values.insert(name.into(), (number(least)?, number(most)?));
        }
        Ok(words)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<i64> {
        self.values.get(name).map(|range| range.0)
    }

    /// Returns whether a segment is as the words say. SYN, FIN and RST must be the same, and there
    /// is no data where nothing is said of it; of all else, what is not said does not matter.
    pub(crate) fn fits(&self, seen: &Shown) -> bool {
        let all = |name: &&str| {
            let said = self.values.get(*name).copied();
            let must = matches!(*name, "syn" | "fin" | "rst" | "data");
            match (said, seen.values.get(name)) {
                (Some((least, most)), Some(value)) => (least..=most).contains(value),
                (None, value) => !must || value.is_none_or(|value| *value == 0),
                (Some(_), None) => false,
            }
        };
        WORDS.iter().all(all) && (self.blocks.is_empty() || self.blocks == seen.blocks)
    }
}

/// A segment in words: numbers count from the SYN of their side.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    values: BTreeMap<&'static str, i64>,
    blocks: Vec<(u32, u32)>,
}

impl Shown {
    /// Puts a segment into words: the first numbers are those of its sender, and of the other side.
    pub(crate) fn of(segment: &Segment, [own, peer]: [u32; 2]) -> Self {
        let Segment { tcp, options, data } = segment;
        let mut values = BTreeMap::new();
        let flags = [
            ("syn", tcp.syn),
            ("fin", tcp.fin),
            ("rst", tcp.rst),
            ("ece", tcp.ece),
            ("cwr", tcp.cwr),
            ("sack-ok", options.sack_ok),
            ("times", options.times.is_some()),
        ];
        values.extend(flags.map(|(name, is)| (name, i64::from(is))));
        values.insert("number", i64::from(tcp.sequence_number.wrapping_sub(own)));
        values.insert("window", tcp.window.into());
        if tcp.ack {
            values.insert("ack", i64::from(tcp.acknowledgment_number.wrapping_sub(peer)));
        }
        values.insert("data", *data as i64);
        let more = [
            ("mss", options.mss.map(i64::from)),
            ("scale", options.scale.map(i64::from)),
            ("time", options.times.map(|times| times.value.into())),
            ("echo", options.times.map(|times| times.echo.into())),
        ];
        values.extend(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let blocks = options.blocks.iter();
        let blocks = blocks.map(|(from, to)| (from.wrapping_sub(peer), to.wrapping_sub(peer)));
        Shown { values, blocks: blocks.collect() }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.values.iter().filter(|(_, value)| **value != 0) {
            write!(f, "{name}={value} ")?;
        }
        self.blocks.iter().try_for_each(|(start, end)| write!(f, "sack={start}-{end} "))
    }
}
