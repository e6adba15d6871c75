//! Any octets as what stands in packets of ARTP: headers, options, control items.

use stackwright_artp::header::{
    Close, ControlHeader, Fragment, OptionHeader, Packet, Proposal, Signed, Single, Token,
};
use stackwright_artp::items;
use stackwright_artp::option::{Large, Marks, Options, Part};

use crate::headers::check;

/// What is decoded is encoded to what it was decoded from, and each step through options and items
/// makes progress.
pub fn artp_headers(octets: &[u8]) {
    check::<Packet>(octets);
    check::<Fragment>(octets);
    check::<OptionHeader>(octets);
    check::<ControlHeader>(octets);
    check::<Proposal>(octets);
    check::<Token>(octets);
    check::<Close>(octets);
    check::<Signed>(octets);
    check::<Single>(octets);
    check::<Large>(octets);
    check::<Part>(octets);
    check::<Marks>(octets);
    options(octets);
    control(octets);
}

fn options(octets: &[u8]) {
    let mut steps = 0;
    for option in Options::new(octets) {
        steps += 1;
        let Ok(option) = option else { continue };
        let mut written = Vec::new();
        option.write(&mut written);
        let again: Vec<_> = Options::new(&written).collect();
        assert_eq!(again, [Ok(option)], "an option is read as it is written");
    }
    assert!(steps <= octets.len() / 4 + 1, "each step takes four octets");
}

fn control(octets: &[u8]) {
    let mut written = Vec::new();
    let mut steps = 0;
    for item in items(octets) {
        steps += 1;
        let Ok(item) = item else { continue };
        item.write(&mut written);
    }
    assert_eq!(written, octets[..written.len()], "items are written as they were read");
    assert!(steps <= octets.len() / 4 + 1, "each step takes four octets");
}
