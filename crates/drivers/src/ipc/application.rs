//! What a server knows of an application, and of a name that one has given.

use stackwright_contract::services::{AssociationIndication, AssociationRequest, Credit};
use stackwright_contract::{Handle, Instant, Mirror, PathLimits};

use super::channel::Channel;
use super::policy::UserId;
use super::word::Crossing;

/// An application.
pub(super) struct Application<T: Crossing> {
    pub(super) channel: Channel<T::Message>,
    /// Our name for each of its own.
    pub(super) names: Mirror<Handle>,
    /// It said what it speaks.
    pub(super) greeted: bool,
    /// Octets that are held for it, as they were counted last.
    pub(super) held: usize,
    /// It is among those that have something to be sent.
    pub(super) busy: bool,
    /// Its user, where that is not the server's own.
    pub(super) user: Option<UserId>,
    /// It was refused: nothing that it says is heard any more.
    pub(super) over: bool,
    /// Credit of its line that is given at this time: it sends faster than its user may.
    pub(super) owed: usize,
    pub(super) owed_at: Instant,
}

impl<T: Crossing> Application<T> {
    pub(super) fn new(longest: usize, credit: usize, user: Option<UserId>) -> Self {
        let mut channel = Channel::new(longest);
        channel.allow(credit);
        Application {
            channel,
            names: Mirror::new(),
            greeted: false,
            held: 0,
            busy: false,
            user,
            over: false,
            owed: 0,
            owed_at: Instant::START,
        }
    }

    /// One that is gone, and whose line has not ended.
    pub(super) fn over() -> Self {
        Application { over: true, ..Self::new(0, 0, None) }
    }
}

/// Credit upward of one name at most. Layers add it to what they have.
const UPWARD_MOST: Credit = Credit { octets: 1 << 32, messages: 1 << 24 };

/// A name of an application.
pub(super) struct Owned {
    /// `None`: the application is gone.
    pub(super) application: Option<Handle>,
    /// Its user, where that is not the server's own.
    pub(super) user: Option<UserId>,
    /// It is among the associations of its user.
    pub(super) counts: bool,
    /// It has opened, but its user may have no more associations: the application hears its end.
    pub(super) refused: bool,
    /// What it calls it.
    pub(super) theirs: Handle,
    pub(super) listens: bool,
    /// The application has ended it, and has to wait for the last word.
    pub(super) closing: bool,
    open: bool,
    finished: bool,
    /// Credit given upward that is not used up.
    up: Credit,
    /// Credit downward.
    down: Credit,
    /// What was sent and not given back.
    on_way: Credit,
    path: PathLimits,
}

/// What is to be done with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judged {
    /// The stack handles it.
    Passes,
    /// It crossed an indication that makes it void.
    Void,
    /// No stack below was ever asked that: the application is broken.
    Breaks,
}

impl Owned {
    /// A name that begins with this request.
    pub(super) fn new<T: Crossing>(
        application: Handle,
        user: Option<UserId>,
        theirs: Handle,
        request: &AssociationRequest<T>,
    ) -> Self {
        Owned {
            application: Some(application),
            user,
            counts: false,
            refused: false,
            theirs,
            listens: matches!(request, AssociationRequest::Listen { .. }),
            closing: false,
            open: false,
            finished: false,
            up: Credit::NONE,
            down: Credit::NONE,
            on_way: Credit::NONE,
            path: PathLimits::UNBOUNDED,
        }
    }

    /// Judges a request on it, and takes the request into account where it passes: what an
    /// assertion demands of a layer, a server demands of an application.
    pub(super) fn judge<T: Crossing>(&mut self, request: &AssociationRequest<T>) -> Judged {
        let passes = |passes| if passes { Judged::Passes } else { Judged::Breaks };
        if self.refused {
            return Judged::Void;
        }
        match request {
            AssociationRequest::Await { credit, .. } | AssociationRequest::Open { credit, .. } => {
                passes(self.gives(*credit))
            }
            AssociationRequest::Listen { .. } => Judged::Passes,
            AssociationRequest::Close { .. } => passes(!std::mem::replace(&mut self.closing, true)),
            _ if self.listens => Judged::Breaks,
            AssociationRequest::Credit { credit, .. } => {
                passes(*credit != Credit::NONE && self.gives(*credit))
            }
            AssociationRequest::Send { batch, .. } => {
                let (cost, single) = (T::cost(batch), batch.segment_size().is_none());
                if !self.open || self.finished || self.closing {
                    return Judged::Breaks;
                }
                let fits = batch.longest() <= self.path.longest as usize;
                if T::MESSAGES && !(fits && (self.path.empty || cost.octets > 0)) {
                    return Judged::Void; // the path has changed since
                }
                passes(self.sends(cost, single && T::MESSAGES))
            }
            AssociationRequest::Finish { .. } => {
                passes(!std::mem::replace(&mut self.finished, true))
            }
            AssociationRequest::Abort { .. } => {
                self.closing = true;
                Judged::Passes
            }
            AssociationRequest::Tell { .. } | AssociationRequest::Control { .. } => Judged::Passes,
        }
    }

    /// Adds credit upward; returns whether that is within bounds.
    fn gives(&mut self, credit: Credit) -> bool {
        let left = Credit {
            octets: UPWARD_MOST.octets - self.up.octets,
            messages: UPWARD_MOST.messages - self.up.messages,
        };
        let within = left.covers(credit);
        if within {
            self.up += credit;
        }
        within
    }

    /// Uses up credit downward; returns whether there is as much. One message that is longer than
    /// all of it may be sent where nothing is on its way.
    fn sends(&mut self, cost: Credit, single: bool) -> bool {
        let alone = single && self.on_way == Credit::NONE && self.down.messages > 0;
        let used = Credit { octets: cost.octets.min(self.down.octets), ..cost };
        let within = self.down.covers(cost) || alone;
        if within {
            self.down -= used;
            self.on_way += used;
        }
        within
    }

    /// Takes an indication on it into account.
    pub(super) fn hear<T: Crossing>(&mut self, indication: &AssociationIndication<T>) {
        match indication {
            AssociationIndication::Opened { credit, path, .. } => {
                (self.open, self.down, self.path) = (true, *credit, *path);
            }
            AssociationIndication::Changed { path, .. } => self.path = *path,
            AssociationIndication::Credit { credit, .. } => {
                self.down = add(self.down, *credit);
                self.on_way = less(self.on_way, *credit);
            }
            AssociationIndication::Delivered { batch, .. } => {
                self.up = less(self.up, T::cost(batch));
            }
            _ => {}
        }
    }
}

/// Credit of a stream may be all that there is.
fn add(credit: Credit, more: Credit) -> Credit {
    Credit {
        octets: credit.octets.saturating_add(more.octets),
        messages: credit.messages.saturating_add(more.messages),
    }
}

fn less(credit: Credit, used: Credit) -> Credit {
    Credit {
        octets: credit.octets.saturating_sub(used.octets),
        messages: credit.messages.saturating_sub(used.messages),
    }
}
