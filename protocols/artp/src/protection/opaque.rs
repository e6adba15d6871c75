//! For an application that signs and encrypts itself.

use stackwright_wire::{Header, Malformed, Message};

use crate::header::Signed;

/// Builds a datagram as [`Opaque`](crate::Protection::Opaque) takes it: `signature`, then `data`,
/// which may be encrypted.
///
/// ```
/// use stackwright_artp::{compose, take_apart};
/// use stackwright_wire::{BufferTree, Message};
/// let datagram = compose(b"mine", BufferTree::with_headroom(64, b"data"));
/// let (mut signature, mut data) = take_apart(datagram).unwrap();
/// assert_eq!((signature.front(4), data.front(4)), (Some(&b"mine"[..]), Some(&b"data"[..])));
/// ```
///
/// # Panics
/// If the signature has 4 GiB or more.
pub fn compose<M: Message>(signature: &[u8], mut data: M) -> M {
    let octets = u32::try_from(signature.len()).expect("a signature of less than 4 GiB");
    data.push_front(signature.len()).copy_from_slice(signature);
    data.push(&Signed { signature: octets });
    data
}

/// Splits a datagram into its signature and its data.
///
/// # Errors
/// Returns the datagram if it is shorter than it says.
pub fn take_apart<M: Message>(mut datagram: M) -> Result<(M, M), Malformed> {
    let octets = datagram.pull::<Signed>()?.signature as usize;
    if octets > datagram.len() {
        return Err(Malformed::TooShort);
    }
    let signature = datagram.split_to(octets);
    Ok((signature, datagram))
}

/// Whether the datagram is as long as it says.
pub(super) fn is_whole<M: Message>(datagram: &mut M) -> bool {
    let octets = datagram.len();
    let signed = datagram.front(Signed::LENGTH).and_then(|front| Signed::decode(front).ok());
    signed.is_some_and(|signed| signed.signature as usize <= octets - Signed::LENGTH)
}
