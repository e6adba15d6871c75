//! Which transports honour which options: what refuses the others, and what the help says.

use super::arguments::{Cipher, Run, Serve, Tuning};
use super::place::{Place, Transport};
use crate::placement::Placement;
use crate::problem::Problem;

/// An option, and who honours it.
pub(super) struct TransportOption {
    pub(super) name: &'static str,
    is_given: fn(&Given<'_>) -> bool,
    pub(super) is_honoured: fn(Target) -> bool,
}

/// What is said on a command line.
pub(super) enum Given<'a> {
    Serve(&'a Serve),
    Run(&'a Run),
}

impl Given<'_> {
    fn placement(&self) -> &Placement {
        match self {
            Given::Serve(serve) => &serve.placement,
            Given::Run(run) => &run.placement,
        }
    }

    fn tuning(&self) -> &Tuning {
        match self {
            Given::Serve(serve) => &serve.tuning,
            Given::Run(run) => &run.tuning,
        }
    }
}

/// A transport, to one host or to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) transport: Transport,
    pub(super) is_group: bool,
}

use Transport::{
    AcknowledgedXtp, Artp, BulkXtp, IsochronousXtp, OrderedArtp, StreamXtp, Tailored, Tcp,
    TransactionXtp, Udp, UnacknowledgedXtp, Xstp, Xtp, XtpIp,
};

impl Target {
    pub(super) fn of(place: &Place) -> Self {
        Target { transport: place.transport, is_group: place.is_group() }
    }

    /// All that there are.
    pub(super) fn all() -> impl Iterator<Item = Target> {
        let to_one = Transport::ALL.map(|transport| Target { transport, is_group: false });
        let to_group = [Xtp, XtpIp].map(|transport| Target { transport, is_group: true });
        to_one.into_iter().chain(to_group)
    }

    fn is_listed(self) -> bool {
        matches!(self.transport, Transport::Listed(_))
    }

    fn is_artp(self) -> bool {
        matches!(self.transport, Artp | OrderedArtp)
    }

    /// Whether a window of octets bounds what it has on its way.
    fn has_window(self) -> bool {
        matches!(
            self.transport,
            Artp | OrderedArtp | Xtp | XtpIp | StreamXtp | TransactionXtp | AcknowledgedXtp
        )
    }

    fn shown(self) -> String {
        let to = if self.is_group { " to a group" } else { "" };
        format!("{}{to}", self.transport.scheme())
    }
}

/// The options that not all transports have.
pub(super) const OPTIONS: &[TransportOption] = &[
    TransportOption {
        name: "--packet",
        is_given: |given| given.tuning().packet.is_some(),
        is_honoured: |target| !matches!(target.transport, Udp | Tcp) && !target.is_listed(),
    },
    TransportOption {
        name: "--window",
        is_given: |given| given.tuning().window.is_some(),
        is_honoured: Target::is_artp,
    },
    TransportOption {
        name: "--flight",
        is_given: |given| given.tuning().flight.is_some(),
        is_honoured: Target::has_window,
    },
    TransportOption {
        name: "--rate",
        is_given: |given| given.tuning().rate.is_some(),
        is_honoured: |target| matches!(target.transport, BulkXtp | IsochronousXtp),
    },
    TransportOption {
        name: "--run",
        is_given: |given| given.tuning().run.is_some(),
        is_honoured: |target| {
            !matches!(target.transport, Udp | Tcp | Tailored | Xstp) && !target.is_listed()
        },
    },
    TransportOption {
        name: "--unchecked",
        is_given: |given| given.tuning().unchecked,
        is_honoured: |target| target.transport.is_xtp(),
    },
    TransportOption {
        name: "--gather",
        is_given: |given| given.tuning().gather.is_some(),
        is_honoured: Target::is_artp,
    },
    TransportOption {
        name: "--congestion",
        is_given: |given| given.tuning().congestion.is_some(),
        is_honoured: |target| target.is_artp() || target.transport == Tcp,
    },
    TransportOption {
        name: "--services",
        is_given: |given| given.tuning().services.is_some(),
        is_honoured: |target| target.transport == Tailored,
    },
    TransportOption {
        name: "--cipher",
        is_given: |given| given.tuning().cipher != Cipher::None,
        is_honoured: Target::is_artp,
    },
    TransportOption {
        name: "--key",
        is_given: |given| given.tuning().key.is_some(),
        is_honoured: Target::is_artp,
    },
    TransportOption {
        name: "--first",
        is_given: |given| given.tuning().first.is_some(),
        is_honoured: Target::is_artp,
    },
    TransportOption {
        name: "--members",
        is_given: |given| matches!(given, Given::Run(run) if run.members > 0),
        is_honoured: |target| target.is_group,
    },
    TransportOption {
        name: "--cores",
        is_given: |given| matches!(given, Given::Serve(serve) if serve.cores > 1),
        // The kernel assigns associations to sockets that share a port; a group reaches all.
        is_honoured: |target| {
            !matches!(target.transport, Tcp | XtpIp | Xstp)
                && !target.is_group
                && !target.is_listed()
        },
    },
    TransportOption {
        name: "--requests",
        is_given: |given| matches!(given, Given::Run(run) if run.requests),
        is_honoured: |target| target.transport != UnacknowledgedXtp && !target.is_group,
    },
    TransportOption {
        name: "--associations",
        is_given: |given| matches!(given, Given::Run(run) if run.associations.is_some()),
        is_honoured: |target| {
            !matches!(target.transport, UnacknowledgedXtp | TransactionXtp) && !target.is_group
        },
    },
];

impl TransportOption {
    /// Says who honours it, in few words.
    fn by(&self) -> String {
        let (by, others): (Vec<_>, Vec<_>) =
            Target::all().partition(|target| (self.is_honoured)(*target));
        let listed = |all: Vec<Target>| -> String {
            all.into_iter().map(Target::shown).collect::<Vec<_>>().join(", ")
        };
        if by.len() > others.len() { format!("all but {}", listed(others)) } else { listed(by) }
    }
}

/// Refuses what the transport at `place` would ignore.
///
/// # Errors
/// The first option of that kind, and who has it.
pub(super) fn check(given: &Given<'_>, place: &Place) -> Result<(), Problem> {
    let target = Target::of(place);
    let is_placed = given.placement().is_server();
    let is_own =
        |option: &&TransportOption| !["--requests", "--associations"].contains(&option.name);
    let mut all = OPTIONS.iter();
    if let Some(option) = all.find(|option| is_placed && is_own(option) && (option.is_given)(given))
    {
        return Err(Problem::Unhonoured {
            option: option.name,
            transport: "a transport in a server".into(),
            by: "those with --placement library".into(),
        });
    }
    let ignored =
        OPTIONS.iter().find(|option| (option.is_given)(given) && !(option.is_honoured)(target));
    match ignored {
        None => Ok(()),
        Some(option) => Err(Problem::Unhonoured {
            option: option.name,
            transport: target.shown(),
            by: option.by(),
        }),
    }
}

/// The options and who honours them, as the help shows it.
pub(super) fn help() -> String {
    let lines = OPTIONS.iter().filter(|option| option.name != "--first");
    let lines = lines.map(|option| format!("\n  {:<15} {}", option.name, option.by()));
    format!("Options of some transports alone, which others refuse:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use stackwright_endpoint::System;

    use super::super::arguments::Perf;
    use super::super::transport::described;
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        perf: Perf,
    }

    /// Each option with a value that is not the usual one.
    fn written(option: &str) -> Vec<&str> {
        const KEY: &str = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";
        match option {
            "--packet" => vec!["--packet", "777"],
            "--window" => vec!["--window", "77"],
            "--flight" => vec!["--flight", "77kB"],
            "--rate" => vec!["--rate", "77kB"],
            "--run" => vec!["--run", "7777"],
            "--gather" => vec!["--gather", "7"],
            "--congestion" => vec!["--congestion", "bbr"],
            "--services" => vec!["--services", "reliable; ordered"],
            "--cipher" => vec!["--cipher", "aes-256-gcm"],
            "--key" => vec!["--cipher", "aes-256-gcm", "--key", KEY],
            "--first" => vec!["--first", "7"],
            "--members" => vec!["--members", "7"],
            "--cores" => vec!["--cores", "7"],
            "--associations" => vec!["--associations", "7"],
            flag @ ("--unchecked" | "--requests") => vec![flag],
            other => panic!("{other}: write down how it is given"),
        }
    }

    fn line(target: Target, option: &str) -> (Perf, Place) {
        let host = if target.is_group { "239.77.1.1" } else { "127.0.0.1" };
        let url = format!("{}://{host}", target.transport.scheme());
        let command = if option == "--cores" { "serve" } else { "run" };
        let words = [&["stackwright", command, &url], &written(option)[..]].concat();
        let line = Line::try_parse_from(words).unwrap_or_else(|why| panic!("{why}"));
        (line.perf, Place::parse(&url).expect("an address"))
    }

    fn given(perf: &Perf) -> Given<'_> {
        match perf {
            Perf::Serve(serve) => Given::Serve(serve),
            Perf::Run(run) => Given::Run(run),
            Perf::Layers(_) => panic!("it is no measurement of its own"),
        }
    }

    /// Every option is refused by every transport that does not honour it, in a sentence that names
    /// both, and seen in the configuration of every one that does.
    #[test]
    fn an_option_is_honoured_or_refused() {
        let (_driver, system) = System::with_driver().expect("descriptors");
        // These are not of a configuration: other tests see what they do.
        let elsewhere = ["--cores", "--requests", "--associations"];
        for option in OPTIONS {
            let mut honoured = 0;
            for target in Target::all() {
                let (perf, place) = line(target, option.name);
                let given = given(&perf);
                assert!((option.is_given)(&given), "{}", option.name);
                let is_key = option.name == "--key"; // the cipher beside it is refused first
                match check(&given, &place) {
                    Err(Problem::Unhonoured { option: named, transport, .. }) => {
                        assert!(!(option.is_honoured)(target), "{} {target:?}", option.name);
                        assert!(named == option.name || is_key && named == "--cipher");
                        assert_eq!(transport, target.shown());
                    }
                    Err(other) => panic!("{other}"),
                    Ok(()) => {
                        honoured += 1;
                        if elsewhere.contains(&option.name) {
                            continue;
                        }
                        let Given::Run(run) = given else { panic!("{}", option.name) };
                        let usual = described(&system, &place, &Tuning::default());
                        let told = described(&system, &place, &run.tuning.of(run));
                        assert_ne!(usual, told, "{} {target:?} is ignored", option.name);
                    }
                }
            }
            assert!(honoured > 0, "{}: nothing honours it", option.name);
        }
    }

    #[test]
    fn the_help_has_a_line_for_each_option() {
        let help = help();
        for option in OPTIONS.iter().filter(|option| option.name != "--first") {
            assert!(help.contains(&format!("\n  {:<15} {}", option.name, option.by())), "{help}");
        }
    }
}
