//! Segments that say nothing but the next data (header prediction, RFC 7323 §5.6). Of all the
//! checks of RFC 9293 §3.10.7.4 these pass, and those that follow in a batch are one unit with the
//! first.

use stackwright_contract::services::BatchMessages;
use stackwright_transport::Receipts;
use stackwright_transport::words::{Label, UnitHeader, View};
use stackwright_wire::internet::Tcp;
use stackwright_wire::{Header as _, Message, SegmentLayout};

use super::TcpFormat;
use crate::header::TcpFront;
use crate::key::key;
use crate::options::timestamps_alone;

/// The positions of the number, of the flags, and of the check and the urgent pointer.
const NUMBER: usize = 4;
const FLAGS: usize = 13;
const CHECK: usize = 16;

const PUSH: u8 = 8;

impl<M: Message> TcpFormat<M> {
    /// Reads the segment that is expected, with the acknowledgement and the window of the last one,
    /// and takes those `behind` it that differ in their numbers only; `None`: it is another one.
    #[inline]
    pub(super) fn read_predicted(
        &mut self,
        view: &View,
        receipts: &Receipts,
        front: &TcpFront,
        packet: &mut M,
        behind: Option<&mut BatchMessages<M>>,
    ) -> Option<UnitHeader> {
        let (header, before) = (&front.0, front.octets());
        let start = view.received_upto;
        // Without SACK, acknowledgements are counted.
        let is_open = self.is_known && self.terms.sack;
        let halves_are_open = self.fin_heard.is_none() && self.fin_said.is_none();
        let Tcp { cwr, ece, urg, rst, syn, fin, .. } = *header;
        let says_data = header.ack && !(cwr || ece || urg || rst || syn || fin);
        if !(is_open && halves_are_open && says_data)
            || header.sequence_number != start as u32
            || header.acknowledgment_number != view.settled_upto as u32
            || header.window != self.window
            || key(header) != self.key
        {
            return None;
        }
        let octets = packet.len().checked_sub(before).filter(|octets| *octets > 0)?;
        let hole = receipts.hole_from(start);
        let most = hole.end.min(self.edge).saturating_sub(start);
        if octets as u64 > most || before != self.overhead() {
            return None;
        }
        if self.terms.timestamps {
            let times = timestamps_alone(&packet.front(before)?[Tcp::LENGTH..])?;
            if self.times.is_old(view.now, times) {
                return None;
            }
            if start <= self.told {
                self.times.on_heard(view.now, times);
            }
        }
        self.newest = start;
        if let Some(behind) = behind.filter(|behind| behind.segment_size() == packet.len()) {
            let count = alike(packet.front(before)?, behind, most);
            behind.join_next(packet, count);
            packet.drop_gaps(&SegmentLayout::new(before + octets, before));
        } else {
            packet.advance(before);
        }
        let (span, piece) = (start..start + packet.len() as u64, packet.len());
        let label = Label::default();
        Some(UnitHeader { span, count: 1, piece, label, since: view.now, lifetime: None })
    }
}

/// Counts the segments `behind` the one with the header `first` that follow from it, as far as
/// there are at most `most` octets of data with its own.
#[inline]
fn alike<M: Message>(first: &[u8], behind: &BatchMessages<M>, most: u64) -> usize {
    let (before, each) = (first.len(), behind.segment_size() - first.len());
    let Some((front, rest)) = first.split_first_chunk::<{ Tcp::LENGTH }>() else { return 0 };
    let said = |header: &[u8; Tcp::LENGTH]| {
        let mut said = *header;
        said[NUMBER..NUMBER + 4].fill(0);
        said[CHECK..].fill(0);
        said[FLAGS] &= !PUSH;
        said
    };
    let number = |header: &[u8; Tcp::LENGTH]| {
        header[NUMBER..].first_chunk().copied().map_or(0, u32::from_be_bytes)
    };
    let (expected, mut next, mut left) = (said(front), number(front), most as usize);
    let mut count = 0;
    for mut pieces in behind.pieces() {
        (next, left) = (next.wrapping_add(each as u32), left.saturating_sub(each));
        let Some(segment) = pieces.next() else { break };
        // A header in several pieces is none of a batch.
        let Some((header, options)) = segment.split_first_chunk() else { break };
        let octets = segment.len() + pieces.map(<[u8]>::len).sum::<usize>();
        let follows = octets > before && octets - before <= left && number(header) == next;
        if !follows || said(header) != expected || !options.starts_with(rest) {
            break;
        }
        count += 1;
    }
    count
}
