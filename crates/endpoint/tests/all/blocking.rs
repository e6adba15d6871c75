//! Endpoints over the loopback interface: one thread's, and two.

use std::io::Write as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Ended, MessageProperties};
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, Error, System};
use stackwright_transport::{Associations, Transport};
use stackwright_wire::{BufferTree, Message};

use crate::placement::{self, Artp};

type M = BufferTree;
fn with(change: impl Fn(&mut artp::Config)) -> impl Fn(&System) -> Artp {
    move |system| {
        let mut config =
            artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        change(&mut config);
        placement::stack(system, config)
    }
}

fn listening(config: Config) -> Endpoint<Artp> {
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    Endpoint::bind(any, config, with(|_| {})).unwrap()
}

/// An endpoint that is connected with itself.
fn pair(config: Config) -> (Endpoint<Artp>, [Association<Artp>; 2]) {
    let endpoint = listening(config);
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let other = endpoint.accept().unwrap();
    (endpoint, [one, other])
}

#[test]
fn many_associations_of_one_endpoint_are_told_apart() {
    let endpoint = listening(Config::default());
    let place = endpoint.local().unwrap();
    let clients: Vec<_> = (0..20_u8)
        .map(|number| {
            thread::spawn(move || {
                let client = Endpoint::new(Config::default(), with(|_| {})).unwrap();
                let association = client.connect(place).unwrap();
                association.send(&[number]).unwrap();
                let (answer, _) = association.receive().unwrap();
                association.close().unwrap();
                assert_eq!(answer, [number, number]);
            })
        })
        .collect();
    let (mut guests, mut served) = (Vec::new(), 0);
    while served < clients.len() || !guests.is_empty() {
        endpoint.wait(None).unwrap();
        while let Ok(guest) = endpoint.try_accept() {
            guests.push(guest);
        }
        guests.retain(|guest| {
            while let Ok((asked, _)) = guest.try_receive() {
                guest.send(&[asked[0], asked[0]]).unwrap();
                served += 1;
            }
            !guest.has_ended()
        });
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
}

#[test]
fn who_does_not_receive_stops_who_sends_and_nothing_is_lost() {
    let credit = Credit { octets: 64 << 10, messages: 64 };
    let (_endpoint, [mut one, other]) = pair(Config { credit, ..Config::default() });
    one.set_timeout(Some(Duration::from_millis(20)));
    let mut sent = 0_u32;
    let refused = loop {
        match one.send_message(
            M::with_headroom(128, &[sent.to_be_bytes(); 1000].concat()),
            MessageProperties::default(),
        ) {
            Ok(()) => sent += 1,
            Err(refused) => break refused,
        }
    };
    assert!(refused.why.is_not_yet());
    assert_eq!(refused.message.len(), 4000, "it is given back as it was");
    assert!(other.statistics().received.messages <= 64, "no more is held than there is room for");
    let mut numbers: Vec<_> =
        (0..sent).map(|_| other.receive().unwrap().0[..4].try_into().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().map(u32::from_be_bytes).eq(0..sent));
    one.send_message(refused.message, MessageProperties::default()).unwrap();
    assert_eq!(other.receive().unwrap().0.len(), 4000);
}

#[test]
fn a_batch_is_received_at_once_or_one_by_one() {
    const LENGTH: usize = 10_000;
    let (_endpoint, [one, other]) = pair(Config::default());
    let (mut sent, mut came, mut several) = (0_u32, Vec::new(), 0);
    let number = |octets: &[u8]| u32::from_be_bytes(*octets.first_chunk().unwrap());
    for _ in 0..100 {
        let mut buffer = one.reserve(LENGTH, 6);
        for pieces in buffer.each_mut() {
            pieces.for_each(|piece| piece[..4].copy_from_slice(&sent.to_be_bytes()));
            sent += 1;
        }
        one.commit(buffer, MessageProperties::default()).unwrap();
        while came.len() < sent as usize {
            let (message, _) = other.receive_message().unwrap();
            assert_eq!(message.len(), LENGTH);
            came.push(number(
                message.messages(4).next().and_then(|mut pieces| pieces.next()).unwrap(),
            ));
            if came.len() == sent as usize {
                break;
            }
            let (messages, _) = other.receive_batch().unwrap();
            several += usize::from(messages.count() > 1);
            assert_eq!(messages.octets(), messages.count() * LENGTH);
            came.extend(messages.pieces().map(|mut pieces| number(pieces.next().unwrap())));
        }
    }
    assert!(several > 0, "some came together, of which one was taken before");
    came.sort_unstable();
    assert!(came.into_iter().eq(0..sent), "each once");
    let received = other.statistics().received;
    assert_eq!((received.messages, received.octets), (sent as usize, sent as usize * LENGTH));
}

#[test]
fn a_send_buffer_shows_nothing_of_another_association() {
    const SECRET: u8 = 0xa5;
    let endpoint = listening(Config::default());
    let [(one, one_there), (two, two_there)] = [(); 2].map(|()| {
        let here = endpoint.connect(endpoint.local().unwrap()).unwrap();
        (here, endpoint.accept().unwrap())
    });
    let reserved = |from: &Association<Artp>| [(); 4].map(|()| from.reserve(10_000, 6));
    // Often enough for memory of the one to be the other's next.
    for _ in 0..20 {
        let mut left = 0;
        for mut buffer in reserved(&one) {
            assert!(buffer.is_gapped() != placement::IN_SERVER, "it is in the memory of the stack");
            buffer.write_all(&[SECRET; 60_000]).unwrap();
            left += buffer.messages();
            one.commit(buffer, MessageProperties::default()).unwrap();
        }
        while left > 0 {
            left -= one_there.receive_batch().unwrap().0.count();
        }
        for (n, mut buffer) in reserved(&two).into_iter().enumerate() {
            let shown = format!("{buffer:?}");
            assert!(!shown.contains(&format!("{SECRET}, {SECRET}")), "{SHOWS}");
            let lengths = if n % 2 == 0 {
                // What is not written is not sent.
                buffer.write_all(&[1; 25_000]).unwrap();
                &[5000, 10_000, 10_000][..]
            } else {
                // What is written in place is zero before.
                buffer.write_all(&[1; 15_000]).unwrap();
                buffer.each_mut().flatten().for_each(|piece| {
                    assert!(!piece.contains(&SECRET), "{SHOWS}");
                    piece.fill(1);
                });
                buffer.truncate(5000);
                &[5000][..]
            };
            two.commit(buffer, MessageProperties::default()).unwrap();
            let mut came: Vec<_> =
                lengths.iter().map(|_| of(1, &two_there.receive().unwrap().0)).collect();
            came.sort_unstable();
            assert_eq!(came, lengths);
        }
    }
}

const SHOWS: &str = "it shows what another association sent";

/// How many octets there are, which are all the same.
fn of(octet: u8, octets: &[u8]) -> usize {
    assert!(octets.iter().all(|other| *other == octet), "{SHOWS}");
    octets.len()
}

#[test]
fn what_is_wished_of_a_buffer_comes_with_each_of_its_messages() {
    let (_endpoint, [one, other]) = pair(Config::default());
    let wish =
        MessageProperties { number: Some(u32::MAX), priority: 3, ..MessageProperties::default() };
    let mut buffer = one.reserve(10_000, 3);
    buffer.write_all(&[7; 30_000]).unwrap();
    one.commit(buffer, wish).unwrap();
    let mut numbers: Vec<_> = (0..3)
        .map(|_| {
            let (octets, properties) = other.receive().unwrap();
            assert_eq!((of(7, &octets), properties.priority), (10_000, 3));
            properties.number
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [Some(0), Some(1), Some(u32::MAX)]);
}

#[test]
fn what_is_wished_of_a_message_comes_with_it() {
    let (_endpoint, [one, other]) = pair(Config::default());
    let wish = MessageProperties { number: Some(77), priority: 3, ..MessageProperties::default() };
    one.send_with(b"first", wish).unwrap();
    let (octets, properties) = other.receive().unwrap();
    assert_eq!(
        (octets.as_slice(), properties.number, properties.priority),
        (&b"first"[..], Some(77), 3)
    );
}

#[test]
fn what_arrived_before_the_end_is_received_before_it() {
    let endpoint = listening(Config::default());
    let place = endpoint.local().unwrap();
    let client = thread::spawn(move || {
        let client = Endpoint::new(Config::default(), with(|_| {})).unwrap();
        let association = client.connect(place).unwrap();
        association.send(b"last words").unwrap();
        association.close()
    });
    let association = endpoint.accept().unwrap();
    while !client.is_finished() {
        endpoint.wait(Some(Duration::from_millis(10))).unwrap();
    }
    client.join().unwrap().unwrap();
    assert_eq!(association.receive().unwrap().0, b"last words");
    assert!(association.receive().is_err_and(|error| error.is_finished()));
    assert!(matches!(association.send(b"too late"), Err(Error::Ended(Ended::Finished))));
    assert!(association.has_ended());
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let credit = Credit { octets: 1000, messages: 10 };
    let (_endpoint, [one, other]) = pair(Config { credit, ..Config::default() });
    assert!(matches!(one.send(&[0; 1001]), Err(Error::TooLong { longest: 1000 })));
    one.send(&[0; 1000]).unwrap();
    assert_eq!(other.receive().unwrap().0, [0; 1000]);
}

#[test]
fn nobody_there_is_said() {
    let impatient =
        |config: &mut artp::Config| (config.tries, config.timeout_first) = (2, 1_000_000);
    let client = Endpoint::new(Config::default(), with(impatient)).unwrap();
    let nobody: std::net::SocketAddr = "127.0.0.1:9".parse().unwrap();
    assert!(matches!(client.connect(nobody), Err(Error::Ended(Ended::Unreachable))));
    assert!(matches!(client.accept(), Err(Error::Ended(Ended::Unlistened))));
    assert_eq!(client.look(placement::associations), 0);
}

/// Whoever listens does not want it: that is neither a reset, nor is nobody there.
#[test]
fn a_refusal_is_said() {
    let refusing = |system: &System| {
        let sessions = artp::Sessions::<M>::new(artp::Config::new(system.secret()), artp::policies);
        let upper =
            Transport::new(Associations::new(sessions.deciding(|_, _| false)), system.seed());
        Over::new(upper, system.udp())
    };
    let (tell, place) = mpsc::channel();
    let serving = thread::spawn(move || {
        let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
        let server = Endpoint::bind(any, Config::default(), refusing).unwrap();
        tell.send(server.local().unwrap()).unwrap();
        for _ in 0..20 {
            server.wait(Some(Duration::from_millis(50))).unwrap();
        }
        assert!(server.try_accept().is_err());
    });
    let client = Endpoint::new(Config::default(), with(|_| {})).unwrap();
    let error = client.connect(place.recv().unwrap()).err().expect("it is refused");
    assert!(matches!(error, Error::Ended(Ended::Refused(0))), "{error}");
    assert!(error.to_string().contains("asking again will not help"), "{error}");
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::ConnectionRefused);
    serving.join().unwrap();
}

#[test]
fn an_address_that_is_taken_is_said() {
    let endpoint = listening(Config::default());
    let place = endpoint.local().unwrap();
    let second = Endpoint::bind(place, Config::default(), with(|_| {}));
    assert!(matches!(second, Err(Error::Ended(Ended::Unavailable))));
}

#[test]
fn no_more_arrive_than_are_accepted_and_those_who_leave_make_room() {
    let endpoint = listening(Config { arrivals_most: 1, ..Config::default() });
    let place = endpoint.local().unwrap();
    for _ in 0..5 {
        let one = endpoint.connect(place).unwrap();
        let other = endpoint.accept().unwrap();
        drop(other);
        assert!(one.receive().is_err_and(|error| error.is_finished()), "who is dropped is closed");
    }
    // The last words are still on their way.
    while endpoint.look(placement::associations) > 0 {
        endpoint.wait(None).unwrap();
    }
}

#[test]
fn an_armed_endpoint_has_something_to_do_until_what_was_told_is_taken() {
    let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>).unwrap();
    assert!(!endpoint.arm());
    // UDP opens at once, without a packet.
    let association = endpoint.open(std::net::SocketAddr::from(([127, 0, 0, 1], 9)));
    assert!(!association.condition().is_open, "it was not asked for yet");
    assert!(endpoint.arm() && endpoint.arm());
    assert!(association.condition().may_send);
    assert!(endpoint.wait(Some(Duration::ZERO)).unwrap());
    assert!(!endpoint.arm());
}
