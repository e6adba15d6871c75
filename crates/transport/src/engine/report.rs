//! A report arrives: what it acknowledges is settled, the judges are told, and what it makes
//! suspect is judged.

use core::mem;

use stackwright_contract::Instant;
use stackwright_wire::Pool;

use super::{Association, Probe};
use crate::configuration::Configuration;
use crate::marks::Heard;
use crate::sending::{Acknowledged, Sending, Settling};
use crate::slots::{
    Congestion as _, Format as _, Inquiry as _, Lifetime as _, Membership as _, Rate as _,
    Recovery as _, Rtt as _, Suspect, Suspects,
};
use crate::words::{Nanoseconds, Report, Sample, Timestamp, View};

impl<C: Configuration> Association<C> {
    /// Learns what a peer reports. It may repeat its last answer in any report, and for ever: that
    /// counts as an answer once.
    pub(super) fn on_report(
        &mut self,
        view: &View,
        report: &mut Report,
        (stamp, echo): (Option<Timestamp>, Option<Nanoseconds>),
        pool: &Pool<C::Message>,
    ) {
        report.answers = report.answers.filter(|number| self.questions.is_open(*number));
        let mut again = mem::take(&mut report.again);
        let mut sum = Acknowledged::default();
        // An acknowledgement is of the last copy of what was sent again unless it came sooner than
        // the minimum RTT (RFC 8985 §6.2), which half of the usual one is on a path that became
        // longer: first copies would be taken for last ones.
        let too_soon = match view.rtt.least {
            0 => Instant::END,
            least => view.now.sooner(least),
        };
        let copies = match view.rtt.least {
            0 => Instant::START,
            least => view.now.sooner(least.max(view.rtt.smoothed / 2)),
        };
        let Sending { sent, messages, .. } = &mut self.sending;
        let highest = sent.acknowledged_order();
        let mut settling = Settling {
            copies,
            too_soon,
            highest,
            messages,
            pool,
            sum: &mut sum,
            again: &mut again,
        };
        if report.upto > view.settled_upto {
            sent.acknowledge(view.settled_upto..report.upto, &mut settling);
        }
        if self.slots.format.reneges() {
            report.held.iter().for_each(|span| sent.hold(span, &mut settling));
            sent.expect(report.upto);
        } else {
            report.held.iter().for_each(|span| sent.acknowledge(span.clone(), &mut settling));
        }
        self.sending.free_numbers();
        self.clocks.on_report(view.now);
        let mut spurious = sum.doubtful && mem::take(&mut self.timed_out);
        if !again.is_empty() {
            let proven = self.sending.sent.prove(&again);
            (spurious, sum.late) = (spurious || proven.all, sum.late || proven.late);
            again.clear();
        }
        report.again = again; // its memory is kept
        let report = &*report;
        if sum.doubtful && spurious && self.slots.recovery.lag(view).is_some() {
            sum.surely = self.sending.sent.restore().or(sum.newest);
        }
        let heeded = if report.answers.is_some() { self.view(view.now) } else { *view };
        let measures = self.slots.membership.measures();
        let asked_at = report.answers.and_then(|number| self.questions.asked_at(number));
        let asked_at = asked_at.filter(|_| measures);
        let slots = &mut self.slots;
        if let Some(at) = sum.measured() {
            // The inquiry triggered the answer: the report of the unit may have been lost long ago.
            let took = view.now.nanoseconds_since(asked_at.map_or(at, |asked| at.max(asked)));
            slots.rtt.on_sample(Sample::OfUnit(took));
            self.opening = None;
            if let Some(stamp) = stamp {
                slots.lifetime.on_sample(view, took, stamp);
            }
        } else if let Some(took) = echo.filter(|_| sum.units > 0) {
            // Of what was sent more than once, only its timestamp tells which copy was received.
            slots.rtt.on_sample(Sample::OfUnit(took));
            self.opening = None;
        }
        if let Some(number) = report.answers {
            let took = self.questions.on_answer(number, view.now);
            if asked_at.is_some() && slots.inquiry.believes(number) {
                slots.rtt.on_sample(Sample::OfAnswer(took));
            }
            slots.inquiry.on_answer(&heeded, number, took);
            slots.congestion.on_answer(&heeded, number, took);
        }
        match self.marks.heed(view, report.ecn, sum.units, || slots.congestion.window()) {
            Heard::Nothing => {}
            Heard::Marked(packets) => slots.congestion.on_marked(view, packets),
            Heard::Refuted(window) => slots.congestion.on_marks_refuted(view, window),
        }
        if sum.units > 0 {
            let behind = self.sending.settled_upto() <= view.settled_upto;
            self.clocks.on_acknowledged(view.now, behind);
            self.probe = Probe::Ready;
            slots.format.on_acknowledged(sum.longest, sum.in_parts);
        }
        if sum.late || sum.overtaken.is_some() {
            let took = sum.overtaken.map_or(0, |sent_at| view.now.nanoseconds_since(sent_at));
            slots.recovery.on_reordered(view, sum.late, took.saturating_sub(self.overtaker_took));
        }
        if spurious {
            slots.congestion.on_spurious(view);
        }
        if sum.units > 0 {
            slots.congestion.on_acknowledged(view, &sum);
        }
        let is_lost = |suspect: &Suspect| slots.recovery.is_lost(view, suspect, report);
        let mut lost = match slots.recovery.suspects(view, report) {
            Suspects::None => 0,
            Suspects::Within(span) => self.sending.sent.judge(span, view.settled_upto, is_lost),
            Suspects::Missing => {
                // They rise; a number that a peer reports twice is judged once.
                let mut judged = 0;
                let spans = report.missing.iter().map(|span| {
                    let start = span.start.max(judged);
                    judged = judged.max(span.end);
                    start..span.end
                });
                let sent = &mut self.sending.sent;
                spans.map(|span| sent.judge(span, view.settled_upto, is_lost)).sum()
            }
        };
        if let Some(tolerance) = slots.recovery.tolerance()
            && sum.units > 0
        {
            let lag = slots.recovery.lag(view);
            if let Some(surely) = sum.surely {
                self.overtaker_took = view.now.nanoseconds_since(surely);
            }
            let before = lag.and_then(|lag| sum.surely.map(|surely| surely.sooner(lag)));
            lost += self.sending.sent.lose_overtaken(tolerance, before, view.settled_upto);
        }
        self.on_lost(view, lost);
        self.set_pace(view);
    }

    /// Tells the judges that packets were lost, with `octets` octets together.
    pub(super) fn on_lost(&mut self, view: &View, octets: u64) {
        if octets > 0 {
            self.counts.lost += octets;
            self.slots.recovery.on_lost(view);
            self.slots.congestion.on_lost(view, octets);
        }
    }

    /// Has the rate follow the congestion judge, which was told something.
    #[inline]
    pub(super) fn set_pace(&mut self, view: &View) {
        self.slots.rate.on_pace(view, self.slots.congestion.pace());
    }
}
