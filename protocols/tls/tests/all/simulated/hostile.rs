//! Peers that are slow, wasteful or malicious, and networks that alter octets.

use std::sync::Arc;

use stackwright_contract::services::{Ended, StreamsRequest as Ask};
use stackwright_contract::{CommandError, SecurityError};
use stackwright_simulator::seeds;
use stackwright_tls::Config;
use stackwright_tls::rustls::client::UnbufferedClientConnection;
use stackwright_tls::rustls::pki_types::ServerName;
use stackwright_tls::rustls::unbuffered::ConnectionState;
use stackwright_tls::rustls::{ClientConfig, ConnectionTrafficSecrets, RootCertStore};

use crate::simulated::alone::{Alone, Below, IT};
use crate::simulated::setting::{
    Authority, CLIENT, EPOCH, NAME, SERVER, VERSIONS, pattern, shows, trusting,
};

#[test]
fn a_slow_handshake_ends_at_its_deadline() {
    let mut ends = trusting().map(|config| Alone::new(config, 1 << 16, 1 << 16));
    ends[0].secure(CLIENT);
    let hello = std::mem::take(&mut ends[0].left);
    let server = &mut ends[1];
    server.pass(5);
    server.secure(SERVER);
    for octet in &hello[..29] {
        server.arrive(&[*octet]);
        server.pass(1);
        assert_eq!((&server.outcomes[..], &server.asked[..]), (&[][..], &[][..]));
    }
    server.pass(1);
    let why = SecurityError::TooSlow;
    assert_eq!(server.outcomes, [Err(CommandError::Insecure { why, certificate: None })]);
    assert_eq!(server.asked, [Below::Abort]);
    server.end_below();
    assert_eq!(server.ended, Some(Ended::Insecure(why)));
}

#[test]
fn a_handshake_that_is_over_has_no_deadline() {
    let mut ends = crate::simulated::ends::secure(trusting(), 1 << 16);
    for end in &mut ends {
        end.pass(1_000_000);
        assert_eq!((&end.asked[..], end.ended), (&[][..], None));
    }
}

/// One octet of what crosses is altered, dropped or doubled, or octets are exchanged: what is
/// delivered is a beginning of what was sent, no side panics, and both end.
#[test]
fn altered_octets_are_never_delivered() {
    let mut ends_told = std::collections::BTreeMap::<String, u32>::new();
    let configs = VERSIONS.map(|versions| trusting().map(|config| Config { versions, ..config }));
    for seed in seeds(300) {
        let mut random = fastrand::Rng::with_seed(seed);
        let configs = configs[seed as usize % 2].clone();
        let mut ends = configs.map(|config| Alone::new(config, 1 << 18, 1 << 18));
        ends[0].secure(CLIENT);
        ends[1].secure(SERVER);
        let files = [pattern(random.usize(..30_000)), pattern(1 + random.usize(..30_000))];
        for (end, file) in ends.iter_mut().zip(&files) {
            end.send(file);
            end.ask(Ask::Finish { association: IT });
            end.flush();
        }
        let (victim, mut place) = (random.usize(..2), random.usize(..33_000));
        let mut done = false;
        for _ in 0..200 {
            for side in 0..2 {
                let mut left = std::mem::take(&mut ends[side].left);
                if side == victim && !done && place < left.len() {
                    done = true;
                    match random.u8(..5) {
                        0 => left[place] ^= 1 << random.u8(..8),
                        1 => drop(left.remove(place)),
                        2 => left.insert(place, left[place]),
                        3 => left.truncate(place),
                        _ => {
                            let other = random.usize(..left.len());
                            left.swap(place, other);
                        }
                    }
                } else if side == victim {
                    place -= left.len().min(place);
                }
                if ends[1 - side].is_over() {
                    continue;
                }
                let mut octets = &left[..];
                while !octets.is_empty() {
                    let some = (1 + random.usize(..5000)).min(octets.len());
                    let some = ends[1 - side].arrive_some(&octets[..some]);
                    if some == 0 {
                        break;
                    }
                    octets = &octets[some..];
                }
                ends[side].left.splice(..0, octets.iter().copied());
            }
            carry_nothing(&mut ends);
        }
        for end in &mut ends {
            end.finish_below();
            end.end_below();
            end.pass(100);
            end.end_below();
        }
        for side in 0..2 {
            let (end, file) = (&ends[side], &files[1 - side]);
            assert!(file.starts_with(&end.octets), "seed {seed}: altered octets were delivered");
            let why = end.ended.unwrap_or_else(|| panic!("seed {seed}: {side} does not end"));
            if why == Ended::Finished {
                assert!(end.octets == *file, "seed {seed}: half a file was taken for a whole one");
            }
            *ends_told.entry(format!("{why:?}")).or_default() += 1;
        }
    }
    assert!(ends_told.len() > 3, "{ends_told:?}");
}

/// Tells each side that the other has finished, once all it left was carried.
fn carry_nothing(ends: &mut [Alone; 2]) {
    for side in 0..2 {
        let done = ends[side].left.is_empty() && !ends[side].asked.is_empty();
        if done && !ends[1 - side].is_over() && !ends[1 - side].finished_below {
            ends[1 - side].finish_below();
        }
    }
}

#[test]
fn noise_never_does_harm() {
    for seed in seeds(300) {
        let mut random = fastrand::Rng::with_seed(seed);
        let [client, server] = trusting_once();
        let (config, secure) = if random.bool() { (client, CLIENT) } else { (server, SERVER) };
        let mut alone = Alone::new(config, random.usize(1..100_000), 1 << 16);
        alone.secure(secure);
        for _ in 0..random.usize(1..20) {
            let mut noise = pattern(random.usize(..2000) + 6);
            noise[0] = random.u8(18..26);
            noise[1..3].copy_from_slice(&[3, random.u8(..5)]);
            let length = noise.len() - 5;
            noise[3..5].copy_from_slice(&(length as u16).to_be_bytes());
            if noise[0] == 22 {
                noise[5] = random.u8(..25);
            }
            alone.arrive_some(&noise);
        }
        alone.pass(100);
        assert!(!alone.asked.is_empty(), "seed {seed}");
        alone.end_below();
        assert!(alone.ended.is_some() && alone.octets.is_empty(), "seed {seed}");
    }
}

fn trusting_once() -> [Config; 2] {
    static CONFIGS: std::sync::OnceLock<[Config; 2]> = std::sync::OnceLock::new();
    CONFIGS.get_or_init(trusting).clone()
}

/// A client of rustls' own, which does what ours never does.
struct Rustls {
    client: UnbufferedClientConnection,
    arrived: Vec<u8>,
}

impl Rustls {
    /// It has shaken hands with the server.
    fn new(server: &mut Alone, authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.root.clone()).unwrap();
        let provider = Arc::new(stackwright_tls::rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_details(provider, Arc::new(Epoch))
            .with_protocol_versions(&[&stackwright_tls::rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.enable_secret_extraction = true;
        let name = ServerName::try_from(NAME).unwrap();
        let client = UnbufferedClientConnection::new(Arc::new(config), name).unwrap();
        let mut it = Rustls { client, arrived: Vec::new() };
        for _ in 0..10 {
            let records = it.write(|_| {});
            server.arrive_some(&records);
            it.arrived.append(&mut server.left);
        }
        assert_eq!(server.outcomes, [Ok(0)]);
        it
    }

    /// Reads what arrived; `act` is called once, as soon as payload may be written. Returns what is
    /// to be sent.
    fn write(&mut self, act: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut records = Vec::new();
        act(&mut records);
        loop {
            let status = self.client.process_tls_records(&mut self.arrived);
            let discard = status.discard;
            let go_on = match status.state.unwrap() {
                ConnectionState::EncodeTlsData(mut data) => {
                    let mut room = [0; 20_000];
                    let written = data.encode(&mut room).unwrap();
                    records.extend_from_slice(&room[..written]);
                    true
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    true
                }
                _ => false,
            };
            self.arrived.drain(..discard);
            if !go_on {
                return records;
            }
        }
    }

    fn update_keys(&mut self) -> Vec<u8> {
        match self.client.process_tls_records(&mut self.arrived).state.unwrap() {
            ConnectionState::WriteTraffic(traffic) => traffic.refresh_traffic_keys().unwrap(),
            state => panic!("{state:?}"),
        }
        self.write(|_| {})
    }

    fn payload(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut room = vec![0; payload.len() + 100];
        match self.client.process_tls_records(&mut self.arrived).state.unwrap() {
            ConnectionState::WriteTraffic(mut traffic) => {
                let written = traffic.encrypt(payload, &mut room).unwrap();
                room.truncate(written);
            }
            state => panic!("{state:?}"),
        }
        room
    }
}

#[derive(Debug)]
struct Epoch;

impl stackwright_tls::rustls::time_provider::TimeProvider for Epoch {
    fn current_time(&self) -> Option<stackwright_tls::rustls::pki_types::UnixTime> {
        let epoch = std::time::Duration::from_secs(EPOCH);
        Some(stackwright_tls::rustls::pki_types::UnixTime::since_unix_epoch(epoch))
    }
}

fn shaken() -> (Rustls, Alone) {
    let authority = Authority::new();
    let config = shows(authority.issue(NAME, 2030));
    let mut server = Alone::new(config, 1 << 16, 1 << 16);
    server.secure(SERVER);
    let client = Rustls::new(&mut server, &authority);
    (client, server)
}

#[test]
fn keys_may_be_updated_and_a_flood_of_updates_ends_the_association() {
    let (mut client, mut server) = shaken();
    for _ in 0..100 {
        let update = client.update_keys();
        server.arrive_some(&update);
        let payload = client.payload(b"between");
        server.arrive_some(&payload);
        server.octets.clear();
        server.give_above(7);
        server.flush();
        assert_eq!(server.asked, []);
    }
    // The answers wait for something to be sent, as one.
    server.send(b"answer");
    server.flush();
    assert!(server.left.len() < 100);
    let mut updates = 0;
    while server.asked.is_empty() {
        let update = client.update_keys();
        server.arrive_some(&update);
        updates += 1;
        assert!(updates < 50, "a flood is endured");
    }
    server.end_below();
    assert_eq!(server.ended, Some(Ended::Insecure(SecurityError::Broken)));
}

#[test]
fn empty_records_take_no_room() {
    let (client, mut server) = shaken();
    let (secrets, _kernel) = client.client.dangerous_into_kernel_connection().unwrap();
    let (mut number, ConnectionTrafficSecrets::Aes256Gcm { key, iv }) = secrets.tx else {
        panic!("the cipher that both prefer")
    };
    let key = ring::aead::UnboundKey::new(&ring::aead::AES_256_GCM, key.as_ref()).unwrap();
    let key = ring::aead::LessSafeKey::new(key);
    let mut seal = |payload: &[u8]| {
        let mut nonce: [u8; 12] = iv.as_ref().try_into().unwrap();
        for (octet, number) in nonce[4..].iter_mut().zip(u64::to_be_bytes(number)) {
            *octet ^= number;
        }
        number += 1;
        let header = [23, 3, 3, 0, payload.len() as u8 + 17];
        let (mut octets, aad) = ([payload, &[23]].concat(), ring::aead::Aad::from(header));
        let nonce = ring::aead::Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce, aad, &mut octets).unwrap();
        [&header[..], &octets].concat()
    };
    let (above, granted) = (server.above, server.granted);
    for _ in 0..1000 {
        for _ in 0..30 {
            let empty = seal(b"");
            server.arrive_some(&empty);
        }
        assert_eq!((&server.asked[..], &server.outcomes[..]), (&[][..], &[Ok(0)][..]));
        assert_eq!((server.above, server.granted, server.octets.len()), (above, granted, 0));
        let payload = seal(b"x");
        server.arrive_some(&payload);
        assert_eq!(server.octets.pop(), Some(b'x'));
        server.give_above(1);
        server.flush();
    }
    for _ in 0..100 {
        let empty = seal(b"");
        server.arrive_some(&empty);
    }
    assert_eq!(server.asked, [Below::Abort], "a flood of them ends it");
    server.end_below();
    assert_eq!(server.ended, Some(Ended::Insecure(SecurityError::Broken)));
}

#[test]
fn a_refusal_leaves_even_where_the_peer_does_not_read() {
    let mut ends = trusting().map(|config| Alone::new(config, 1 << 16, 7));
    ends[1].secure(SERVER);
    ends[1].arrive(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!((ends[1].left.len(), &ends[1].asked[..]), (7, &[Below::Close][..]));
    let mut ends = trusting().map(|config| Alone::new(config, 1 << 16, 6));
    ends[1].secure(SERVER);
    ends[1].arrive(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(ends[1].asked, [Below::Abort], "not all of the alert can leave");
}
