//! Pixels in a terminal, by kitty's graphics protocol
//! (<https://sw.kovidgoyal.net/kitty/graphics-protocol/>): a PNG in base64, in pieces.

use std::fmt::Write as _;

use ::png::Compression;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use stackwright_jis::Pixels;

use super::{Room, fitted, sample};
use crate::jis::png;

/// The longest piece, in octets of base64.
const PIECE: usize = 4096;

/// The size of a character whose size the terminal does not tell.
const CHARACTER: (usize, usize) = (8, 16);

/// Draws a picture over one of `before` rows; `name` is that of both in the terminal. Returns the
/// text, and its rows; `None` if there is no PNG of it.
pub(super) fn drawn(
    picture: &Pixels,
    room: &Room,
    name: u32,
    before: usize,
) -> Option<(String, usize)> {
    let character = room.character.unwrap_or(CHARACTER);
    let most = (room.columns * character.0, room.rows * character.1);
    let (width, height) = fitted(picture, most.0, most.1);
    let rows = height.div_ceil(character.1);
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let rgb = places.flat_map(|(x, y)| sample(picture, x, y, width, height)).collect();
    let png = png::of_pixels(&Pixels { width, height, rgb }, Compression::Fast).ok()?;
    // Rows are made first, as the terminal may scroll; then the picture fills them.
    let mut text = "\n".repeat(rows.saturating_sub(before));
    let rows = rows.max(before);
    let _ = write!(text, "\x1b7\x1b[{rows}A");
    let scaled = room.character.is_none().then_some(rows);
    transmit(&mut text, &png, name, scaled);
    text.push_str("\x1b8");
    Some((text, rows))
}

/// Writes a PNG that is shown at the cursor, which stays there (C=1), instead of the one of this
/// name. The terminal does not answer (q=2), and scales it to so many rows where that is said.
fn transmit(into: &mut String, png: &[u8], name: u32, rows: Option<usize>) {
    let rows = rows.map_or(String::new(), |rows| format!(",r={rows}"));
    let mut control = format!("a=T,f=100,i={name},p=1,q=2,C=1{rows},");
    let data = BASE64_STANDARD.encode(png);
    let mut pieces = data.as_bytes().chunks(PIECE).peekable();
    while let Some(piece) = pieces.next() {
        let more = u8::from(pieces.peek().is_some());
        let piece = String::from_utf8_lossy(piece); // base64 is ASCII
        let _ = write!(into, "\x1b_G{control}m={more};{piece}\x1b\\");
        control = "q=2,".into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { columns: 80, rows: 22, character: Some((8, 16)) };

    #[test]
    fn a_picture_of_four_pixels_is_one_piece_in_a_row_of_its_own() {
        let rgb = vec![255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255];
        let picture = Pixels { width: 2, height: 2, rgb };
        let png = png::of_pixels(&picture, Compression::Fast).expect("it is a picture");
        let data = BASE64_STANDARD.encode(png);
        assert!(data.starts_with("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD"), "2 × 2: {data}");
        let (text, rows) = drawn(&picture, &ROOM, 7, 0).expect("there is a PNG");
        let control = "a=T,f=100,i=7,p=1,q=2,C=1,m=0;";
        assert_eq!(text, format!("\n\x1b7\x1b[1A\x1b_G{control}{data}\x1b\\\x1b8"));
        assert_eq!(rows, 1);
        // The next one is drawn over it; a terminal that does not tell its pixels scales.
        let room = Room { character: None, ..ROOM };
        let (text, _) = drawn(&picture, &room, 7, rows).expect("there is a PNG");
        let control = "a=T,f=100,i=7,p=1,q=2,C=1,r=1,m=0;";
        assert_eq!(text, format!("\x1b7\x1b[1A\x1b_G{control}{data}\x1b\\\x1b8"));
    }

    #[test]
    fn a_long_picture_comes_in_pieces_of_4096_octets() {
        let mut text = String::new();
        transmit(&mut text, &[1; 7000], 9, None);
        let pieces: Vec<_> = text.split_terminator("\x1b\\").collect();
        let piece = |nth: usize, control: &str| {
            pieces[nth].strip_prefix(control).unwrap_or_else(|| panic!("{}", pieces[nth]))
        };
        let data = [
            piece(0, "\x1b_Ga=T,f=100,i=9,p=1,q=2,C=1,m=1;"),
            piece(1, "\x1b_Gq=2,m=1;"),
            piece(2, "\x1b_Gq=2,m=0;"),
        ];
        assert_eq!(pieces.len(), data.len());
        assert_eq!(data.map(str::len), [4096, 4096, 9336 - 2 * 4096]);
        assert_eq!(BASE64_STANDARD.decode(data.concat()).expect("base64"), [1; 7000]);
    }

    #[test]
    fn a_picture_is_no_larger_than_the_terminal() {
        let (width, height) = (3000, 1000);
        let picture = Pixels { width, height, rgb: vec![100; 3 * width * height] };
        let (text, rows) = drawn(&picture, &ROOM, 7, 0).expect("there is a PNG");
        // 640 × 213 pixels.
        assert_eq!(rows, 14);
        let begin = text.find(';').expect("data") + 1;
        let head = BASE64_STANDARD.decode(&text[begin..begin + 32]).expect("base64");
        assert_eq!(head[16..24], [0, 0, 2, 128, 0, 0, 0, 213]);
    }
}
