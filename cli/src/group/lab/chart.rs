//! What led to a broken promise: a line for each thing that happened, with a column for each
//! member; and a page with all packets.

use std::fmt::Write as _;

use serde_json::json;
use stackwright::contract::Instant;
use stackwright_group_checker::{CastMark, GroupEvent};
use stackwright_simulator::Flight;

use super::scene::{Happening, Run, host};

/// Lines of the chart, at most.
const LINES_MOST: usize = 48;
/// Of these, casts and deliveries other than the one that broke the promise.
const OTHERS_MOST: usize = 24;
/// Packets on the page, at most.
const FLIGHTS_MOST: usize = 20_000;

/// The page of `lab watch`, which shows what stands in it.
const PAGE: &str = include_str!("../../../../lab/src/watch/page.html");

/// Returns the name of a cast: who sent it, and which of its casts it is; each life of a member
/// after the first has a stroke.
pub(super) fn named([station, life, number]: CastMark) -> String {
    format!("{}{}#{number}", station + 1, "'".repeat(life as usize))
}

/// Returns the chart.
pub(super) fn lines(run: &Run) -> String {
    let first = run.broken.first();
    let casts = first.map(|broken| [broken.cast, broken.instead]).unwrap_or_default();
    let is_it = |happening: &Happening| match happening {
        Happening::Cast(mark) | Happening::Of(GroupEvent::Delivered(mark)) => {
            casts.contains(&Some(*mark))
        }
        _ => true,
    };
    // The last of them, and of what is not about the cast some less.
    let (mut shown, mut others) = (Vec::new(), 0);
    for it in run.happenings.iter().rev() {
        let is_it = is_it(&it.2);
        others += usize::from(!is_it);
        if is_it || others <= OTHERS_MOST {
            shown.push(it);
        }
        if shown.len() == LINES_MOST {
            break;
        }
    }
    let mut text = format!("{:>9}", "s");
    (1..=run.members).for_each(|member| text += &format!("{member:>9}"));
    for (at, place, happening) in shown.into_iter().rev() {
        let (cell, note) = told(happening, *place);
        let _ = write!(text, "\n{:9.4}", seconds(at));
        for member in 0..run.members {
            let cell = if member == *place { cell.as_str() } else { "" };
            let _ = write!(text, "{:>9}", if cell.is_empty() { "|" } else { cell });
        }
        if !note.is_empty() {
            let _ = write!(text, "   {note}");
        }
    }
    for broken in &run.broken {
        let at = seconds(&broken.at);
        let cast = broken.cast.map(|cast| format!(" with cast {}", named(cast)));
        let (member, cast) = (broken.station + 1, cast.unwrap_or_default());
        let _ = write!(text, "\n\n{at:9.4} s, member {member}{cast}: broken: {}", broken.what);
        if let Some(other) = broken.instead {
            let _ = write!(text, "; another had delivered {} in its place", named(other));
        }
    }
    text
}

/// Returns what stands in the column of a member, and beside the chart.
fn told(happening: &Happening, place: usize) -> (String, String) {
    let member = place + 1;
    match happening {
        Happening::Split(parts) => {
            let part = |part| {
                let all = parts.iter().enumerate().filter(|(_, of)| **of == part);
                let all: Vec<_> = all.map(|(place, _)| (place + 1).to_string()).collect();
                all.join(" ")
            };
            let (one, two) = (part(0), part(1));
            let is_whole = one.is_empty() || two.is_empty();
            let note = if is_whole { "all hear all".into() } else { format!("cut: {one} | {two}") };
            (String::new(), note)
        }
        Happening::Crash => ("crash".into(), format!("{member} loses all that it knew")),
        Happening::Begin => ("begins".into(), String::new()),
        Happening::Cast(mark) => (format!("*{}", named(*mark)), format!("{member} casts")),
        Happening::Of(GroupEvent::Delivered(mark)) => (named(*mark), String::new()),
        Happening::Of(GroupEvent::FellOut) => ("out".into(), "the others went on".into()),
        Happening::Of(GroupEvent::Entered(view)) => {
            let member = |place: usize| {
                let is_it = |of: &std::net::SocketAddr| of.ip() == host(place);
                let mut all = view.members.iter().filter_map(|of| of.participant.internet());
                all.any(|of| is_it(&of)).then(|| (place + 1).to_string())
            };
            let members: Vec<_> = (0..view.members.len().max(9)).filter_map(member).collect();
            (format!("view {}", view.number), format!("with {}", members.join(" ")))
        }
    }
}

/// Returns the page: a run as `lab watch` shows it, which cannot be changed.
pub(super) fn page(run: &Run, name: &str, seed: u64) -> String {
    let micros = |at: &Instant| at.nanoseconds() / 1000;
    let place = |address| (0..run.members).find(|place| host(*place) == address);
    let skipped = run.flights.len().saturating_sub(FLIGHTS_MOST);
    let shown = run.flights.iter().skip(skipped).filter_map(|flight| {
        let Flight { from, to, nth, octets, sent, arrivals } = flight;
        let (from, to) = (place(*from)?, place(*to)?);
        let arrivals: Vec<_> = arrivals.iter().map(micros).collect();
        Some(json!([from, to, nth.map(|nth| nth + 1), octets, micros(sent), arrivals, false]))
    });
    let data = json!({
        "name": format!("{name}, seed {seed}"),
        "stations": (1..=run.members).map(|member| format!("member {member}")).collect::<Vec<_>>(),
        "flights": shown.collect::<Vec<_>>(),
        "of": run.flights.len(),
        "end": micros(&run.end),
        "trace": null,
        "outcome": lines(run),
    });
    let data = data.to_string().replace('<', "\\u003c");
    let fixed = format!("<script type=\"application/json\" id=\"fixed\">{data}</script>\n<script>");
    PAGE.replacen("<script>", &fixed, 1)
}

fn seconds(at: &Instant) -> f64 {
    at.since(Instant::START).as_secs_f64()
}
