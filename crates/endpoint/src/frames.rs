//! A pair of queues in place of a network device: the stack has one end as
//! [`Frames`], the program the other.
//!
//! ```text
//!   the program          Queues                          QueuePort            the stack
//!   a WireGuard library  send  ──────▸ to the stack ────▸ Delivered            ip over point
//!   a test               receive ◂──── to the program ◂── Send
//! ```
//!
//! Both queues are bounded. What the program sends and finds no room for returns to it; what the
//! stack sends is within its credit, which grows as the program receives.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll};

use stackwright_contract::ask::{Ask, Longest, Question};
use stackwright_contract::services::{Credit, Frames, FramesIndication, FramesRequest};
use stackwright_contract::{
    Batches, Context, Facts, Guarantees, IndicationTo, Outlet, PathLimits, Protocol,
};
use stackwright_drivers::{Readiness, Registry, Waker};
use stackwright_wire::Message;

const NAME: &str = "queues";

/// Makes the ends of two queues, of at most `most` frames each; the stack sends frames of at most
/// `mtu` octets. A program may send longer ones. Checks of transports are left to neither end.
///
/// ```
/// use stackwright_endpoint::{System, frames::queues};
/// use stackwright_wire::{BufferTree, Message as _};
/// let (driver, system) = System::with_driver()?;
/// let (port, queues) = queues::<BufferTree>(&system.registry(), 1420, 256)?;
/// let frame = BufferTree::with_headroom(0, b"an IP packet, for example");
/// assert!(queues.send(frame).is_ok());
/// # drop((driver, port));
/// # Ok::<_, std::io::Error>(())
/// ```
///
/// # Errors
/// If the operating system has no more descriptors.
///
/// # Panics
/// If `most` is 0.
pub fn queues<M: Message>(
    registry: &Registry,
    mtu: u16,
    most: usize,
) -> io::Result<(QueuePort<M>, Queues<M>)> {
    assert!(most > 0, "a queue has room for a frame");
    let shared = Arc::new(Shared {
        most,
        waker: Waker::new(registry)?,
        state: Mutex::new(State {
            to_stack: VecDeque::new(),
            to_program: VecDeque::new(),
            received: Credit::NONE,
            receivers: Vec::new(),
            stack_is_there: true,
            program_is_there: true,
        }),
    });
    let path = PathLimits::of_longest(mtu.into());
    let port = QueuePort { shared: Arc::clone(&shared), path, credit: Credit::NONE, told: None };
    Ok((port, Queues { shared }))
}

struct Shared<M> {
    /// How many frames each queue holds.
    most: usize,
    waker: Waker,
    state: Mutex<State<M>>,
}

struct State<M> {
    to_stack: VecDeque<M>,
    to_program: VecDeque<M>,
    /// What the program has received since the stack was given credit.
    received: Credit,
    /// Tasks that wait for a frame.
    receivers: Vec<task::Waker>,
    stack_is_there: bool,
    program_is_there: bool,
}

impl<M> Shared<M> {
    fn state(&self) -> MutexGuard<'_, State<M>> {
        // No call leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_stack(&self) {
        // An eventfd takes as many wake-ups as there are; one that fails waits for the next.
        let _ = self.waker.wake();
    }
}

/// The program's end. The stack hears that its device is down when this is dropped.
pub struct Queues<M: Message> {
    shared: Arc<Shared<M>>,
}

impl<M: Message> Queues<M> {
    /// Hands a frame to the stack.
    ///
    /// # Errors
    /// Returns the frame where the queue is full, or the stack is gone.
    pub fn send(&self, frame: M) -> Result<(), M> {
        let mut state = self.shared.state();
        if !state.stack_is_there || state.to_stack.len() >= self.shared.most {
            return Err(frame);
        }
        let sleeps = state.to_stack.is_empty();
        state.to_stack.push_back(frame);
        drop(state);
        if sleeps {
            self.shared.wake_stack();
        }
        Ok(())
    }

    /// Takes the next frame of the stack, if there is one now.
    pub fn try_receive(&self) -> Option<M> {
        let mut state = self.shared.state();
        let frame = state.to_program.pop_front()?;
        state.received += Credit { octets: frame.len(), messages: 1 };
        let is_due = state.to_program.is_empty() || state.received.messages > self.shared.most / 2;
        drop(state);
        if is_due {
            self.shared.wake_stack();
        }
        Some(frame)
    }

    /// Waits for the next frame of the stack; `None`: the stack is gone. Where several tasks wait,
    /// any of them gets it. Nothing is lost where the future is dropped.
    pub async fn receive(&self) -> Option<M> {
        poll_fn(|cx| {
            if let Some(frame) = self.try_receive() {
                return Poll::Ready(Some(frame));
            }
            let mut state = self.shared.state();
            // One may have come since.
            if !state.to_program.is_empty() {
                cx.waker().wake_by_ref();
            } else if !state.stack_is_there {
                return Poll::Ready(None);
            } else if !state.receivers.iter().any(|known| known.will_wake(cx.waker())) {
                state.receivers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl<M: Message> Drop for Queues<M> {
    fn drop(&mut self) {
        self.shared.state().program_is_there = false;
        self.shared.wake_stack();
    }
}

/// The stack's end: frames on port 0.
pub struct QueuePort<M: Message> {
    shared: Arc<Shared<M>>,
    path: PathLimits,
    /// Credit of the layer above.
    credit: Credit,
    /// Whether it is up, as the layer above was told.
    told: Option<bool>,
}

impl<M: Message> QueuePort<M> {
    /// Tells what there is to tell before frames.
    fn begin(&mut self, out: &mut impl Outlet<Self>) {
        self.told = Some(true);
        out.indicate(FramesIndication::State { port: 0, up: true });
        out.indicate(FramesIndication::Changed { port: 0, path: self.path });
        let messages = self.shared.most;
        let longest = usize::try_from(self.path.longest).unwrap_or(usize::MAX);
        let credit = Credit { octets: messages * longest, messages };
        out.indicate(FramesIndication::Credit { port: 0, credit });
    }

    /// Takes the next frame of the program, if there is credit for it.
    fn next(&self) -> Option<M> {
        let mut state = self.shared.state();
        let octets = state.to_stack.front()?.len();
        if !self.credit.covers(Credit { octets, messages: 1 }) {
            return None;
        }
        state.to_stack.pop_front()
    }
}

impl<M: Message> Protocol for QueuePort<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::ORDERED.and(Guarantees::ONCE),
        reads_payload: true,
        ..Facts::named(NAME)
    };
    const BATCHES: Batches = Batches { from_above: true, ..Batches::NONE };
    type Provides = Frames<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            // It was said before it was known that the program is gone.
            _ if self.told == Some(false) => {}
            FramesRequest::Send { port: 0, batch, mark } => {
                let mut state = self.shared.state();
                state.to_program.extend(batch);
                assert!(
                    state.to_program.len() <= self.shared.most,
                    "a Send keeps within the credit"
                );
                let receivers = mem::take(&mut state.receivers);
                drop(state);
                receivers.into_iter().for_each(task::Waker::wake);
                if let Some(mark) = mark {
                    out.indicate(FramesIndication::Left { port: 0, mark });
                }
            }
            FramesRequest::Send { port, batch, mark } => {
                cx.dropped(NAME, "a frame for a port that is not there");
                out.indicate(FramesIndication::Credit { port, credit: batch.cost() });
                if let Some(mark) = mark {
                    out.indicate(FramesIndication::Left { port, mark });
                }
            }
            FramesRequest::Credit { credit } => self.credit += credit,
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        _ready: IndicationTo<Self>,
        _out: &mut impl Outlet<Self>,
    ) {
        // It has no descriptor but its waker, of which nobody is told.
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.told.is_none() {
            self.begin(out);
        }
        if self.told == Some(false) {
            return;
        }
        let received = mem::take(&mut self.shared.state().received);
        if received != Credit::NONE {
            out.indicate(FramesIndication::Credit { port: 0, credit: received });
        }
        // As many as there were: more may come meanwhile.
        for _ in 0..self.shared.most {
            let Some(frame) = self.next() else { break };
            self.credit -= Credit { octets: frame.len(), messages: 1 };
            out.indicate(FramesIndication::Delivered { port: 0, batch: frame.into() });
        }
        let mut state = self.shared.state();
        if !state.program_is_there && state.to_stack.is_empty() {
            state.to_program.clear();
            drop(state);
            cx.event(NAME, format_args!("down: the program is gone"));
            self.told = Some(false);
            out.indicate(FramesIndication::State { port: 0, up: false });
        }
    }

    fn wants_flush(&self) -> bool {
        let state = self.shared.state();
        let next = state.to_stack.front().map(|frame| Credit { octets: frame.len(), messages: 1 });
        match self.told {
            None => true,
            Some(false) => false,
            Some(true) => {
                state.received != Credit::NONE
                    || next.is_some_and(|cost| self.credit.covers(cost))
                    || next.is_none() && !state.program_is_there
            }
        }
    }

    fn ask(&self, _port: u8, question: &mut Question<'_>, _below: &dyn Ask<Readiness>) {
        let longest = usize::try_from(self.path.longest).ok();
        question.answer::<Longest>(|_| longest);
    }
}

impl<M: Message> Drop for QueuePort<M> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.stack_is_there = false;
        let receivers = mem::take(&mut state.receivers);
        drop(state);
        receivers.into_iter().for_each(task::Waker::wake);
    }
}
