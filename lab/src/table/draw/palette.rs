//! Colours that people tell apart who see fewer of them (Okabe and Ito), each with a mark of its
//! own.

use plotters::style::RGBColor;

/// The ink of axes and text. Nothing else is black: a page that is dark replaces it.
pub(crate) const INK: RGBColor = RGBColor(0, 0, 0);

/// The document's own numbers.
pub(crate) const DOCUMENT: RGBColor = RGBColor(130, 130, 130);

/// Contestants in the order of their columns; ours is the first.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(150, 130, 20),
];

/// The colour of a column.
pub(crate) fn colour(place: usize) -> RGBColor {
    COLOURS[place % COLOURS.len()]
}

/// The shape of its marks.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    Disc,
    Triangle,
    Cross,
    Ring,
}

/// The mark of a column.
pub(crate) fn mark(place: usize) -> Mark {
    [Mark::Disc, Mark::Triangle, Mark::Cross, Mark::Ring][place % 4]
}
