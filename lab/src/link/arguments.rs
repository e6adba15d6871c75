//! The command line of `lab link`.

use std::ffi::OsString;
use std::time::Duration;

use stackwright_simulator::{Conditions, Loss, Profile, Queue, Reorder};

use crate::problem::Problem;

use super::quantity;

/// Joins two network namespaces by a modelled link, over which any program runs
///
/// Both ends are Linux's own: its TCP, its UDP, every program. What is said here holds both ways, and comes before what the profile
/// says. Without a command, the link stays until Ctrl-C.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A link known by name: `wan`, `geo`, … Without one, a link that does nothing
    profile: Option<String>,
    /// How fast it is, like `100 Mb/s`: of IP packets, unless the profile has framing
    #[arg(long, value_parser = quantity::rate)]
    rate: Option<u64>,
    /// How long a packet is under way, like `20 ms`
    #[arg(long, value_parser = quantity::time)]
    delay: Option<Duration>,
    /// How much longer it may be, by chance
    #[arg(long, value_parser = quantity::time)]
    jitter: Option<Duration>,
    /// What may wait for its turn, like `64 kB` or `50 packets`
    #[arg(long, value_parser = quantity::queue)]
    queue: Option<Queue>,
    /// The probability that a packet is lost, like `0.01` or `1 %`
    #[arg(long, value_parser = quantity::probability)]
    loss: Option<f64>,
    /// The probability that a packet arrives twice
    #[arg(long, value_parser = quantity::probability)]
    duplicate: Option<f64>,
    /// The probability that a bit of a packet's payload is altered
    #[arg(long, value_parser = quantity::probability)]
    corrupt: Option<f64>,
    /// The probability that a packet is held back by 10 ms, or what `--by` says, so that others overtake it
    #[arg(long, value_parser = quantity::probability)]
    reorder: Option<f64>,
    /// How long such a packet is held back
    #[arg(long, value_parser = quantity::time, requires = "reorder")]
    by: Option<Duration>,
    /// The longest IP packet, in octets: at least 68
    #[arg(long, value_parser = clap::value_parser!(u32).range(68..=65_535))]
    mtu: Option<u32>,
    /// What the link's chances follow from
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// JSON lines for programs: one when the link is up, one at its end
    #[arg(long)]
    pub(super) json: bool,
    /// For a program that started this one: a line on standard input asks for the counts, its end ends the link
    #[arg(long, hide = true, requires = "json")]
    pub(super) attended: bool,
    /// The conditions forward and back, as a program writes them
    #[arg(long, hide = true, conflicts_with = "profile")]
    conditions: Option<String>,
    /// Runs this at the first end, ends when it ends, and with its exit code
    #[arg(last = true)]
    pub(super) command: Vec<OsString>,
}

impl Arguments {
    /// What the link does, forward and back.
    ///
    /// # Errors
    ///
    /// Where there is no such profile, or it is no link of two.
    pub(super) fn conditions(&self) -> Result<[Conditions; 2], Problem> {
        if let Some(text) = &self.conditions {
            return serde_json::from_str(text).map_err(|error| {
                Problem::usage(format!("--conditions is not what a program writes: {error}"))
            });
        }
        let mut both = match &self.profile {
            Some(name) => named(name)?,
            None => [Conditions::IDEAL, Conditions::IDEAL],
        };
        both.iter_mut().for_each(|conditions| self.apply(conditions));
        Ok(both)
    }

    fn apply(&self, conditions: &mut Conditions) {
        fn set<T: Clone>(from: &Option<T>, to: &mut T) {
            if let Some(value) = from {
                to.clone_from(value);
            }
        }
        conditions.rate = self.rate.or(conditions.rate);
        conditions.mtu = self.mtu.map(|mtu| mtu as usize).or(conditions.mtu);
        set(&self.delay, &mut conditions.delay);
        set(&self.jitter, &mut conditions.jitter);
        set(&self.queue, &mut conditions.queue);
        set(&self.loss.map(Loss::Bernoulli), &mut conditions.loss);
        set(&self.duplicate, &mut conditions.duplicate);
        set(&self.corrupt, &mut conditions.corrupt);
        let by = self.by.unwrap_or(Duration::from_millis(10));
        set(&self.reorder.map(|probability| Reorder { probability, by }), &mut conditions.reorder);
    }
}

/// The conditions of a profile.
fn named(name: &str) -> Result<[Conditions; 2], Problem> {
    match Profile::named(name) {
        Some(Profile::Link { forward, back }) => Ok([forward, back]),
        Some(Profile::Channel(_)) => {
            Err(Problem::usage(format!("`{name}` is a channel that stations share"))
                .advise("This joins two ends by a link of their own; take one like `leo-pass`."))
        }
        None => {
            let problem = Problem::usage(format!("there is no profile `{name}`"));
            let all = Profile::ALL.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
            Err(problem.advise(match Profile::suggestion(name) {
                Some(like) => format!("Did you mean `{like}`? There are: {all}."),
                None => format!("There are: {all}."),
            }))
        }
    }
}
