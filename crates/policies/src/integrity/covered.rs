//! The octets that a check covers.

use core::ops::Range;

use stackwright_transport::slots::CheckAt;
use stackwright_wire::Message;

/// How many octets of a packet a format may need to see before it knows where the check is.
pub(super) const LOOKS_AT: usize = 64;

/// Passes the octets of `message` in `span` to `take`, piece by piece, and returns whether all of
/// them are there.
pub(super) fn each<M: Message>(
    message: &M,
    span: Range<usize>,
    mut take: impl FnMut(&[u8]),
) -> bool {
    let mut at = 0;
    message.each(|octets| {
        let end = at + octets.len();
        if !span.is_empty() && at < span.end && end > span.start {
            take(&octets[span.start.max(at) - at..span.end.min(end) - at]);
        }
        at = end;
    });
    span.start <= span.end && span.end <= at
}

/// Passes what a check of `N` octets covers to `take`, with zeros for the check itself, and returns
/// the check that the packet has; `None` where the packet is too short.
pub(super) fn each_and_check<const N: usize, M: Message>(
    packet: &M,
    CheckAt { field, covers, .. }: CheckAt,
    mut take: impl FnMut(&[u8]),
) -> Option<[u8; N]> {
    let (mut check, mut filled) = ([0; N], 0);
    let mut whole = each(packet, covers.start..field, &mut take)
        && each(packet, field..field + N, |octets| {
            check[filled..filled + octets.len()].copy_from_slice(octets);
            filled += octets.len();
        });
    take(&[0; N]);
    whole = whole && each(packet, field + N..covers.end, take);
    whole.then_some(check)
}

/// Does the same as [`each`] for a packet that is still a header and a body.
pub(super) fn each_of<M: Message>(
    header: &[u8],
    body: Option<&M>,
    span: Range<usize>,
    mut take: impl FnMut(&[u8]),
) {
    let length = header.len();
    take(&header[span.start.min(length)..span.end.min(length)]);
    if let Some(body) = body
        && span.end > length
    {
        each(body, span.start.saturating_sub(length)..span.end - length, take);
    }
}
