//! The services that a phase names, and what they demand of each other.

use crate::diagnostic::{Diagnostic, DiagnosticCode, similar};
use crate::tree::{PhaseItem, ServiceItem};

/// What a service takes in parentheses.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    /// Numbers: the fewest, and the most.
    Numbers(usize, usize),
    /// Words, each of which is one of these.
    Words(&'static [&'static str], usize, usize),
}

struct Known {
    name: &'static str,
    takes: Takes,
    /// Services without which it has no meaning: one of each group.
    needs: &'static [&'static str],
    excludes: &'static [&'static str],
    /// What a receiver has to know of it.
    told: bool,
}

const fn known(name: &'static str, takes: Takes) -> Known {
    Known { name, takes, needs: &[], excludes: &[], told: false }
}

const CONGESTION: &[&str] = &["aimd", "new_reno", "cubic", "bbr", "fitted", "probing", "absent"];
const CHECKSUMS: &[&str] = &["internet", "crc32c", "cxor", "full", "header"];

const SERVICES: &[Known] = &[
    Known { told: true, ..known("reliable", Takes::Nothing) },
    Known {
        told: true,
        needs: &["reliable"],
        excludes: &["unordered", "rising"],
        ..known("ordered", Takes::Nothing)
    },
    Known { told: true, excludes: &["ordered", "unordered"], ..known("rising", Takes::Nothing) },
    Known { told: true, excludes: &["ordered", "rising"], ..known("unordered", Takes::Nothing) },
    Known {
        needs: &["reliable"],
        excludes: &["go_back_n"],
        ..known("selective_retransmission", Takes::Nothing)
    },
    Known {
        needs: &["reliable"],
        excludes: &["selective_retransmission", "unordered", "resends"],
        ..known("go_back_n", Takes::Nothing)
    },
    Known {
        told: true,
        needs: &["reliable"],
        excludes: &["go_back_n"],
        ..known("resends", Takes::Numbers(1, 1))
    },
    Known { told: true, needs: &["reliable"], ..known("nak", Takes::Nothing) },
    known("flow_control", Takes::Numbers(1, 1)),
    known("rate", Takes::Numbers(1, 2)),
    Known { excludes: &["dedicated"], ..known("congestion", Takes::Words(CONGESTION, 1, 1)) },
    Known { excludes: &["congestion"], ..known("dedicated", Takes::Numbers(1, 1)) },
    known("checksum", Takes::Words(CHECKSUMS, 1, 2)),
    Known { excludes: &["reliable"], ..known("deadline", Takes::Numbers(1, 1)) },
    Known { excludes: &["reliable"], ..known("expires", Takes::Nothing) },
    known("priority", Takes::Numbers(1, 1)),
    known("alf", Takes::Numbers(0, 1)),
    known("open", Takes::Words(&["implicit", "agreed", "two_stage"], 1, 1)),
];

/// Services of the documents that no policy implements yet.
const MISSING: &[&str] = &["partial", "encryption", "multicast", "fec", "ilp"];

/// The longest packet of a phase with `alf`, where the text says none.
pub(crate) const PACKET: u64 = 1500;

/// Checks the services of a phase, and gives them with their arguments, by name.
pub(crate) fn check(phase: &PhaseItem, told: &mut Vec<Diagnostic>) -> Vec<(String, Vec<String>)> {
    let mut plan = Vec::new();
    for (nth, service) in phase.services.iter().enumerate() {
        let name = service.name.name.as_str();
        let Some(known) = SERVICES.iter().find(|known| known.name == name) else {
            told.push(unknown(service));
            continue;
        };
        if let Some(first) = phase.services[..nth].iter().find(|one| one.name.name == name) {
            let says = format!("`{name}` stands twice in the phase `{}`", phase.name.name);
            told.push(
                Diagnostic::new(DiagnosticCode::Duplicate, service.at, says)
                    .also(first.at, "first here"),
            );
        }
        arguments(service, known, told);
        let others = || phase.services.iter().filter(|other| other.name.name != name);
        for other in others().filter(|other| known.excludes.contains(&other.name.name.as_str())) {
            // Told once, at the later of the two.
            if other.at.start < service.at.start {
                let says = format!("`{name}` contradicts `{}`", other.name.name);
                told.push(
                    Diagnostic::new(DiagnosticCode::Contradiction, service.at, says)
                        .label("one of the two")
                        .also(other.at, "the other"),
                );
            }
        }
        for need in known.needs {
            if !others().any(|other| other.name.name == *need) {
                let says = format!("`{name}` has no meaning without `{need}`");
                told.push(
                    Diagnostic::new(DiagnosticCode::MissingService, service.at, says)
                        .help(format!("add `{need};`"))
                        .instead(service.at, format!("{need}; {name}")),
                );
            }
        }
        let words = service.arguments.iter().map(|(word, _)| word.clone()).collect();
        plan.push((name.to_owned(), words));
    }
    plan.sort();
    plan
}

fn unknown(service: &ServiceItem) -> Diagnostic {
    let (name, at) = (service.name.name.as_str(), service.name.at);
    if MISSING.contains(&name) {
        let says = format!("`{name}` has no policy yet");
        return Diagnostic::new(DiagnosticCode::NoPolicy, at, says)
            .help("leave it out, or do it in the application");
    }
    let flaw =
        Diagnostic::new(DiagnosticCode::UnknownService, at, format!("`{name}` is no service"));
    let names = SERVICES.iter().map(|known| known.name);
    match similar(name, names.clone()) {
        Some(meant) => flaw.help("a similar service exists").instead(at, meant),
        None => flaw.help(format!("one of {}", names.collect::<Vec<_>>().join(", "))),
    }
}

fn arguments(service: &ServiceItem, known: &Known, told: &mut Vec<Diagnostic>) {
    let (least, most) = match known.takes {
        Takes::Nothing => (0, 0),
        Takes::Numbers(least, most) | Takes::Words(_, least, most) => (least, most),
    };
    let count = service.arguments.len();
    if !(least..=most).contains(&count) {
        let wants = match (least, most) {
            (0, 0) => "no argument".to_owned(),
            (least, most) if least == most => format!("{least} argument"),
            (least, most) => format!("{least} to {most} arguments"),
        };
        let says = format!("`{}` takes {wants}, and is given {count}", known.name);
        told.push(Diagnostic::new(DiagnosticCode::ServiceArgument, service.at, says));
        return;
    }
    for (argument, at) in &service.arguments {
        let (fits, wants) = match known.takes {
            Takes::Nothing => (true, String::new()),
            Takes::Numbers(..) => (argument.parse::<u64>().is_ok(), "a number".to_owned()),
            Takes::Words(words, ..) => {
                (words.contains(&argument.as_str()), format!("one of {}", words.join(", ")))
            }
        };
        if !fits {
            let says = format!("`{}` takes {wants}, and not `{argument}`", known.name);
            told.push(Diagnostic::new(DiagnosticCode::ServiceArgument, *at, says));
        }
    }
}

/// Services that change with the phase where packets say theirs.
const SWITCHED: [&str; 3] = ["ordered", "unordered", "resends"];

/// Returns whether a service changes with the phase where packets say theirs.
pub(crate) fn is_switched(service: &str) -> bool {
    SWITCHED.contains(&service)
}

/// Returns what is wrong with a phase whose packets are to say it: a sentence, and the remedy.
pub(crate) fn unswitchable(services: &[(String, Vec<String>)]) -> Option<(String, &'static str)> {
    if !has(services, "reliable") {
        let says = String::from("has no `reliable`: nothing would tell where the next one begins");
        return Some((says, "add `reliable;`, and `resends(1);` where what is late is of no use"));
    }
    let (never, _) =
        services.iter().find(|(name, _)| ["rising", "go_back_n"].contains(&&**name))?;
    Some((
        format!("has `{never}`, which keeps nothing that overtakes"),
        "use `ordered` or `unordered`: what overtakes another phase is kept until its turn",
    ))
}

/// Returns what a receiver has to know of a phase.
pub(crate) fn told_of(services: &[(String, Vec<String>)]) -> Vec<&str> {
    let is_told = |name: &str| SERVICES.iter().any(|known| known.name == name && known.told);
    // What is not ordered in a way is unordered.
    services
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| is_told(name) && *name != "unordered")
        .collect()
}

/// Returns whether a service, with its arguments, is seen in each packet.
pub(crate) fn is_of_format(service: &str) -> bool {
    matches!(service, "checksum" | "alf" | "open" | "expires" | "deadline")
}

/// Returns a number that a service of a phase has as its argument.
pub(crate) fn number(services: &[(String, Vec<String>)], service: &str) -> Option<u64> {
    let (_, arguments) = services.iter().find(|(name, _)| name == service)?;
    arguments.first()?.parse().ok()
}

/// Returns whether a phase has a service.
pub(crate) fn has(services: &[(String, Vec<String>)], service: &str) -> bool {
    services.iter().any(|(name, _)| name == service)
}
