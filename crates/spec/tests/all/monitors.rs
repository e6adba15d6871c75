//! Roles follow recorded dialogues. Those of FTP are our client's with servers that nobody here
//! wrote; `tests/tests/strangers` follows live ones.

use stackwright_spec::{TranscriptMonitor, compile};

const FTP: &str = include_str!("../sources/ftp.protocol");

/// A server, what was recorded, and how many commands may come before the reply to the one before.
const RECORDED: &[(&str, &str, usize)] = &[
    ("vsftpd", include_str!("../transcripts/vsftpd.txt"), 2),
    ("proftpd", include_str!("../transcripts/proftpd.txt"), 2),
    ("pure-ftpd", include_str!("../transcripts/pure-ftpd.txt"), 2),
    ("pyftpdlib", include_str!("../transcripts/pyftpdlib.txt"), 0),
];

/// Returns the line that is refused, or `the end`, and why.
fn follow(transcript: &str, ahead_most: usize) -> Result<(), (String, String)> {
    let compiled = compile(FTP).expect("it compiles");
    let mut monitor = TranscriptMonitor::new(&compiled, 0, ahead_most);
    for line in transcript.lines() {
        monitor.line(line).map_err(|why| (line.to_owned(), why))?;
    }
    monitor.end().map_err(|why| ("the end".to_owned(), why))
}

#[test]
fn each_command_and_reply_of_four_servers_is_a_transition() {
    for (server, transcript, ahead_most) in RECORDED {
        assert_eq!(follow(transcript, *ahead_most), Ok(()), "{server}");
        assert!(transcript.contains("< Reply 226"), "{server}");
    }
}

/// Where nothing may come ahead, the first command that does is refused.
#[test]
fn a_command_ahead_is_refused_where_none_may_come() {
    for (server, transcript, ahead_most) in RECORDED.iter().filter(|(.., most)| *most > 0) {
        let (line, _) = follow(transcript, 0).expect_err(server);
        assert_eq!(line, "> Command FEAT", "{server}");
        let (line, _) = follow(transcript, ahead_most - 1).expect_err(server);
        assert_eq!(line, "> Command EPSV", "{server}");
    }
}

/// A dialogue of one file, whose server takes one command at a time.
const ONE_BY_ONE: &str = include_str!("../transcripts/pyftpdlib.txt");

/// What becomes of the transcript, the line that is refused, and a part of the reason.
type Mutation = (&'static str, fn(&str) -> String, &'static str, &'static str);

const MUTATIONS: &[Mutation] = &[
    (
        "a reply is missing",
        |text| text.replacen("< Reply 331 Username ok, send password.\n", "", 1),
        "> Command PASS ****",
        "does not send Command here",
    ),
    (
        "a reply is doubled",
        |text| text.replacen(COMPLETE, &format!("{COMPLETE}{COMPLETE}"), 1),
        "< Reply 226 Transfer complete.",
        "does not await Reply here",
    ),
    (
        "two replies have changed places",
        |text| {
            let (asked, granted) = ("Reply 331 Username ok, send password.", "Reply 230 Login");
            text.replacen(asked, "Reply 1", 1).replacen(granted, "Reply 331", 1).replacen(
                "Reply 1",
                "Reply 230",
                1,
            )
        },
        "> Command PASS ****",
        "sends Command here with other values: TYPE I",
    ),
    (
        "a reply has a wrong code",
        |text| text.replacen("Reply 229", "Reply 529", 1),
        "> Command RETR file",
        "does not send Command here",
    ),
    (
        "data come before they are asked for",
        |text| text.replacen("> Command RETR file\n", "Whole\n> Command RETR file\n", 1),
        "Whole",
        "still has to send Command",
    ),
    (
        "the mark is missing",
        |text| {
            let mark = "< Reply 150 File status okay. About to open data connection.\n";
            text.replacen(mark, "", 1)
        },
        "Whole",
        "it is over",
    ),
    (
        "a command comes before the reply to the one before",
        |text| text.replacen("< Reply 200 Type set to: Binary.\n", "", 1),
        "> Command FEAT",
        "does not send Command here",
    ),
    (
        "a command is another",
        |text| text.replacen("> Command TYPE I", "> Command TYPE A", 1),
        "> Command TYPE A",
        "with other values: TYPE I",
    ),
    (
        "the last command is missing",
        |text| text.replacen("> Command QUIT", "", 1),
        "the end",
        "still has to send Command",
    ),
    (
        "it goes on when it is over",
        |text| format!("{text}\n< Reply 221 Goodbye.\n"),
        "< Reply 221 Goodbye.",
        "it is over",
    ),
];

/// Lines that say nothing, or what cannot be.
#[test]
fn a_line_that_is_none_is_refused() {
    let compiled = compile(FTP).expect("it compiles");
    for line in [
        "<",
        ">",
        "=",
        "< Whole",
        "Reply 220",
        "< Reply",
        "< Reply 70000",
        "< user = x",
        "keep = 1",
    ] {
        let mut monitor = TranscriptMonitor::new(&compiled, 0, 0);
        assert!(monitor.line(line).is_err(), "{line}");
    }
    // Octets may be none, or anything.
    for line in ["< Reply 220", "< Reply 220  = <> \u{a0}\u{2003}", "\u{a0}", " // no line"] {
        let mut monitor = TranscriptMonitor::new(&compiled, 0, 0);
        assert_eq!(monitor.line(line), Ok(()), "{line}");
    }
}

const COMPLETE: &str = "< Reply 226 Transfer complete.\n";

#[test]
fn what_is_no_dialogue_of_the_role_is_refused_at_its_line() {
    for (name, mutate, refused, why) in MUTATIONS {
        let mutated = mutate(ONE_BY_ONE);
        assert_ne!(mutated, ONE_BY_ONE, "{name}");
        let (line, said) = follow(&mutated, 0).expect_err(name);
        assert_eq!(line, *refused, "{name}: {said}");
        assert!(said.contains(why), "{name}: {said}");
    }
}
