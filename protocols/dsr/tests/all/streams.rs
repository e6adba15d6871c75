//! XSTP over IP over DSR, between stations whose links come and go: a stream is what was sent, to
//! its end, or its end is told.

use core::num::NonZeroU64;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_contract::Handle;
use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_dsr::{Config, Dsr};
use stackwright_ip::{Config as IpConfig, Ip};
use stackwright_simulator::{octets_of, seeds};
use stackwright_wire::Message as _;
use stackwright_xstp::{Config as XstpConfig, XstpLayer, layer};

use crate::air::{Air, M, host};

type Stack = Over<XstpLayer<M>, Over<Ip<M>, Dsr<M>>>;

const PORT: u16 = 7;
const CREDIT: Credit = Credit::of_octets(2048);

/// The settings of packet radio, in haste.
fn stack(nth: usize, seed: u64) -> Stack {
    let rate = NonZeroU64::new(50_000).expect("not zero");
    let config = XstpConfig {
        packet: 178,
        window: 32,
        rate: Some((rate, 1_000)),
        poll: 300_000_000,
        patience: 2_000_000_000,
        silence: 60_000_000_000,
        ..XstpConfig::new()
    };
    let ip = IpConfig { seed, ..IpConfig::host(IpAddr::V4(host(nth)), 24) };
    let dsr = Config { relays: 9, ..Config::default() };
    Over::new(layer(config, seed), Over::new(Ip::new(ip), Dsr::new(dsr, seed)))
}

/// One end of a stream.
#[derive(Default)]
struct End {
    station: usize,
    name: Option<Handle>,
    /// What is sent, how much of it was, and the credit for more.
    sends: Vec<u8>,
    sent: usize,
    credit: usize,
    finished: bool,
    came: Vec<u8>,
    /// Whether the other's end came, and the last word.
    complete: bool,
    ended: Option<Ended>,
}

/// Does what both ends want, and notes what they are told.
fn work(air: &mut Air<Stack>, ends: &mut [End; 2]) {
    for end in ends {
        let Some(association) = end.name else { continue };
        for word in std::mem::take(&mut air.stations[end.station].lone.said.up) {
            if word.name() != association {
                continue; // the listener
            }
            assert_eq!(end.ended, None, "nothing follows the last word");
            match word {
                StreamsIndication::Opened { credit, .. }
                | StreamsIndication::Credit { credit, .. } => end.credit += credit.octets,
                StreamsIndication::Delivered { batch, .. } => {
                    let octets = octets_of(&batch.into_single());
                    let credit = Credit::of_octets(octets.len());
                    end.came.extend(octets);
                    air.ask(end.station, StreamsRequest::Credit { association, credit });
                }
                StreamsIndication::Finished { .. } => end.complete = true,
                StreamsIndication::Ended { why, .. } => end.ended = Some(why),
                _ => {}
            }
        }
        if end.ended.is_some() {
            continue;
        }
        let now = end.credit.min(end.sends.len() - end.sent).min(500);
        if now > 0 {
            let batch = M::with_headroom(128, &end.sends[end.sent..end.sent + now]).into();
            (end.sent, end.credit) = (end.sent + now, end.credit - now);
            let properties = Default::default();
            air.ask(end.station, StreamsRequest::Send { association, batch, properties });
        } else if end.sent == end.sends.len() && !end.finished && end.credit > 0 {
            end.finished = true;
            air.ask(end.station, StreamsRequest::Finish { association });
        }
    }
}

/// Returns whether both ends had all.
fn world(seed: u64) -> bool {
    let mut random = Rng::with_seed(seed);
    let (count, ring) = (random.usize(2..=10), random.bool());
    let mut air = Air::new(count, seed, |nth| stack(nth, seed.wrapping_mul(31) + nth as u64));
    air.line(ring);
    (air.returns, air.loss) = (random.bool(), random.f64() * 0.1);
    let server = random.usize(..count);
    let stations = [server, (server + random.usize(1..count)) % count];
    let octets = |random: &mut Rng| (0..random.usize(..4_000)).map(|_| random.u8(..)).collect();
    let mut ends =
        stations.map(|station| End { station, sends: octets(&mut random), ..End::default() });
    let remote = SocketAddr::from((host(server), PORT)).into();
    let [listener, awaited] = [air.name(server), air.name(server)];
    air.ask(server, StreamsRequest::Listen { listener, local: remote });
    let credit = CREDIT;
    air.ask(server, StreamsRequest::Await { listener, association: awaited, credit });
    let association = air.name(stations[1]);
    air.ask(stations[1], StreamsRequest::Open { association, remote, local: None, credit });
    (ends[0].name, ends[1].name) = (Some(awaited), Some(association));
    for _ in 0..random.usize(..10) {
        let (one, other) = (random.usize(..count), random.usize(..count));
        if one != other {
            air.join(one, other, random.bool());
        }
        let time = Duration::from_millis(random.u64(..1_500));
        air.run(time, |air| work(air, &mut ends));
    }
    // The last fault.
    air.loss = 0.0;
    air.line(ring);
    for _ in 0..400 {
        air.run(Duration::from_secs(1), |air| work(air, &mut ends));
        if ends.iter().all(|end| end.ended.is_some()) {
            break;
        }
    }
    let [one, other] = &ends;
    for (end, peer) in [(one, other), (other, one)] {
        assert!(peer.sends.starts_with(&end.came), "in order, each once, as it was sent");
        assert!(!end.complete || end.came == peer.sends, "the end comes behind all");
        let never_opened = end.station == server && end.credit + end.sent == 0;
        assert!(end.ended.is_some() || never_opened, "all ends");
    }
    ends.iter().all(|end| end.complete && end.ended == Some(Ended::Finished))
}

#[test]
fn streams_are_whole_or_their_end_is_told_while_links_come_and_go() {
    let range = seeds(500);
    let all = range.end - range.start;
    let mut whole = 0;
    for seed in range {
        match std::panic::catch_unwind(|| world(seed)) {
            Ok(is_whole) => whole += u64::from(is_whole),
            Err(_) => panic!("SEED={seed}"),
        }
    }
    println!("{whole} of {all} streams were whole");
    assert!(all < 10 || whole > all / 2, "{whole} of {all}");
}
