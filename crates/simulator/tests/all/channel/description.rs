//! A channel as a text.

use stackwright_contract::Duration;
use stackwright_simulator::{ChannelDescription, HdlcFrame, Hearing, Profile};

use crate::channel::{at, millis};

const TEXT: &str = r#"
rate = "9600 b/s"
speed = 20
seed = 7
key-up = "150 ms"
bit-errors = 1e-4

[[station]]
name = "N0AAA"
kiss = "127.0.0.1:8101"

[[station]]
name = "N0BBB-1"
key-up = "250 ms"
persistence = 1
full-duplex = true

[[station]]
name = "N0CCC"
hears = ["N0BBB-1"]
"#;

#[test]
fn a_channel_and_its_stations_are_read() {
    let read = ChannelDescription::read(TEXT).expect("a channel");
    let ChannelDescription { conditions, speed, seed, longest, stations } = &read;
    assert_eq!((conditions.rate, *speed, *seed, *longest), (1200, 20, 7, 1024));
    assert_eq!((conditions.overhead, conditions.mtu, conditions.queue), (2, Some(1026), 64));
    assert_eq!((conditions.bit_errors, conditions.persistence), (1e-4, 0.25));
    assert_eq!(conditions.hearing, Hearing::ALL.without(2, 0));
    let names: Vec<&str> = stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["N0AAA", "N0BBB-1", "N0CCC"]);
    assert_eq!(stations[0].kiss, Some(([127, 0, 0, 1], 8101).into()));
    assert_eq!((stations[0].access, stations[1].kiss), (conditions.access(), None));
    let access = stations[1].access;
    assert_eq!((access.key_up, access.slot), (millis(250), millis(100)));
    assert_eq!((access.persistence, access.full_duplex), (1.0, true));
}

/// The text of a live channel, without a clock.
#[test]
fn it_runs_in_the_simulator() {
    let read = ChannelDescription::read(TEXT).expect("a channel");
    let run = |seed| {
        let mut channel = ChannelDescription { seed, ..read.clone() }.channel();
        assert_eq!(channel.access(1), read.stations[1].access);
        let mut heard = Vec::new();
        for nth in 0..200_u8 {
            channel.send(at(u64::from(nth) * 1000), 1, None, HdlcFrame::new(&[nth; 100]));
            while let Some(deadline) = channel.next_deadline() {
                channel.handle_timeout(deadline, &mut heard);
            }
        }
        heard
    };
    let heard = run(7);
    // Both others hear the second; bits are altered, one in ten thousand of some 900 a frame.
    let whole = heard.iter().filter(|reception| reception.packet.octets().is_some()).count();
    assert!(heard.len() == 400 && (340..390).contains(&whole), "{whole} of {}", heard.len());
    assert!(run(7) == heard && run(8) != heard, "the seed decides");
}

#[test]
fn a_profile_is_where_it_begins() {
    let text = "profile = \"packet-radio-1200\"\ntail = \"30 ms\"\n\
                [[station]]\nname = \"A1\"\n[[station]]\nname = \"B1\"\n";
    let read = ChannelDescription::read(text).expect("a channel");
    let Some(Profile::Channel(base)) = Profile::named("packet-radio-1200") else { panic!() };
    assert_eq!((read.conditions.rate, read.conditions.key_up), (base.rate, base.key_up));
    assert_eq!((read.conditions.delay, read.conditions.tail), (base.delay, millis(30)));
    assert_eq!((read.speed, read.seed), (1, 1));
    assert!(read.conditions.delay > Duration::ZERO);
}

#[test]
fn what_is_wrong_is_said_at_its_place_with_what_to_write() {
    let two = "[[station]]\nname = \"A1\"\n[[station]]\nname = \"B1\"\n";
    for (head, tail, at, says) in [
        ("", two, None, "rate = \"1200 b/s\""),
        ("rate = \"1200 b/s\"\n", "", None, "two stations or more"),
        ("rate = \"fast\"\n", two, Some("\"fast\""), "a rate such as"),
        ("rate = \"unlimited\"\n", two, Some("\"unlimited\""), "\"1200 b/s\""),
        ("profile = \"wan\"\n", two, Some("\"wan\""), "packet-radio-1200"),
        (
            "profile = \"packet-radio\"\n",
            two,
            Some("\"packet-radio\""),
            "is `packet-radio-9600` meant",
        ),
        ("rate = \"1200 b/s\"\nspeed = 60\n", two, Some("60"), "from 1 to 50"),
        ("rate = \"1200 b/s\"\nspeed = 0\n", two, Some("0"), "from 1 to 50"),
        ("rate = \"1200 b/s\"\nlongest = 5000\n", two, Some("5000"), "from 1 to 4096"),
        ("rate = \"1200 b/s\"\nqueue = 0\n", two, Some("0"), "from 1 to 1024"),
        ("rate = \"1200 b/s\"\nkey-up = \"3 s\"\n", two, Some("\"3 s\""), "\"2550 ms\""),
        ("rate = \"1200 b/s\"\nslot = \"1 ms\"\n", two, Some("\"1 ms\""), "\"10 ms\" to"),
        ("rate = \"1200 b/s\"\npersistence = 0\n", two, Some("0"), "more than 0"),
        ("rate = \"1200 b/s\"\nbit-errors = 2\n", two, Some("2"), "a probability"),
        ("rate = \"1200 b/s\"\nodd = 2\n", two, Some("odd"), "unknown field `odd`"),
        ("rate = \"1200 b/s\"\n[[station]]\nname = \"A1\"\n", two, Some("\"A1\""), "another name"),
        ("rate = \"1200 b/s\"\n[[station]]\nname = \"\"\n", two, Some("\"\""), "N0AAA-1"),
        ("rate = \"1200 b/s\"\n", "[[station]]\n", Some("[[station]]"), "`name`"),
    ] {
        let text = format!("{head}{tail}");
        let flaw = ChannelDescription::read(&text).expect_err(&text);
        assert!(flaw.says.contains(says), "{text}: {flaw}");
        let there = flaw.at.map(|at| &text[at]);
        match at {
            // The second of two, where that is what is wrong.
            Some(at) => assert_eq!(there.map(str::trim_end), Some(at), "{text}: {}", flaw.says),
            None => assert_eq!(there, None, "{text}: {}", flaw.says),
        }
    }
    let with = |station: &str| {
        let text = format!("rate = \"1200 b/s\"\n{two}{station}");
        let flaw = ChannelDescription::read(&text).expect_err(station);
        (text[flaw.at.expect("a place")].to_owned(), flaw.says)
    };
    let (at, says) = with("hears = [\"A1\", \"C1\"]\n");
    assert_eq!((&*at, says.contains("write one of A1, B1")), ("\"C1\"", true), "{says}");
    let (at, says) = with("kiss = \"8101\"\n");
    assert_eq!((&*at, says.contains("127.0.0.1:8101")), ("\"8101\"", true), "{says}");
    let same = "kiss = \"[::1]:9\"\n[[station]]\nname = \"C1\"\nkiss = \"[::1]:9\"\n";
    assert!(with(same).1.contains("another port"));
    let many: String = (0..20).map(|nth| format!("[[station]]\nname = \"N{nth}\"\n")).collect();
    assert!(with(&many).1.contains("up to 16"));
}
