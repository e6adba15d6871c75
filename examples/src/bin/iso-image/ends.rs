//! The two ends of the stream, and what each of them judges.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use stackwright::compose::Over;
use stackwright::contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright::contract::{Context, Instant};
use stackwright::transport::words::Terms;
use stackwright::wire::{BufferTree, Header, Message};
use stackwright::xtp;
use stackwright::xtp::services::IsochronousStream;
use stackwright_simulator::{Application, Asks, SimulatedDatagrams};

use crate::picture::{self, FEWEST, PIXELS, Picture};

pub(crate) type Stack =
    Over<xtp::Layer<BufferTree, IsochronousStream>, SimulatedDatagrams<BufferTree>>;

/// Pictures a second.
pub(crate) const PICTURES: u32 = 10;
/// Pixels of a message, which leaves as one packet: one that is lost costs only its own pixels.
const PIECE: usize = 1200;
/// What XTP puts before each: its header, and the number of the message.
const BEFORE: usize = 32 + 8;
/// The octets of a packet of XTP.
const PACKET: usize = BEFORE + Piece::LENGTH + PIECE;

/// What precedes the pixels of a message.
#[derive(Clone, Copy, Debug, Header)]
#[header(crate = stackwright::wire)]
struct Piece {
    /// The number of the picture.
    picture: u32,
    /// The place of the first pixel, counted from coarse to fine.
    first: u32,
    /// When the picture was taken, in nanoseconds: both ends have one clock here.
    taken: u64,
}

/// The end that sends.
#[derive(Default)]
pub(crate) struct Camera {
    /// What it may send now, and the octets that it may when nothing waits.
    credit: Credit,
    most: usize,
}

impl Application<Stack> for Camera {
    fn hear(&mut self, _: &Context, told: DatagramsIndication<BufferTree>, _: &mut Asks<Stack>) {
        if let DatagramsIndication::Opened { credit, .. }
        | DatagramsIndication::Credit { credit, .. } = told
        {
            self.credit += credit;
            self.most = self.most.max(self.credit.octets);
        }
    }
}

impl Camera {
    /// Takes a picture. Returns as many pixels as leave at this pace, in octets a second, until the
    /// next one, beside what still waits; and never less than a picture needs.
    pub(crate) fn take(&mut self, picture: u32, pace: u64, now: Instant) -> Vec<BufferTree> {
        let (leaves, waits) = (pace as usize / PICTURES as usize, self.most - self.credit.octets);
        let fitting = leaves.saturating_sub(waits) * PIECE / PACKET;
        let pixels = &picture::taken(picture)[..fitting.clamp(FEWEST, PIXELS)];
        let piece = |(first, pixels)| {
            let mut message = BufferTree::with_headroom(128, pixels);
            message.push(&Piece { picture, first, taken: now.nanoseconds() });
            self.credit -= Credit { octets: message.len(), messages: 1 };
            message
        };
        (0..).step_by(PIECE).zip(pixels.chunks(PIECE)).map(piece).collect()
    }
}

/// The end that receives.
pub(crate) struct Viewer {
    /// What came of pictures that were not shown: pixels, behind the place of the first.
    pieces: BTreeMap<u32, Vec<(usize, Vec<u8>)>>,
    /// The first picture that was not shown.
    next: u32,
    /// How long after their picture was taken the last pixels came.
    pub(crate) delay: Duration,
    /// The same when it last judged.
    before: Duration,
    /// The octets of packets that came since then, and how many come a second.
    came: usize,
    rate: u32,
    /// How fast it takes packets, in octets a second.
    takes: u32,
}

impl Application<Stack> for Viewer {
    fn hear(
        &mut self,
        cx: &Context,
        told: DatagramsIndication<BufferTree>,
        asks: &mut Asks<Stack>,
    ) {
        let DatagramsIndication::Delivered { association, batch, .. } = told else { return };
        asks.push_back(DatagramsRequest::Credit { association, credit: batch.cost() });
        for mut message in batch {
            self.came += BEFORE + message.len();
            let Ok(piece) = message.pull::<Piece>() else { continue };
            self.delay = cx.now().since(Instant::from_nanoseconds(piece.taken));
            if piece.picture >= self.next {
                let mut pixels = vec![0; message.len()];
                message.copy_to(&mut pixels);
                self.pieces.entry(piece.picture).or_default().push((piece.first as usize, pixels));
            }
        }
    }
}

impl Viewer {
    /// The lowest and the highest rate that it takes packets at: no picture is without its coarsest
    /// pixels, and none has more than all.
    const LEAST: u32 = 2 * FEWEST as u32 * PICTURES;
    const MOST: u32 = (PIXELS / PIECE * PACKET) as u32 * PICTURES * 21 / 20;
    /// A picture is late when its last pixels come so long after it was taken.
    const LATE: Duration = Duration::from_millis(200);

    pub(crate) fn new() -> Self {
        let (pieces, delay, before) = (BTreeMap::new(), Duration::ZERO, Duration::ZERO);
        Viewer { pieces, next: 0, delay, before, came: 0, rate: 0, takes: Self::MOST / 2 }
    }

    /// Judges, once for each picture, how fast to take packets from now on. Pictures that get later
    /// and later wait on the path, which takes only what comes out of it; otherwise it may take
    /// more.
    pub(crate) fn judge(&mut self) -> Terms {
        let came = mem::take(&mut self.came) as u32 * PICTURES;
        self.rate = (self.rate + came) / 2;
        let gets_later = self.delay >= mem::replace(&mut self.before, self.delay);
        let takes = match self.delay > Self::LATE {
            true if gets_later => self.rate * 4 / 5,
            true => self.takes, // what waits gets less
            false => self.takes + self.takes / 50,
        };
        self.takes = takes.clamp(Self::LEAST, Self::MOST);
        self.terms()
    }

    /// Returns how fast it takes packets, of which two may come at once.
    pub(crate) fn terms(&self) -> Terms {
        Terms { rate: self.takes, burst: 2 * PACKET as u32 }
    }

    /// Shows a picture, as far as it has come.
    pub(crate) fn show(&mut self, number: u32) -> Picture {
        self.next = number + 1;
        Picture::painted(&self.pieces.remove(&number).unwrap_or_default())
    }
}
