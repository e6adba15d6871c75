//! Messages until they are acknowledged, and which of those that arrive are new.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use stackwright::contract::CallSign;

use super::message::{AprsMessage, Body};

/// The longest pause before a message is sent again.
const PAUSE_MOST: Duration = Duration::from_secs(120);
/// Messages that are remembered, to know those that are sent again.
const SEEN_MOST: usize = 64;
/// How long an acknowledgement answers for all copies: digipeaters repeat a message at once, its
/// sender later.
const COPIES: Duration = Duration::from_secs(2);
/// How long a message without a number is known.
const KNOWN: Duration = Duration::from_secs(30);

/// A message that is sent until it is acknowledged.
pub(super) struct Outgoing {
    pub(super) to: CallSign,
    id: String,
    text: String,
    pub(super) tries: u32,
    pub(super) tries_most: u32,
    pause: Duration,
    /// When it is sent next, or given up.
    next: Instant,
}

/// What is to be done with a message.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// It is sent.
    Send(AprsMessage),
    /// Nothing before this time.
    Wait(Instant),
    /// It was sent as often as it may be.
    GivenUp,
}

impl Outgoing {
    pub(super) fn new(
        to: CallSign,
        id: u32,
        text: String,
        tries_most: u32,
        pause: Duration,
        now: Instant,
    ) -> Self {
        Outgoing { to, id: id.to_string(), text, tries: 0, tries_most, pause, next: now }
    }

    pub(super) fn due(&mut self, now: Instant) -> Due {
        if now < self.next {
            return Due::Wait(self.next);
        }
        if self.tries >= self.tries_most {
            return Due::GivenUp;
        }
        self.tries += 1;
        self.next = now + self.pause;
        self.pause = (2 * self.pause).min(PAUSE_MOST);
        let body = Body::Text { text: self.text.clone(), id: Some(self.id.clone()) };
        Due::Send(AprsMessage { to: self.to, body })
    }

    /// Returns what its receiver says of it: whether it was accepted.
    pub(super) fn settled(&self, from: CallSign, body: &Body) -> Option<bool> {
        match body {
            _ if from != self.to => None,
            Body::Acknowledged { id } => (*id == self.id).then_some(true),
            Body::Rejected { id } => (*id == self.id).then_some(false),
            Body::Text { .. } => None,
        }
    }
}

/// What has arrived lately.
#[derive(Default)]
pub(super) struct Inbox {
    seen: VecDeque<Seen>,
}

struct Seen {
    from: CallSign,
    text: String,
    id: Option<String>,
    /// When it was acknowledged, or came.
    at: Instant,
}

/// What is to be done with a message that arrives.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Arrived {
    pub(super) is_new: bool,
    pub(super) acknowledgement: Option<AprsMessage>,
}

impl Inbox {
    /// Takes a text.
    pub(super) fn arrives(
        &mut self,
        from: CallSign,
        text: &str,
        id: Option<&str>,
        now: Instant,
    ) -> Arrived {
        let is_it = |seen: &&mut Seen| {
            let lasts = id.is_some() || seen.at + KNOWN > now;
            (seen.from, &seen.text[..], seen.id.as_deref()) == (from, text, id) && lasts
        };
        let acknowledgement = id.map(|id| {
            let body = Body::Acknowledged { id: id.into() };
            AprsMessage { to: from, body }
        });
        if let Some(seen) = self.seen.iter_mut().find(is_it) {
            let is_copy = seen.at + COPIES > now;
            if !is_copy {
                seen.at = now;
            }
            return Arrived {
                is_new: false,
                acknowledgement: acknowledgement.filter(|_| !is_copy),
            };
        }
        if self.seen.len() >= SEEN_MOST {
            self.seen.pop_front();
        }
        let (text, id) = (text.into(), id.map(Into::into));
        self.seen.push_back(Seen { from, text, id, at: now });
        Arrived { is_new: true, acknowledgement }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> CallSign {
        text.parse().expect("a call sign")
    }

    #[test]
    fn a_message_is_sent_with_growing_pauses_and_given_up() {
        let (begin, to) = (Instant::now(), call("N0BBB"));
        let second = Duration::from_secs(1);
        let mut outgoing = Outgoing::new(to, 7, "hello".into(), 6, 20 * second, begin);
        let (mut now, mut sent) = (begin, Vec::new());
        loop {
            match outgoing.due(now) {
                Due::Send(message) => {
                    assert_eq!(message.to_string(), ":N0BBB    :hello{7");
                    sent.push(now.duration_since(begin).as_secs());
                }
                Due::Wait(until) => now = until,
                Due::GivenUp => break,
            }
        }
        assert_eq!(sent, [0, 20, 60, 140, 260, 380]);
        assert_eq!(now, begin + 500 * second);
        let says = |id: &str| Body::Acknowledged { id: id.into() };
        assert_eq!(outgoing.settled(to, &says("7")), Some(true));
        assert_eq!(outgoing.settled(to, &Body::Rejected { id: "7".into() }), Some(false));
        assert_eq!(outgoing.settled(to, &says("8")), None);
        assert_eq!(outgoing.settled(call("N0BBB-1"), &says("7")), None, "another station");
    }

    #[test]
    fn one_that_comes_again_is_acknowledged_again_and_not_new() {
        let (mut inbox, from) = (Inbox::default(), call("N0AAA"));
        let begin = Instant::now();
        let mut come = |text: &str, id: Option<&str>, seconds| {
            let arrived = inbox.arrives(from, text, id, begin + Duration::from_secs(seconds));
            (arrived.is_new, arrived.acknowledgement.map(|message| message.to_string()))
        };
        let acknowledged = Some(":N0AAA    :ack1".to_owned());
        assert_eq!(come("hello", Some("1"), 0), (true, acknowledged.clone()));
        assert_eq!(come("hello", Some("1"), 1), (false, None), "a copy of a digipeater");
        assert_eq!(come("hello", Some("1"), 10), (false, acknowledged.clone()));
        assert_eq!(come("other", Some("1"), 11), (true, acknowledged), "its numbers begin anew");
        assert_eq!(come("no number", None, 12), (true, None));
        assert_eq!(come("no number", None, 13), (false, None));
        assert_eq!(come("no number", None, 50), (true, None));
        for nth in 0..10_000 {
            come(&nth.to_string(), None, 51);
        }
        assert_eq!(inbox.seen.len(), SEEN_MOST);
    }
}
