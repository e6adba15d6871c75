//! The n-th octet: a short dialogue, cut at every place where it can be cut.

use stackwright_contract::Duration;
use stackwright_copy::Indication as Told;
use stackwright_ftp::client::DataMode;
use stackwright_simulator::{Fault, Habits, Which};

use crate::simulated::setting::{Pair, client_config, content, server_config};

/// A login, a file of 20 octets fetched, another stored, a farewell; what is asked of each
/// association, and how many octets passed on it.
fn dialogue(data: DataMode, fault: Option<(usize, Fault)>) -> Vec<u64> {
    let mut config = client_config();
    config.data = data;
    config.idle = Duration::ZERO;
    config.sessions_most = 1;
    let mut pair = Pair::with(5, server_config(), config, Habits::default(), Habits::default());
    if let Some((nth, fault)) = fault {
        pair.world.network_mut().fail(Which::Nth(nth), fault);
    }
    let [fetched, stored] = [content(20, 1), content(20, 2)];
    pair.far.borrow_mut().put("fetched", fetched.clone());
    pair.near.borrow_mut().put("stored", stored.clone());
    pair.fetch("fetched", "fetched");
    pair.store("stored", "stored");
    pair.run_to(2);
    let associations =
        pair.world.network().associations().iter().map(|association| association.octets).collect();
    pair.settle();

    let control = fault.is_none_or(|(nth, _)| nth == 0);
    let copied = |told: &Told| matches!(told, Told::Copied { octets: 20, .. });
    let well = pair.last_words().iter().filter(|told| copied(told)).count();
    let mut there = 0;
    for (disk, name, octets) in [(&pair.near, "fetched", fetched), (&pair.far, "stored", stored)] {
        if let Some(now) = disk.borrow().octets(name) {
            assert_eq!(now, octets, "{name}: whole or not at all, {fault:?}");
            there += 1;
        }
    }
    // The last word about a stored file may be lost with the control association, never a false one
    // said.
    assert!(well == there || (control && well < there), "{well} copied, {there} there, {fault:?}");
    if fault.is_none() {
        assert_eq!(well, 2);
    }
    associations
}

fn sweep(data: DataMode, fault: fn(u64) -> Fault) {
    let lengths = dialogue(data, None);
    assert_eq!(lengths.len(), 3, "one control association, two for data");
    assert_eq!(lengths[1..], [20, 20]);
    for (nth, length) in lengths.into_iter().enumerate() {
        for after in 0..=length {
            dialogue(data, Some((nth, fault(after))));
        }
    }
}

#[test]
fn cut_at_any_octet_it_ends_well_or_says_that_it_did_not() {
    sweep(DataMode::Passive, |after| Fault::Cut { after });
    sweep(DataMode::Active, |after| Fault::Cut { after });
}

#[test]
fn silent_from_any_octet_on_it_ends_well_or_says_that_it_did_not() {
    sweep(DataMode::Passive, |after| Fault::Blackhole { after });
    sweep(DataMode::Active, |after| Fault::Blackhole { after });
}
