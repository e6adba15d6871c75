//! The forms of a file on a data association, octets to octets: in pieces of any length, and with
//! what no sender means.

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_ftp::form::{Damage, Decoder, Encoder, Form, Mode, Representation, Structure};

const PLAIN: Form =
    Form { representation: Representation::Image, mode: Mode::Stream, structure: Structure::File };
const ASCII: Form = Form { representation: Representation::Ascii, ..PLAIN };
const RECORDS: Form = Form { structure: Structure::Record, ..PLAIN };
const BLOCK: Form = Form { mode: Mode::Block, ..PLAIN };
const RECORD_BLOCK: Form = Form { structure: Structure::Record, ..BLOCK };
const DEFLATE: Form = Form { mode: Mode::Deflate { level: 6 }, ..PLAIN };

/// More than any file here.
const MUCH: usize = 1 << 30;

/// Encodes in one piece.
fn encoded(form: Form, octets: &[u8]) -> Vec<u8> {
    encoded_in(form, octets, MUCH)
}

fn encoded_in(form: Form, octets: &[u8], piece: usize) -> Vec<u8> {
    let mut encoder = Encoder::new(form).expect("not the plain form");
    let mut out = Vec::new();
    for octets in octets.chunks(piece) {
        let before = out.len();
        encoder.feed(octets, &mut out);
        let bound = 4 * octets.len() + if form.mode == DEFLATE.mode { 200_000 } else { 3 };
        assert!(out.len() - before <= bound, "{} from {}", out.len() - before, octets.len());
    }
    encoder.finish(&mut out);
    out
}

/// Decodes what comes in pieces of `piece` octets into room for `most`.
fn decoded_in(form: Form, octets: &[u8], piece: usize, most: usize) -> Result<Vec<u8>, Damage> {
    let mut decoder = Decoder::new(form).expect("not the plain form");
    let mut file = Vec::new();
    for mut octets in octets.chunks(piece) {
        while !octets.is_empty() || decoder.holds() {
            if decoder.has_ended() {
                return Err(Damage::Trailing);
            }
            let mut out = Vec::new();
            let taken = decoder.feed(octets, most, &mut out)?;
            assert!(out.len() <= most + 1, "{} octets where there is room for {most}", out.len());
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

fn decoded(form: Form, octets: &[u8]) -> Result<Vec<u8>, Damage> {
    decoded_in(form, octets, MUCH, MUCH)
}

/// What is stored of a file that was fetched in this form.
fn stored(form: Form, octets: &[u8]) -> Vec<u8> {
    let text = form.representation == Representation::Ascii && form.structure == Structure::File;
    let ends_line = |at: usize| octets[at] == b'\r' && octets.get(at + 1) == Some(&b'\n');
    (0..octets.len()).filter(|at| !(text && ends_line(*at))).map(|at| octets[at]).collect()
}

fn forms() -> impl Strategy<Value = Form> {
    let representation = prop_oneof![Just(Representation::Ascii), Just(Representation::Image)];
    let mode = prop_oneof![
        Just(Mode::Stream),
        Just(Mode::Block),
        (1..=9u8).prop_map(|level| Mode::Deflate { level })
    ];
    let structure = prop_oneof![Just(Structure::File), Just(Structure::Record)];
    (representation, mode, structure)
        .prop_map(|(representation, mode, structure)| Form { representation, mode, structure })
        .prop_filter("the plain form has no codec", |form| !form.is_plain())
}

/// Octets of which many mean something to one form or another.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    let octet =
        prop_oneof![Just(b'\r'), Just(b'\n'), Just(0xFF), 0..4u8, Just(64), Just(128), any::<u8>()];
    vec(octet, 0..150)
}

proptest! {
    #[test]
    fn what_was_sent_is_stored_in_whatever_pieces(
        form in forms(), file in octets(), out in 1..50usize, back in 1..50usize, most in 1..50usize
    ) {
        let wire = encoded_in(form, &file, out);
        prop_assert_eq!(decoded_in(form, &wire, back, most), Ok(stored(form, &file)));
    }

    #[test]
    fn pieces_do_not_matter(form in forms(), file in octets(), piece in 1..50usize) {
        // Blocks begin with the pieces.
        if form.mode != Mode::Block {
            prop_assert_eq!(encoded_in(form, &file, piece), encoded(form, &file));
        }
    }

    #[test]
    fn whatever_arrives_is_a_file_or_damage(
        form in forms(), wire in octets(), piece in 1..50usize, most in 1..50usize
    ) {
        // Which of two damages is found first may differ.
        let result = decoded_in(form, &wire, piece, most).ok();
        prop_assert_eq!(result, decoded(form, &wire).ok(), "in pieces and at once");
    }

    #[test]
    fn an_octet_that_is_wrong_is_noticed_in_compressed_data(
        file in octets(), at in any::<prop::sample::Index>(), other in 1..=255u8
    ) {
        let mut wire = encoded(DEFLATE, &file);
        let at = at.index(wire.len());
        wire[at] ^= other;
        let result = decoded(DEFLATE, &wire);
        prop_assert!(result.is_err() || result == Ok(file), "{:?}", result);
    }

    #[test]
    fn what_is_cut_off_is_no_file(
        form in forms(),
        file in octets(),
        cut in any::<prop::sample::Index>(),
    ) {
        let wire = encoded(form, &file);
        let cut = cut.index(wire.len().max(1));
        // Only the end of the association ends a file of lines in a stream.
        if form != ASCII {
            prop_assert_eq!(decoded(form, &wire[..cut]), Err(Damage::Truncated));
        }
    }
}

#[test]
fn nothing_is_encoded_in_the_plain_form() {
    assert!(Encoder::new(Form::default()).is_none());
    assert!(Decoder::new(Form::default()).is_none());
}

#[test]
fn lines_end_with_crlf() {
    for (file, wire) in [
        ("a\nb\n", "a\r\nb\r\n"),
        ("\n\n", "\r\n\r\n"),
        ("a\r\nb", "a\r\nb"),
        ("a\rb\r", "a\rb\r"),
        ("\r\r\n", "\r\r\n"),
    ] {
        assert_eq!(encoded(ASCII, file.as_bytes()), wire.as_bytes(), "{file:?}");
        assert_eq!(encoded_in(ASCII, file.as_bytes(), 1), wire.as_bytes(), "{file:?}");
    }
    for (wire, file) in [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\nb\rc\n\r", "a\nb\rc\n\r"),
        ("\r\r\n\n\r\n\r\r", "\r\n\n\n\r\r"),
    ] {
        assert_eq!(decoded(ASCII, wire.as_bytes()), Ok(file.into()), "{wire:?}");
        assert_eq!(decoded_in(ASCII, wire.as_bytes(), 1, 1), Ok(file.into()), "{wire:?}");
    }
}

#[test]
fn escapes_mark_records() {
    assert_eq!(encoded(RECORDS, b"a\n\xFF\nb"), b"a\xFF\x01\xFF\xFF\xFF\x01b\xFF\x02");
    assert_eq!(decoded(RECORDS, b"a\xFF\x03"), Ok(b"a\n".into()), "both ends in one");
    assert_eq!(decoded(RECORDS, b"a\xFF\x04"), Err(Damage::Escape));
    assert_eq!(decoded(RECORDS, b"a\xFF\x02b"), Err(Damage::Trailing));
    assert_eq!(decoded(RECORDS, b"a\xFF"), Err(Damage::Truncated));
}

#[test]
fn blocks_have_headers() {
    assert_eq!(encoded(BLOCK, b"abc"), b"\0\0\x03abc\x40\0\0");
    assert_eq!(encoded(RECORD_BLOCK, b"ab\n\nc"), b"\x80\0\x02ab\x80\0\0\0\0\x01c\x40\0\0");
    assert_eq!(decoded(BLOCK, b"\x40\0\x01a"), Ok(b"a".into()), "the last block may hold data");
    assert_eq!(decoded(RECORD_BLOCK, b"\xC0\0\x01a"), Ok(b"a\n".into()));
    assert_eq!(decoded(BLOCK, b"\x01\0\x01a\x40\0\0"), Err(Damage::Block), "no such bit");
    assert_eq!(decoded(BLOCK, b"\x80\0\x01a\x40\0\0"), Err(Damage::Block), "there are no records");
    assert_eq!(decoded(BLOCK, b"\x40\0\0a"), Err(Damage::Trailing));
    let long = vec![b'a'; 200_000];
    assert_eq!(decoded(BLOCK, &encoded(BLOCK, &long)), Ok(long.clone()));
    assert_eq!(decoded(RECORD_BLOCK, &encoded(RECORD_BLOCK, &long)), Ok(long));
}

#[test]
fn markers_and_suspect_data_are_told_at_their_place() {
    let wire = b"\0\0\x02ab\x10\0\x03m:1\x20\0\x01c\x50\0\x01z";
    let mut decoder = Decoder::new(BLOCK).expect("not the plain form");
    let (mut file, mut taken) = (Vec::new(), 0);
    taken += decoder.feed(wire, 100, &mut file).expect("no damage");
    assert_eq!((&file[..], decoder.take_marker()), (&b"ab"[..], Some(b"m:1".into())));
    assert!(!decoder.is_suspect());
    taken += decoder.feed(&wire[taken..], 100, &mut file).expect("no damage");
    assert_eq!((&file[..], decoder.take_marker()), (&b"abc"[..], Some(b"z".into())));
    assert!(decoder.is_suspect());
    assert!(!decoder.has_ended() && decoder.holds());
    taken += decoder.feed(&wire[taken..], 100, &mut file).expect("no damage");
    assert!(decoder.has_ended() && taken == wire.len());
    assert_eq!(decoded(BLOCK, b"\x10\0\x03a\r\n"), Err(Damage::Block), "it would reach a reply");
    for count in [0, 65] {
        let mut wire = vec![0x10, 0, count];
        wire.extend(vec![b'm'; count.into()]);
        assert_eq!(decoded(BLOCK, &wire), Err(Damage::Block), "a marker of {count} octets");
    }
}

#[test]
fn zlib_streams_of_others_are_read() {
    // Python: zlib.compress(b"Hello, hello, hello\n", 9)
    let wire = [
        0x78, 0xDA, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0xB8, 0x00, 0x48,
        0x87, 0x06, 0xBF,
    ];
    assert_eq!(decoded(DEFLATE, &wire), Ok(b"Hello, hello, hello\n".into()));
    assert_eq!(decoded(DEFLATE, b""), Err(Damage::Truncated));
    let mut wire = encoded(DEFLATE, b"abc");
    wire.push(0);
    assert_eq!(decoded(DEFLATE, &wire), Err(Damage::Trailing));
}

#[test]
fn long_files_are_compressed_at_every_level() {
    let text: Vec<u8> = (0..300_000u32).flat_map(|n| n.to_string().into_bytes()).collect();
    let mut random = fastrand::Rng::with_seed(1);
    let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(300_000).collect();
    for level in 1..=9 {
        let form = Form { mode: Mode::Deflate { level }, ..PLAIN };
        let wire = encoded_in(form, &text, 70_000);
        assert!(wire.len() < text.len() / 2, "level {level}: {}", wire.len());
        assert!(decoded_in(form, &wire, 1000, 7000) == Ok(text.clone()), "level {level}");
        let wire = encoded_in(form, &noise, 70_000);
        assert!(wire.len() < noise.len() + 1000, "level {level}: {}", wire.len());
        assert!(decoded_in(form, &wire, 1000, 100_000) == Ok(noise.clone()), "level {level}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_is_big() {
    let zeros = vec![0; 1 << 20];
    let (mut encoder, mut wire) = (Encoder::new(DEFLATE).expect("not the plain form"), Vec::new());
    for _ in 0..64 {
        encoder.feed(&zeros, &mut wire);
    }
    encoder.finish(&mut wire);
    let mut decoder = Decoder::new(DEFLATE).expect("not the plain form");
    let (mut made, mut rest) = (0, &wire[..]);
    let damage = loop {
        let mut out = Vec::new();
        match decoder.feed(rest, 32 << 10, &mut out) {
            Ok(taken) => rest = &rest[taken..],
            Err(damage) => break damage,
        }
        assert!(out.capacity() <= 128 << 10);
        made += out.len();
    };
    assert_eq!(damage, Damage::Expansion);
    assert!(made < 32 << 20, "{made} octets from {}", wire.len());
}
