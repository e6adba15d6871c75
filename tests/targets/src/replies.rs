//! Octets of a control association as replies.

use stackwright_ftp::reply::{self, NotAReply, Replies, Reply};

use crate::Input;

/// The first octet says how the rest is cut. However it is cut, the same replies are heard.
pub fn replies(octets: &[u8]) {
    let mut input = Input(octets);
    let pieces = input.octet();
    let heard = hear(input.clone().pieces(pieces));
    assert_eq!(heard, hear(std::iter::once(input.0)), "replies do not depend on how they are cut");
    for reply in heard.into_iter().flatten() {
        assert!((100..600).contains(&reply.code));
        assert!(
            reply.text.len() <= Replies::TEXT_MOST + 2 * Replies::LINE_MOST,
            "a reply is bounded"
        );
        // One line of ours, whatever is in it, is one reply of the same code.
        let line = reply::line(reply.code, &reply.text);
        let again = hear(std::iter::once(line.as_bytes()));
        let lost = line.len() > Replies::LINE_MOST || line.contains('\u{FFFD}');
        assert!(
            lost || matches!(&again[..], [Ok(once)] if once.code == reply.code),
            "{line:?}: {again:?}"
        );
    }
}

/// Up to the first mistake: nothing sensible follows that.
fn hear<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Result<Reply, NotAReply>> {
    let mut replies = Replies::default();
    let mut all = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let (heard, taken) = replies.feed(piece);
            assert!(taken > 0 && taken <= piece.len(), "hearing makes progress");
            piece = &piece[taken..];
            all.extend(heard.transpose());
            if matches!(all.last(), Some(Err(_))) {
                return all;
            }
        }
    }
    all
}
