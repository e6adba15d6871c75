//! Two processes, each of which requires other rules for what it sends while data flow both ways
//! over a link that loses.

use std::collections::BTreeSet;
use std::env;
use std::net::SocketAddr;
use std::process::{Child, Command};
use std::time::Duration;

use stackwright_contract::{Command as Asked, CommandError, PhaseRule, RuleRefusal};
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, Error, System};
use stackwright_policies::profile::PolicyValues;
use stackwright_tailored::configurations::Adaptive;
use stackwright_tailored::{self as tailored, Named};
use stackwright_wire::BufferTree;

use crate::link::{Link, can};

/// Names the address of an end in its own process, and whether it calls.
const PLACE: &str = "STACKWRIGHT_TEST_PLACE";
const CALLS: &str = "STACKWRIGHT_TEST_CALLS";

const ANY: PhaseRule = PhaseRule { ordered: false, fenced: false, resends: None };
const RULES: [PhaseRule; 4] = [
    ANY,
    PhaseRule { ordered: true, ..ANY },
    PhaseRule { fenced: true, ..ANY },
    PhaseRule::STRONGEST,
];
/// How many times each end changes, and what it sends by each rule.
const CHANGES: u32 = 24;
const EACH: u32 = 30;
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn both_ends_require_rules_over_a_link_that_loses() {
    if !can(&[]) {
        return;
    }
    let link = Link::up(&["--delay", "10 ms", "--loss", "5 %", "--seed", "11"]);
    let place = format!("{}:4340", link.text("b", "address"));
    let end = |side: &str, calls: bool| -> Child {
        let program = env::current_exe().expect("this test");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", link.text(side, "namespace")]).arg(program);
        command.args(["--exact", "requires::end", "--ignored", "--nocapture"]);
        command.env(PLACE, &place).env(CALLS, if calls { "yes" } else { "no" });
        command.spawn().expect("ip is there")
    };
    let (called, calling) = (end("b", false), end("a", true));
    for mut end in [called, calling] {
        assert!(end.wait().expect("it is ours").success());
    }
}

#[test]
#[ignore = "one of the two processes of the test above"]
fn end() {
    let place: SocketAddr = env::var(PLACE).expect("told").parse().expect("an address");
    let calls = env::var(CALLS).expect("told") == "yes";
    let stack = |system: &System| {
        let phases = [Some(PhaseRule::STRONGEST), None, None, None];
        let named =
            Named::<Adaptive<BufferTree>>::new(PolicyValues { phases, ..PolicyValues::RELIABLE });
        let layer = tailored::layer(named, tailored::Config::new(system.secret()), system.seed());
        stackwright_compose::Over::new(layer, system.udp::<BufferTree>())
    };
    let mut endpoint = if calls {
        Endpoint::new(Config::default(), stack)
    } else {
        Endpoint::bind(place, Config::default(), stack)
    }
    .expect("an address of ours");
    endpoint.set_timeout(Some(PATIENCE));
    let mut association =
        if calls { endpoint.connect(place) } else { endpoint.accept() }.expect("the other end");
    association.set_timeout(Some(PATIENCE));

    let (mut heard, mut agreed) = (Heard::default(), 0);
    for change in 0..CHANGES {
        let rule = RULES[(change as usize * 3 + usize::from(calls)) % RULES.len()];
        let rule = match association.control(Asked::Require(rule)) {
            Ok(_) => {
                agreed += 1;
                Some(rule)
            }
            // All phases are on their way: it goes by the first one, the strongest.
            Err(Error::Command(CommandError::Refused(RuleRefusal::Busy))) => None,
            Err(error) => panic!("change {change}: {error}"),
        };
        let index = rule.and_then(|rule| RULES.iter().position(|one| *one == rule));
        for nth in 0..EACH {
            let mut octets = [change, nth, index.unwrap_or(RULES.len() - 1) as u32]
                .map(u32::to_be_bytes)
                .concat();
            octets.resize(if nth % 5 == 0 { 1500 } else { 40 }, 0);
            association.send(&octets).expect("the other end takes it");
        }
        heard.take(&association, EACH);
    }
    // No more than the last few may be told that another rule is still on its way.
    assert!(agreed * 2 > CHANGES, "{agreed} of {CHANGES} were agreed on");
    assert_eq!(heard.all.len() as u32, CHANGES * EACH, "each once");
    association.close().expect("the other end is there");
}

/// What came of the other end's messages.
#[derive(Default)]
struct Heard {
    /// Change and number.
    all: BTreeSet<(u32, u32)>,
}

impl Heard {
    /// Takes that many messages, each of which came by a rule that serves what it was promised.
    fn take<S>(&mut self, association: &Association<S>, count: u32)
    where
        S: stackwright_endpoint::Stack,
    {
        for _ in 0..count {
            let (octets, _) = association.receive().expect("the other end sends as much");
            let field = |nth: usize| {
                u32::from_be_bytes(*octets[nth * 4..].first_chunk().expect("three numbers"))
            };
            let (change, nth, rule) = (field(0), field(1), RULES[field(2) as usize]);
            assert!(self.all.insert((change, nth)), "{nth} of change {change} came twice");
            let same = self.all.range((change, 0)..(change + 1, 0)).count() as u32;
            assert!(!rule.ordered || same == nth + 1, "{nth} of change {change} is out of turn");
            let before = self.all.range(..(change, 0)).count() as u32;
            assert!(!rule.fenced || before == change * EACH, "change {change} is before its fence");
        }
    }
}
