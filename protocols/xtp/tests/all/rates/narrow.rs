//! An adapter that is as fast as its link: what was sent is credit again when it has left.

use std::collections::VecDeque;

use stackwright_contract::services::{Credit, Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{
    Batches, Context, Duration, Facts, Guarantees, Handle, Instant, Outlet, Protocol,
};

use crate::rates::scene::M;

/// How much of an association may wait for the link.
pub(crate) const ROOM: Credit = Credit { octets: 3000, messages: 2 };

/// A link of `rate` octets a second.
pub(crate) struct Narrow {
    rate: u32,
    /// When all that was sent has left.
    free: Instant,
    leaving: VecDeque<(Instant, Handle, Credit)>,
}

impl Narrow {
    pub(crate) fn new(rate: u32) -> Self {
        Narrow { rate, free: Instant::START, leaving: VecDeque::new() }
    }
}

impl Protocol for Narrow {
    const FACTS: Facts = Facts { gives: Guarantees::CHECKED, ..Facts::named("narrow") };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsRequest::Send { association, batch, .. } = &request {
            let credit = batch.cost();
            let takes = credit.octets as f64 / f64::from(self.rate);
            self.free = self.free.max(cx.now()) + Duration::from_secs_f64(takes);
            self.leaving.push_back((self.free, *association, credit));
        }
        out.request(request);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        told: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match told {
            DatagramsIndication::Credit { .. } => {}
            DatagramsIndication::Opened { association, local, remote, path, .. } => {
                let credit = ROOM;
                out.indicate(DatagramsIndication::Opened {
                    association,
                    local,
                    remote,
                    credit,
                    path,
                });
            }
            told => out.indicate(told),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some((at, association, credit)) = self.leaving.front().copied()
            && at <= cx.now()
        {
            self.leaving.pop_front();
            out.indicate(DatagramsIndication::Credit { association, credit });
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.leaving.front().map(|(at, ..)| *at)
    }
}
