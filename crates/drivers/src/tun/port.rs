//! The adapter of devices whose frames have the header of `offload.rs`.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use mio::Interest;
use mio::unix::SourceFd;
use rustix::io::Errno;
use stackwright_contract::ask::{Ask, Longest, Question};
use stackwright_contract::services::{Batch, Credit, Frames, FramesIndication, FramesRequest};
use stackwright_contract::{
    Batches, Context, Duration, Facts, Guarantees, Handle, Instant, Outlet, PathLimits, Protocol,
};
use stackwright_wire::{Block as _, Message, Pool, count_copied};

use super::checksum;
use super::device::{DeviceFeatures, FrameDevice, TunRead};
use super::merge::{self, Failed, Merging};
use super::offload::{Offload, SegmentKind};
use super::request::Inquiry;
use super::super_packet::{LONGEST, SuperPacket};
use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;

/// How much may wait for a device: the initial credit downward.
pub(super) const SEND_ROOM: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };
/// How often a device in use is asked for its MTU.
const MTU_EACH: Duration = Duration::from_secs(1);
/// How many frames or super-packets are read in one turn.
const TURN: usize = 64;
/// Octets before each frame that is delivered, for who sends it on behind longer headers.
const HEADROOM: usize = 64;

const ITSELF: Handle = Handle { index: 0, generation: 0 };

/// Which devices a [`DevicePort`] is made for.
pub trait DeviceKind: 'static {
    /// What the adapter is called where it drops something.
    const NAME: &'static str;
    /// What it reads and writes.
    type Device: FrameDevice;
}

/// A device as frames on port 0.
///
/// It reads within the credit of the layer above, which should cover 64 KiB at any time: a
/// super-packet of TCP is one frame of up to 65 535 octets, however small the MTU is. What is not
/// read waits in the kernel, which drops what is too much.
pub struct DevicePort<M: Message, K: DeviceKind> {
    device: K::Device,
    inquiry: Inquiry,
    /// When its MTU is asked for again, if there is something to do then: nobody tells of a change.
    again: Instant,
    /// Octets before an IP packet.
    link: usize,
    path: PathLimits,
    merging: Merging,
    pool: Arc<Pool<M>>,
    /// Where a frame goes on that is longer than a block.
    rest: Box<[u8]>,
    /// Whether it is up, as the layer above was told.
    told: Option<bool>,
    /// Credit of the layer above.
    credit: Credit,
    /// What was read, and is beyond the credit.
    held: Option<Batch<M>>,
    queue: VecDeque<(Batch<M>, Option<u16>)>,
    /// What may still be queued.
    room: Credit,
    readable: bool,
    writable: bool,
    kind: PhantomData<fn() -> K>,
}

impl<M: Message, K: DeviceKind> DevicePort<M, K> {
    pub(crate) fn new(
        device: K::Device,
        inquiry: Inquiry,
        link: usize,
        registry: &Registry,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        let interest = Interest::READABLE.add(Interest::WRITABLE);
        let descriptor = device.as_fd().as_raw_fd();
        registry.register(&mut SourceFd(&descriptor), token(lane, ITSELF), interest)?;
        let features = device.features();
        let DeviceFeatures { segments, datagrams, .. } = features;
        Ok(DevicePort {
            path: path(inquiry.mtu()?, link, features),
            inquiry,
            again: Instant::START,
            merging: Merging { segments, datagrams },
            device,
            link,
            pool,
            rest: vec![0; link + LONGEST].into(),
            told: None,
            credit: Credit::NONE,
            held: None,
            queue: VecDeque::new(),
            room: SEND_ROOM,
            readable: true,
            writable: true,
            kind: PhantomData,
        })
    }

    /// Delivers what is held, as far as there is credit. Returns whether that is all.
    fn deliver(&mut self, out: &mut impl Outlet<Self>) -> bool {
        while let Some(mut batch) = self.held.take() {
            let next = if self.credit.covers(batch.cost()) {
                batch
            } else {
                let covered = batch.split_covered(self.credit);
                self.held = Some(batch);
                let Some(covered) = covered else { return false };
                covered
            };
            self.credit -= next.cost();
            out.indicate(FramesIndication::Delivered { port: 0, batch: next });
        }
        true
    }

    /// Whether something could be delivered now.
    fn may_receive(&self) -> bool {
        self.told == Some(true)
            && match &self.held {
                Some(batch) => self.credit.covers(first_cost(batch)),
                None => self.readable && self.credit.covers(Credit { octets: 1, messages: 1 }),
            }
    }

    fn receive(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        for _ in 0..TURN {
            if !self.may_receive() {
                return;
            }
            if self.held.is_none() {
                match self.read(cx) {
                    Ok(held) => self.held = held,
                    Err(error) => return self.lose(cx, &error, out),
                }
            }
            self.deliver(out);
        }
    }

    /// Reads a frame into a block, where it stays unless it is short.
    fn read(&mut self, cx: &Context) -> io::Result<Option<Batch<M>>> {
        let mut block = self.pool.take();
        let room = block.len().saturating_sub(HEADROOM);
        let start = block.len() - room;
        let arrived = match self.device.read(&mut block[start..], &mut self.rest) {
            // It is up again some time, and readable then.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NETDOWN) => {
                Ok(TunRead::Nothing)
            }
            arrived => arrived,
        };
        let (offload, octets) = match arrived {
            Ok(TunRead::Frame(offload, octets)) => (offload, octets),
            other => {
                self.pool.give(block);
                match other? {
                    TunRead::Nothing => self.readable = false,
                    _ => cx.dropped(K::NAME, "a frame that asks for what was not offered"),
                }
                return Ok(None);
            }
        };
        let (mut block, start) = if octets > room || octets <= room / 8 {
            let mut copy = self
                .pool
                .again(HEADROOM + octets)
                .unwrap_or_else(|| M::Block::zeroed(HEADROOM + octets));
            let (here, there) = (octets.min(room), octets - octets.min(room));
            copy[HEADROOM..HEADROOM + here].copy_from_slice(&block[start..start + here]);
            copy[HEADROOM + here..HEADROOM + octets].copy_from_slice(&self.rest[..there]);
            count_copied(octets);
            self.pool.give(block);
            (copy, HEADROOM)
        } else {
            (block, start)
        };
        let batch = match self.examine(offload, &mut block[start..start + octets]) {
            Ok(None) => return Ok(Some(M::from_block(block, start, start + octets).into())),
            Ok(Some(batch)) => Some(batch),
            Err(reason) => {
                cx.dropped(K::NAME, reason);
                None
            }
        };
        M::from_block(block, 0, 0).reclaim(&self.pool);
        Ok(batch)
    }

    /// Verifies a frame, as far as it is IP. Returns what it is split into; `None`: it stays whole.
    fn examine(
        &self,
        offload: Offload,
        frame: &mut [u8],
    ) -> Result<Option<Batch<M>>, &'static str> {
        let Some(network) = checksum::network(frame, self.link) else { return Ok(None) };
        let vouched = offload.valid || offload.checksum.is_some();
        let packet = SuperPacket::decode(offload, network, frame)
            .ok_or("a packet whose headers contradict each other")?;
        match offload.split {
            Some((SegmentKind::Udp, ..)) => Ok(Some(packet.split(HEADROOM, &self.pool))),
            None if !vouched && !checksum::is_right(&packet.frame()[network..]) => {
                Err("a packet whose check is wrong")
            }
            _ => Ok(None),
        }
    }

    /// Writes what waits.
    fn send(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let mut left = Credit::NONE;
        while self.writable
            && let Some((mut batch, mark)) = self.queue.pop_front()
        {
            let mut done = 0;
            self.write(cx, &batch, &mut done);
            if done < batch.count() {
                for _ in 0..done {
                    let Some(first) = batch.split_first() else { break };
                    left += Credit { octets: first.len(), messages: 1 };
                    first.reclaim(&self.pool);
                }
                self.queue.push_front((batch, mark));
                break;
            }
            left += batch.cost();
            batch.into_octets().reclaim(&self.pool);
            if let Some(mark) = mark {
                out.indicate(FramesIndication::Left { port: 0, mark });
            }
        }
        if left != Credit::NONE {
            self.room += left;
            out.indicate(FramesIndication::Credit { port: 0, credit: left });
        }
    }

    /// Writes frames from the `done`-th on, which is counted up, until the device takes no more.
    fn write(&mut self, cx: &Context, batch: &Batch<M>, done: &mut usize) {
        loop {
            let DevicePort { device, link, merging, .. } = self;
            let put = |slices: &[io::IoSlice<'_>]| device.write(slices);
            let Err(Failed { error, frames }) = merge::write(batch, done, *link, *merging, put)
            else {
                return;
            };
            match error {
                Errno::INTR => {}
                Errno::AGAIN => {
                    self.writable = false;
                    return;
                }
                // Kernels before 6.2 know no super-packets of UDP, and some devices none at all.
                Errno::INVAL if frames > 1 => self.merging = Merging::NONE,
                _ => {
                    let frames = frames.max(1);
                    (0..frames)
                        .for_each(|_| cx.dropped(K::NAME, "a frame that the device refuses"));
                    *done += frames;
                }
            }
        }
    }

    /// Tells of another MTU.
    fn inquire(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if cx.now() < self.again {
            return;
        }
        self.again = cx.now() + MTU_EACH;
        // A device that is gone is found out by reading.
        if let Ok(mtu) = self.inquiry.mtu()
            && let path = path(mtu, self.link, self.device.features())
            && path != self.path
        {
            self.path = path;
            out.indicate(FramesIndication::Changed { port: 0, path: self.path });
        }
    }

    /// The device is gone.
    fn lose(&mut self, cx: &Context, why: &io::Error, out: &mut impl Outlet<Self>) {
        cx.event(K::NAME, format_args!("down: {why}"));
        self.told = Some(false);
        self.queue.clear();
        self.held = None;
        self.credit = Credit::NONE;
        out.indicate(FramesIndication::State { port: 0, up: false });
    }
}

/// Returns what a device of that MTU takes.
fn path(mtu: u32, link: usize, features: DeviceFeatures) -> PathLimits {
    let longest = mtu.saturating_add(u32::try_from(link).unwrap_or(0));
    let longest = longest.min(u32::try_from(features.longest).unwrap_or(u32::MAX));
    PathLimits { longest, checks: features.checks, ..PathLimits::UNBOUNDED }
}

/// What the first of a batch costs.
fn first_cost<M: Message>(batch: &Batch<M>) -> Credit {
    Credit { octets: batch.longest(), messages: 1 }
}

impl<M: Message, K: DeviceKind> Protocol for DevicePort<M, K> {
    const FACTS: Facts = Facts {
        gives: Guarantees::ORDERED.and(Guarantees::ONCE),
        reads_payload: true,
        ..Facts::named(K::NAME)
    };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Frames<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            // It was said before it was known that the device is gone.
            _ if self.told == Some(false) => {}
            FramesRequest::Send { port: 0, batch, mark } => {
                let cost = batch.cost();
                assert!(self.room.covers(cost), "a Send keeps within the room");
                self.room -= cost;
                self.queue.push_back((batch, mark));
            }
            FramesRequest::Send { port, batch, mark } => {
                cx.dropped(K::NAME, "a frame for a port that is not there");
                out.indicate(FramesIndication::Credit { port, credit: batch.cost() });
                if let Some(mark) = mark {
                    out.indicate(FramesIndication::Left { port, mark });
                }
            }
            FramesRequest::Credit { credit } => self.credit += credit,
        }
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
        self.receive(cx, out);
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.told.is_none() {
            self.told = Some(true);
            out.indicate(FramesIndication::State { port: 0, up: true });
            out.indicate(FramesIndication::Changed { port: 0, path: self.path });
            out.indicate(FramesIndication::Credit { port: 0, credit: SEND_ROOM });
        }
        self.inquire(cx, out);
        self.send(cx, out);
        self.receive(cx, out);
    }

    fn wants_flush(&self) -> bool {
        self.told.is_none() || self.writable && !self.queue.is_empty() || self.may_receive()
    }

    fn may_exit(&self) -> bool {
        self.queue.is_empty()
    }

    fn ask(&self, _port: u8, question: &mut Question<'_>, _below: &dyn Ask<Readiness>) {
        let longest = usize::try_from(self.path.longest).ok();
        question.answer::<Longest>(|_| longest);
    }
}
