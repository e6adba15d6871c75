//! The octets that a check covers.

use core::ops::Range;

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

/// Does the same for a packet that is still a header and a body.
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
