//! Files in the forms of data associations.

use stackwright_ftp::form::{Damage, Decoder, Encoder, Form, Mode, Representation, Structure};

use crate::Input;

/// What arrives is a file or damage, however it is cut; a file that was sent is read again.
pub fn forms(octets: &[u8]) {
    let mut input = Input(octets);
    let (which, pieces, most) = (input.octet(), input.octet(), 1 + usize::from(input.octet()));
    let form = Form {
        representation: [Representation::Ascii, Representation::Image][usize::from(which & 1)],
        structure: [Structure::File, Structure::Record][usize::from(which >> 1 & 1)],
        mode: match which >> 2 & 3 {
            0 => Mode::Stream,
            1 => Mode::Block,
            _ => Mode::Deflate { level: 1 + (which >> 4) % 9 },
        },
    };
    let Some(mut encoder) = Encoder::new(form) else { return };
    // Which of two damages is found first may differ.
    let cut = decoded(form, input.clone().pieces(pieces), most).ok();
    assert_eq!(cut, decoded(form, [input.0].into_iter(), 1 << 20).ok(), "in pieces and at once");

    let mut wire = Vec::new();
    for piece in input.clone().pieces(pieces) {
        encoder.feed(piece, &mut wire);
    }
    encoder.finish(&mut wire);
    let file = decoded(form, Input(&wire).pieces(pieces), most);
    // In TYPE A, lines that end with CRLF become lines that end with LF.
    let text = form.representation == Representation::Ascii && form.structure == Structure::File;
    if text {
        assert!(file.is_ok(), "{file:?}");
    } else {
        assert_eq!(file.as_deref(), Ok(input.0));
    }
}

fn decoded<'a>(
    form: Form,
    pieces: impl Iterator<Item = &'a [u8]>,
    most: usize,
) -> Result<Vec<u8>, Damage> {
    let mut decoder = Decoder::new(form).expect("not the plain form");
    let mut file = Vec::new();
    for mut octets in pieces {
        while !octets.is_empty() || decoder.holds() {
            if decoder.has_ended() {
                return Err(Damage::Trailing);
            }
            let mut out = Vec::new();
            let taken = decoder.feed(octets, most, &mut out)?;
            assert!(out.len() <= most + 1, "more than there is room for");
            let marker = decoder.take_marker();
            let told = marker.is_some() || decoder.has_ended();
            assert!(taken > 0 || !out.is_empty() || told || octets.is_empty(), "it stands still");
            file.extend_from_slice(&out);
            octets = &octets[taken..];
        }
    }
    decoder.finish(&mut file)?;
    Ok(file)
}
