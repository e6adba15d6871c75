//! Where lines come from: a person at a terminal, or a pipe. They are read on a thread of their
//! own, so that the stack keeps its associations alive meanwhile.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustyline::error::ReadlineError;
use stackwright_drivers::Waker;

use super::editor::Editor;

/// What the reading thread says.
pub(super) enum Event {
    Line(String),
    /// There are no more lines.
    End,
    /// Which names are in a folder on the server? It is written as it begins in the line.
    Names {
        folder: String,
        answer: Sender<Vec<Name>>,
    },
}

/// A name on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) is_folder: bool,
}

/// Wakes up the thread that runs the stack, whichever that is by now.
#[derive(Clone, Default)]
pub(super) struct Wake(Arc<Mutex<Option<Arc<Waker>>>>);

impl Wake {
    pub(super) fn set(&self, waker: Option<Arc<Waker>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waker;
    }

    fn wake(&self) {
        if let Some(waker) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // What is not woken up now looks after its next deadline.
            let _ = waker.wake();
        }
    }
}

/// The side of the thread that reads.
pub(super) struct Teller {
    events: Sender<Event>,
    wake: Wake,
}

impl Teller {
    /// Returns whether it is of use to anyone.
    pub(super) fn tell(&self, event: Event) -> bool {
        let is_told = self.events.send(event).is_ok();
        self.wake.wake();
        is_told
    }
}

/// The lines, one after the other.
pub(super) struct Input {
    pub(super) events: Receiver<Event>,
    pub(super) wake: Wake,
    /// The prompt of the next line.
    prompts: Sender<String>,
    pub(super) is_interactive: bool,
}

impl Input {
    /// Begins to read; the first line is read once it is asked for.
    pub(super) fn start(is_interactive: bool) -> Self {
        let (events, heard) = channel();
        let (prompts, prompted) = channel();
        let wake = Wake::default();
        let teller = Teller { events, wake: wake.clone() };
        // It ends with the program: a read cannot be called off.
        thread::spawn(move || {
            if is_interactive {
                type_lines(teller, &prompted);
            } else {
                read_lines(&teller, &prompted);
            }
        });
        Input { events: heard, wake, prompts, is_interactive }
    }

    /// Asks for the next line.
    pub(super) fn ask(&self, prompt: String) {
        // Without a reader there is no line, and that was said.
        let _ = self.prompts.send(prompt);
    }
}

fn read_lines(teller: &Teller, prompted: &Receiver<String>) {
    let mut lines = io::stdin().lines();
    while prompted.recv().is_ok() {
        let event = lines.next().and_then(Result::ok).map_or(Event::End, Event::Line);
        if !teller.tell(event) {
            break;
        }
    }
}

fn type_lines(teller: Teller, prompted: &Receiver<String>) {
    let teller = Arc::new(teller);
    let Ok(mut editor) = Editor::new(Arc::clone(&teller)) else {
        teller.tell(Event::End);
        return;
    };
    while let Ok(prompt) = prompted.recv() {
        let event = loop {
            match editor.line(&prompt) {
                Ok(line) => break Event::Line(line),
                // The line is given up, not the shell.
                Err(ReadlineError::Interrupted) => {}
                Err(_) => break Event::End,
            }
        };
        if !teller.tell(event) {
            break;
        }
    }
}
