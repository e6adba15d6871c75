//! Pictures of libjpeg's programs, split and joined.

mod hostile;
#[cfg(feature = "pixels")]
mod replay;
mod rewritten;

use stackwright_jis::jpeg::{Assembly, BODY_MOST, JpegFlaw, Picture, pieces};

use crate::corpus::{Made, corpus, pixels};

fn assembled(picture: &Picture, bodies: &[Vec<u8>]) -> Assembly {
    let mut assembly = Assembly::new(picture.quantisation(), picture.huffman()).expect("tables");
    bodies.iter().for_each(|body| assembly.take(body).expect("its pieces fit"));
    assembly
}

#[test]
fn each_file_comes_back_octet_for_octet_in_any_order() {
    let Some(corpus) = corpus() else { return };
    assert!(corpus.len() >= 40, "{}", corpus.len());
    for Made { name, file } in &corpus {
        let picture = Picture::read(file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut random = fastrand::Rng::with_seed(file.len() as u64);
        for most in [640, BODY_MOST] {
            let mut bodies = picture.split(most).expect("units fit");
            assert!(bodies.iter().all(|body| body.len() <= most), "{name}");
            random.shuffle(&mut bodies);
            let summary = picture.summary();
            let all_but_one = assembled(&picture, &bodies[1..]);
            assert!(!all_but_one.is_whole(&summary), "{name}");
            let assembly = assembled(&picture, &bodies);
            assert!(assembly.is_whole(&summary), "{name}");
            assert!(summary.exact, "{name}");
            assert!(assembly.whole().expect("all is there") == *file, "{name}, {most}");
        }
    }
}

/// Whatever the sampling, the units of a single scan lie side by side over all of the picture.
#[test]
fn the_areas_of_all_pieces_cover_the_picture_once() {
    let Some(corpus) = corpus() else { return };
    for Made { name, file } in &corpus {
        let picture = Picture::read(file).expect("it is baseline");
        let (layout, mut covered) = (picture.layout(), 0);
        let (width, height) = (layout.frame.width.into(), layout.frame.height.into());
        let bodies = picture.split(BODY_MOST).expect("units fit");
        let heads: Vec<_> = bodies.iter().flat_map(|body| pieces(body).flatten()).collect();
        let heads = heads.iter().map(|(head, _)| head).filter(|head| head.is_of_units());
        if heads.clone().any(|head| head.scan > 0) {
            continue;
        }
        let mut seen = std::collections::BTreeSet::new();
        for head in heads {
            let [x, y, w, h] = layout.area(head.first, head.count);
            assert!(x < width && y < height && seen.insert((x, y)), "{name}: {head:?}");
            covered += w.min(width - x) * h.min(height - y);
        }
        assert_eq!(covered, width * height, "{name}");
    }
}

#[test]
fn any_part_of_a_picture_is_a_picture() {
    let Some(corpus) = corpus() else { return };
    for Made { name, file } in &corpus {
        let picture = Picture::read(file).expect("it is baseline");
        let original = pixels(file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut random = fastrand::Rng::with_seed(7);
        let mut bodies = picture.split(BODY_MOST).expect("units fit");
        // All of it has the pixels of the file, although its tables are longer.
        let whole = assembled(&picture, &bodies).partial().expect("there is a code for grey");
        let again = pixels(&whole).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(again == original, "{name}");
        random.shuffle(&mut bodies);
        for part in [0, bodies.len() / 2] {
            let partial = assembled(&picture, &bodies[..part]).partial().expect("grey has a code");
            let decoded = pixels(&partial).unwrap_or_else(|why| panic!("{name}, {part}: {why}"));
            assert_eq!(decoded.len(), original.len(), "{name}");
            Picture::read(&partial).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        // Our reader, whose pixels are compared above, takes any others.
        for _ in 0..8 {
            random.shuffle(&mut bodies);
            let part = random.usize(..=bodies.len());
            let partial = assembled(&picture, &bodies[..part]).partial().expect("grey has a code");
            Picture::read(&partial).unwrap_or_else(|why| panic!("{name}, {part}: {why}"));
        }
    }
}

#[test]
fn arithmetic_and_lossless_files_are_refused_with_advice() {
    for (code, words) in [(0xc9, "arithmetically"), (0xca, "arithmetically"), (0xc3, "SOF3")] {
        let file = [&[0xff, 0xd8, 0xff, code, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0][..]].concat();
        let why = Picture::read(&file).err().expect("it is refused").to_string();
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(Picture::read(b"GIF89a").err(), Some(JpegFlaw::NoJpeg));
}
