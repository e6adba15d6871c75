//! The rate that all jobs hold together, between two disks.

use std::num::NonZeroU64;

use stackwright_compose::{Beside, Over};
use stackwright_contract::{Duration, Handle};
use stackwright_copy::{Config, Copy, CopySide, Indication as Told, Request as Ask, TreeOptions};
use stackwright_simulator::{Heard, SimulatedDisk, Tree, World};
use stackwright_wire::SingleBuffer as M;

/// Copies files of these lengths with one job each; checks the rate, over all and in each second.
fn holds(rate: u64, lengths: &[usize], from: CopySide) {
    let mut world = World::<M>::new(rate);
    let disks = [Tree::shared(), Tree::shared()];
    let [left, right] = disks.clone().map(SimulatedDisk::<M>::new);
    let copy = Copy::new(Config { rate: NonZeroU64::new(rate) });
    let stack = Over::new(copy, Beside::new(left, right));
    let station = world.add_at(&[], stack, Heard::<Told>::default());
    let [source, target] = match from {
        CopySide::Left => disks,
        CopySide::Right => [disks[1].clone(), disks[0].clone()],
    };
    let began = world.now();
    for (index, &length) in (0..).zip(lengths) {
        let name = index.to_string();
        source.borrow_mut().put(&name, vec![7; length]);
        let job = Handle { index, generation: 0 };
        world.ask(
            station,
            Ask::Copy { job, from, source: name.clone(), target: name, early: false },
        );
    }
    let (mut second, mut before) = (began + Duration::from_secs(1), 0);
    while world.step() {
        if world.now() >= second {
            let written = target.borrow().written();
            let moved = (written - before) as f64;
            let whole = lengths.iter().sum::<usize>() as u64;
            if written < whole {
                assert!((moved / rate as f64 - 1.0).abs() < 0.06, "{moved} of {rate} in a second");
            }
            (second, before) = (second + Duration::from_secs(1), written);
        }
    }
    let took = world.now().since(began).as_secs_f64();
    let octets = lengths.iter().sum::<usize>();
    assert_eq!(target.borrow().written(), octets as u64);
    let average = octets as f64 / took;
    assert!((average / rate as f64 - 1.0).abs() < 0.02, "{average} octets a second of {rate}");
    let copied = |told: &&Told| matches!(told, Told::Copied { .. });
    assert_eq!(world.application(station).0.iter().filter(copied).count(), lengths.len());
    assert_eq!(world.stack(station).upper.names(), 0);
}

#[test]
fn the_rate_holds_in_both_directions_and_for_all_jobs_together() {
    for from in [CopySide::Left, CopySide::Right] {
        holds(10_000, &[100_000], from);
        holds(10_000, &[60_000, 30_000, 60_000], from);
        holds(1_000_000, &[5_000_000; 2], from);
        holds(100_000_000, &[100_000_000], from);
    }
}

#[test]
fn the_rate_holds_for_trees_of_small_files() {
    let mut world = World::<M>::new(1);
    let (left, right) = (Tree::shared(), Tree::shared());
    let disks =
        Beside::new(SimulatedDisk::<M>::new(left.clone()), SimulatedDisk::<M>::new(right.clone()));
    let copy = Copy::new(Config { rate: NonZeroU64::new(50_000) });
    let station = world.add_at(&[], Over::new(copy, disks), Heard::<Told>::default());
    for nth in 0..500 {
        left.borrow_mut().put(&format!("s/{nth}"), vec![7; 1000]);
    }
    let began = world.now();
    let job = Handle { index: 0, generation: 0 };
    let (source, target, options) = ("s".into(), "t".into(), TreeOptions::default());
    world.ask(station, Ask::Tree { job, from: CopySide::Left, source, target, options });
    while world.step() {}
    assert_eq!(right.borrow().written(), 500_000);
    let average = 500_000.0 / world.now().since(began).as_secs_f64();
    assert!((average / 50_000.0 - 1.0).abs() < 0.02, "{average} octets a second");
}
