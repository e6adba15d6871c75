//! Files and pieces that are damaged: refused with a reason, and nothing panics.

use stackwright_jis::jpeg::{Assembly, BODY_MOST, JpegFlaw, Picture};

use crate::corpus::{Made, corpus};
use crate::pictures::assembled;

/// Damages some octets, cuts, or puts others in.
fn damaged(octets: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut octets = octets.to_vec();
    for _ in 0..random.usize(1..6) {
        if octets.is_empty() {
            break;
        }
        let at = random.usize(..octets.len());
        match random.u8(..5) {
            0 => octets.truncate(at),
            1 => octets.insert(at, random.u8(..)),
            2 => drop(octets.remove(at)),
            3 => octets[at] = 0xff,
            _ => octets[at] ^= 1 << random.u8(..8),
        }
    }
    octets
}

#[test]
fn damaged_files_are_refused_or_split_without_loss() {
    let Some(corpus) = corpus() else { return };
    let mut random = fastrand::Rng::with_seed(3);
    let (mut refused, mut taken) = (0, 0);
    for Made { name, file } in corpus.iter().filter(|made| made.file.len() < 12_000) {
        for _ in 0..20 {
            let mutant = damaged(file, &mut random);
            // What the reader takes is split and joined: to the same octets where it says so.
            let Ok(picture) = Picture::read(&mutant) else {
                refused += 1;
                continue;
            };
            let Ok(bodies) = picture.split(BODY_MOST) else { continue };
            let joined = assembled(&picture, &bodies).whole().expect("all is there");
            assert_eq!(joined == mutant, picture.summary().exact, "{name}");
            let again = Picture::read(&joined).expect("what is joined is a picture");
            assert!(again.split(BODY_MOST).expect("it fits") == bodies || !picture.summary().exact);
            taken += 1;
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} refused, {taken} taken");
}

#[test]
fn damaged_pieces_are_refused_or_keep_the_picture_readable() {
    let Some(corpus) = corpus() else { return };
    let mut random = fastrand::Rng::with_seed(4);
    for Made { name, file } in corpus.iter().filter(|made| made.file.len() < 6_000) {
        let picture = Picture::read(file).expect("it is baseline");
        for _ in 0..5 {
            let quantisation = damaged(picture.quantisation(), &mut random);
            let _ = Assembly::new(&quantisation, picture.huffman());
            let mut assembly =
                Assembly::new(picture.quantisation(), picture.huffman()).expect("tables");
            for body in picture.split(400).unwrap_or_default() {
                let _ = assembly.take(&damaged(&body, &mut random));
                assembly.take(&body).ok();
            }
            let partial = assembly.partial().expect("there is a code for grey");
            Picture::read(&partial).unwrap_or_else(|why| panic!("{name}: {why}"));
            let _ = assembly.whole();
        }
    }
}

/// A body with one piece of octets that are no picture data.
fn outside(first: usize, octets: &[u8]) -> Vec<u8> {
    let [_, first @ ..] = (first as u32).to_be_bytes();
    [&[255], &first[..], &[0, 0, octets.len() as u8], octets].concat()
}

#[test]
fn pieces_of_one_octet_cost_no_more_than_the_octets_or_are_refused() {
    let Some(corpus) = corpus() else { return };
    let picture = Picture::read(&corpus[0].file).expect("it is baseline");
    let assembly =
        || Assembly::new(picture.quantisation(), picture.huffman()).expect("its own tables");
    // In order they become one run, and a copy of any of it is known.
    let mut rising = assembly();
    for first in 0..300_000 {
        rising.take(&outside(first, &[first as u8])).expect("the first of its place");
    }
    rising.take(&outside(1000, &[232, 233, 234])).expect("a copy");
    assert_eq!(rising.take(&outside(1000, &[0])), Err(JpegFlaw::Stray));
    assert_eq!(rising.take(&outside(299_999, &[95 + 128, 0])), Err(JpegFlaw::Stray));
    // With holes between them, a server is in error long before they fill the memory.
    let mut holes = assembly();
    let taken = (0..1 << 23).take_while(|nth| holes.take(&outside(nth * 2, &[0])).is_ok()).count();
    assert!(taken <= 1 << 17, "{taken} runs");
}
