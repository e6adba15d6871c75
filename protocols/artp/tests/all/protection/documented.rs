//! The README is enough to open what is on the wire, and to check a signature: written after it,
//! without our own code.

use aes_gcm::aead::{AeadInOut, KeyInit};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256, Sha512};
use stackwright_artp::header::Packet;
use stackwright_artp::{Cipher, Secret, Signing};
use stackwright_wire::Header;

use crate::protection::setting::{CIPHERS, arranged, opened, say, sealed, signed, units};

/// RFC 2104.
fn hmac(key: &[u8], pieces: &[&[u8]]) -> [u8; 32] {
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(octet, key)| *octet ^= key);
        block
    };
    let inner = pieces
        .iter()
        .fold(Sha256::new().chain_update(pad(0x36)), |hash, piece| hash.chain_update(piece));
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner.finalize()).finalize().into()
}

fn key(cipher: Cipher, direction: u8, (proposals, salts): &(Vec<u8>, Vec<u8>)) -> [u8; 44] {
    let secret = hmac(salts, &[&[7; 32]]);
    let cipher = u8::from(cipher == Cipher::ChaCha20Poly1305);
    let info = [b"Stackwright ARTP seal 1", &[cipher, direction, 0, 0][..], proposals].concat();
    let first = hmac(&secret, &[&info, &[1]]);
    let second = hmac(&secret, &[&first, &info, &[2]]);
    [&first[..], &second[..12]].concat().try_into().expect("44 octets")
}

#[test]
fn a_seal_is_what_the_readme_says() {
    for cipher in CIPHERS {
        let (mut ends, wire) = opened([sealed(cipher); 2], 0);
        let arranged = arranged(&wire);
        for (side, text) in [(0, &b"there"[..]), (1, b"back"), (0, b"and there again")] {
            let packet = units(&say(&mut ends, side, text), side).pop().expect("a packet");
            let (number, sealed) = (&packet[Packet::LENGTH..][..4], &packet[Packet::LENGTH + 8..]);
            assert_eq!(sealed[..4], [0, 0, 0, 24], "the seal stands in the place of a signature");
            let (counter, tag) = (&sealed[4..12], &sealed[12..28]);
            let mut octets = sealed[28..].to_vec();
            let (key, start) = (key(cipher, side as u8, &arranged), 32);
            let mut nonce: [u8; 12] = key[start..].try_into().expect("12 octets");
            // The generation is 0: all eight octets are the counter.
            nonce[4..].iter_mut().zip(counter).for_each(|(octet, counter)| *octet ^= counter);
            let associated = [&[1, 0, 0, 0][..], number].concat();
            let tag: [u8; 16] = tag.try_into().expect("16 octets");
            let (buffer, nonce, tag) = (octets.as_mut_slice().into(), nonce.into(), tag.into());
            let opened = match cipher {
                Cipher::Aes256Gcm => aes_gcm::Aes256Gcm::new_from_slice(&key[..32])
                    .expect("32 octets")
                    .decrypt_inout_detached(&nonce, &associated, buffer, &tag),
                Cipher::ChaCha20Poly1305 => {
                    chacha20poly1305::ChaCha20Poly1305::new_from_slice(&key[..32])
                        .expect("32 octets")
                        .decrypt_inout_detached(&nonce, &associated, buffer, &tag)
                }
            };
            assert!(opened.is_ok(), "{cipher:?}, from {side}");
            assert_eq!(octets, text);
        }
    }
}

#[test]
fn a_signature_is_what_the_readme_says() {
    let (mut ends, wire) = opened([signed(0), signed(1)], 0);
    let (proposals, _) = arranged(&wire);
    for (side, text) in [(0, &b"there"[..]), (1, b"back"), (0, b"and there again")] {
        let packet = units(&say(&mut ends, side, text), side).pop().expect("a packet");
        let (number, signed) = (&packet[Packet::LENGTH..][..4], &packet[Packet::LENGTH + 8..]);
        assert_eq!(signed[..4], [0, 0, 0, 72]);
        let (counter, signature, octets) = (&signed[4..12], &signed[12..76], &signed[76..]);
        assert_eq!(octets, text);
        let digest = Sha512::new()
            .chain_update([side as u8])
            .chain_update(&proposals)
            .chain_update([0])
            .chain_update(number)
            .chain_update(counter)
            .chain_update(octets);
        let key = VerifyingKey::from_bytes(&Signing::public(&Secret([side as u8 + 1; 32])))
            .expect("a key");
        let signature = Signature::from_slice(signature).expect("64 octets");
        let context = Some(&b"Stackwright ARTP datagram 1"[..]);
        assert!(key.verify_prehashed_strict(digest, context, &signature).is_ok(), "from {side}");
    }
}

/// RFC 8032 §7.3: that our keys are its keys. What is signed is tried above.
#[test]
fn keys_are_those_of_rfc_8032() {
    let own = 0x833f_e624_0923_7b9d_62ec_7758_7520_911e_u128.to_be_bytes();
    let own = [own, 0x9a75_9cec_1d19_755b_7da9_01b9_6dca_3d42_u128.to_be_bytes()].concat();
    let own: [u8; 32] = own.try_into().expect("32 octets");
    let public = 0xec17_2b93_ad5e_563b_f493_2c70_e124_5034_u128.to_be_bytes();
    let public = [public, 0xc354_67ef_2efd_4d64_ebf8_1968_3467_e2bf_u128.to_be_bytes()].concat();
    assert_eq!(Signing::public(&Secret(own))[..], public);
    let signature = [
        0x98a7_0222_f0b8_121a_a9d3_0f81_3d68_3f80_u128,
        0x9e46_2b46_9c7f_f876_3949_9bb9_4e6d_ae41,
        0x31f8_5042_463c_2a35_5a20_03d0_62ad_f5aa,
        0xa10b_8c61_e636_062a_aad1_1c2a_2608_3406,
    ];
    let signature: Vec<u8> = signature.iter().flat_map(|part| part.to_be_bytes()).collect();
    let made = ed25519_dalek::SigningKey::from_bytes(&own)
        .sign_prehashed(Sha512::new().chain_update(b"abc"), None)
        .expect("no context");
    assert_eq!(made.to_bytes()[..], signature);
}
