//! A channel's time line as a picture: text for a terminal, and SVG.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use stackwright::contract::Instant;

use super::lines::{outcome, seconds, shown};
use super::timeline::{Lane, Sent, Timeline};
use crate::problem::Problem;

/// What a piece of a station's time is, the one that is shown before another first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Piece {
    Collided,
    Altered,
    Again,
    Frame,
    /// The transmitter is on, before a frame or behind it.
    Keyed,
    Silent,
}

impl Piece {
    const ALL: [Piece; 5] =
        [Piece::Frame, Piece::Again, Piece::Altered, Piece::Collided, Piece::Keyed];

    fn of(sent: &Sent) -> Self {
        match sent {
            _ if !sent.collided.is_empty() => Piece::Collided,
            _ if !sent.altered.is_empty() => Piece::Altered,
            _ if sent.told.again => Piece::Again,
            _ => Piece::Frame,
        }
    }

    fn letter(self) -> char {
        match self {
            Piece::Collided => 'x',
            Piece::Altered => '?',
            Piece::Again => '▒',
            Piece::Frame => '█',
            Piece::Keyed => '░',
            Piece::Silent => '·',
        }
    }

    fn color(self) -> &'static str {
        match self {
            Piece::Collided => "#c0392b",
            Piece::Altered => "#e67e22",
            Piece::Again => "#8e6bbf",
            Piece::Frame => "#2e7d4f",
            Piece::Keyed => "#b8c4ce",
            Piece::Silent => "none",
        }
    }

    fn says(self) -> &'static str {
        match self {
            Piece::Collided => "collided at a station",
            Piece::Altered => "bit errors at a station",
            Piece::Again => "sent again",
            Piece::Frame => "a frame",
            Piece::Keyed => "transmitter on",
            Piece::Silent => "silence",
        }
    }
}

/// Returns the end of the last that happened.
fn end(timeline: &Timeline) -> Instant {
    let on_air = timeline.stations.iter().flat_map(|lane| &lane.on_air);
    on_air.map(|(from, to)| to.unwrap_or(*from)).max().unwrap_or(Instant::START)
}

/// Returns the pieces of a station: from when, to when, what, and of which frame.
fn pieces(
    lane: &Lane,
    end: Instant,
) -> impl Iterator<Item = (Instant, Instant, Piece, Option<&Sent>)> {
    let keyed = lane.on_air.iter();
    let keyed = keyed.map(move |(from, to)| (*from, to.unwrap_or(end), Piece::Keyed, None));
    let sent = lane.sent.iter();
    keyed.chain(
        sent.map(move |sent| (sent.begins, sent.ends.unwrap_or(end), Piece::of(sent), Some(sent))),
    )
}

/// Draws a time line as lines of `columns` columns.
pub(crate) fn text(timeline: &Timeline, columns: usize) -> String {
    let names = timeline.stations.iter().map(|lane| lane.name.len()).max().unwrap_or(0);
    let columns = columns.saturating_sub(names + 4).clamp(10, 400);
    let end = end(timeline);
    let each = (end.nanoseconds() / columns as u64).max(1);
    let mut picture = String::new();
    for lane in &timeline.stations {
        let mut row = vec![Piece::Silent; columns];
        for (from, to, piece, _) in pieces(lane, end) {
            let column = |time: Instant| (time.nanoseconds() / each) as usize;
            let last = column(to).min(columns - 1);
            for place in &mut row[column(from).min(last)..=last] {
                *place = piece.min(*place);
            }
        }
        let row: String = row.into_iter().map(Piece::letter).collect();
        let _ = writeln!(picture, "  {:<names$}  {row}", lane.name);
    }
    let most = format!("{:.0} s", seconds(end));
    let half = format!("{:.0} s", seconds(end) / 2.0);
    let left = columns / 2 - half.len() / 2;
    let scale = format!("{:<left$}{half}", "0 s");
    let right = columns.saturating_sub(scale.chars().count());
    let _ = writeln!(picture, "  {:<names$}  {scale}{most:>right$}", "");
    let legend = Piece::ALL.map(|piece| format!("{} {}", piece.letter(), piece.says()));
    let _ = write!(picture, "  {}", legend.join("   "));
    picture
}

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 90.0;
const ROW: f64 = 44.0;
const TOP: f64 = 16.0;

/// Writes a time line as SVG. Each frame says what it is where the pointer is on it.
pub(crate) fn write(timeline: &Timeline, file: &Path) -> Result<(), Problem> {
    fs::write(file, svg(timeline)).map_err(|why| Problem::Path { path: file.into(), why })
}

fn svg(timeline: &Timeline) -> String {
    let end = end(timeline);
    let whole = seconds(end).max(1e-9);
    let x = |time: Instant| LEFT + seconds(time) / whole * (WIDTH - LEFT - 20.0);
    let rows = timeline.stations.len() as f64;
    let height = TOP + rows * ROW + 64.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (row, lane) in timeline.stations.iter().enumerate() {
        let top = TOP + row as f64 * ROW;
        let middle = top + ROW / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"8\" y=\"{:.1}\">{}</text>\
             <path d=\"M{LEFT} {middle:.1}H{:.1}\" stroke=\"#d5d9dd\"/>",
            middle + 4.0,
            escaped(&lane.name),
            WIDTH - 20.0
        );
        for (from, to, piece, sent) in pieces(lane, end) {
            let (left, right) = (x(from), x(to));
            let high = if sent.is_some() { 26.0 } else { 12.0 };
            let title = sent.map_or("transmitter on".into(), |sent| {
                let outcome = outcome(sent, timeline);
                format!("{:.2} s  {}: {outcome}", seconds(from), shown(sent))
            });
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{high}\" \
                 fill=\"{}\"><title>{}</title></rect>",
                middle - high / 2.0,
                (right - left).max(0.5),
                piece.color(),
                escaped(&title)
            );
        }
    }
    let bottom = TOP + rows * ROW + 14.0;
    for tenth in 0..=10 {
        let time = whole * f64::from(tenth) / 10.0;
        let place = LEFT + f64::from(tenth) / 10.0 * (WIDTH - LEFT - 20.0);
        let _ = writeln!(
            svg,
            "<text x=\"{place:.1}\" y=\"{bottom:.1}\" text-anchor=\"middle\" \
             fill=\"#5b6570\">{time:.1} s</text>"
        );
    }
    for (nth, piece) in Piece::ALL.into_iter().enumerate() {
        let left = LEFT + nth as f64 * 200.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"{:.1}\">{}</text>",
            bottom + 16.0,
            piece.color(),
            left + 18.0,
            bottom + 27.0,
            piece.says()
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
