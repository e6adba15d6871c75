//! What routers do to the ECN field.

use stackwright_contract::Instant;
use stackwright_simulator::{Carried, Conditions, EcnTreatment, Link};

use crate::link::Probe;

#[test]
fn each_treatment_does_what_it_says_to_each_codepoint() {
    for (ecn, becomes) in [
        (EcnTreatment::Keep, [0b00, 0b01, 0b10, 0b11]),
        (EcnTreatment::Bleach, [0b00; 4]),
        (EcnTreatment::Mark, [0b00, 0b11, 0b11, 0b11]),
        (EcnTreatment::MarkAll, [0b11; 4]),
        (EcnTreatment::Swap, [0b00, 0b10, 0b01, 0b11]),
    ] {
        let mut link = Link::new(Conditions { ecn, ..Conditions::IDEAL }, 0);
        let came = [0b00, 0b01, 0b10, 0b11].map(|ecn| {
            match link.carry(Instant::START, Probe { ecn, ..Probe::new(0, 10) }) {
                Carried::Once(_, probe) => probe.ecn,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(came, becomes, "{ecn:?}");
    }
}
