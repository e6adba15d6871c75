//! Resolves a description: from its fields to a profile.

use stackwright_contract::{Duration, Instant};
use thiserror::Error;

use super::{Change, Limit, LinkDescription, Outage, Pass, Shared, Step, Time};
use crate::{
    ChannelConditions, Conditions, DelayStep, Discipline, Hearing, LinkStep, Outages, Passes,
    Policer, Profile, Queue, Reorder, StepLength,
};

/// A flaw of a description whose fields can all be read. It names the field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum LinkFlaw {
    /// A field that belongs into a table for one direction.
    #[error(
        "`{field}` is said of a link, not of one way: it cannot stand under `forward` or `back`"
    )]
    OfBothWays {
        /// The field.
        field: &'static str,
    },
    /// A field that a shared channel does not have.
    #[error("`{field}` is said of a link of two stations: a shared channel has none")]
    OfALink {
        /// The field.
        field: &'static str,
    },
    /// A channel on a profile that is a link.
    #[error(
        "`channel` makes it a shared channel, and this `profile` is a link of two stations: leave out one of them"
    )]
    TwoKinds,
    /// Two descriptions of when the link is down.
    #[error("`pass` and `outages` both say when the link is down: leave out one of them")]
    TwoOutages,
    /// A field that is needed.
    #[error("`{field}` is missing: expected {expected}")]
    Missing {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// A value that contradicts others.
    #[error("`{field}` cannot be so: expected {expected}")]
    Unfit {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: &'static str,
    },
}

impl LinkFlaw {
    /// Returns the field that the error is about.
    pub fn field(&self) -> &'static str {
        match self {
            LinkFlaw::OfBothWays { field }
            | LinkFlaw::OfALink { field }
            | LinkFlaw::Missing { field, .. }
            | LinkFlaw::Unfit { field, .. } => field,
            LinkFlaw::TwoKinds => "channel",
            LinkFlaw::TwoOutages => "outages",
        }
    }
}

impl LinkDescription {
    /// Returns what the description stands for: its profile, changed by its fields.
    ///
    /// # Errors
    /// If fields contradict each other; the error names them.
    pub fn resolve(&self) -> Result<Profile, LinkFlaw> {
        let base = self.profile.and_then(|name| name.profile());
        match (base, &self.channel) {
            (Some(Profile::Channel(base)), _) => self.channel(base).map(Profile::Channel),
            (None, Some(_)) if self.rate.is_none() => {
                Err(LinkFlaw::Missing { field: "rate", expected: "that of the shared channel" })
            }
            (None, Some(_)) => self.channel(ChannelConditions::ideal(1)).map(Profile::Channel),
            (Some(Profile::Link { .. }), Some(_)) => Err(LinkFlaw::TwoKinds),
            (Some(Profile::Link { forward, back }), None) => self.both(forward, back),
            (None, None) => self.both(Conditions::IDEAL, Conditions::IDEAL),
        }
    }

    fn both(&self, mut forward: Conditions, mut back: Conditions) -> Result<Profile, LinkFlaw> {
        for (own, conditions) in [(&self.forward, &mut forward), (&self.back, &mut back)] {
            self.override_way(conditions)?;
            if let Some(own) = own {
                let nested = [
                    ("profile", own.profile.is_some()),
                    ("channel", own.channel.is_some()),
                    ("forward", own.forward.is_some()),
                    ("back", own.back.is_some()),
                ];
                if let Some((field, _)) = nested.into_iter().find(|(_, stands)| *stands) {
                    return Err(LinkFlaw::OfBothWays { field });
                }
                own.override_way(conditions)?;
            }
        }
        Ok(Profile::Link { forward, back })
    }

    fn override_way(&self, way: &mut Conditions) -> Result<(), LinkFlaw> {
        way.rate = self.rate.map_or(way.rate, |rate| rate.0);
        way.delay = self.delay.map_or(way.delay, |time| time.0);
        way.jitter = self.jitter.map_or(way.jitter, |time| time.0);
        if let Some(all) = &self.delay_steps {
            let steps = all.0.iter().map(step).collect::<Result<Vec<_>, _>>()?;
            way.delay_steps = steps.into();
        }
        way.keeps_order = self.keeps_order.unwrap_or(way.keeps_order);
        way.mtu = self.mtu.or(way.mtu);
        if let Some(all) = &self.steps {
            way.steps = all.0.iter().map(change).collect::<Result<Vec<_>, _>>()?.into();
        }
        way.ecn = self.ecn.unwrap_or(way.ecn);
        if let Some(limit) = &self.policer {
            way.policer = Some(policer(limit)?);
        }
        way.overhead = self.overhead.unwrap_or(way.overhead);
        way.duplicate = self.duplicate.map_or(way.duplicate, |probability| probability.0);
        way.corrupt = self.corrupt.map_or(way.corrupt, |probability| probability.0);
        way.bit_errors = self.bit_errors.map_or(way.bit_errors, |rate| rate.0);
        if let Some(loss) = &self.loss {
            way.loss = loss.clone();
        }
        if let Some(places) = self.queue {
            let discipline = way.queue.discipline;
            way.queue = Queue { octets: places.octets, packets: places.packets, discipline };
        }
        if let Some(wait) = self.codel {
            let (target, interval) = (wait.target.0, wait.interval.0);
            way.queue.discipline = Discipline::CoDel { target, interval };
        }
        if let Some(held) = self.reorder {
            way.reorder = Reorder { probability: held.probability.0, by: held.by.0 };
        }
        match (&self.pass, &self.outages) {
            (Some(_), Some(_)) => return Err(LinkFlaw::TwoOutages),
            (Some(pass), None) => way.outages = passes(pass)?,
            (None, Some(outages)) => way.outages = spans(&outages.0)?,
            (None, None) => {}
        }
        Ok(())
    }

    fn channel(&self, base: ChannelConditions) -> Result<ChannelConditions, LinkFlaw> {
        let of_links = [
            ("delay-steps", self.delay_steps.is_some()),
            ("steps", self.steps.is_some()),
            ("ecn", self.ecn.is_some()),
            ("policer", self.policer.is_some()),
            ("jitter", self.jitter.is_some()),
            ("keeps-order", self.keeps_order.is_some()),
            ("codel", self.codel.is_some()),
            ("loss", self.loss.is_some()),
            ("duplicate", self.duplicate.is_some()),
            ("reorder", self.reorder.is_some()),
            ("corrupt", self.corrupt.is_some()),
            ("pass", self.pass.is_some()),
            ("outages", self.outages.is_some()),
            ("forward", self.forward.is_some()),
            ("back", self.back.is_some()),
        ];
        if let Some((field, _)) = of_links.into_iter().find(|(_, stands)| *stands) {
            return Err(LinkFlaw::OfALink { field });
        }
        let unfit = |field, expected| LinkFlaw::Unfit { field, expected };
        let Shared { key_up, tail, slot, persistence, hidden } =
            self.channel.clone().unwrap_or_default();
        let rate = match self.rate {
            Some(rate) => rate.0.ok_or(unfit("rate", "a limit, since a shared channel has one"))?,
            None => base.rate,
        };
        let queue = match self.queue {
            Some(places) if places.octets.is_some() => {
                return Err(unfit(
                    "queue",
                    "packets, as in \"50 packets\", since a shared channel counts them",
                ));
            }
            Some(places) => places.packets.unwrap_or(usize::MAX),
            None => base.queue,
        };
        let channel = ChannelConditions {
            rate,
            overhead: self.overhead.unwrap_or(base.overhead),
            mtu: self.mtu.or(base.mtu),
            queue,
            key_up: key_up.map_or(base.key_up, |time| time.0),
            tail: tail.map_or(base.tail, |time| time.0),
            slot: slot.map_or(base.slot, |time| time.0),
            persistence: persistence.map_or(base.persistence, |probability| probability.0),
            delay: self.delay.map_or(base.delay, |time| time.0),
            bit_errors: self.bit_errors.map_or(base.bit_errors, |rate| rate.0),
            hearing: hidden.map_or(base.hearing, |pairs| Hearing::hiding(&pairs)),
        };
        if channel.persistence <= 0.0 {
            return Err(unfit("persistence", "more than 0, or nobody ever sends"));
        }
        if channel.slot.is_zero() {
            return Err(unfit("slot", "more than nothing, or nobody ever waits"));
        }
        Ok(channel)
    }
}

fn passes(pass: &Pass) -> Result<Outages, LinkFlaw> {
    let (period, length, first) = (pass.period.0, pass.length.0, pass.first.0);
    if length.is_zero() || length > period {
        let expected = "a `length` that is more than nothing and not more than the `period`";
        return Err(LinkFlaw::Unfit { field: "pass", expected });
    }
    Ok(Outages::Passes(Passes { period, length, first }))
}

fn step(step: &Step) -> Result<DelayStep, LinkFlaw> {
    let unfit = |expected| LinkFlaw::Unfit { field: "delay-steps", expected };
    let lasts = match (step.time, step.packets) {
        (None, None) => StepLength::Forever,
        (Some(Time(time)), None) if !time.is_zero() => StepLength::Time(time),
        (None, Some(packets @ 1..)) => StepLength::Packets(packets),
        (Some(_), Some(_)) => return Err(unfit("either `for` or `packets`, not both")),
        _ => return Err(unfit("a `for` or a number of `packets` that is more than nothing")),
    };
    Ok(DelayStep { at: step.at.0, delay: step.delay.0, lasts })
}

fn change(change: &Change) -> Result<LinkStep, LinkFlaw> {
    let unfit = |expected| LinkFlaw::Unfit { field: "steps", expected };
    let Change { at, rate, mtu, ecn, loss } = *change;
    if (rate, mtu, ecn, loss) == (None, None, None, None) {
        return Err(unfit("a `rate`, an `mtu`, an `ecn` or a `loss` in each"));
    }
    if loss.is_some_and(|loss| !(0.0..=1.0).contains(&loss)) {
        return Err(unfit("a `loss` of 0 to 1"));
    }
    let rate = rate.map(|rate| rate.0.ok_or(unfit("a `rate` with a limit"))).transpose()?;
    Ok(LinkStep { at: at.0, rate, mtu, ecn, loss })
}

fn policer(limit: &Limit) -> Result<Policer, LinkFlaw> {
    let unfit = LinkFlaw::Unfit { field: "policer", expected: "a `rate` with a limit" };
    let burst = usize::try_from(limit.burst.0).unwrap_or(usize::MAX);
    Ok(Policer { rate: limit.rate.0.ok_or(unfit)?, burst })
}

fn spans(outages: &[Outage]) -> Result<Outages, LinkFlaw> {
    if outages.iter().any(|outage| outage.from.0 >= outage.to.0) {
        return Err(LinkFlaw::Unfit {
            field: "outages",
            expected: "a `to` that is later than its `from`",
        });
    }
    if outages.is_empty() {
        return Ok(Outages::None);
    }
    let at = |time: Duration| Instant::START + time;
    Ok(Outages::Spans(outages.iter().map(|outage| at(outage.from.0)..at(outage.to.0)).collect()))
}
