//! Two endpoints of a tailored transport, with and without a check: what is altered is read, too.

use stackwright::policies::profile::Bounds;
use stackwright::policies::switching::PlannedSwitching;
use stackwright::tailored::{Config, Demand, Layer, Planned, demand, layer};
use stackwright_contract::services::Credit;

use crate::lower::M;
use crate::{Input, endpoints};

type Tailored = Layer<Planned<M, PlannedSwitching>>;

/// The first octet selects services, the next two configure; the others say who acts.
pub fn tailored(octets: &[u8]) {
    let mut input = Input(octets);
    let which = usize::from(input.octet()) % (SERVICES.len() + 2);
    let demanded = match SERVICES.get(which) {
        Some(services) => asked(services),
        None => changing(which == SERVICES.len()),
    };
    let layers = [0, 1].map(|nth| configured(&demanded, nth, &mut input));
    endpoints::pair(layers, |_| {}, input);
}

/// Services, as their names and arguments.
type Services = &'static [(&'static str, &'static [&'static str])];

const SERVICES: [Services; 8] = [
    &[("reliable", &[]), ("flow_control", &["16"])],
    &[("reliable", &[]), ("ordered", &[]), ("flow_control", &["16"])],
    &[
        ("reliable", &[]),
        ("selective_retransmission", &[]),
        ("flow_control", &["8"]),
        ("checksum", &["internet"]),
    ],
    &[("reliable", &[]), ("nak", &[]), ("dedicated", &["125000"]), ("flow_control", &["32"])],
    &[
        ("reliable", &[]),
        ("ordered", &[]),
        ("go_back_n", &[]),
        ("dedicated", &["125000"]),
        ("checksum", &["crc32c"]),
    ],
    &[("rising", &[])],
    &[("reliable", &[]), ("ordered", &[]), ("resends", &["1"]), ("flow_control", &["16"])],
    &[("reliable", &[]), ("selective_retransmission", &[]), ("resends", &["2"])],
];

/// Phases that differ in all that may change while data flow.
const PHASES: [(Services, bool); 3] = [
    (&[("reliable", &[]), ("ordered", &[]), ("flow_control", &["16"])], true),
    (&[("reliable", &[]), ("flow_control", &["16"])], false),
    (&[("reliable", &[]), ("resends", &["1"]), ("flow_control", &["16"])], false),
];

fn asked(services: Services) -> Demand {
    demand(services.iter().copied()).expect("there are such services")
}

/// What phases demand that both sides know, or that the two ends negotiate.
fn changing(known: bool) -> Demand {
    let phases = PHASES.map(|(services, fenced)| (asked(services), fenced));
    let together = if known { Demand::in_phases(&phases) } else { Demand::negotiated(&phases) };
    together.expect("they go together")
}

fn configured(demanded: &Demand, nth: u8, input: &mut Input<'_>) -> Tailored {
    let plan = demanded.plan().expect("they can be met");
    let bounds = Bounds { longest: 1 << 18, ..demanded.bounds };
    let planned = Planned::new(plan, &bounds).expect("it fits");
    let config = Config {
        packet: 256 + u16::from(input.octet()),
        half_open_most: 8,
        send: Credit { octets: 1 << 20, messages: 64 },
        ..Config::new([nth; 16])
    };
    layer(planned, config, u64::from(nth))
}
