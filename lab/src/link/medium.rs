//! What lies between the two ends: a link for each way, or a channel that both share.

use stackwright_contract::Instant;
use stackwright_simulator::{Carried, Channel, Counts, Link, Profile, Reception};

use super::counts::{Report, Why};
use super::direction::Direction;
use super::segment::Protocol;
use super::sent::Sent;

/// What lies between the two ends. Ways are counted: 0 is forward, 1 is back.
#[derive(Debug)]
pub(super) enum Medium {
    /// A link for each way; it says at once when a packet arrives.
    Links(Box<[Link; 2]>),
    /// One half-duplex channel; it says what has arrived when it has. The second part is always
    /// left empty.
    Channel(Box<Channel<Sent>>, Vec<Reception<Sent>>),
}

impl Medium {
    /// What `profile` says; its chances follow from `seed`.
    pub(super) fn new(profile: Profile, seed: u64) -> Medium {
        match profile {
            Profile::Link { forward, back } => {
                // Not the same chances both ways.
                let back = Link::new(back, seed ^ 0x9e37_79b9_7f4a_7c15);
                Medium::Links(Box::new([Link::new(forward, seed), back]))
            }
            Profile::Channel(conditions) => {
                Medium::Channel(Box::new(Channel::new(conditions, 2, seed)), Vec::new())
            }
        }
    }

    /// A packet was sent, and `direction` keeps the counts of its way.
    pub(super) fn offer(&mut self, direction: &mut Direction, sent: Sent) {
        let Sent { way, time: now, .. } = sent;
        let protocol = sent.segment.protocol();
        match self {
            Medium::Links(links) => {
                let link = &mut links[way];
                let before = link.counts();
                let carried = link.carry(now, sent);
                if link.counts().marked > before.marked {
                    direction.tallies.marked(protocol);
                }
                match carried {
                    Carried::Lost => {
                        direction.tallies.dropped(protocol, why(before, link.counts()))
                    }
                    Carried::Once(arrival, sent) => {
                        direction.tallies.under_way(protocol, arrival.since(now));
                        direction.hold(arrival, sent);
                    }
                    Carried::Twice([(arrival, sent), (later, twin)]) => {
                        direction.tallies.under_way(protocol, arrival.since(now));
                        direction.tallies.duplicated(protocol);
                        direction.hold(arrival, sent);
                        direction.hold(later, twin);
                    }
                }
            }
            Medium::Channel(channel, _) => {
                let before = channel.counts();
                channel.send(now, way, Some(1 - way), sent);
                let after = channel.counts();
                if after.too_long > before.too_long {
                    direction.tallies.dropped(protocol, Why::TooLong);
                } else if after.dropped_at_tail > before.dropped_at_tail {
                    direction.tallies.dropped(protocol, Why::Queue);
                }
            }
        }
    }

    /// Does what is due `now`.
    pub(super) fn turn(&mut self, now: Instant, directions: &mut [Direction; 2]) {
        if let Medium::Channel(channel, heard) = self {
            channel.handle_timeout(now, heard);
            for Reception { time, station, packet } in heard.drain(..) {
                // The other one has sent it.
                let direction = &mut directions[1 - station];
                direction.tallies.under_way(packet.segment.protocol(), time.since(packet.time));
                direction.hold(time, packet);
            }
        }
    }

    /// When something is due.
    pub(super) fn next(&self) -> Option<Instant> {
        match self {
            Medium::Links(_) => None,
            Medium::Channel(channel, _) => channel.next_deadline(),
        }
    }

    /// What is known so far of one way.
    pub(super) fn report(&self, way: usize, direction: &Direction) -> Report {
        let under_way = direction.waiting();
        match self {
            Medium::Links(links) => {
                let report = direction.tallies.report(links[way].conditions().delay);
                Report { under_way, ..report }
            }
            Medium::Channel(channel, _) => {
                // A channel does not tell which packet a collision has spoiled: what is neither
                // here nor there is lost.
                let mut waiting = [0; Protocol::ALL.len()];
                let mine = channel.packets().filter(|sent| sent.way == way);
                mine.for_each(|sent| waiting[sent.segment.protocol() as usize] += 1);
                let report =
                    direction.tallies.report_rest_lost(channel.conditions().delay, &waiting);
                Report { under_way: under_way + waiting.iter().sum::<u64>(), ..report }
            }
        }
    }
}

/// Why a packet was lost between these two.
fn why(before: Counts, after: Counts) -> Why {
    if after.lost > before.lost {
        Why::Lost
    } else if after.in_outage > before.in_outage {
        Why::Outage
    } else if after.too_long > before.too_long {
        Why::TooLong
    } else {
        Why::Queue
    }
}
