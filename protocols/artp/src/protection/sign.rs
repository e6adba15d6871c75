//! Each datagram signed: Ed25519ph (RFC 8032 §5.1), which reads a datagram once and in pieces.

use ed25519_dalek::{Signature as Ed25519, SigningKey, VerifyingKey};
use sha2::{Digest, Sha512};
use stackwright_transport::words::Dropped;
use stackwright_wire::{Header, Leaf, Message, Pool};

use super::Secret;
use super::agreed::{Agreed, Direction};
use super::guard::{Datagram, Keyed};
use super::seen::Seen;
use crate::header::Signature;

/// The context that separates these signatures from others made with the same key.
const CONTEXT: &[u8] = b"Stackwright ARTP datagram 1";

/// The octets of what replaces a signature.
pub(super) const OCTETS: usize = Signature::LENGTH;

/// The keys by which datagrams are signed and verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signing {
    own: Secret,
    peer: [u8; 32],
}

impl Signing {
    /// Makes the keys: datagrams are signed with `own`, a secret key (RFC 8032 §5.1.5: 32 random
    /// octets), and verified with `peer`, the public key of the other side; `None` if that is no
    /// public key, or one under which any signature is valid.
    pub fn new(own: Secret, peer: [u8; 32]) -> Option<Self> {
        let key = VerifyingKey::from_bytes(&peer).ok()?;
        (!key.is_weak()).then_some(Signing { own, peer })
    }

    /// Returns the public key that belongs to a secret one.
    pub fn public(own: &Secret) -> [u8; 32] {
        SigningKey::from_bytes(&own.0).verifying_key().to_bytes()
    }
}

/// Signs and verifies the datagrams of one session.
pub(super) struct Signer {
    own: SigningKey,
    peer: VerifyingKey,
    agreed: Agreed,
    counter: u64,
    seen: Seen,
}

impl Signer {
    pub(super) fn new(signing: &Signing, agreed: Agreed) -> Self {
        Signer {
            own: SigningKey::from_bytes(&signing.own.0),
            peer: VerifyingKey::from_bytes(&signing.peer).expect("it was one when it was given"),
            agreed,
            counter: 0,
            seen: Seen::new(),
        }
    }

    /// Hashes what is signed: the datagram, and all that it belongs to. Only the last part has no
    /// fixed length.
    fn digest<M: Message>(
        &self,
        direction: Direction,
        datagram: Datagram,
        counter: u64,
        message: &M,
    ) -> Sha512 {
        let digest = Sha512::new()
            .chain_update([direction as u8])
            .chain_update(self.agreed.proposals)
            .chain_update(datagram.octets());
        let mut digest = digest.chain_update(counter.to_be_bytes());
        message.each(|octets| digest.update(octets));
        digest
    }
}

impl<M: Message> Keyed<M> for Signer {
    fn protect(&mut self, mut message: M, datagram: Datagram, _: &Pool<M>) -> Result<M, M> {
        let counter = self.counter;
        if message.leaves().any(|leaf| matches!(leaf, Leaf::Region(_))) {
            return Err(message);
        }
        let digest = self.digest(self.agreed.ours(), datagram, counter, &message);
        let Ok(signature) = self.own.sign_prehashed(digest, Some(CONTEXT)) else {
            return Err(message);
        };
        self.counter += 1;
        message.push(&Signature { counter, signature: signature.to_bytes() });
        Ok(message)
    }

    fn open(&mut self, mut message: M, datagram: Datagram, _: &Pool<M>) -> Result<M, Dropped> {
        let signed = message.pull::<Signature>().map_err(|_| Dropped::Forged)?;
        let digest = self.digest(self.agreed.theirs(), datagram, signed.counter, &message);
        let signature = Ed25519::from_bytes(&signed.signature);
        self.peer
            .verify_prehashed_strict(digest, Some(CONTEXT), &signature)
            .map_err(|_| Dropped::Forged)?;
        if self.seen.is_new(signed.counter) { Ok(message) } else { Err(Dropped::Duplicate) }
    }
}
