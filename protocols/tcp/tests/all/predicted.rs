//! Segments of a batch: the effect is that of one segment after the other.

use stackwright_contract::PathLimits;
use stackwright_contract::services::{Batch, BatchMessages};
use stackwright_tcp::Config;
use stackwright_wire::Message as _;

use crate::scene::{ALL, End, M, Scene, octets};

/// The octets of each segment of the batch: a header with timestamps, and data.
const SEGMENT: usize = 100;
const HEADER: usize = 32;
const SEGMENTS: usize = 6;

/// Returns two ends, of which the second trusts the layer below, and segments for it.
fn scene() -> (Scene, Vec<u8>) {
    let config = |side: u8| Config { window: 1 << 16, ..Config::new([side; 16]) };
    let mut scene = Scene::opened([config(0), config(1)]);
    for end in &mut scene.ends {
        let path = PathLimits { checks: true, ..PathLimits::of_longest(1480) };
        end.association.on_below(None, path);
    }
    scene.send(0, &octets(1));
    (0..50).for_each(|_| scene.step());
    let mut segments = Vec::new();
    for _ in 0..SEGMENTS {
        scene.send(0, &octets(SEGMENT - HEADER));
        segments.extend(scene.speaks(0).concat());
    }
    assert_eq!(segments.len(), SEGMENTS * SEGMENT);
    (scene, segments)
}

/// Has a batch arrive, together or one by one. Returns how many arrivals that were.
fn hears(scene: &mut Scene, segments: &[u8], together: bool) -> usize {
    let now = scene.now;
    let End { association, memory, heard, .. } = &mut scene.ends[1];
    let mut left = Batch::new(M::with_headroom(0, segments), SEGMENT).into_iter();
    let mut arrivals = 0;
    while let Some(mut segment) = left.next() {
        arrivals += 1;
        let behind: Option<&mut BatchMessages<M>> = together.then_some(&mut left);
        let front = stackwright_tcp::TcpFront::of(segment.front(20).expect("a header"), SEGMENT);
        let front = front.as_ref().ok();
        let up = association.receive(now, front, &mut segment, behind, memory, ALL);
        let mut take = |octets: M| {
            let from = heard.len();
            heard.resize(from + octets.len(), 0);
            octets.copy_to(&mut heard[from..]);
        };
        if let Ok(Some(_)) = up {
            take(segment);
        }
        while let Some(octets) = association.take_octets(now, usize::MAX) {
            take(octets.0);
        }
    }
    arrivals
}

/// Returns what the second end answers, at once or when its acknowledgement is due: together, short
/// segments may be less than two full ones.
fn answers(scene: &mut Scene) -> Vec<Vec<u8>> {
    let mut said = scene.speaks(1);
    scene.now = scene.now.later(50_000_000);
    scene.ends[1].association.handle_timeout(scene.now);
    said.extend(scene.speaks(1));
    said
}

#[test]
fn a_batch_is_one_unit_and_is_acknowledged_once() {
    let (mut scene, segments) = scene();
    assert_eq!(hears(&mut scene, &segments, true), 1);
    assert_eq!(scene.ends[1].heard.len(), 1 + SEGMENTS * (SEGMENT - HEADER));
    assert_eq!(answers(&mut scene).len(), 1);
}

#[test]
fn no_octet_of_a_header_may_be_another() {
    for place in (0..SEGMENTS).flat_map(|nth| (0..HEADER).map(move |at| nth * SEGMENT + at)) {
        let [together, apart] = [true, false].map(|together| {
            let (mut scene, mut segments) = scene();
            segments[place] ^= 0x11;
            hears(&mut scene, &segments, together);
            let mut last = answers(&mut scene).pop().expect("it is acknowledged");
            // The check, and the clock when it left.
            [16..18, 24..28].into_iter().for_each(|differ| last[differ].fill(0));
            (std::mem::take(&mut scene.ends[1].heard), last)
        });
        assert!(together == apart, "octet {} of segment {}", place % SEGMENT, place / SEGMENT);
    }
}
