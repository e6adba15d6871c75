//! The congestion judges by themselves: windows after known sequences, and what holds after any.

use proptest::prelude::*;
use stackwright_contract::Instant;
use stackwright_policies::congestion::{Aimd, Bbr, Cubic, NewReno, Probing};
use stackwright_policies::inquiry::Polls;
use stackwright_policies::rtt::{Rfc6298, SampleSource};
use stackwright_transport::Acknowledged;
use stackwright_transport::slots::{Congestion, Inquiry as _, Rtt as _};
use stackwright_transport::words::{
    Estimate, MILLISECOND, Nanoseconds, Occasion, Opening, SECOND, Sample, View,
};

const PACKET: u64 = 1000;

/// A sender that always has data, and what its judge is told.
struct Sender<C> {
    judge: C,
    rtt: Rfc6298,
    now: u64,
    settled: u64,
    sent: u64,
    /// When each packet in flight left.
    in_flight: Vec<(u64, u64)>,
}

impl<C: Congestion> Sender<C> {
    fn new(judge: C) -> Self {
        let rtt = Rfc6298::new(SampleSource::Units, SECOND, 200 * MILLISECOND);
        Sender { judge, rtt, now: 10 * SECOND, settled: 0, sent: 0, in_flight: Vec::new() }
    }

    /// The same after an opening that took `round_trip`.
    fn opened(judge: C, round_trip: Nanoseconds, tries: u32) -> Self {
        let mut sender = Sender::new(judge);
        let opening = Opening { took: round_trip, tries, octets: 208, peer_delay: None };
        sender.rtt.on_opened(&opening);
        let view = sender.view();
        sender.judge.on_opened(&view, &opening);
        sender
    }

    fn view(&self) -> View {
        View {
            now: Instant::from_nanoseconds(self.now),
            rtt: self.rtt.estimate(),
            in_flight: self.in_flight.len() as u64 * PACKET,
            sent_upto: self.sent,
            settled_upto: self.settled,
            idle: self.settled == self.sent,
            drained: false,
            ..View::START
        }
    }

    fn window(&self) -> u64 {
        self.judge.window() / PACKET
    }

    /// Sends what the window allows.
    fn fill(&mut self) {
        while (self.in_flight.len() as u64 + 1) * PACKET <= self.judge.window() {
            let view = self.view();
            self.judge.on_sent(&view);
            self.in_flight.push((self.sent, self.now));
            self.sent += 1;
        }
    }

    /// The oldest packet in flight is acknowledged.
    fn acknowledge(&mut self) {
        let view = self.view();
        let (number, at) = self.in_flight.remove(0);
        self.settled = number + 1;
        self.rtt.on_sample(Sample::OfUnit((self.now - at).max(1)));
        let newest = Some(Instant::from_nanoseconds(at));
        let acknowledged =
            Acknowledged { octets: PACKET, units: 1, newest, ..Acknowledged::default() };
        self.judge.on_acknowledged(&view, &acknowledged);
    }

    /// Round trips in each of which all that was in flight is acknowledged.
    fn round_trips(&mut self, count: usize, round_trip: Nanoseconds) {
        for _ in 0..count {
            self.fill();
            self.now += round_trip;
            for _ in 0..self.in_flight.len() {
                self.acknowledge();
                self.fill(); // it is never idle
            }
        }
    }

    /// A loss is noticed, and all that was in flight is acknowledged.
    fn lose(&mut self) {
        self.fill();
        let view = self.view();
        self.judge.on_lost(&view, PACKET);
        self.settle();
    }

    /// All that was in flight is acknowledged, and lets no window grow.
    fn settle(&mut self) {
        self.in_flight.clear();
        self.settled = self.sent;
        self.fill();
    }

    fn time_out(&mut self) {
        let view = self.view();
        self.rtt.on_timeout();
        self.judge.on_timeout(&view);
    }

    /// Whether the pace, if there is one, is at least a window for each round trip.
    fn keeps_pace(&self) -> Result<(), String> {
        let (pace, round_trip) = (self.judge.pace(), self.rtt.estimate().smoothed);
        let Some(pace) = pace else { return Ok(()) };
        let least = u128::from(self.judge.window()) * 1_000_000_000 / u128::from(round_trip.max(1));
        if u128::from(pace.get()) >= least {
            return Ok(());
        }
        Err(format!("{pace} octets a second, and the window needs {least}"))
    }
}

/// RFC 5681 §3.1: slow start doubles; a loss leaves half of what is in flight; then a packet for
/// each window; RFC 6928: it begins with ten packets.
#[test]
fn new_reno_doubles_then_halves_then_adds() {
    let mut sender = Sender::opened(NewReno::new(PACKET), 100 * MILLISECOND, 1);
    assert_eq!(sender.window(), 10);
    sender.round_trips(2, 100 * MILLISECOND);
    assert_eq!(sender.window(), 40);
    sender.lose();
    assert_eq!(sender.window(), 20);
    sender.round_trips(5, 100 * MILLISECOND);
    assert_eq!(sender.window(), 25);
}

/// RFC 9002 §7.2 and RFC 5681 (4): two packets, slow start up to half of what was in flight.
#[test]
fn a_timeout_leaves_two_packets_and_half_as_the_threshold() {
    let mut sender = Sender::opened(NewReno::new(PACKET), 100 * MILLISECOND, 1);
    sender.round_trips(1, 100 * MILLISECOND);
    sender.fill();
    sender.time_out();
    assert_eq!(sender.window(), 2);
    sender.settle();
    sender.round_trips(2, 100 * MILLISECOND);
    assert_eq!(sender.window(), 8, "slow start");
    sender.round_trips(3, 100 * MILLISECOND);
    assert_eq!(sender.window(), 12, "ten is the threshold: to it, and a packet for each window");
}

/// Data go on in either case: what inquiries told before the loss is enough.
#[test]
fn probing_yields_to_a_queue_and_to_no_loss_without_one() {
    let mut sender = Sender::opened(Probing::new(PACKET), 100 * MILLISECOND, 1);
    sender.round_trips(5, 100 * MILLISECOND);
    let answer = |sender: &mut Sender<Probing>, took| {
        let view = sender.view();
        (0..2).for_each(|number| sender.judge.on_answer(&view, number, took));
    };
    answer(&mut sender, 120 * MILLISECOND);
    sender.lose();
    assert_eq!(sender.window(), 96);
    answer(&mut sender, 160 * MILLISECOND);
    sender.lose();
    assert_eq!(sender.window(), 60, "what was in flight without the queue");
    sender.lose();
    assert_eq!(sender.window(), 37, "in the next window");
    answer(&mut sender, 500 * MILLISECOND);
    sender.lose();
    assert_eq!(sender.window(), 18, "half of it at least");
}

#[test]
fn probing_takes_no_loss_for_congestion_where_the_rate_is_known() {
    for (is_known, windows) in [(false, [3, 2]), (true, [3, 3])] {
        let probing = Probing::new(PACKET);
        let probing = if is_known { probing.at_known_rate() } else { probing };
        let mut sender = Sender::opened(probing, 100 * MILLISECOND, 1);
        sender.fill();
        let view = sender.view();
        (0..2).for_each(|number| sender.judge.on_answer(&view, number, 900 * MILLISECOND));
        let before = sender.window();
        sender.lose();
        assert_eq!([before, sender.window()], windows);
    }
}

/// Each answer frees a share of the window while the next question is on its way.
#[test]
fn polls_ask_several_times_in_a_window_of_any_size() {
    for (window, times, asks) in [(40, 4, 10), (400, 4, 100), (4, 4, 2), (400, 1, 127)] {
        let mut polls = Polls::new(SECOND, 127, 100 * SECOND).in_window(times);
        let view = View { sent_upto: window, idle: false, ..View::START };
        let occasion = Occasion::Unit { last: false, lone: false };
        let sent = (0..).find(|_| {
            polls.on_sent(&view);
            polls.due(&view, occasion)
        });
        assert_eq!(sent, Some(asks - 1), "a window of {window}");
    }
}

/// Once the answers have come, what they leave missing is asked about soon.
#[test]
fn polls_wait_long_while_many_are_on_their_way_and_not_after_that() {
    let mut polls = Polls::new(SECOND, 127, 100 * SECOND).in_window(4).patient(60 * SECOND);
    let now = Instant::from_nanoseconds(SECOND);
    let view = View { now, sent_upto: 40, idle: false, ..View::START };
    (1..=10).for_each(|number| polls.on_asked(&view, number));
    assert!(polls.deadline(&view) >= view.now.later(30 * SECOND), "{:?}", polls.deadline(&view));
    polls.on_answer(&view, 5, SECOND);
    assert!(polls.deadline(&view) >= view.now.later(30 * SECOND), "five are on their way");
    polls.on_answer(&view, 10, SECOND);
    assert_eq!(polls.deadline(&view), view.now.later(SECOND));
}

/// RFC 9438 §4.2 and §4.6: with a loss at 100 packets it is 70, and reaches 100 again after K =
/// ∛(30 / 0.4) = 4.22 s, flat near it; then it grows faster.
#[test]
fn cubic_follows_its_curve() {
    let mut cubic = Sender::opened(Cubic::new(PACKET), 100 * MILLISECOND, 1);
    cubic.round_trips(3, 100 * MILLISECOND);
    while cubic.window() < 100 {
        cubic.acknowledge();
        cubic.fill();
    }
    cubic.lose();
    assert_eq!(cubic.window(), 70);
    let began = cubic.now;
    let curve = |seconds: f64| 100.0 + 0.4 * (seconds - 4.217_f64).powi(3);
    for _ in 0..60 {
        cubic.round_trips(1, 100 * MILLISECOND);
        let since = (cubic.now - began) as f64 / 1e9;
        let got = cubic.judge.window() as f64 / 1000.0;
        // It begins with the first report, and follows within two round trips.
        let expected = curve(since - 0.2) - 0.5..curve(since + 0.1) + 0.5;
        assert!(expected.contains(&got), "after {since} s: {got}, and not {expected:?}");
    }
    assert!(cubic.window() > 101);
}

/// C·t³ in real time is steep where a round trip takes ten seconds, and few packets come in each.
#[test]
fn cubic_grows_by_an_eighth_where_a_round_trip_takes_seconds_for_few_packets() {
    let mut cubic = Sender::opened(Cubic::new(PACKET), 10 * SECOND, 1);
    cubic.round_trips(1, 10 * SECOND);
    cubic.lose();
    for _ in 0..6 {
        let before = cubic.judge.window();
        cubic.round_trips(1, 10 * SECOND);
        let most = before + (before / 7).max(PACKET + PACKET / 8);
        assert!(cubic.judge.window() <= most, "{before} to {}", cubic.judge.window());
    }
}

/// A long path is not a slow one: where more than some packets are acknowledged each second, the
/// window follows the cubic function. By an eighth or a packet it would grow from 7 to 14.
#[test]
fn cubic_follows_its_curve_where_packets_are_many_however_long_the_round_trip() {
    let mut cubic = Sender::opened(Cubic::new(PACKET), 1200 * MILLISECOND, 1);
    cubic.lose();
    assert_eq!(cubic.window(), 7);
    cubic.round_trips(7, 1200 * MILLISECOND);
    assert!(cubic.window() > 20, "{}", cubic.window());
}

#[test]
fn an_opening_that_was_repeated_begins_with_one_packet() {
    let judges: [(&str, Box<dyn Congestion>); 3] = [
        ("NewReno", Box::new(NewReno::new(PACKET))),
        ("CUBIC", Box::new(Cubic::new(PACKET))),
        ("BBR", Box::new(Bbr::new(PACKET))),
    ];
    for (name, judge) in judges {
        let mut sender = Sender::opened(judge, 2 * SECOND, 2);
        assert_eq!(sender.window(), 1, "{name}");
        let view = sender.view();
        let opening = Opening { took: 2 * SECOND, tries: 1, octets: 208, peer_delay: None };
        let rtt = Estimate { smoothed: 2 * SECOND, ..view.rtt };
        sender.judge.on_opened(&View { rtt, ..view }, &opening);
        assert_eq!(sender.window(), 10, "{name}");
        let pace = sender.judge.pace().expect("the handshake's round trip is known").get();
        assert!((10_000..=15_000).contains(&pace), "{name}: {pace} for 10 000 in two seconds");
    }
}

/// RFC 9438 §4.9, RFC 4015: as before, however many timeouts it were.
#[test]
fn a_spurious_timeout_is_undone() {
    fn check(name: &str, judge: impl Congestion) {
        let mut sender = Sender::opened(judge, 100 * MILLISECOND, 1);
        sender.round_trips(2, 100 * MILLISECOND);
        sender.lose();
        sender.round_trips(3, 100 * MILLISECOND);
        sender.fill();
        let before = sender.judge.window();
        for _ in 0..3 {
            sender.time_out();
            assert!(sender.judge.window() < before, "{name}");
        }
        let view = sender.view();
        sender.judge.on_spurious(&view);
        assert_eq!(sender.judge.window(), before, "{name}");
        sender.judge.on_spurious(&view);
        assert_eq!(sender.judge.window(), before, "{name}: once");
        // It goes on as if nothing had been: not in slow start.
        sender.round_trips(1, 100 * MILLISECOND);
        let after = sender.judge.window();
        assert!((before..before * 5 / 4).contains(&after), "{name}: {before} to {after}");
    }
    check("NewReno", NewReno::new(PACKET));
    check("CUBIC", Cubic::new(PACKET));
    check("the document's", Aimd::new(PACKET));
}

/// RFC 5681 §3.1: the threshold of the first timeout of the same data holds.
#[test]
fn a_second_timeout_of_the_same_data_leaves_the_threshold() {
    fn check(name: &str, judge: impl Congestion, threshold: u64) {
        let mut sender = Sender::opened(judge, 100 * MILLISECOND, 1);
        sender.round_trips(2, 100 * MILLISECOND);
        sender.fill();
        sender.time_out();
        sender.in_flight.truncate(1);
        sender.time_out();
        sender.settle();
        sender.round_trips(5, 100 * MILLISECOND);
        let got = sender.window();
        assert!((threshold..threshold + 4).contains(&got), "{name}: {got}");
    }
    check("NewReno", NewReno::new(PACKET), 20);
    check("CUBIC", Cubic::new(PACKET), 28);
}

/// The model stays what it was; the window comes back by what arrives: all of it at once, after a
/// silence, would overflow a short queue, time out again, and so on for ever.
#[test]
fn after_a_timeout_the_window_of_bbr_doubles_until_it_is_that_of_the_model() {
    let mut sender = Sender::opened(Bbr::new(PACKET), 100 * MILLISECOND, 1);
    sender.round_trips(4, 100 * MILLISECOND);
    let model = sender.window();
    assert!(model > 100, "{model}");
    sender.fill();
    sender.time_out();
    let mut windows = vec![sender.window()];
    sender.settle();
    for _ in 0..4 {
        sender.round_trips(1, 100 * MILLISECOND);
        windows.push(sender.window());
    }
    assert_eq!(windows, [2, 4, 8, 16, 32]);
    sender.round_trips(8, 100 * MILLISECOND);
    assert!(sender.window() >= model, "{} of {model}", sender.window());
    sender.time_out();
    let view = sender.view();
    sender.judge.on_spurious(&view);
    assert!(sender.window() >= model, "it was spurious");
}

/// A timer is coarser than such a path. A queue that is shorter than a burst shows by a loss.
#[test]
fn bbr_sends_bursts_where_the_path_is_short_and_has_lost_nothing() {
    let paced = |round_trip, loses| {
        let mut sender = Sender::opened(Bbr::new(PACKET), round_trip, 1);
        sender.round_trips(5, round_trip);
        if loses {
            sender.lose();
            sender.round_trips(5, round_trip);
        }
        sender.judge.pace().is_some()
    };
    assert!(!paced(MILLISECOND, false));
    assert!(paced(MILLISECOND, true));
    assert!(paced(100 * MILLISECOND, false));
}

/// A window is not grown by a sender that has little to send; one that is paced has enough.
#[test]
fn a_window_that_is_not_used_does_not_grow_but_a_paced_one_is() {
    fn grows(judge: &mut dyn Congestion, smoothed: Nanoseconds, drained: bool) -> bool {
        let rtt = Estimate { smoothed, ..Estimate::default() };
        let view = View { rtt, in_flight: PACKET, drained, sent_upto: 1, ..View::START };
        let before = judge.window();
        let acknowledged = Acknowledged { octets: PACKET, units: 1, ..Acknowledged::default() };
        judge.on_acknowledged(&view, &acknowledged);
        judge.window() > before
    }
    let judges: [Box<dyn Congestion>; 2] =
        [Box::new(NewReno::new(PACKET)), Box::new(Cubic::new(PACKET))];
    for mut judge in judges {
        assert!(!grows(&mut *judge, SECOND, true));
        assert!(
            !grows(&mut *judge, MILLISECOND, false),
            "nothing paces it: the peer's window does"
        );
        assert!(grows(&mut *judge, SECOND, false));
    }
}

/// What a sender may meet.
#[derive(Clone, Copy, Debug)]
enum Event {
    RoundTrips(usize, Nanoseconds),
    /// Some of what is in flight.
    Acknowledged(usize, Nanoseconds),
    Lost,
    TimedOut,
    Spurious,
    Idle(Nanoseconds),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let round_trip = prop_oneof![1..3 * MILLISECOND, MILLISECOND..SECOND, SECOND..20 * SECOND];
    let event = prop_oneof![
        (1..6_usize, round_trip.clone()).prop_map(|(count, took)| Event::RoundTrips(count, took)),
        (1..40_usize, round_trip.clone())
            .prop_map(|(count, took)| Event::Acknowledged(count, took)),
        Just(Event::Lost),
        Just(Event::TimedOut),
        Just(Event::Spurious),
        round_trip.prop_map(Event::Idle),
    ];
    prop::collection::vec(event, 1..40)
}

/// After each event, and not only where a window grows: a pace that stays behind keeps the window
/// from being used for ever.
fn paces(judge: impl Congestion, events: &[Event]) -> Result<(), String> {
    let mut sender = Sender::opened(judge, 30 * MILLISECOND, 1);
    for event in events {
        match *event {
            Event::RoundTrips(..) if sender.judge.window() > 2000 * PACKET => {}
            Event::RoundTrips(count, took) => sender.round_trips(count, took),
            Event::Acknowledged(count, took) => {
                sender.fill();
                sender.now += took;
                for _ in 0..count.min(sender.in_flight.len()) {
                    sender.acknowledge();
                    sender.keeps_pace()?;
                }
            }
            Event::Lost => sender.lose(),
            Event::TimedOut => sender.time_out(),
            Event::Spurious => {
                let view = sender.view();
                sender.judge.on_spurious(&view);
            }
            Event::Idle(took) => {
                (sender.settled, sender.in_flight) = (sender.sent, Vec::new());
                sender.now += took;
            }
        }
        sender.keeps_pace().map_err(|why| format!("{event:?}: {why}"))?;
        if sender.judge.window() < PACKET {
            return Err(format!("{event:?}: {} octets", sender.judge.window()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_pace_is_never_slower_than_the_window(events in events()) {
        prop_assert_eq!(paces(Cubic::new(PACKET), &events), Ok(()));
        prop_assert_eq!(paces(NewReno::new(PACKET), &events), Ok(()));
    }
}
