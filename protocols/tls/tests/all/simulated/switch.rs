//! From plain to secure.

use stackwright_contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Command, CommandError, Protocol as _, SecurityError};
use stackwright_simulator::Habits;
use stackwright_tls::Config;
use stackwright_wire::{Message, Region};

use crate::simulated::alone::{Alone, Below, IT, carry};
use crate::simulated::ends::secure;
use crate::simulated::setting::{CLIENT, M, Pair, SERVER, joins, trusting};

#[test]
fn a_plain_association_passes_every_word() {
    let [config, _] = trusting();
    let mut alone = Alone::new(config, 10, 10);
    alone.send(b"plain");
    assert_eq!(alone.left, b"plain");
    alone.arrive(b"as it is");
    assert_eq!(alone.octets, b"as it is");
    alone.give_above(5);
    assert_eq!((alone.granted, alone.above), (7, 7));
    alone.give_below(3);
    assert_eq!((alone.may_send, alone.below), (8, 8));
    alone.control(Command::Unread);
    assert_eq!(alone.commands, [Command::Unread]);
    alone.tell(Told::Controlled { association: IT, outcome: Ok(0) });
    assert_eq!(alone.outcomes, [Ok(0)]);
    assert!(!alone.tls.wants_flush());
}

#[test]
fn a_region_of_a_file_passes_a_plain_association_unread() {
    let [config, _] = trusting();
    let mut alone = Alone::new(config, 10, 1 << 20);
    let file = std::fs::File::open("/dev/null").unwrap();
    let region = Region { source: std::sync::Arc::new(file), offset: 0, length: 100_000 };
    let message = M::from_region(region).unwrap();
    let (batch, properties) = (message.into(), StreamProperties::default());
    alone.ask(Ask::Send { association: IT, batch, properties });
    assert_eq!(alone.left.len(), 100_000, "of which nothing was read");
}

#[test]
fn the_reply_before_the_switch_is_plain_and_what_follows_is_not() {
    let configs = trusting();
    let mut ends = configs.map(|config| Alone::new(config, 1 << 16, 1 << 16));
    ends[0].send(b"AUTH TLS\r\n");
    carry(&mut ends);
    assert_eq!(ends[1].octets, b"AUTH TLS\r\n");
    ends[1].send(b"234 go on\r\n");
    ends[1].secure(SERVER);
    // What is sent behind the switch waits for the handshake.
    ends[1].send(b"secret");
    ends[1].flush();
    assert_eq!(ends[1].left, b"234 go on\r\n");
    carry(&mut ends);
    assert_eq!(ends[0].octets, b"234 go on\r\n");
    ends[0].secure(CLIENT);
    ends[0].send(b"another");
    let mut seen = Vec::new();
    for _ in 0..20 {
        for end in &mut ends {
            end.flush();
            seen.extend_from_slice(&end.left);
        }
        carry(&mut ends);
    }
    assert_eq!(ends[0].octets, b"234 go on\r\nsecret");
    assert_eq!(ends[1].octets, b"AUTH TLS\r\nanother");
    let shows = |secret: &[u8]| seen.windows(secret.len()).any(|window| window == secret);
    assert!(!shows(b"secret") && !shows(b"another"));
}

#[test]
fn plaintext_behind_the_switch_ends_the_association() {
    for (secure, octets) in [
        (SERVER, &b"USER evil\r\nPASS injected\r\n"[..]),
        (SERVER, b"GET / HTTP/1.1\r\n\r\n"),
        (CLIENT, b"220 files.example ready\r\n"),
        (SERVER, &[0; 100]),
        (SERVER, &[0x80, 46, 1, 0, 2, 0, 21, 0, 0, 0, 16]), // SSL 2
    ] {
        let configs = trusting();
        let [client, server] = configs.map(|config| Alone::new(config, 1 << 16, 1 << 16));
        let mut alone = if secure == CLIENT { client } else { server };
        alone.secure(secure);
        alone.left.clear();
        alone.arrive(octets);
        let why = SecurityError::NotTls;
        assert_eq!(
            alone.outcomes,
            [Err(CommandError::Insecure { why, certificate: None })],
            "{octets:?}"
        );
        assert_eq!(alone.asked, [Below::Close]);
        assert!(matches!(alone.left[..], [21, 3, _, 0, 2, 2, _]), "an alert: {:?}", alone.left);
        assert!(alone.octets.is_empty());
        alone.end_below();
        assert_eq!(alone.ended, Some(Ended::Insecure(why)));
    }
}

#[test]
fn a_command_before_the_association_is_open_waits_for_it() {
    for server_opens in [false, true] {
        let mut pair = Pair::new(1, trusting(), Habits::default());
        let (one, other) = if server_opens { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        if server_opens {
            // The station that opens is the server of TLS, as for FTP's PORT.
            let [client, server] = trusting();
            pair = Pair::new(1, [server, client], Habits::default());
        }
        pair.open_secure(1, one, other);
        pair.sends(0, 1, b"there", true);
        pair.sends(1, 1, b"back", true);
        pair.run(5);
        for (side, octets) in [(0, &b"back"[..]), (1, b"there")] {
            let known = pair.known(side, 1);
            assert_eq!((&known.outcomes[..], &known.octets[..]), (&[Ok(0)][..], octets));
            assert_eq!(known.ended, Some(Ended::Finished));
        }
    }
}

#[test]
fn every_association_is_secure_where_that_is_configured() {
    let [client, server] = trusting();
    let client = Config { from_start: Some(joins(CLIENT, 0)), ..client };
    let server = Config { from_start: Some(joins(SERVER, 0)), ..server };
    let mut pair = Pair::new(1, [client, server], Habits::default());
    for index in 1..4 {
        pair.open(index, 1 << 16);
        pair.sends(0, index, b"hello", true);
        pair.sends(1, index, b"hello", true);
        pair.run(5);
        for side in 0..2 {
            let known = pair.known(side, index);
            assert_eq!((&known.outcomes[..], &known.octets[..]), (&[][..], &b"hello"[..]));
            assert_eq!(known.ended, Some(Ended::Finished));
        }
    }
}

#[test]
fn commands_are_answered_in_order() {
    let configs = trusting();
    let mut ends = configs.map(|config| Alone::new(config, 1 << 16, 1 << 16));
    ends[0].control(Command::Renegotiate);
    ends[0].secure(CLIENT);
    ends[0].control(Command::Unread);
    ends[0].secure(CLIENT);
    ends[1].secure(SERVER);
    carry(&mut ends);
    assert_eq!(ends[0].outcomes, [], "the first is not answered yet");
    ends[0].tell(Told::Controlled { association: IT, outcome: Err(CommandError::Unknown) });
    let busy = Err(CommandError::Busy);
    assert_eq!(ends[0].outcomes, [Err(CommandError::Unknown), Ok(0), Ok(0), busy]);
    assert_eq!(ends[0].commands, [Command::Renegotiate], "no payload is delivered unread");
    ends[0].control(Command::Renegotiate);
    assert_eq!(ends[0].commands, [Command::Renegotiate; 2]);
    ends[0].tell(Told::Controlled { association: IT, outcome: Ok(5) });
    assert_eq!(ends[0].outcomes.last(), Some(&Ok(5)));
}

#[test]
fn an_association_whose_payload_is_unread_is_not_secured() {
    let [config, _] = trusting();
    let mut alone = Alone::new(config, 10, 10);
    alone.control(Command::Unread);
    alone.tell(Told::Controlled { association: IT, outcome: Ok(0) });
    alone.secure(CLIENT);
    assert_eq!(alone.outcomes, [Ok(0), Err(CommandError::Busy)]);
    assert!(alone.left.is_empty() && alone.ended.is_none());
}

#[test]
fn a_region_that_is_sent_on_a_secure_association_ends_it() {
    let [mut alone, _] = secure(trusting(), 1 << 16);
    let file = std::fs::File::open("/dev/null").unwrap();
    let message =
        M::from_region(Region { source: std::sync::Arc::new(file), offset: 0, length: 10 })
            .unwrap();
    let (batch, properties) = (message.into(), StreamProperties::default());
    alone.ask(Ask::Send { association: IT, batch, properties });
    assert_eq!((&alone.left[..], &alone.asked[..]), (&[][..], &[Below::Abort][..]));
    alone.end_below();
    assert_eq!(alone.ended, Some(Ended::Insecure(SecurityError::Unreadable)));
}

#[test]
fn credit_that_was_given_before_the_switch_counts_behind_it() {
    let [config, _] = trusting();
    let mut alone = Alone::asked(config, 10);
    alone.secure(CLIENT);
    alone.ask(Ask::Credit { association: IT, credit: Credit::of_octets(7) });
    assert_eq!(alone.granted, 17);
}
