//! Pictures that arrive again, piece by piece.

use std::time::Duration;

use stackwright_jis::jpeg::{BODY_MOST, JpegFlaw, Picture, PieceHead, pieces};
use stackwright_jis::{Pixels, Replay};

use crate::corpus::{Made, corpus, pixels as libjpeg, transformed};

/// The heads of a picture's pieces of units, in any order, one a second.
fn arrivals(picture: &Picture, seed: u64) -> Vec<(Duration, PieceHead)> {
    let bodies = picture.split(BODY_MOST).expect("units fit");
    let heads = bodies.iter().flat_map(|body| pieces(body).map(|piece| piece.expect("a piece").0));
    let mut heads: Vec<_> = heads.filter(PieceHead::is_of_units).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut heads);
    (1..).map(Duration::from_secs).zip(heads).collect()
}

#[test]
fn a_picture_becomes_better_with_what_arrives_and_is_exact_at_the_end() {
    for Made { name, file } in corpus().unwrap_or_default() {
        let arrivals = arrivals(&Picture::read(&file).expect("it is baseline"), 7);
        let count = arrivals.len();
        let replay = Replay::new(file, arrivals).expect("it is baseline");
        let last = replay.end().expect("pieces arrived");
        assert_eq!(last, Duration::from_secs(count as u64), "{name}");
        let instants: Vec<_> = (0..=8).map(|nth| last * nth / 8).collect();
        let psnr = replay.psnr(&instants).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(psnr.is_sorted(), "{name}: {psnr:?}");
        assert!(psnr[7].is_finite() && psnr[8].is_infinite(), "{name}: {psnr:?}");
        let units = replay.picture().layout().units();
        assert_eq!((replay.units_at(Duration::ZERO), replay.units_at(last)), (0, units), "{name}");
        assert_eq!(
            (replay.time_of(units), replay.time_of(units + 1)),
            (Some(last), None),
            "{name}"
        );
    }
}

/// Every picture has the pixels that libjpeg gives it.
#[test]
fn pixels_are_those_of_libjpeg() {
    let Some(corpus) = corpus() else { return };
    for Made { name, file } in &corpus {
        let ours = Pixels::of(file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let pnm = libjpeg(file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let rgb = match &pnm[..2] {
            b"P5" => pnm[pnm.len() - ours.rgb.len() / 3..].iter().flat_map(|y| [*y; 3]).collect(),
            _ => pnm[pnm.len() - ours.rgb.len()..].to_vec(),
        };
        let theirs = Pixels { rgb, ..ours };
        // Inverse transforms and upsampling differ by rounding, and by how chroma is smoothed.
        let psnr = Pixels::of(file).expect("as before").psnr(&theirs);
        assert!(psnr > 30.0, "{name}: {psnr:.1} dB");
    }
}

/// A camera says how it was held; what it says undoes what jpegtran does.
#[test]
fn a_picture_is_shown_the_right_way_round() {
    let Some(corpus) = corpus() else { return };
    let made = corpus.iter().find(|made| made.name == "(640, 480)").expect("it is made");
    let deeds: [&[&str]; 8] = [
        &[],
        &["-flip", "horizontal"],
        &["-rotate", "180"],
        &["-flip", "vertical"],
        &["-transpose"],
        &["-rotate", "90"],
        &["-transverse"],
        &["-rotate", "270"],
    ];
    for (orientation, deed) in (1..).zip(deeds) {
        let expected = Pixels::of(&transformed(&made.file, deed)).expect("it is a picture");
        for little in [false, true] {
            let short = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
            let long = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
            let order: &[u8] = if little { b"II" } else { b"MM" };
            let tiff = [order, &short(42), &long(8), &short(1)].concat();
            let entry =
                [&short(0x0112)[..], &short(3), &long(1), &short(orientation), &[0; 6]].concat();
            let exif = [&b"Exif\0\0"[..], &tiff, &entry].concat();
            let app1 = [&[0xff, 0xe1][..], &(exif.len() as u16 + 2).to_be_bytes(), &exif].concat();
            let file = [&made.file[..2], &app1, &made.file[2..]].concat();
            let shown = Pixels::as_shown(&file).expect("it is a picture");
            assert_eq!((shown.width, shown.height), (expected.width, expected.height));
            // Inverse transforms of turned blocks differ by rounding.
            let psnr = shown.psnr(&expected);
            assert!(psnr > 30.0, "{orientation}: {psnr:.1} dB");
        }
    }
}

#[test]
fn pieces_of_another_picture_are_refused() {
    let Some(corpus) = corpus() else { return };
    let small = corpus.iter().find(|made| made.name == "(8, 8)").expect("it is made");
    let picture = Picture::read(&small.file).expect("it is baseline");
    let there = PieceHead { scan: 0, first: 0, count: 1, length: 0 };
    assert!(picture.piece(there).is_ok());
    for wrong in [
        PieceHead { scan: 1, ..there },
        PieceHead { scan: 255, ..there },
        PieceHead { first: 1, ..there },
        PieceHead { first: 0xff_ffff, count: 255, ..there },
        PieceHead { count: 2, ..there },
    ] {
        assert_eq!(picture.piece(wrong), Err(JpegFlaw::Stray), "{wrong:?}");
        let arrivals = vec![(Duration::ZERO, wrong)];
        let replay = Replay::new(small.file.clone(), arrivals).expect("it is baseline");
        assert!(replay.psnr(&[Duration::ZERO]).is_err(), "{wrong:?}");
    }
}
