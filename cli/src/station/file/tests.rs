//! Files of stations: what is read of them, and mistakes in them.

use stackwright::ax25::{FrameLength, LinkVersion};
use stackwright::kiss::ChannelAccess;

use super::*;

const LEAST: &str = r#"
call = "N0BBB-1"
[tnc.vhf]
line = "tcp://127.0.0.1:8001"
[serve]
agw = "127.0.0.1:8000"
"#;

#[test]
fn little_is_enough() {
    let file = read(LEAST).expect("a station");
    assert_eq!((file.call.to_string(), &file.tncs[0].name[..]), ("N0BBB-1".into(), "vhf"));
    assert_eq!(file.links, ax25::Config::new(file.call));
    assert!(file.transmit && file.duty.is_none());
    let identification = file.identification.expect("a station identifies");
    assert_eq!(identification.every, Duration::from_secs(600));
    assert_eq!(identification.text, b"N0BBB-1 Stackwright station");
}

#[test]
fn everything_is_read() {
    let file = read(
        r#"
call = "n0bbb-1"
aliases = ["N0BBB-7"]
[tnc.uhf]
line = "serial:///dev/ttyUSB0?baud=19200"
rate = "9.6 kb/s"
kiss = { txdelay = "300 ms", persistence = 0.25, slot = "100ms", tail = "50 ms", duplex = "off", port = 1, ackmode = "on", txbuf = false, check = true, enter = "KISS ON\r", leave = "\u00C0\u00FF\u00C0" }
[ax25]
version = "2.2"
frame = 128
paclen = 200
maxframe = 7
emaxframe = 16
frack = "5 s"
retry = 4
keyup = "8 s"
digipeat = "on"
[[ax25.peer]]
call = "N0AAA"
via = ["RELAY-1", "RELAY-2"]
version = "2.0"
[serve]
agw = "127.0.0.1:8000"
kiss = "[::1]:8101"
kiss_calls = ["N0BBB-9"]
[[beacon]]
every = "20 min"
to = "APRS"
via = ["WIDE1-1", "WIDE2-1"]
text = "!5000.00N/01000.00E-"
[identify]
every = "5 min"
text = "Club station"
[rules]
transmit = false
duty = "20 %"
"#,
    )
    .expect("a station");
    let kiss = &file.tncs[0].kiss;
    assert_eq!((kiss.rate.get(), file.tncs[0].port, kiss.ports), (9600, 1, 2));
    let access = ChannelAccess {
        tx_delay: Some(Duration::from_millis(300)),
        persistence: Some(63),
        slot_time: Some(Duration::from_millis(100)),
        tx_tail: Some(Duration::from_millis(50)),
        full_duplex: Some(false),
    };
    assert_eq!(kiss.access, access);
    assert!(kiss.acknowledged && !kiss.asks_queue && kiss.checked);
    assert_eq!((&kiss.enter[..], &kiss.leave[..]), (&b"KISS ON\r"[..], &b"\xC0\xFF\xC0"[..]));
    let links = ax25::Config {
        version: LinkVersion::V22,
        frame: FrameLength::Fixed(128),
        paclen: 200,
        window: 7,
        window_extended: 16,
        timeout: Duration::from_secs(5),
        tries: 4,
        key_up: Duration::from_secs(8),
        digipeat: Digipeating::Named,
        ..ax25::Config::new(file.call)
    };
    assert_eq!(file.links, links);
    let beacon = &file.beacons[0];
    assert_eq!((beacon.every, beacon.to.to_string()), (Duration::from_secs(1200), "APRS".into()));
    assert_eq!((beacon.via.len(), beacon.text.len(), beacon.port), (2, 20, 0));
    assert_eq!((file.peers[0].via.len(), file.peers[0].version), (2, Some(LinkVersion::V20)));
    assert!(!file.transmit && file.agw.is_some() && file.kiss.is_some());
    assert_eq!((file.aliases.len(), file.kiss_calls.len(), file.duty), (1, 1, Some(20)));
}

#[test]
fn a_station_has_two_tncs() {
    let file = read(
        r#"
call = "N0BBB-1"
[tnc.vhf]
line = "tcp://127.0.0.1:8001"
[tnc.uhf]
line = "tcp://127.0.0.1:8001"
rate = 9600
kiss = { port = 1 }
[[ax25.peer]]
call = "N0AAA"
via = ["RELAY-1"]
tnc = "uhf"
[serve]
agw = "127.0.0.1:8000"
[rules]
encryption = "allowed-here"
"#,
    )
    .expect("two ports of one server of TNCs");
    let tncs: Vec<_> = file.tncs.iter().map(|tnc| (&tnc.name[..], tnc.port)).collect();
    assert_eq!(tncs, [("vhf", 0), ("uhf", 1)]);
    assert_eq!(file.peers[0].port, 1);
    assert_eq!(file.encryption, Encryption::AllowedHere);
    assert_eq!(read(LEAST).expect("a station").encryption, Encryption::Refused);
}

#[test]
fn stations_over_udp_have_a_table() {
    let peers = "[tnc.vhf.peers]\nN0CCC = \"192.0.2.8\"\nN0AAA-1 = \"h:93\"\n[serve]";
    let text = LEAST.replace("tcp://127.0.0.1:8001", "axudp://192.0.2.7").replace("[serve]", peers);
    let file = read(&text).expect("a station");
    let TncAddress::Axudp { table, .. } = &file.tncs[0].line else { panic!("{file:?}") };
    let table: Vec<_> =
        table.iter().map(|(call, host, port)| format!("{call} {host} {port}")).collect();
    assert_eq!(table, ["N0CCC 192.0.2.8 10093", "N0AAA-1 h 93"]);
    for (text, says) in [
        (LEAST.replace("[serve]", peers), "only a line axudp"),
        (text.replace("N0CCC", "CALLSIGN"), "one to six letters"),
        (text.replace("\"h:93\"", "93"), "192.0.2.7:10093"),
    ] {
        let mistake = read(&text).expect_err(&text);
        assert!(mistake.says.contains(says), "{}", mistake.says);
    }
}

#[test]
fn a_folder_is_served() {
    let file = read(&format!("{LEAST}ftp = {{ root = \"/\" }}")).expect("a station");
    assert!(!file.folder.expect("it serves one").writable);
    assert_eq!(file.host.own, crate::air::network_of(file.call));
    let text = "ftp = { root = \"/\", writable = true, over = \"xstp\" }\n\
                [ipv4]\naddress = \"44.0.0.2/24\"\n\
                [[ipv4.neighbour]]\naddress = \"44.0.0.1\"\ncall = \"N0AAA\"\n";
    let file = read(&format!("{LEAST}{text}")).expect("a station");
    assert!(file.folder.expect("it serves one").writable);
    assert_eq!(file.host.own.to_string(), "44.0.0.2/24");
    assert_eq!(file.host.neighbors.len(), 1);
}

/// Every mistake has its place, and says what to write.
#[test]
fn mistakes_are_told_where_they_are() {
    const FIRST: &str = "tcp://127.0.0.1:8001";
    let vary = |from: &str, to: &str| LEAST.replace(from, to);
    let second = |line: &str| vary("[serve]", &format!("[tnc.uhf]\nline = \"{line}\"\n[serve]"));
    let at_call = |rest: &str| format!("{LEAST}[[program]]\ncall = \"{rest}\"]");
    let serves = |host: &str| format!("{LEAST}ftp = {{ root = \"/\" }}\n[ipv4]\n{host}");
    for (text, at, says) in [
        (vary("call = \"N0BBB-1\"", ""), "", "call = \"MYCALL\""),
        (vary("N0BBB-1", "N0CALL"), "\"N0CALL\"", "write your own"),
        (vary("N0BBB-1", "RELAY"), "\"RELAY\"", "a letter and a digit"),
        (vary("\"N0BBB-1\"", "7"), "7", "such as \"N0AAA-1\", and 7 stands there"),
        (vary("[tnc.vhf]", "[tnc.vhf]\nspeed = 3"), "speed", "line, rate, kiss"),
        (vary("[tnc.vhf]", "[tnc]"), "", "write [tnc.vhf]"),
        (vary("[tnc.vhf]", "[[tnc]]"), "", "write [tnc.vhf]"),
        (vary("\"N0BBB-1\"", "N0BBB-1"), "", "write \"N0BBB-1\""),
        (format!("{LEAST}[[beacon]]\ntext = \"x\""), "", "such as \"20 min\""),
        (format!("{LEAST}[[beacon]]\nevery = \"1 s\""), "\"1 s\"", "at least one minute"),
        (format!("{LEAST}[[beacon]]\nevery = \"9 min\""), "", "such as \"a club station\""),
        (format!("{LEAST}[beacon]"), "", "[[beacon]]"),
        (at_call("N0BBB-1\"\nrun = [\"sh"), "\"N0BBB-1\"", "of its own"),
        (at_call("N0BBB-5\"\nrun = [\"no-such"), "[\"no-such\"]", "no such program"),
        (at_call("N0BBB-5\"\nrun = \"sh\"#[\""), "\"sh\"", "a program and its arguments"),
        (at_call("N0BBB-5\"\ncallers = 17\nrun = [\"sh"), "17", "from 1 to 16"),
        (format!("{LEAST}[ax25]\ndigipeat = yes"), "", "write true or false"),
        (format!("{LEAST}[ax25]\ndigipeat = {{ wide = 8 }}"), "8", "from 1 to 7"),
        (format!("{LEAST}[ax25]\ndigipeat = {{ far = 2 }}"), "far", "there is wide"),
        (vary("line =", "rate = \"fast\"\nline ="), "\"fast\"", "such as 1200 or \"9.6 kb/s\""),
        (vary("tcp://127.0.0.1:8001", "localhost:8001"), "\"localhost:8001\"", "tcp://"),
        (vary("line =", "rate = 9_600_000_000\nline ="), "9_600_000_000", "50 to 10000000 b/s"),
        (vary("[tnc.vhf]\nline = \"tcp://127.0.0.1:8001\"", ""), "", "[tnc.vhf]"),
        (second(&format!("pty:./a\"\n[tnc.shf]\nline = \"{FIRST}")), "", "at most two TNCs"),
        (second(FIRST), "\"tcp://127.0.0.1:8001\"", "the TNC vhf has it already"),
        (second("axudp://192.0.2.7?local=0"), "\"axudp://192.0.2.7?local=0\"", "?local=10093"),
        (vary(FIRST, "axudp://h").replace("[serve]", "kiss = {}\n[serve]"), "{}", "no KISS"),
        (
            second("axudp://192.0.2.7").replace(FIRST, "axudp://192.0.2.8"),
            "\"axudp://192.0.2.7\"",
            "the TNC vhf has it already",
        ),
        (format!("{LEAST}[[ax25.peer]]\ncall = \"A\"\ntnc = \"uhf\""), "\"uhf\"", "\"vhf\""),
        (vary("127.0.0.1:8000", "8000"), "\"8000\"", "\"127.0.0.1:8000\""),
        (vary("agw =", "web ="), "web", "there is agw, kiss"),
        (vary("agw =", "ftp ="), "\"127.0.0.1:8000\"", "a table"),
        (vary("agw = \"127.0.0.1:8000\"", "ftp = {}"), "{}", "its `root`"),
        (format!("{LEAST}ftp = {{ root = \"/no/such\" }}"), "\"/no/such\"", "no such folder"),
        (format!("{LEAST}ftp = {{ root = \"/\", over = \"udp\" }}"), "\"udp\"", "\"xstp\""),
        (vary("agw =", "kiss_calls = [\"N0BBB-1\"]\nagw ="), "[\"N0BBB-1\"]", "one list each"),
        (vary("[serve]\nagw = \"127.0.0.1:8000\"", ""), "", "agw = \"127.0.0.1:8000\""),
        (format!("{LEAST}[ax25]\nversion = \"3\""), "\"3\"", "\"2.0\" or \"2.2\""),
        (format!("{LEAST}[ax25]\nframe = 12"), "12", "32 to 256"),
        (format!("{LEAST}[[ax25.peer]]\nvia = []"), "", "its `call`"),
        (format!("{LEAST}[[ax25.peer]]\ncall = \"A\"\nvia = \"B\""), "\"B\"", "a list"),
        (format!("{LEAST}kiss = \"127.0.0.1:8000\""), "\"127.0.0.1:8000\"", "AGW has it"),
        (format!("{LEAST}kiss = \"0.0.0.0:8000\""), "\"0.0.0.0:8000\"", "AGW has it"),
        (format!("{LEAST}kiss = \"tnc\""), "\"tnc\"", "\"pty:./tnc\""),
        (vary(FIRST, "pty:a") + "kiss = \"pty:a\"", "\"pty:a\"", "that speak KISS"),
        (vary(FIRST, "tcp://127.0.0.1:8000"), "\"tcp://127.0.0.1:8000\"", "that speak AGW"),
        (vary(FIRST, "tcp://localhost:8000"), "\"tcp://localhost:8000\"", "that speak AGW"),
        (format!("{LEAST}kiss = \"0.0.0.0:8001\""), "\"tcp://127.0.0.1:8001\"", "that speak KISS"),
        (vary(FIRST, "axudp://127.0.0.1"), "\"axudp://127.0.0.1\"", "leads back"),
        (format!("{LEAST}[[ax25.peer]]\ncall = \"N0BBB-1\""), "\"N0BBB-1\"", "own call"),
        (
            format!("aliases = [\"N0BBB\"]{LEAST}[[ax25.peer]]\ncall = \"A\"\nvia = [\"N0BBB\"]"),
            "[\"N0BBB\"]",
            "own call",
        ),
        (format!("{LEAST}[ax25]\nmaxframe = 8"), "8", "1 to 7"),
        (format!("{LEAST}[ax25]\nemaxframe = 64"), "64", "1 to 63"),
        (format!("{LEAST}[ax25]\npaclen = 257"), "257", "32 to 256"),
        (format!("{LEAST}[ax25]\nfrack = \"10 ms\""), "\"10 ms\"", "at least 1s"),
        (format!("{LEAST}[ax25]\nfrack = 3"), "3", "such as \"300 ms\""),
        (format!("{LEAST}[ax25]\nretry = 0"), "0", "1 to 255"),
        (format!("{LEAST}[ax25]\nretry = 3\nretries = 3"), "3", "it is `retry`"),
        (format!("{LEAST}[ax25]\nkeyup = \"1 h\""), "\"1 h\"", "a time up to 3m"),
        (format!("{LEAST}[identify]\nevery = \"10 s\""), "\"10 s\"", "one minute"),
        (format!("{LEAST}[identify]\nevery = 10"), "10", "\"10 min\""),
        (format!("{LEAST}[rules]\nduty = \"0 %\""), "\"0 %\"", "\"1 %\""),
        (format!("{LEAST}[rules]\nencryption = true"), "true", "\"allowed-here\""),
        (format!("{LEAST}[rules]\nencryption = \"yes\""), "\"yes\"", "as amateur radio has it"),
        (format!("{LEAST}[rules]\ntransmit = \"no\""), "\"no\"", "true or false"),
        (format!("{LEAST}[dsr]\n"), "dsr", "there is call, aliases, tnc"),
        (format!("{LEAST}[ipv4]\n"), "", "nothing uses it"),
        (serves("address = \"44.0.0.2\""), "\"44.0.0.2\"", "44.0.0.2/24"),
        (serves("[[ipv4.neighbour]]\ncall = \"A\""), "", "`address` is missing"),
        (
            serves("address = \"44.0.0.2/24\"\n[[ipv4.neighbour]]\naddress = \"44.0.0.2\""),
            "\"44.0.0.2\"",
            "own",
        ),
        ("call = ".into(), "", "cannot be read"),
    ] {
        let mistake = read(&text).expect_err(&text);
        assert!(mistake.says.contains(says), "{text}: {}", mistake.says);
        if !at.is_empty() {
            assert_eq!(&text[mistake.span], at, "{text}");
        }
    }
}
