//! What a picture is on its way.

use stackwright_jis::generated::BlocksHead;
use stackwright_jis::jpeg::Picture;
use stackwright_results::Problem;
use stackwright_wire::Header as _;

/// The octets of a head of an ADU.
pub(super) const HEAD: usize = BlocksHead::LENGTH;
/// The octets of an ADU that fills a packet, with its head.
pub(super) const FULL: usize = 1451;

/// Returns the octets of all ADUs with pieces of a file, each of `most` at most with its head.
pub(super) fn octets(file: &[u8], most: usize) -> Result<usize, Problem> {
    let bodies = Picture::read(file).and_then(|picture| picture.split(most - HEAD));
    let bodies = bodies.map_err(|flaw| Problem::new(format!("the picture: {flaw}")))?;
    Ok(bodies.iter().map(|body| HEAD + body.len()).sum())
}
