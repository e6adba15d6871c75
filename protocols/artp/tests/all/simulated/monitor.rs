//! Sessions are opened as the specification of the arrangement has it: its client follows the
//! packets of ours.

use stackwright_artp::header::{Packet, PacketKind, Proposal, Verdict};
use stackwright_artp::{Config, Layer, Sessions, items, layer, policies};
use stackwright_contract::Instant;
use stackwright_simulator::Conditions;
use stackwright_spec::{TranscriptMonitor, compile};
use stackwright_transport::{Associations, Transport};
use stackwright_wire::{BufferTree, Header as _};

use super::scene::{Scene, Talker, any_conditions};

const TEXT: &str = include_str!("../../../../../crates/spec/tests/sources/arrangement.protocol");

/// The item that opens a session (`Matter`).
const OPEN: u8 = 1;

/// IPv4 and UDP.
const LOWER_HEADERS: usize = 28;

/// What a packet says of the arrangement.
fn proposal(packet: &[u8]) -> Option<Proposal> {
    let packet = packet.get(LOWER_HEADERS..)?;
    let header = Packet::decode(packet).ok()?;
    let body = packet.get(Packet::LENGTH + usize::from(header.options)..)?;
    let item = items(body).next()?.ok()?;
    let opens = header.kind == PacketKind::Control && item.id == OPEN;
    opens.then(|| Proposal::decode(item.value).ok())?
}

/// The transcript of what the client said of the arrangement and heard, with the times that passed
/// before it asked of its own accord.
fn transcript(packets: &[(Instant, Vec<u8>)]) -> Vec<String> {
    let mut lines = vec!["Open".to_owned()];
    let (mut asked, mut heard) = (None, None);
    for (now, packet) in packets {
        let Some(Proposal { verdict, nonce, echo, session, .. }) = proposal(packet) else {
            continue;
        };
        match verdict {
            Verdict::Asked => {
                let waited = asked.filter(|_| heard != Some(*now));
                lines.extend(
                    waited.map(|then: Instant| format!("after {} ms", now.since(then).as_millis())),
                );
                asked = Some(*now);
                lines.push(format!("> Ask {echo}"));
            }
            Verdict::Again => lines.push(format!("< Again {nonce}")),
            Verdict::Granted => lines.push(format!("< Granted {session}")),
            Verdict::Refused => {
                // Copies of it reach nobody.
                lines.push("< Refused 0".into());
                return lines;
            }
        }
        if verdict != Verdict::Asked {
            heard = Some(*now);
        }
    }
    lines
}

/// Returns the line that is no transition of the client, and why.
fn follow(lines: &[String]) -> Result<(), String> {
    let compiled = compile(TEXT).expect("it compiles");
    let mut monitor = TranscriptMonitor::new(&compiled, 0, 0);
    for line in lines {
        monitor.line(line).map_err(|why| format!("{line}: {why}"))?;
    }
    monitor.end()
}

/// A server that grants at once, one that wants to know first whether the client can be reached,
/// and one that refuses.
const SERVERS: [fn(Config, u64) -> Layer<BufferTree>; 3] = [
    |config, seed| layer(config, seed),
    |config, seed| layer(Config { half_open_most: 0, ..config }, seed),
    |config, seed| {
        let sessions = Sessions::new(config, policies);
        Transport::new(Associations::new(sessions.deciding(|_, _| false)), seed)
    },
];

fn opened(seed: u64, conditions: Conditions) -> Vec<String> {
    let server = SERVERS[seed as usize % 3];
    let talkers = [Talker::default(), Talker::with(2, 100)];
    let make = |config, seed| server(Config { tries: 10, ..config }, seed);
    transcript(&Scene::unopened(seed, conditions, talkers, make).watched())
}

#[test]
fn sessions_are_opened_as_the_specification_has_it() {
    let (mut asked, mut again, mut granted, mut refused) = (0, 0, 0, 0);
    for seed in 0..300 {
        let lines = opened(seed, any_conditions(seed));
        assert_eq!(follow(&lines), Ok(()), "seed {seed}: {lines:#?}");
        let count = |word: &str| lines.iter().filter(|line| line.starts_with(word)).count();
        asked += count("after");
        again += count("< Again");
        granted += count("< Granted");
        refused += count("< Refused");
    }
    let tried = [asked, again, granted, refused];
    assert!(tried.iter().all(|count| *count > 50), "{tried:?}");
    // Where nothing comes back, it asks ten times.
    let lost = Conditions { loss: 1.0.into(), ..Conditions::IDEAL };
    let lines = opened(0, lost);
    assert_eq!(follow(&lines), Ok(()), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("> Ask")).count(), 10);
}

#[test]
fn what_is_no_arrangement_is_refused() {
    let lines = opened(1, Conditions::IDEAL);
    let shown: Vec<&str> = lines.iter().map(String::as_str).collect();
    let ["Open", "> Ask 0", again, ask, granted] = shown[..] else { panic!("{shown:?}") };
    let mutations: [(&str, Vec<&str>, &str); 6] = [
        ("another ticket", vec!["Open", "> Ask 0", again, "> Ask 7"], "with other values"),
        ("no ticket", vec!["Open", "> Ask 0", again, granted], "still has to send Ask"),
        ("granted before it asks", vec!["Open", granted, "> Ask 0"], "still has to send Ask"),
        ("too early", vec!["Open", "> Ask 0", "after 500 ms", "> Ask 0"], "no ADU, input, time"),
        ("twice", vec!["Open", "> Ask 0", "> Ask 0"], "does not send Ask here"),
        (
            "refused when it is granted",
            vec!["Open", "> Ask 0", again, ask, granted, "< Refused 0"],
            "does not await Refused here",
        ),
    ];
    for (name, mutated, why) in mutations {
        let mutated: Vec<String> = mutated.into_iter().map(str::to_owned).collect();
        let said = follow(&mutated).expect_err(name);
        assert!(said.contains(why), "{name}: {said}");
    }
}
