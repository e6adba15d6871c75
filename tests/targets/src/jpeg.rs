//! A JPEG of a stranger, and pieces of a server that errs.

use stackwright_jis::jpeg::{Assembly, BODY_MOST, Picture};

/// What is taken as a picture is split and joined without loss; what is taken as pieces leaves a
/// picture that can be read.
pub fn jpeg(octets: &[u8]) {
    let Ok(picture) = Picture::read(octets) else { return };
    let Ok(bodies) = picture.split(BODY_MOST) else { return };
    let mut assembly =
        Assembly::new(picture.quantisation(), picture.huffman()).expect("tables of ours");
    // The octets of the file, as the pieces of a server that errs.
    let _ = assembly.take(octets);
    let _ = assembly.whole();
    let partial = assembly.partial().expect("tables of ours have a code for grey");
    Picture::read(&partial).expect("what has arrived is a picture");
    let mut assembly =
        Assembly::new(picture.quantisation(), picture.huffman()).expect("tables of ours");
    for body in bodies.iter().rev() {
        assembly.take(body).expect("pieces of ours");
    }
    let summary = picture.summary();
    assert!(assembly.is_whole(&summary), "all is there");
    let joined = assembly.whole().expect("all is there");
    assert_eq!(joined == octets, summary.exact, "octet for octet");
    assert_eq!(joined == octets, summary.is_of(&joined), "its check");
}
