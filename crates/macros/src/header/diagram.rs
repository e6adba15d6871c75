//! Draws a layout as the RFCs do: 32 bits per row, a column of two characters per bit.

use super::layout::{Field, Layout};

const ROW: usize = 32;
/// The most whole rows of a field that are drawn; a longer one has a gap.
const ROWS_MOST: usize = 4;

/// Returns the box diagram, and below it the names that had to be cut.
pub(super) fn draw(layout: &Layout) -> String {
    let bits = layout.bits();
    let width = bits.min(ROW);
    let rows = bits.div_ceil(ROW);
    let mut lines = ruler(width);
    let mut above = None;
    for row in 0..rows {
        match gap(layout, row) {
            Some(field) => {
                if gap(layout, row - 1).is_none() {
                    let label = format!("{} ({} octets)", field.name, field.bits / 8);
                    lines.push(edge(layout, above, Some(row), width));
                    lines.push(format!(":{}:", centred(&label, 2 * width - 1)));
                }
            }
            None => {
                lines.push(edge(layout, above, Some(row), width));
                lines.push(cells(layout, row));
            }
        }
        above = Some(row);
    }
    lines.push(edge(layout, above, None, width));
    lines.extend(legend(layout));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the numbers of the bits, tens above units.
fn ruler(width: usize) -> Vec<String> {
    let tens = (0..width)
        .map(|bit| if bit % 10 == 0 { format!(" {}", bit / 10) } else { "  ".to_owned() });
    let units = (0..width).map(|bit| format!(" {}", bit % 10));
    vec![tens.collect(), units.collect()]
}

/// Returns the index of the field at a bit.
fn field_at(layout: &Layout, bit: usize) -> Option<usize> {
    layout.fields.iter().position(|field| (field.offset..field.offset + field.bits).contains(&bit))
}

/// Returns the whole rows of a field.
fn whole_rows(field: &Field) -> std::ops::Range<usize> {
    let first = field.offset.div_ceil(ROW);
    first..((field.offset + field.bits) / ROW).max(first)
}

/// Returns the field in whose middle the row is, where the middle is not drawn.
fn gap(layout: &Layout, row: usize) -> Option<&Field> {
    layout.fields.iter().find(|field| {
        let whole = whole_rows(field);
        whole.len() > ROWS_MOST && (whole.start + 1..whole.end - 1).contains(&row)
    })
}

/// Returns the line between two rows, open where one field goes on.
fn edge(layout: &Layout, above: Option<usize>, below: Option<usize>, width: usize) -> String {
    let at = |row: Option<usize>, bit: usize| row.and_then(|row| field_at(layout, row * ROW + bit));
    let closed: Vec<bool> = (0..width).map(|bit| at(above, bit) != at(below, bit)).collect();
    let nothing = |bit: usize| at(above, bit).is_none() && at(below, bit).is_none();
    let mut line = String::new();
    for bit in 0..=width {
        let left = bit > 0 && closed[bit - 1];
        let right = bit < width && closed[bit];
        let outside = (bit == 0 || bit == width) && !nothing(bit.min(width - 1));
        line.push(if left || right || outside { '+' } else { ' ' });
        if bit < width {
            line.push(if right { '-' } else { ' ' });
        }
    }
    line
}

/// Returns one row of names between bars.
fn cells(layout: &Layout, row: usize) -> String {
    let mut line = String::from("|");
    for field in &layout.fields {
        let (first, end) = (field.offset, field.offset + field.bits);
        let (from, to) = (first.max(row * ROW), end.min((row + 1) * ROW));
        if from >= to {
            continue;
        }
        let label = if row == label_row(field) { field.name.as_str() } else { "" };
        line += &centred(label, 2 * (to - from) - 1);
        line.push('|');
    }
    line
}

/// Returns the row that bears the name: the middle one, or the one with more space where there are
/// two.
fn label_row(field: &Field) -> usize {
    let (first, last) = (field.offset / ROW, (field.offset + field.bits - 1) / ROW);
    let begins = ROW - field.offset % ROW;
    match last - first {
        1 if begins >= field.bits - begins => first,
        1 => last,
        _ => usize::midpoint(first, last),
    }
}

/// Returns how many characters its name may have.
fn room(field: &Field) -> usize {
    let row = label_row(field);
    let from = field.offset.max(row * ROW);
    let to = (field.offset + field.bits).min((row + 1) * ROW);
    2 * (to - from) - 1
}

fn centred(label: &str, width: usize) -> String {
    let cut: String = label.chars().take(width).collect();
    format!("{cut:^width$}")
}

fn legend(layout: &Layout) -> Vec<String> {
    let cut = layout.fields.iter().filter(|field| field.name.chars().count() > room(field));
    cut.map(|field| {
        let short: String = field.name.chars().take(room(field)).collect();
        format!(" {short:<5} bit {:<4} {}", field.offset, field.name)
    })
    .collect()
}
