//! XTP 4.0, its connection service.

mod contexts;
mod format;
mod header;

use core::net::{Ipv4Addr, SocketAddrV4};

use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};
use stackwright_transport::slots::{Format, Integrity};
use stackwright_transport::words::{Dropped, Incoming, MILLISECOND, Report, SECOND, View};
use stackwright_transport::{
    Boxed, Configuration, Exchange, IntoPart, Policies, SlotPart, Slots, configuration, slots,
};
use stackwright_trial::Promise;
use stackwright_wire::Message;

use crate::setting::{M, have_the_same_trace, may_be_exchanged, talks};
use crate::streams::{REFUSAL, streams};
use contexts::Contexts;
use format::Xtp4;

configuration! {
    /// With selective repeat.
    Xtp<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::OnRequest<true>,
        Inquiry: inquiry::WindowEnd,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Absent,
        Rate: rate::Absent,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// With go-back-N.
    XtpGoBackN<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::OnRequest<false>,
        Inquiry: inquiry::WindowEnd,
        Recovery: recovery::GoBackN,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Absent,
        Rate: rate::Absent,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// With selective repeat, as a stream: EOM marks nothing.
    XtpStream<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::OctetStream,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::OnRequest<true>,
        Inquiry: inquiry::WindowEnd,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Absent,
        Rate: rate::Absent,
        Lifetime: lifetime::Absent,
    }
}

/// One context that is a stream.
fn stream(key: u64, here: SocketAddrV4, there: SocketAddrV4) -> Slots<XtpStream<M>> {
    Slots::from(Policies {
        format: Xtp4::new(key, here, there),
        ordering: ordering::Total::new(),
        framing: framing::OctetStream,
        integrity: integrity::Internet::new(),
        connection: connection::Implicit::new(60 * SECOND),
        acknowledgement: acknowledgement::OnRequest::new(),
        inquiry: inquiry::WindowEnd::new(60),
        recovery: recovery::SelectiveRepeat::new(),
        rtt: rtt::Rfc6298::new(rtt::SampleSource::Answers, SECOND, 20 * MILLISECOND),
        flow: flow::CreditWindow::new(16 << 10).asked_about(),
        congestion: congestion::Absent,
        rate: rate::Absent,
        lifetime: lifetime::Absent,
    })
}

#[test]
fn streams_end_by_halves_or_with_a_code_and_are_refused_with_one() {
    streams(|last| Contexts::new(Ipv4Addr::new(10, 0, 0, last), REFUSAL));
}

/// One end, with what differs between the two.
fn end<C>(side: usize, acknowledgement: C::Acknowledgement, recovery: C::Recovery) -> Slots<C>
where
    C: Configuration<
            Message = M,
            Format = Xtp4<M>,
            Ordering = ordering::Total<M>,
            Framing = framing::MessageEnd<M>,
            Integrity = integrity::Internet,
            Connection = connection::Implicit,
            Inquiry = inquiry::WindowEnd,
            Rtt = rtt::Rfc6298,
            Flow = flow::CreditWindow,
            Congestion = congestion::Absent,
            Rate = rate::Absent,
            Lifetime = lifetime::Absent,
        >,
{
    let [here, there] = [side, 1 - side].map(|side| {
        let last = side as u8 + 1;
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), 80)
    });
    Slots::from(Policies {
        format: Xtp4::new(0x0123_4567_0000 + side as u64, here, there),
        ordering: ordering::Total::new(),
        framing: framing::MessageEnd::new(1 << 20),
        integrity: integrity::Internet::new(),
        connection: connection::Implicit::new(600 * SECOND),
        acknowledgement,
        inquiry: inquiry::WindowEnd::new(60),
        recovery,
        rtt: rtt::Rfc6298::new(rtt::SampleSource::Answers, SECOND, 20 * MILLISECOND),
        flow: flow::CreditWindow::new(16 << 10).asked_about(),
        congestion: congestion::Absent,
        rate: rate::Absent,
        lifetime: lifetime::Absent,
    })
}

fn selective(side: usize) -> Slots<Xtp<M>> {
    end(side, acknowledgement::OnRequest::new(), recovery::SelectiveRepeat::new())
}

fn go_back_n(side: usize) -> Slots<XtpGoBackN<M>> {
    end(side, acknowledgement::OnRequest::new(), recovery::GoBackN)
}

#[test]
fn messages_arrive_in_order_with_selective_repeat() {
    talks(selective, Promise::InOrder);
}

#[test]
fn messages_arrive_in_order_with_go_back_n() {
    talks(go_back_n, Promise::InOrder);
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    have_the_same_trace(selective, |side| selective(side).boxed(), Promise::InOrder);
    have_the_same_trace(go_back_n, |side| go_back_n(side).boxed(), Promise::InOrder);
}

/// The nth of each, in turn.
fn exchange(slots: &mut Slots<Boxed<M>>, nth: usize) {
    let recovery: SlotPart<dyn slots::Recovery> = match nth % 3 {
        0 => recovery::GoBackN.part(),
        1 => recovery::SelectiveRepeat::new().inquiries(1).part(),
        _ => recovery::SelectiveRepeat::new().part(),
    };
    let acknowledgement: SlotPart<dyn slots::Acknowledgement> = match nth % 4 {
        0 => acknowledgement::OnRequest::<false>::new().part(),
        1 => acknowledgement::OnRequest::<true>::new().part(),
        2 => acknowledgement::GapAtOnce::new(acknowledgement::OnRequest::<true>::new()).part(),
        _ => acknowledgement::AckRanges::new(2, 20 * MILLISECOND).part(),
    };
    let congestion: SlotPart<dyn slots::Congestion> = match nth % 5 {
        0 => congestion::NewReno::new(500).part(),
        1 => congestion::Cubic::new(500).part(),
        2 => congestion::Probing::new(500).part(),
        3 => congestion::Aimd::new(500).part(),
        _ => congestion::Absent.part(),
    };
    let rtt: SlotPart<dyn slots::Rtt> = match nth % 2 {
        0 => rtt::Fixed(200 * MILLISECOND).part(),
        _ => rtt::Rfc6298::new(rtt::SampleSource::Answers, SECOND, 20 * MILLISECOND).part(),
    };
    let done = slots.exchange(recovery).map(|_| ());
    let done = done.and_then(|()| slots.exchange(acknowledgement).map(|_| ()));
    let done = done.and_then(|()| slots.exchange(congestion).map(|_| ()));
    let done = done.and_then(|()| slots.exchange(rtt).map(|_| ()));
    assert!(done.is_ok(), "{}", done.unwrap_err().explain().as_str());
}

#[test]
fn judges_are_exchanged_while_data_flow() {
    may_be_exchanged(|side| selective(side).boxed(), exchange, Promise::InOrder);
}

/// Nothing was sent or received.
const NOTHING: View = View::START;

/// What arrives with these octets in the context that has `key`, and what it reports.
fn heard(key: u64, octets: &[u8]) -> Result<(Incoming<M>, Report), Dropped> {
    let [here, there] = [80, 81].map(|port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
    let (mut format, mut report) = (Xtp4::<M>::new(key, here, there), Report::default());
    let packet = M::with_headroom(0, octets);
    integrity::Internet::new()
        .verify(&packet, Format::<M>::check(&format, octets, octets.len()))?;
    Ok((format.decode(&NOTHING, None, packet, &mut report)?, report))
}

#[test]
fn packets_are_read_as_the_definition_writes_them() {
    let data =
        b"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x44\x00\x20\x00\x00\x00\x05\xBB\x5E\x00\x00\x00\x00\x00\x01\
        \x00\x00\x00\x00\x00\x00\x00\x64hello";
    let (segment, _) = heard(7, data).unwrap();
    let unit = segment.unit.unwrap();
    assert_eq!((unit.span, unit.label.last, segment.inquiry), (100..105, true, Some(1.into())));

    let control = b"\x80\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x21\x00\x00\x00\x14\x7E\xF9\x00\x00\x00\x00\x00\x01\
        \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x69\x00\x00\x00\x00\x00\x01\x00\x64\x00\x00\x00\x01";
    let (segment, report) = heard(1, control).unwrap();
    assert_eq!((report.upto, report.answers, segment.credit), (105, Some(1), Some(65_636)));
    assert_eq!(heard(2, control).unwrap_err(), Dropped::NotOurs);
}
