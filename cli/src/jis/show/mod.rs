//! A picture in the terminal.
//!
//! | file | what |
//! | --- | --- |
//! | `announced.rs` | whether the terminal shows graphics: it is asked |
//! | `kitty.rs` | pixels, by kitty's graphics protocol |
//! | `blocks.rs` | two pixels a character, which each terminal shows |

mod announced;
mod blocks;
mod kitty;

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use stackwright_jis::Pixels;

/// A thread that draws pictures: decoding a large one, or writing to a slow terminal, takes longer
/// than packets may wait. Dropping it waits until it has drawn: a terminal that gets half of a
/// picture takes what follows for the other half.
pub(super) struct Screen {
    /// There until it is dropped, both.
    pictures: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<Option<String>>>,
    /// Whether it is drawing.
    draws: Arc<AtomicBool>,
}

impl Screen {
    /// Asks the terminal what it can show. Interrupts must be handled by now: they end the wait for
    /// its answer.
    pub(super) fn new() -> Self {
        let mut canvas = Canvas::new();
        let (pictures, drawn) = channel::<Vec<u8>>();
        let draws = Arc::new(AtomicBool::new(false));
        let drawing = draws.clone();
        let thread = thread::spawn(move || {
            let mut refused = None;
            for jpeg in drawn {
                refused = canvas.draw(&jpeg).err();
                drawing.store(false, Ordering::Release);
            }
            refused
        });
        Screen { pictures: Some(pictures), thread: Some(thread), draws }
    }

    /// Returns whether it is drawing: another picture is then not worth joining.
    pub(super) fn draws(&self) -> bool {
        self.draws.load(Ordering::Acquire)
    }

    /// Waits until the last picture is drawn, and returns why it cannot be.
    pub(super) fn finish(mut self) -> Option<String> {
        self.end()
    }

    fn end(&mut self) -> Option<String> {
        self.pictures = None;
        self.thread.take()?.join().ok()?
    }

    /// Shows a JPEG, after the one before.
    pub(super) fn show(&self, jpeg: Vec<u8>) {
        self.draws.store(true, Ordering::Release);
        let _ = self.pictures.as_ref().map(|pictures| pictures.send(jpeg));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.end();
    }
}

/// Draws over what it drew before.
struct Canvas {
    /// The picture's name in the terminal, where that shows graphics.
    graphics: Option<u32>,
    /// Rows that it has taken.
    rows: usize,
}

impl Canvas {
    fn new() -> Self {
        let graphics = announced::graphics().then(|| fastrand::u32(1..));
        Canvas { graphics, rows: 0 }
    }

    /// Draws a JPEG.
    ///
    /// # Errors
    /// Returns a sentence where it cannot be decoded.
    fn draw(&mut self, jpeg: &[u8]) -> Result<(), String> {
        let picture = Pixels::as_shown(jpeg)?;
        let room = Room::of_terminal();
        let drawn = match self.graphics {
            Some(name) => kitty::drawn(&picture, &room, name, self.rows),
            None => Some(blocks::drawn(&picture, &room, self.rows)),
        };
        if let Some((text, rows)) = drawn {
            self.rows = rows;
            let mut out = io::stdout().lock();
            let _ = out.write_all(text.as_bytes());
            let _ = out.flush();
        }
        Ok(())
    }
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug)]
struct Room {
    columns: usize,
    /// Rows that a picture may have: the cursor and the prompt need two.
    rows: usize,
    /// The width and height of a character in pixels, where that is known.
    character: Option<(usize, usize)>,
}

impl Room {
    /// The size of the terminal; of another target, a usual one.
    fn of_terminal() -> Self {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let Some(size) = size.filter(|size| size.ws_col > 0 && size.ws_row > 2) else {
            return Room { columns: 80, rows: 22, character: None };
        };
        let [columns, rows, width, height] =
            [size.ws_col, size.ws_row, size.ws_xpixel, size.ws_ypixel].map(usize::from);
        let character = (width / columns, height / rows);
        let is_known = character.0 > 0 && character.1 > 0;
        Room { columns, rows: rows - 2, character: is_known.then_some(character) }
    }
}

/// The largest size that fits into `width` and `height`, and is no larger than the picture.
fn fitted(picture: &Pixels, width: usize, height: usize) -> (usize, usize) {
    let wide =
        width.min(picture.width).min((height * picture.width / picture.height).max(1)).max(1);
    (wide, (wide * picture.height / picture.width).clamp(1, height.max(1)))
}

/// The mean of the pixels of a place in a picture that is shown with this width and height; of
/// large places, of sixty-four in it.
fn sample(picture: &Pixels, x: usize, y: usize, width: usize, height: usize) -> [u8; 3] {
    let span = |at: usize, of: usize, all: usize| {
        let (begin, end) = (at * all / of, ((at + 1) * all / of).max(at * all / of + 1));
        (begin..end).step_by((end - begin).div_ceil(8))
    };
    let (mut sums, mut count) = ([0_u32; 3], 0);
    for py in span(y, height, picture.height) {
        for px in span(x, width, picture.width) {
            let Some(pixel) = picture.rgb[(py * picture.width + px) * 3..].first_chunk::<3>()
            else {
                continue;
            };
            sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u32::from(*value));
            count += 1;
        }
    }
    sums.map(|sum| (sum / count.max(1)) as u8)
}
