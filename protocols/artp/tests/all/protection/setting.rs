//! Two ends with a protection, and what is on the wire between them.

use stackwright_artp::header::{Packet, PacketKind, Proposal};
use stackwright_artp::{
    Artp, Cipher, Config, Messages, Protection, Sealing, Secret, Secrets, Signing, policies,
};
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::{Conditions, Reorder};
use stackwright_transport::slots::Framing as _;
use stackwright_transport::words::{Phase, View};
use stackwright_transport::{Configuration, Slots};
use stackwright_trial::Trial;
use stackwright_wire::{BufferTree, Header};

pub(crate) const CIPHERS: [Cipher; 2] = [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305];

/// Numbers wrap at once.
pub(crate) fn config(protection: Protection) -> Config {
    Config {
        packet: 600,
        timeout_first: 200_000_000,
        timeout_least: 50_000_000,
        tries: 60,
        gather: 10_000_000,
        first: Some(u32::MAX - 5),
        longest: 1 << 20,
        protection,
        ..Config::new([0; 16])
    }
}

pub(crate) fn sealed(cipher: Cipher) -> Protection {
    Protection::Sealed(Sealing::new(cipher, Secret([7; 32])))
}

/// Each side has the other's key.
pub(crate) fn signed(side: usize) -> Protection {
    let own = |side: usize| Secret([side as u8 + 1; 32]);
    Protection::Signed(
        Signing::new(own(side), Signing::public(&own(1 - side))).expect("a public key"),
    )
}

/// One end of a session that is the `nth` between these two.
pub(crate) fn end_of(config: &Config, side: usize, nth: u8) -> Slots<Artp<BufferTree>> {
    let nonce = 0x1234_5678 * (side as u64 + 1) + u64::from(nth);
    policies(
        5,
        config,
        Secrets { first: 7, nonce, salt: [side as u8 + 2 * nth; 16], reset: [side as u8; 16] },
    )
}

pub(crate) type Ends = Trial<Artp<BufferTree>>;

/// Two ends that are open, with an ideal link between them; and what was on the wire.
pub(crate) fn opened(protections: [Protection; 2], nth: u8) -> (Ends, Wire) {
    let conditions = Conditions { delay: Duration::from_millis(5), ..Conditions::IDEAL };
    let make = |side: usize| end_of(&config(protections[side]), side, nth);
    let mut ends = Trial::new(make, &conditions, u64::from(nth));
    ends.ends[0].open(ends.now());
    let wire = run(&mut ends, Duration::from_secs(1));
    for end in &ends.ends {
        assert_eq!(end.phase(ends.now()), Phase::Open);
    }
    (ends, wire)
}

/// Packets in the order in which they left, and who sent them.
pub(crate) type Wire = Vec<(usize, Vec<u8>)>;

/// Lets so much time pass, or all that will happen.
pub(crate) fn run<C: Configuration<Message = BufferTree>>(
    ends: &mut Trial<C>,
    time: Duration,
) -> Wire {
    let until = ends.now() + time;
    let mut wire = Wire::new();
    loop {
        ends.speak(|_, side, octets| wire.push((side, octets.to_vec())));
        if ends.now() >= until || !ends.step() {
            return wire;
        }
    }
}

/// Sends a datagram, waits, and gives what was on the wire.
pub(crate) fn say(ends: &mut Ends, side: usize, octets: &[u8]) -> Wire {
    let now = ends.now();
    ends.ends[side].send(now, octets, MessageProperties::default());
    run(ends, Duration::from_millis(300))
}

/// What an end has heard.
pub(crate) fn heard(ends: &mut Ends, side: usize) -> Vec<Vec<u8>> {
    let now = ends.now();
    std::iter::from_fn(|| ends.ends[side].take(now).map(|(octets, _)| octets)).collect()
}

/// The packets of one side that carry what applications say.
pub(crate) fn units(wire: &Wire, side: usize) -> Vec<Vec<u8>> {
    let carries = |octets: &[u8]| {
        let header = Packet::decode(octets).expect("a packet");
        header.kind == PacketKind::Data
            || (header.kind == PacketKind::Control && header.session != 0)
    };
    let of_side = wire.iter().filter(|(sender, octets)| *sender == side && carries(octets));
    of_side.map(|(_, octets)| octets.clone()).collect()
}

/// The same packet with the number after that of `last`.
pub(crate) fn numbered_after(packet: &[u8], last: &[u8]) -> Vec<u8> {
    let sequence = Packet::decode(last).expect("a packet").sequence.wrapping_add(1);
    let mut packet = packet.to_vec();
    packet[4..8].copy_from_slice(&sequence.to_be_bytes());
    packet
}

/// Both proposals as they were first made, and both salts, from the packets that arranged the
/// session.
pub(crate) fn arranged(wire: &Wire) -> (Vec<u8>, Vec<u8>) {
    let (mut proposals, mut salts) = (Vec::new(), Vec::new());
    for side in [0, 1] {
        let (_, packet) = wire.iter().find(|(sender, _)| *sender == side).expect("a proposal");
        // Behind the packet's header, and the item's.
        let mut proposal = packet[24..24 + Proposal::LENGTH].to_vec();
        proposal[1] = 0; // the verdict
        proposal[32..40].fill(0); // the echo
        salts.extend_from_slice(&proposal[40..56]);
        proposals.extend(proposal);
    }
    (proposals, salts)
}

/// Nothing has happened yet.
pub(crate) const VIEW: View = View::START;

/// The framing of both sides of one session.
pub(crate) fn framings(config: impl Fn(usize) -> Config) -> [Messages<BufferTree>; 2] {
    let (_, wire) = opened([0, 1].map(|side| config(side).protection), 0);
    [0, 1].map(|side| {
        // What the format says: who asked, and both proposals, the asking side's first.
        let agreed = [&[u8::from(side == 0)][..], &arranged(&wire).0].concat();
        let mut framing = Messages::new(&config(side));
        framing.on_begun(0, &agreed);
        framing
    })
}

/// Everything goes wrong that UDP lets go wrong, more or less.
pub(crate) fn bad(seed: u64) -> Conditions {
    let mut random = fastrand::Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(0..20)),
        jitter: Duration::from_millis(random.u64(0..30)),
        loss: (random.f64() * 0.25).into(),
        duplicate: random.f64() * 0.1,
        reorder: Reorder {
            probability: random.f64() * 0.1,
            by: Duration::from_millis(random.u64(1..80)),
        },
        ..Conditions::IDEAL
    }
}
