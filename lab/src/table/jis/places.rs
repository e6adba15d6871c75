//! E18 and E19: pictures beside TCP, in several places and with ADUs of two sizes.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use stackwright_contract::Duration;
use stackwright_drivers::tcp::has_congestion;
use stackwright_programs::picture::Picture;
use stackwright_programs::scratch::Scratch;
use stackwright_simulator::{Conditions, Loss, Queue};

use super::programs::{self, SERVER, TAILORED, TCP, TCP_SERVER};
use crate::link::{self, Side, Veth};
use crate::measure::{Contestant, Course, Effort, Limit};
use crate::problem::Problem;
use crate::table::outcome::{Axes, Figure, Row};
use crate::table::transports::Ends;
use crate::table::verdict::Target;
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct Jis;

/// The octets of an ADU's body, as cells say them, with the head of it.
const SIZES: [usize; 2] = [639, 1452];
/// The octets of a head.
const HEAD: usize = 1;
/// Octets per second of the modelled link: 100 Mb/s.
const RATE: u64 = 12_500_000;
/// What TCP's segments of 1500 octets have of a stream.
const SEGMENT: f64 = 1448.0;
/// What a picture over the link shall have of what its own packets leave.
const SHARE: f64 = 0.98;
/// By how much the first units shall be there before TCP's, in round trips.
const EARLIER: f64 = 0.8;

const OURS: &str = "JIS";
const CUBIC: &str = "TCP, cubic";
const BBR: &str = "TCP, bbr";

/// The document's rates in kb/s by the size of an ADU, with TCP in a process of the system: TCP,
/// STRL.
const DOCUMENT: [[f64; 2]; 2] = [[3531.0, 2428.0], [5607.0, 5507.0]];

impl Table for Jis {
    fn about(&self) -> About {
        About {
            name: "jis",
            title: "pictures beside TCP",
            measures: "A client fetches one JPEG of 2.5 MB by turns over the transport that \
                       JIS’s phase selects and over the kernel’s TCP, both with the same client \
                       and server and ADUs of at most 640 or 1453 octets, each over a new \
                       association: octets of the file by the time from the first units that \
                       are painted until all are. The server has split the picture before, \
                       but for the first of them. \
                       loopback, veth: bound by the processor. link: a modelled link of 100 \
                       Mb/s without link headers, where TCP packs several ADUs into a packet. \
                       20ms, 100ms: the same at 20 Mb/s with that round trip, and packets that \
                       are lost.",
            source: "De Silva et al., 1996, tables 2 and 3",
            axes: Axes::default(),
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let mut keys: Vec<String> = ["loopback", "veth", "link"]
            .into_iter()
            .flat_map(|place| SIZES.map(|size| format!("{place}/{}", size + HEAD)))
            .collect();
        let far: &[&str] = match effort {
            Effort::Quick => &["20ms/1", "100ms/1"],
            _ => &["20ms/0", "20ms/1", "20ms/5", "100ms/0", "100ms/1", "100ms/5"],
        };
        keys.extend(far.iter().map(|key| (*key).to_owned()));
        keys
    }

    fn open(&self, _: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        programs::build()?;
        let rights = link::check_rights();
        if let Err(why) = &rights {
            let why = why.says();
            notes.push(format!("Nothing was measured but over loopback: {why}."));
        }
        notes.push(
            "A transport in a process of its own, and one over io_uring, have no driver here."
                .into(),
        );
        let folder = Scratch::new();
        let file = Picture { columns: 250, rows: 108, coefficients: 62 }.file(1);
        std::fs::write(folder.join("picture.jpg"), &file).map_err(Problem::new)?;
        Ok(Box::new(Places { folder, octets: file.len(), may_link: rights.is_ok() }))
    }
}

struct Places {
    folder: Scratch,
    octets: usize,
    may_link: bool,
}

/// A link and what is asked of it.
struct Asked {
    ends: Ends,
    /// The most octets of an ADU.
    adu: usize,
    /// In octets a second, where a link is full.
    rate: Option<u64>,
    /// To and fro, in milliseconds.
    round_trip: Option<u64>,
}

impl Cells for Places {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (place, rest) = key.split_once('/').ok_or_else(unknown)?;
        let group = match place {
            "loopback" | "veth" => place.to_owned(),
            "link" => "100 Mb/s".into(),
            other => format!("20 Mb/s, {} ms to and fro", other.trim_end_matches("ms")),
        };
        let (far, number) = (place.ends_with("ms"), rest.parse::<usize>().map_err(|_| unknown())?);
        let label =
            if far { format!("{number} % lost") } else { format!("ADUs of {number} octets") };
        let mut row = Row::new(key, group, label, "Mb/s");
        row.more_is_better = true;
        if place != "loopback" && !self.may_link {
            return Ok(row);
        }
        let asked = asked(place, number, course.seed).ok_or_else(unknown)??;
        if !far {
            let nth = SIZES.iter().position(|size| size + HEAD == number).ok_or_else(unknown)?;
            let figure = |who: &str, value: f64| Figure {
                who: who.to_owned(),
                value,
                unit: "kb/s".to_owned(),
            };
            row.document = vec![figure("TCP", DOCUMENT[nth][0]), figure("STRL", DOCUMENT[nth][1])];
        }
        let mut servers = Vec::new();
        for (name, client, server, congestion) in [
            (OURS, TAILORED, SERVER, None),
            (CUBIC, TCP, TCP_SERVER, Some("cubic")),
            (BBR, TCP, TCP_SERVER, Some("bbr")),
        ] {
            if congestion == Some("bbr") && asked.round_trip.is_none() {
                continue;
            }
            match congestion.filter(|name| !has_congestion(name)) {
                Some(lacked) => course.progress.suspend(|| {
                    eprintln!("lab: skipping {name}: this system’s TCP has no {lacked}");
                }),
                None => servers.push((name, client, self.serve(&asked, server, congestion)?)),
            }
        }
        let firsts = std::cell::RefCell::new(vec![Vec::new(); servers.len()]);
        let contestants = servers.iter().enumerate().map(|(nth, (name, client, server))| {
            let (asked, firsts, octets) = (&asked, &firsts, self.octets);
            let run = move || {
                let [seconds, first] = fetch(asked, client, server.place)?;
                firsts.borrow_mut()[nth].push(first);
                Ok(8e-6 * octets as f64 / (seconds - first))
            };
            match *name {
                OURS => Contestant::ours(*name, run),
                _ => Contestant::peer(*name, run),
            }
        });
        row.columns = course.compete(contestants.collect())?;
        let firsts = firsts.into_inner();
        let mean = |nth: usize| {
            let values = firsts.get(nth).filter(|values| !values.is_empty())?;
            stackwright_programs::statistics::median(values)
        };
        for (nth, column) in row.columns.iter_mut().enumerate() {
            let ours = column.name == OURS;
            column.tell("first units after", "s", &firsts[nth], None);
            if let Some(rate) = asked.rate {
                let limit = 8e-6 * rate as f64 * if ours { own(asked.adu) } else { tcp(asked.adu) };
                column.limit = Some(limit);
                let shares: Vec<f64> =
                    column.samples.iter().map(|sample| sample.value / limit).collect();
                let target = (ours && !far).then_some(Target::AtLeast(SHARE));
                column.tell("share of what its packets leave", "", &shares, target);
            }
            if let (true, Some(round_trip), Some(first), Some(other)) =
                (ours, asked.round_trip, mean(nth), mean(1))
            {
                let earlier = 1e3 * (other - first) / round_trip as f64;
                let target = Some(Target::AtLeast(EARLIER));
                column.tell("round trips before TCP’s first units", "", &[earlier], target);
            }
        }
        // On a full link TCP leaves more or less to ADUs than packets of one ADU do.
        let wanted = match (asked.rate, far) {
            (Some(_), false) => Some(SHARE * own(asked.adu) / tcp(asked.adu)),
            (None, _) => Some(1.0),
            (Some(_), true) => None,
        };
        row.compare(OURS, CUBIC, wanted.map(Target::AtLeast));
        row.compare(OURS, BBR, None);
        Ok(row)
    }
}

/// What of a packet's octets are an ADU's, where each ADU has a packet of its own.
fn own(adu: usize) -> f64 {
    adu as f64 / (adu + 10 + 28) as f64
}

/// What of TCP's packets, where ADUs stand behind their lengths.
fn tcp(adu: usize) -> f64 {
    adu as f64 / (adu + 2) as f64 * SEGMENT / 1500.0
}

/// What a cell asks for; nothing where there is no such cell.
fn asked(place: &str, number: usize, seed: u64) -> Option<Result<Asked, Problem>> {
    let link = |rate: u64, round_trip: u64, lost: f64| {
        let product = rate * round_trip / 1000;
        let conditions = Conditions {
            rate: Some(rate),
            mtu: Some(1500),
            delay: Duration::from_micros(500 * round_trip),
            loss: if lost > 0.0 { Loss::Bernoulli(lost) } else { Loss::None },
            queue: Queue::octets(product.max(256 * 1500)),
            keeps_order: true,
            ..Conditions::IDEAL
        };
        Ends::wire(&conditions, seed)
    };
    let near = |ends: Result<Ends, Problem>, rate| {
        Some(ends.map(|ends| Asked { ends, adu: number, rate, round_trip: None }))
    };
    match place {
        "loopback" => near(Ok(Ends::Loopback), None),
        "veth" => near(Veth::up(1500).map(Ends::Veth), None),
        "link" => near(link(RATE, 0, 0.0), Some(RATE)),
        other => {
            let round_trip = other.strip_suffix("ms")?.parse().ok()?;
            let (adu, rate) = (SIZES[1] + HEAD, RATE / 5);
            let ends = link(rate, round_trip, number as f64 / 100.0);
            let round_trip = Some(round_trip);
            Some(ends.map(|ends| Asked { ends, adu, rate: Some(rate), round_trip }))
        }
    }
}

/// A server, killed when dropped.
struct Server {
    process: Child,
    place: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Places {
    fn serve(
        &self,
        asked: &Asked,
        name: &str,
        congestion: Option<&str>,
    ) -> Result<Server, Problem> {
        let place = SocketAddr::from((asked.ends.address(Side::B), 0));
        let mut command = asked.ends.command(Side::B, programs::path(name).as_os_str(), None);
        command.arg(place.to_string()).arg(self.folder.join("picture.jpg"));
        command.envs(congestion.map(|name| ("CONGESTION", name)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let problem = |why: String| Problem::new(format!("cannot start {name}: {why}"));
        let mut process = command.spawn().map_err(|why| problem(why.to_string()))?;
        let output = process.stdout.take();
        let mut server = Server { process, place };
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line).map_err(|why| problem(why.to_string()))?;
        }
        server.place = line.trim().parse().map_err(|_| problem(format!("it says {line:?}")))?;
        Ok(server)
    }
}

/// Fetches the picture once, and returns the seconds until all of it, and the first, is painted.
fn fetch(asked: &Asked, client: &str, place: SocketAddr) -> Result<[f64; 2], Problem> {
    let mut command: Command =
        asked.ends.command(Side::A, programs::path(client).as_os_str(), None);
    command.args([&place.to_string(), "picture.jpg", "1", &(asked.adu - HEAD).to_string()]);
    let output = command.output().map_err(|why| Problem::new(format!("{client}: {why}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().skip(1).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(seconds)), Some(Ok(first))) => Ok([seconds, first]),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Problem::new(format!("{client} failed: {}", said.trim())))
        }
    }
}
