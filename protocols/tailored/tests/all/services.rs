//! All combinations of services: a plan that meets each of them, or a refusal.

use stackwright_policies::profile::{Bounds, Plan};
use stackwright_tailored::{Planned, ServiceRefusal, demand};
use stackwright_transport::rules::{Property, check};
use stackwright_wire::SingleBuffer;

type M = SingleBuffer;
type Service = (&'static str, &'static [&'static str]);

/// Each line holds services of which one is chosen; "" is none.
const ALTERNATIVES: &[&[Service]] = &[
    &[("", &[]), ("reliable", &[])],
    &[("", &[]), ("ordered", &[]), ("rising", &[]), ("unordered", &[])],
    &[("", &[]), ("selective_retransmission", &[]), ("go_back_n", &[])],
    &[("", &[]), ("resends", &["3"])],
    &[("", &[]), ("nak", &[])],
    &[("", &[]), ("flow_control", &["256"])],
    &[("", &[]), ("rate", &["125000", "6000"])],
    &[
        ("", &[]),
        ("dedicated", &["125000"]),
        ("congestion", &["aimd"]),
        ("congestion", &["new_reno"]),
        ("congestion", &["cubic"]),
        ("congestion", &["bbr"]),
        ("congestion", &["probing"]),
        ("congestion", &["absent"]),
    ],
    &[
        ("", &[]),
        ("checksum", &["internet"]),
        ("checksum", &["crc32c", "header"]),
        ("checksum", &["cxor"]),
    ],
    &[("", &[]), ("deadline", &["200"]), ("expires", &[])],
    &[("", &[]), ("open", &["implicit"]), ("open", &["agreed"]), ("open", &["two_stage"])],
];

fn each(mut see: impl FnMut(&[Service])) {
    let many: usize = ALTERNATIVES.iter().map(|line| line.len()).product();
    for mut nth in 0..many {
        let mut services = Vec::new();
        for line in ALTERNATIVES {
            services.push(line[nth % line.len()]);
            nth /= line.len();
        }
        services.retain(|(name, _)| !name.is_empty());
        see(&services);
    }
}

fn plan(services: &[Service]) -> Result<Plan, ServiceRefusal> {
    demand(services.iter().copied()).and_then(|demand| demand.plan())
}

fn name(plan: &Plan, slot: &str) -> &'static str {
    plan.choices().find(|choice| choice.slot == slot).expect("every slot is chosen").name
}

/// Whether the policies of a plan do what a service asks, by their facts.
fn meets(plan: &Plan, gives: Property, (service, arguments): Service) -> bool {
    let is = |slot, wanted| name(plan, slot) == wanted;
    let argument = arguments.first().copied().unwrap_or_default();
    match (service, argument) {
        ("reliable", _) => gives.has(Property::REPEATS) && !gives.has(Property::FORGIVES),
        ("ordered", _) => gives.has(Property::TOTAL),
        ("rising", _) => gives.has(Property::FORGIVES),
        ("unordered", _) => !gives.has(Property::TOTAL) && !gives.has(Property::FORGIVES),
        ("selective_retransmission", _) => {
            name(plan, "recovery").starts_with("recovery by selective repeat")
        }
        ("resends", _) => gives.has(Property::ABANDONS),
        ("go_back_n", _) => is("recovery", "recovery by go-back-N"),
        ("nak", _) => is("acknowledgement", "acknowledgement of gaps at once"),
        ("flow_control", _) => is("flow", "flow by credit"),
        ("rate", _) => is("rate", "rate paced"),
        ("dedicated", _) => is("congestion", "congestion absent") && is("rate", "rate paced"),
        ("congestion", "absent") => is("congestion", "congestion absent"),
        ("congestion", "aimd") => is("congestion", "congestion by AIMD"),
        ("congestion", "new_reno") => is("congestion", "congestion by NewReno"),
        ("congestion", "cubic") => is("congestion", "congestion by CUBIC"),
        ("congestion", "bbr") => is("congestion", "congestion by BBR"),
        ("congestion", "probing") => is("congestion", "congestion by probing"),
        ("checksum", "internet") => is("integrity", "integrity by the Internet check"),
        ("checksum", "cxor") => is("integrity", "integrity by CXOR"),
        ("checksum", "crc32c") => is("integrity", "integrity by CRC-32C"),
        ("deadline" | "expires", _) => gives.has(Property::EXPIRES),
        ("open", "implicit") => {
            is("connection", "connection implicit") || is("connection", "connection unanswered")
        }
        _ => false,
    }
}

#[test]
fn every_combination_of_services_is_met_or_refused_in_a_sentence() {
    let (mut met, mut refused) = (0, 0);
    each(|services| match plan(services) {
        Ok(plan) => {
            met += 1;
            let built = Planned::<M>::new(plan.clone(), &Bounds::DEFAULT);
            let built = built.unwrap_or_else(|misfit| panic!("{services:?}: {misfit:?}"));
            let facts = built.facts();
            assert_eq!(check(facts), Ok(()), "{services:?}");
            let gives = stackwright_transport::rules::given(facts);
            for service in services {
                assert!(meets(&plan, gives, *service), "{service:?} of {services:?}:\n{plan}");
            }
            assert!(plan.choices().all(|choice| !choice.reason.is_empty()));
        }
        Err(why) => {
            refused += 1;
            assert!(why.to_string().len() > 20, "{services:?}: {why}");
        }
    });
    assert!(met > 500 && refused > met, "{met} are met, {refused} are refused");
}

#[test]
fn refusals_say_what_to_write_instead() {
    let told = |services: &[Service]| plan(services).expect_err("it is refused").to_string();
    assert_eq!(
        told(&[("ordered", &[])]),
        "total order excludes delivery that is not reliable: give up one of them"
    );
    assert_eq!(
        told(&[("reliable", &[]), ("open", &["agreed"])]),
        "a listener of this transport knows nothing that is agreed elsewhere: write \
         `open(implicit)`: no round trip is lost either"
    );
    assert_eq!(
        told(&[("deadline", &["200"])]),
        "a receiver would wait for what expired: write `rising`, which forgives what is missing, \
         or leave the expiry out"
    );
    assert_eq!(
        told(&[("reliable", &[]), ("ordered", &[]), ("go_back_n", &[]), ("resends", &["3"])]),
        "an end to sending again excludes sending again all that followed a loss: give up one of \
         them"
    );
    assert_eq!(
        told(&[("reliable", &[]), ("resends", &["0"])]),
        "`resends` takes how many times something is sent again, 1 to 255: write `resends(3)`"
    );
    assert_eq!(
        told(&[("flow_control", &["0"])]),
        "`flow_control` takes a window of 1 to 65536 packets: write `flow_control(256)`"
    );
}
