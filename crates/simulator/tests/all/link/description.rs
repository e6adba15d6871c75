//! A link as a text.

use stackwright_contract::Duration;
use stackwright_simulator::{
    Conditions, Deed, DelayStep, Discipline, EcnTreatment, Event, GilbertElliott, LinkDescription,
    LinkFlaw, LinkStep, Loss, Outages, Passes, Policer, Profile, Queue, Reorder, StepLength,
    SteppedDelay,
};

use crate::link::{at, millis};

fn described(text: &str) -> Result<Profile, LinkFlaw> {
    let description: LinkDescription =
        toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    let profile = description.resolve();
    // Written and read again, it is the same.
    let again = toml::to_string(&description).expect("it was read");
    assert_eq!(toml::from_str::<LinkDescription>(&again).expect(&again), description);
    profile
}

fn both(text: &str) -> [Conditions; 2] {
    match described(text) {
        Ok(Profile::Link { forward, back }) => [forward, back],
        other => panic!("{other:?}"),
    }
}

/// The message for a text that cannot be read.
fn refused(text: &str) -> String {
    toml::from_str::<LinkDescription>(text).expect_err(text).to_string()
}

#[test]
fn every_field_is_understood() {
    let [forward, back] = both(
        r#"
        rate = "100 Mb/s"
        delay = "20 ms"
        delay-steps = [{ at = "5 s", delay = "+1 s", for = "200 ms" }, { at = "7 s", delay = "600 ms", packets = 400 }, { at = "9 s", delay = "0 s" }]
        jitter = "1.5 ms"
        keeps-order = true
        queue = "64 kB"
        codel = { target = "10 ms" }
        mtu = 1500
        steps = [{ at = "8 s", rate = "10 Mb/s" }, { at = "9 s", mtu = 1280, ecn = "mark-all", loss = 0.05 }]
        ecn = "bleach"
        policer = { rate = "8 Mb/s", burst = "50 kB" }
        overhead = 38
        loss = { gilbert-elliott = { p = 0.01, r = 0.2 } }
        duplicate = 0.001
        reorder = { probability = 0.01, by = "5 ms" }
        corrupt = 0
        bit-errors = 1e-6
        pass = { period = "95 min", length = "8 min", first = "0 s" }
        "#,
    );
    let model = GilbertElliott { p: 0.01, r: 0.2, good: 0.0, bad: 1.0 };
    let (target, interval) = (millis(10), millis(100));
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let passes = Passes { period: minutes(95), length: minutes(8), first: Duration::ZERO };
    let seconds = Duration::from_secs;
    let step = |at, delay, lasts| DelayStep { at: seconds(at), delay, lasts };
    let expected = Conditions {
        rate: Some(12_500_000),
        overhead: 38,
        mtu: Some(1500),
        steps: vec![
            LinkStep { at: seconds(8), rate: Some(1_250_000), mtu: None, ecn: None, loss: None },
            LinkStep {
                at: seconds(9),
                rate: None,
                mtu: Some(1280),
                ecn: Some(EcnTreatment::MarkAll),
                loss: Some(0.05),
            },
        ]
        .into(),
        ecn: EcnTreatment::Bleach,
        policer: Some(Policer { rate: 1_000_000, burst: 50_000 }),
        queue: Queue {
            discipline: Discipline::CoDel { target, interval },
            ..Queue::octets(64_000)
        },
        delay: millis(20),
        delay_steps: vec![
            step(5, SteppedDelay::Added(Duration::from_secs(1)), StepLength::Time(millis(200))),
            step(7, SteppedDelay::Exactly(millis(600)), StepLength::Packets(400)),
            step(9, SteppedDelay::Exactly(Duration::ZERO), StepLength::Forever),
        ]
        .into(),
        jitter: Duration::from_micros(1500),
        keeps_order: true,
        reorder: Reorder { probability: 0.01, by: millis(5) },
        loss: Loss::GilbertElliott(model),
        duplicate: 0.001,
        corrupt: 0.0,
        bit_errors: 1e-6,
        outages: Outages::Passes(passes),
    };
    assert_eq!([&forward, &back], [&expected; 2]);
}

#[test]
fn nothing_said_is_ideal() {
    assert_eq!(both(""), [Conditions::IDEAL, Conditions::IDEAL]);
}

#[test]
fn losses_are_said_in_four_ways() {
    let loss = |text: &str| both(&format!("loss = {text}"))[0].loss.clone();
    assert_eq!(loss("0.01"), Loss::Bernoulli(0.01));
    assert_eq!(loss("1"), Loss::Bernoulli(1.0));
    assert_eq!(loss("0"), Loss::None);
    assert_eq!(loss("{ every = 10 }"), Loss::Every(10));
    assert_eq!(loss("{ listed = [3, 7] }"), Loss::Listed([3, 7].into()));
}

#[test]
fn a_profile_is_where_to_begin_and_each_way_may_be_different() {
    let [forward, back] = both(
        r#"
        profile = "geo"
        loss = 0.01
        [forward]
        queue = "50 packets"
        [back]
        rate = "256 kb/s"
        outages = [{ from = "2 s", to = "3 s" }]
        "#,
    );
    let Some(Profile::Link { forward: geo, back: geo_back }) = Profile::named("geo") else {
        panic!("a link")
    };
    let loss = Loss::Bernoulli(0.01);
    assert_eq!(forward, Conditions { loss: loss.clone(), queue: Queue::packets(50), ..geo });
    let outages = Outages::Spans(vec![at(2_000_000_000)..at(3_000_000_000)]);
    assert_eq!(back, Conditions { loss, rate: Some(32_000), outages, ..geo_back });
}

#[test]
fn a_channel_is_said_by_its_table_or_its_profile() {
    let channel = |text| match described(text) {
        Ok(Profile::Channel(channel)) => channel,
        other => panic!("{other:?}"),
    };
    let own = channel(
        r#"
        rate = "1200 b/s"
        queue = "8 packets"
        channel = { key-up = "300 ms", slot = "50 ms", persistence = 0.5, hidden = [[0, 2]] }
        "#,
    );
    assert_eq!((own.rate, own.queue, own.key_up, own.persistence), (150, 8, millis(300), 0.5));
    assert!(!own.hearing.hears(2, 0) && own.hearing.hears(1, 0));
    let radio = channel("profile = \"packet-radio-1200\"\nbit-errors = 1e-5");
    assert_eq!((radio.rate, radio.key_up, radio.bit_errors), (150, millis(500), 1e-5));
}

#[test]
fn what_cannot_be_read_is_named_with_what_was_expected() {
    for (text, says) in [
        ("rate = 100", "expected a rate such as \"100 Mb/s\""),
        ("rate = \"100 Mbit\"", "string \"100 Mbit\", expected a rate"),
        ("delay = \"20\"", "expected a time such as \"20 ms\""),
        ("delay = \"-20 ms\"", "expected a time such as \"20 ms\""),
        ("delay-steps = [{ at = \"1 s\", delay = \"-1 s\" }]", "or \"+1 s\" for that much more"),
        ("queue = \"64 kb\"", "expected a queue such as \"64 kB\""),
        ("loss = 1.5", "expected a probability, 0 to 1"),
        ("loss = nan", "expected a probability, 0 to 1"),
        ("loss = \"much\"", "expected a probability, 0 to 1, or one of"),
        ("loss = { evry = 10 }", "expected one of `every`, `listed`, `gilbert-elliott`"),
        ("loss = { gilbert-elliott = { p = 2, r = 0 } }", "expected a probability, 0 to 1"),
        ("corrupt = -1", "expected a probability, 0 to 1"),
        ("profile = \"wann\"", "there is no profile `wann`: is `wan` meant?"),
        ("profile = \"quux\"", "expected the name of a profile, one of ethernet-10m"),
        ("dealy = \"20 ms\"", "unknown field `dealy`, expected one of"),
        ("[back]\nspeed = 1", "unknown field `speed`"),
        ("pass = { period = \"95 min\" }", "missing field `length`"),
        ("pass = \"8 min\"", "expected { period = \"95 min\", length = \"8 min\""),
        (
            "outages = { from = \"2 s\", to = \"3 s\" }",
            "expected a list such as [{ from = \"2 s\", to = \"3 s\" }]",
        ),
        ("outages = [[\"2 s\", \"3 s\"]]", "expected { from = \"2 s\", to = \"3 s\" }"),
        ("delay-steps = \"1 s\"", "expected a list such as [{ at = \"5 s\", delay = \"+1 s\""),
        ("channel = true", "expected { key-up = "),
        ("codel = true", "expected { target = "),
        ("reorder = 0.1", "expected { probability = "),
        ("loss = { gilbert-elliott = 0.1 }", "expected { p = 0.01, r = 0.2"),
        ("forward = \"1 Mb/s\"", "expected a table of a link's keys"),
        ("mtu = -1", "expected usize"),
    ] {
        let error = refused(text);
        assert!(error.contains(says), "{text}: {error}");
        // The place is shown, with the field.
        assert!(error.contains("line "), "{error}");
    }
}

#[test]
fn what_does_not_go_together_is_named() {
    for (text, says) in [
        ("[forward.back]", "`back` is said of a link, not of one way"),
        ("[back]\nprofile = \"wan\"", "`profile` is said of a link, not of one way"),
        ("profile = \"wan\"\n[channel]", "leave out one of them"),
        ("[channel]", "`rate` is missing"),
        (
            "profile = \"packet-radio-1200\"\njitter = \"1 ms\"",
            "`jitter` is said of a link of two stations",
        ),
        ("profile = \"packet-radio-1200\"\nrate = \"unlimited\"", "`rate` cannot be so"),
        (
            "profile = \"packet-radio-1200\"\nqueue = \"1 kB\"",
            "`queue` cannot be so: expected packets",
        ),
        (
            "profile = \"packet-radio-1200\"\nchannel = { persistence = 0 }",
            "`persistence` cannot be so",
        ),
        ("profile = \"packet-radio-1200\"\nchannel = { slot = \"0 s\" }", "`slot` cannot be so"),
        ("pass = { period = \"1 s\", length = \"2 s\" }", "`pass` cannot be so"),
        ("outages = [{ from = \"2 s\", to = \"1 s\" }]", "`outages` cannot be so"),
        (
            "delay-steps = [{ at = \"1 s\", delay = \"+1 s\", for = \"1 s\", packets = 3 }]",
            "`delay-steps` cannot be so: expected either `for` or `packets`",
        ),
        (
            "delay-steps = [{ at = \"1 s\", delay = \"+1 s\", packets = 0 }]",
            "`delay-steps` cannot be so: expected a `for` or a number",
        ),
        (
            "profile = \"packet-radio-1200\"\ndelay-steps = []",
            "`delay-steps` is said of a link of two stations",
        ),
        ("steps = [{ at = \"1 s\" }]", "`steps` cannot be so: expected a `rate`, an `mtu`"),
        ("steps = [{ at = \"1 s\", rate = \"unlimited\" }]", "`steps` cannot be so"),
        ("policer = { rate = \"unlimited\", burst = 1 }", "`policer` cannot be so"),
        ("profile = \"packet-radio-1200\"\necn = \"swap\"", "`ecn` is said of a link"),
        ("outages = []\npass = { period = \"2 s\", length = \"1 s\" }", "leave out one of them"),
    ] {
        let flaw = described(text).expect_err(text).to_string();
        assert!(flaw.contains(says), "{text}: {flaw}");
    }
}

#[test]
fn events_are_written_and_read() {
    let by = Duration::from_micros(1500);
    let deeds = [
        Deed::Lose,
        Deed::Duplicate { by },
        Deed::Delay { by: Deed::NEVER },
        Deed::HoldBack { by },
        Deed::Alter { bit: 7 },
    ];
    for (nth, deed) in (0..).zip(deeds) {
        let event = Event { nth, deed };
        let text = serde_json::to_string(&event).expect("it has names only");
        assert_eq!(serde_json::from_str::<Event>(&text).expect(&text), event);
        let text = toml::to_string(&event).expect("it has names only");
        assert_eq!(toml::from_str::<Event>(&text).expect(&text), event);
    }
    let text = r#"{ "nth": 3, "deed": { "hold-back": { "by": "1500 us" } } }"#;
    assert_eq!(
        serde_json::from_str::<Event>(text).expect(text),
        Event { nth: 3, deed: Deed::HoldBack { by } }
    );
}
