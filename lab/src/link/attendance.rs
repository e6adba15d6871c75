//! A program that started this one, and asks on standard input.

use std::io::{self, BufRead as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

/// What it asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// How do the counts stand?
    Counts,
    /// It is gone, or has enough.
    End,
}

/// Its questions: one for each line. At the end of standard input, however that program ended, the
/// link does.
#[derive(Debug)]
pub(super) struct Attendance(Receiver<()>);

impl Attendance {
    /// Listens from now on; `wake` is written for each question.
    pub(super) fn listen(mut wake: UnixStream) -> Attendance {
        // Few: whoever asks waits for the answer.
        let (questions, received) = mpsc::sync_channel(16);
        thread::spawn(move || {
            for _ in io::stdin().lock().lines().map_while(Result::ok) {
                if questions.send(()).is_err() {
                    return;
                }
                let _ = wake.write_all(&[0]);
            }
            drop(questions);
            let _ = wake.write_all(&[0]);
        });
        Attendance(received)
    }

    /// The next, if there is one.
    pub(super) fn question(&self) -> Option<Question> {
        match self.0.try_recv() {
            Ok(()) => Some(Question::Counts),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Question::End),
        }
    }
}
