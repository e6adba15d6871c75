//! Our end: KISS over a line, run by the trial itself.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright::compose::Over;
use stackwright::contract::Outlet;
use stackwright::contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright::kiss::{ChannelAccess, Config, Kiss};
use stackwright::wire::{BufferTree, Message, Pool};
use stackwright_drivers::Driver;
use stackwright_drivers::line::Line;

type M = BufferTree;
type Stack = Over<Kiss<M>, Line<M>>;

/// A station, and what became of its frames.
pub(crate) struct Station {
    driver: Driver,
    stack: Stack,
    pub(crate) told: Told,
}

#[derive(Default)]
pub(crate) struct Told {
    pub(crate) frames: Vec<Vec<u8>>,
    /// Marks of frames that have left, with the time.
    pub(crate) left: Vec<(u16, Instant)>,
    pub(crate) states: Vec<bool>,
    credit: Credit,
    /// Credit upward that is due.
    due: Credit,
}

const ROOM: Credit = Credit { octets: 64 << 10, messages: 256 };

impl Outlet<Stack> for Told {
    fn indicate(&mut self, word: FramesIndication<M>) {
        match word {
            FramesIndication::State { up, .. } => {
                self.states.push(up);
                (self.credit, self.due) = (Credit::NONE, if up { ROOM } else { Credit::NONE });
            }
            FramesIndication::Credit { credit, .. } => self.credit += credit,
            FramesIndication::Delivered { batch, .. } => {
                self.due += batch.cost();
                let mut frame = Vec::new();
                batch.into_single().each(|octets| frame.extend_from_slice(octets));
                self.frames.push(frame);
            }
            FramesIndication::Left { mark, .. } => self.left.push((mark, Instant::now())),
            FramesIndication::Changed { .. } => {}
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

/// Sends as soon as nobody else does.
pub(crate) fn at_once() -> ChannelAccess {
    ChannelAccess {
        tx_delay: Some(Duration::from_millis(200)),
        persistence: Some(255),
        slot_time: Some(Duration::from_millis(10)),
        tx_tail: Some(Duration::from_millis(50)),
        full_duplex: Some(false),
    }
}

impl Station {
    /// A station at the TNC that offers KISS at `tnc`, of `baud` bit/s.
    pub(crate) fn new(tnc: SocketAddr, baud: u32) -> Self {
        Self::on(baud, |driver, pool| Line::tcp(vec![tnc], driver.registry(), 0, pool))
    }

    /// A station at a pseudo terminal that it makes.
    pub(crate) fn at_terminal(link: &Path, baud: u32) -> Self {
        Self::on(baud, |driver, pool| {
            Line::pty(link, driver.registry(), 0, pool).expect("a terminal")
        })
    }

    /// A station at a serial device.
    pub(crate) fn at_device(path: &Path, baud: u32) -> Self {
        Self::on(baud, |driver, pool| Line::serial(path, 9600, driver.registry(), 0, pool))
    }

    fn on(baud: u32, line: impl FnOnce(&Driver, Arc<Pool<M>>) -> Line<M>) -> Self {
        let driver = Driver::new(1).expect("a driver");
        let pool = Arc::new(Pool::new(4096, 8));
        let config = Config {
            rate: NonZeroU32::new(baud).expect("it is not 0"),
            asks_queue: true,
            access: at_once(),
            ..Config::default()
        };
        let line = line(&driver, Arc::clone(&pool));
        let stack = Over::new(Kiss::sharing(config, pool), line);
        Station { driver, stack, told: Told::default() }
    }

    /// Whether the TNC is there.
    pub(crate) fn is_up(&self) -> bool {
        self.told.states.last() == Some(&true)
    }

    /// Waits for what comes next, for some milliseconds.
    pub(crate) fn turn(&mut self) {
        let wait = Some(Duration::from_millis(20));
        self.driver.turn(&mut self.stack, &mut self.told, wait).expect("a poll");
        let credit = std::mem::take(&mut self.told.due);
        if credit != Credit::NONE {
            let request = FramesRequest::Credit { credit };
            self.driver.request(&mut self.stack, request, &mut self.told);
        }
    }

    /// Sends a frame, if there is credit for it; returns whether it did.
    pub(crate) fn send(&mut self, frame: &[u8], mark: u16) -> bool {
        let cost = Credit { octets: frame.len(), messages: 1 };
        if !self.is_up() || !self.told.credit.covers(cost) {
            return false;
        }
        self.told.credit -= cost;
        let batch = M::with_headroom(0, frame).into();
        let request = FramesRequest::Send { port: 0, batch, mark: Some(mark) };
        self.driver.request(&mut self.stack, request, &mut self.told);
        true
    }

    /// Runs until it is so.
    ///
    /// # Panics
    /// When it is not so in time.
    pub(crate) fn until(&mut self, most: Duration, mut is_so: impl FnMut(&Told) -> bool) {
        let begin = Instant::now();
        while !is_so(&self.told) {
            self.turn();
            let Told { states, frames, left, .. } = &self.told;
            let (frames, left) = (frames.len(), left.len());
            assert!(begin.elapsed() < most, "{states:?}, {frames} frames came, {left} have left");
        }
    }

    /// Sends all frames, with marks from 0 on, as fast as the credit allows; waits until all have
    /// left.
    pub(crate) fn send_all(&mut self, frames: &[Vec<u8>], most: Duration) {
        let mut waiting: VecDeque<(u16, &Vec<u8>)> = (0..).zip(frames).collect();
        let before = self.told.left.len();
        let (begin, all) = (Instant::now(), frames.len());
        while self.told.left.len() - before < all {
            while let Some((mark, frame)) = waiting.front()
                && self.send(frame, *mark)
            {
                waiting.pop_front();
            }
            self.turn();
            let left = self.told.left.len() - before;
            assert!(begin.elapsed() < most, "{left} of {all} have left");
        }
    }
}
