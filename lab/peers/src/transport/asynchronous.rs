//! The workloads over futures, all on one thread.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, FuturesUnordered, StreamExt as _};
use tokio::runtime::{Builder, Runtime};

use super::{Sent, latencies, record};
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// One association.
pub(super) trait Association {
    async fn send(&mut self, message: &Bytes) -> Result<(), Problem>;

    /// How many octets came; none at the end.
    async fn receive(&mut self) -> Result<usize, Problem>;

    /// Packets thought lost.
    fn retransmitted(&self) -> Option<u64> {
        None
    }
}

/// An association that may not be complete yet, so that the next can be accepted meanwhile.
pub(super) type Opening<A> = Pin<Box<dyn Future<Output = Result<A, Problem>>>>;

/// Who accepts.
pub(super) trait Listener {
    type Association: Association + 'static;
    async fn accept(&mut self) -> Result<Opening<Self::Association>, Problem>;

    /// Tells all who are still there that it is over.
    async fn close(self);
}

/// Who opens.
pub(super) trait Connector {
    type Association: Association + 'static;
    async fn connect(&self) -> Result<Self::Association, Problem>;

    /// Waits until what ends associations has left.
    async fn close(&self);
}

/// How many openings are under way at once. All stay open; but a thousand first packets in one
/// burst are a test of socket buffers and not of a transport.
const OPENING: usize = 256;

/// How long closing may take.
const CLOSING: Duration = Duration::from_secs(1);

/// One thread: both ends may share a processor, and a second thread would be a second processor
/// elsewhere.
///
/// # Errors
/// When there are no descriptors left.
pub(super) fn runtime() -> Result<Runtime, Problem> {
    Builder::new_current_thread().enable_all().build().tried("a runtime")
}

pub(super) async fn serve<L: Listener>(
    mut listener: L,
    plan: &Plan,
    tally: &Tally,
) -> Result<(), Problem> {
    let work = async {
        match plan.workload {
            Workload::Bulk => {
                let mut association = listener.accept().await?.await?;
                receive_bulk(&mut association, tally).await?;
                // Held until the sender has the count.
                tally.gone().await;
                Ok(())
            }
            Workload::Requests | Workload::Associations => answer(&mut listener, plan, tally).await,
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = tally.gone() => Ok(()),
    };
    // One who does not answer any more is not waited for.
    let _ = tokio::time::timeout(CLOSING, listener.close()).await;
    done
}

async fn receive_bulk(association: &mut impl Association, tally: &Tally) -> Result<(), Problem> {
    while !tally.is_over() {
        let length = tokio::select! {
            biased;
            () = tally.over() => return Ok(()),
            length = association.receive() => length?,
        };
        if length == 0 {
            return Err(Problem::new("the sender closed before all was here"));
        }
        tally.count(length);
    }
    Ok(())
}

/// Answers on all associations, until the sender is gone.
async fn answer<L: Listener>(listener: &mut L, plan: &Plan, tally: &Tally) -> Result<(), Problem> {
    let message = &Bytes::from(plan.message());
    let mut answering = FuturesUnordered::new();
    loop {
        tokio::select! {
            opening = listener.accept() => {
                let opening = opening?;
                answering.push(async move {
                    let mut association = opening.await?;
                    reply(&mut association, message, tally).await?;
                    // Held until the sender has closed it: its own last words may still be on their
                    // way.
                    tally.gone().await;
                    Ok::<_, Problem>(())
                });
            }
            Some(answered) = answering.next() => answered?,
        }
    }
}

/// Answers until the sender has closed.
async fn reply(
    association: &mut impl Association,
    message: &Bytes,
    tally: &Tally,
) -> Result<(), Problem> {
    let mut missing = message.len();
    loop {
        let length = association.receive().await?;
        if length == 0 {
            return Ok(());
        }
        tally.count(length);
        missing = missing.saturating_sub(length);
        if missing == 0 {
            association.send(message).await?;
            missing = message.len();
        }
    }
}

pub(super) async fn send<C: Connector>(
    connector: C,
    plan: &Plan,
    course: &Course,
) -> Result<Sent, Problem> {
    course.begin();
    let sent = match plan.workload {
        Workload::Bulk => bulk(&connector, plan, course).await,
        Workload::Requests => requests(&connector, plan, course).await,
        Workload::Associations => associations(&connector, plan, course).await,
    };
    let _ = tokio::time::timeout(CLOSING, connector.close()).await;
    sent
}

async fn bulk(connector: &impl Connector, plan: &Plan, course: &Course) -> Result<Sent, Problem> {
    let mut association = connector.connect().await?;
    let message = Bytes::from(plan.message());
    let sending = async {
        let mut left = plan.octets().unwrap_or(u64::MAX) / plan.size as u64;
        while left > 0 {
            association.send(&message).await?;
            left -= 1;
        }
        // All is given away, but not all is there.
        std::future::pending::<Result<(), Problem>>().await
    };
    tokio::select! {
        biased;
        () = course.over() => {}
        sent = sending => sent?,
    }
    Ok(Sent { retransmitted: association.retransmitted(), ..Sent::default() })
}

async fn requests(
    connector: &impl Connector,
    plan: &Plan,
    course: &Course,
) -> Result<Sent, Problem> {
    let mut association = connector.connect().await?;
    let message = Bytes::from(plan.message());
    let mut latencies = latencies()?;
    while course.goes_on(plan.goal, latencies.len()) {
        let begin = Instant::now();
        exchange(&mut association, &message).await?;
        record(&mut latencies, begin);
    }
    Ok(Sent {
        messages: Some(latencies.len()),
        lap: Some(course.lap()),
        latencies: Some(latencies),
        retransmitted: association.retransmitted(),
    })
}

async fn exchange(association: &mut impl Association, message: &Bytes) -> Result<(), Problem> {
    association.send(message).await?;
    let mut missing = message.len();
    while missing > 0 {
        match association.receive().await? {
            0 => return Err(Problem::new("the receiver closed before it had replied")),
            length => missing = missing.saturating_sub(length),
        }
    }
    Ok(())
}

async fn associations(
    connector: &impl Connector,
    plan: &Plan,
    course: &Course,
) -> Result<Sent, Problem> {
    let message = &Bytes::from(plan.message());
    let wanted = plan.associations();
    let opened = stream::iter(0..wanted).map(|_| async move {
        let mut association = connector.connect().await?;
        exchange(&mut association, message).await?;
        Ok::<_, Problem>(association)
    });
    let mut opened = pin!(opened.buffer_unordered(OPENING));
    let mut open = Vec::with_capacity(wanted);
    while let Some(association) = opened.next().await {
        open.push(association?);
    }
    // All are open at this moment, and now none. How long a transport then remembers them is not
    // asked.
    drop(open);
    Ok(Sent { messages: Some(wanted as u64), lap: Some(course.lap()), ..Sent::default() })
}
