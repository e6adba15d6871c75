//! Files that are progressive or damaged: they arrive as baseline files of the same pixels.

use stackwright_jis::jpeg::{BODY_MOST, Picture};

use crate::corpus::{Made, corpus, pixels, progressive, transformed};
use crate::pictures::assembled;

/// What arrives of a file.
fn arrived(name: &str, file: &[u8]) -> Vec<u8> {
    let picture = Picture::read(file).unwrap_or_else(|why| panic!("{name}: {why}"));
    let bodies = picture.split(BODY_MOST).unwrap_or_else(|why| panic!("{name}: {why}"));
    let file = assembled(&picture, &bodies).whole().expect("all is there");
    assert_eq!(picture.summary().exact, picture.summary().is_of(&file), "{name}");
    file
}

#[test]
fn progressive_files_arrive_with_the_same_pixels_and_hardly_longer_than_by_jpegtran() {
    let Some(progressive) = progressive() else { return };
    assert!(progressive.len() >= 60, "{}", progressive.len());
    for Made { name, file } in &progressive {
        let original = pixels(file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let file = arrived(name, file);
        let same = pixels(&file).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(same == original, "{name}");
        // Codes that pieces need, and this picture does not, cost a few octets of tables.
        let optimised = transformed(&file, &["-optimize", "-copy", "all"]);
        assert!(
            file.len() <= optimised.len() * 101 / 100 + 64,
            "{name}: {} {}",
            file.len(),
            optimised.len()
        );
    }
}

/// A grey picture, eight rows a unit row, and where its picture data begin.
fn grey(restarts: bool) -> (Vec<u8>, usize) {
    let Some(corpus) = corpus() else { return Default::default() };
    let made = corpus.into_iter().find(|made| made.name == "grey (640, 480)").expect("it is made");
    let arguments: &[&str] = if restarts { &["-restart", "1"] } else { &[] };
    let file = transformed(&made.file, arguments);
    let head = file.windows(2).rposition(|two| two == [0xff, 0xda]).expect("it has a scan");
    (file, head + 10)
}

#[test]
fn a_file_that_was_cut_arrives_with_what_is_there() {
    let (file, begin) = grey(false);
    if file.is_empty() {
        return;
    }
    let original = pixels(&file).expect("it is whole");
    for part in [2, 3, 10] {
        let cut = begin + (file.len() - begin) / part;
        let arrived = pixels(&arrived("cut", &file[..cut])).expect("nothing is damaged any more");
        assert_eq!(arrived.len(), original.len());
        let same = arrived.iter().zip(&original).take_while(|(one, other)| one == other).count();
        assert!(same * part * 2 > original.len(), "{same} of {}, 1/{part}", original.len());
        assert!(arrived[arrived.len() - 640 * 8..].iter().all(|pixel| *pixel == 128), "grey");
    }
}

#[test]
fn damage_ends_at_the_next_restart() {
    let (mut file, begin) = grey(true);
    if file.is_empty() {
        return;
    }
    let original = pixels(&file).expect("it is whole");
    let at = begin + (file.len() - begin) / 2;
    let mut random = fastrand::Rng::with_seed(5);
    for octet in &mut file[at..at + 30] {
        if *octet != 0xff && !(0xd0..=0xd7).contains(octet) {
            *octet = random.u8(1..0xd0);
        }
    }
    let arrived = pixels(&arrived("damaged", &file)).expect("nothing is damaged any more");
    let rows = arrived.chunks(640 * 8).zip(original.chunks(640 * 8));
    let differ = rows.filter(|(one, other)| one != other).count();
    assert!((1..=3).contains(&differ), "{differ} rows of units");
}

#[test]
fn octets_in_front_of_a_marker_are_kept_and_cost_nothing() {
    let (file, begin) = grey(false);
    if file.is_empty() {
        return;
    }
    let strange =
        [&file[..2], b"left over", &file[2..begin - 10], &[0xff, 0, 7], &file[begin - 10..]];
    let strange = strange.concat();
    assert!(arrived("strange", &strange) == strange);
}
