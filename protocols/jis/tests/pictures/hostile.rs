//! Files and pieces that are damaged: refused with a reason, and nothing panics.

use stackwright_jis::jpeg::{Assembly, BODY_MOST, Picture};

use crate::assembled;
use crate::corpus::{Made, corpus};

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
