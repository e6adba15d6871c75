//! A whole client, over any server and under anybody who asks for files.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stackwright_contract::services::{
    FilesIndication, FilesRequest, Keep, Purpose, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Context, Duration, Handle, IndicationOf, Names, Outlet, Protocol, RequestOf,
};
use stackwright_ftp::client::{Config, DataMode};
use stackwright_ftp::{Client, PORT};
use stackwright_wire::Message;

use crate::Input;
use crate::lower::{Lower, M};

#[derive(Default)]
struct Said {
    streams: VecDeque<StreamsRequest<M>>,
    files: VecDeque<FilesIndication<M>>,
}

impl Outlet<Client<M>> for Said {
    fn indicate(&mut self, told: IndicationOf<Client<M>>) {
        self.files.push_back(told);
    }

    fn request(&mut self, ask: RequestOf<Client<M>>) {
        self.streams.push_back(ask);
    }
}

/// A file, as whoever asked for it sees it.
struct File {
    purpose: Option<Purpose>,
    open: bool,
    closing: bool,
    next: u64,
    /// Offsets and lengths of reads that are not answered.
    reads: VecDeque<(u64, usize)>,
    unwritten: usize,
    asked_next: bool,
}

struct Stage {
    cx: Context,
    client: Client<M>,
    said: Said,
    lower: Lower,
    files: Names<File>,
}

/// The first octet configures; then each step takes an octet that says who acts: the server, the
/// asker, or time.
pub fn client(octets: &[u8]) {
    let mut input = Input(octets);
    let choices = input.octet();
    let config = Config {
        data: match choices % 3 {
            0 => DataMode::Passive,
            1 => DataMode::Active,
            _ => DataMode::Merged,
        },
        sessions_most: 1 + usize::from(choices / 2 % 3),
        expedite: choices % 16 < 8,
        idle: Duration::from_secs(u64::from(choices / 16)),
        ..Config::anonymous(SocketAddr::from(([10, 0, 0, 2], PORT)))
    };
    let mut stage = Stage {
        cx: Context::new(0),
        client: Client::new(config),
        said: Said::default(),
        lower: Lower::default(),
        files: Names::default(),
    };
    while !input.is_empty() {
        match input.octet() % 8 {
            0..5 => {
                let mut answers = VecDeque::new();
                stage.lower.act(&mut input, &mut answers);
                stage.tell(answers);
            }
            5..7 => stage.ask(&mut input),
            _ => stage.pass(Duration::from_millis(1 << (input.octet() % 17))),
        }
    }
    // The network is gone, again and again, and time passes: each job has its last word, and
    // nothing is left. What is complete needs no server any more: the application closes it.
    for round in 0..200 {
        if round == 100 {
            stage.close_all();
        }
        let mut answers = VecDeque::new();
        stage.lower.collapse(&mut answers);
        stage.tell(answers);
        stage.pass(Duration::from_secs(100));
        if stage.files.is_empty() && stage.client.names() == 0 {
            break;
        }
    }
    assert!(stage.files.is_empty(), "{} jobs have no last word", stage.files.len());
    assert_eq!((stage.client.sessions(), stage.client.names()), (0, 0), "nothing is held");
    assert!(stage.lower.is_empty(), "nothing is open below");
}

impl Stage {
    /// Closes every open file that is not being closed.
    fn close_all(&mut self) {
        let open = |(name, file): (Handle, &File)| (file.open && !file.closing).then_some(name);
        let names: Vec<Handle> = self.files.iter().filter_map(open).collect();
        for file in names {
            if let Some(state) = self.files.get_mut(file) {
                state.closing = true;
                let request = FilesRequest::Close { file, keep: Keep::Nothing };
                self.client.handle_request(&self.cx, request, &mut self.said);
                self.settle();
            }
        }
    }

    fn settle(&mut self) {
        let mut answers = VecDeque::new();
        for _turn in 0..10_000 {
            while let Some(told) = self.said.files.pop_front() {
                self.hear(told);
            }
            while let Some(ask) = self.said.streams.pop_front() {
                self.lower.hear(ask, &mut answers);
            }
            let Some(told) = answers.pop_front() else { return };
            self.client.handle_indication(&self.cx, told, &mut self.said);
        }
        panic!("the client and its streams answer each other without end");
    }

    fn tell(&mut self, answers: VecDeque<StreamsIndication<M>>) {
        for told in answers {
            self.client.handle_indication(&self.cx, told, &mut self.said);
        }
        self.settle();
    }

    fn pass(&mut self, time: Duration) {
        self.cx.set_now(self.cx.now() + time);
        for _turn in 0..100 {
            let due = self.client.next_deadline().is_some_and(|deadline| deadline <= self.cx.now());
            if due {
                self.client.handle_timeout(&self.cx, &mut self.said);
            }
            if self.client.wants_flush() {
                self.client.flush(&self.cx, &mut self.said);
            } else if !due {
                return;
            }
            self.settle();
        }
        panic!("a deadline that never passes");
    }

    /// Somebody above asks for something that the contract allows.
    fn ask(&mut self, input: &mut Input<'_>) {
        let what = input.octet();
        let living: Vec<Handle> = self.files.iter().map(|(name, _)| name).collect();
        let request = if what.is_multiple_of(4) || living.is_empty() {
            if living.len() > 8 {
                return;
            }
            let path = String::from_utf8_lossy(input.take(usize::from(what / 16))).into_owned();
            let purpose = match what / 4 % 4 {
                0 => None,
                1 => Some(Purpose::Read { as_octets: false, versioned: false }),
                2 => Some(Purpose::Create { from: u64::from(what / 128) * 5 }),
                _ => Some(Purpose::List),
            };
            let file = File {
                purpose,
                open: false,
                closing: false,
                next: if what >= 240 { u64::MAX - 100 } else { u64::from(what / 128) * 5 },
                reads: VecDeque::new(),
                unwritten: 0,
                asked_next: false,
            };
            let name = self.files.name(file);
            match purpose {
                None => FilesRequest::Stat { token: name, path, part: false, is_file: false },
                Some(purpose) => FilesRequest::Open { file: name, path, purpose },
            }
        } else {
            let name = living[usize::from(input.octet()) % living.len()];
            let Some(file) = self.files.get_mut(name) else { return };
            if file.closing {
                return;
            }
            match (file.purpose, what % 4) {
                (None, _) => return,
                (_, 3) => {
                    file.closing = true;
                    FilesRequest::Close {
                        file: name,
                        keep: if what >= 128 && file.open && file.unwritten == 0 {
                            Keep::Whole
                        } else {
                            Keep::Nothing
                        },
                    }
                }
                _ if !file.open => return,
                (Some(Purpose::Read { .. }), _) if file.reads.len() < 4 => {
                    let (offset, length) = (file.next, 1 + usize::from(what) * 64);
                    file.next = file.next.saturating_add(length as u64);
                    file.reads.push_back((offset, length));
                    FilesRequest::Read { file: name, offset, length }
                }
                (Some(Purpose::Create { .. }), _) if file.unwritten < 100_000 => {
                    let message = M::with_headroom(0, &vec![what; usize::from(what) * 64]);
                    let offset = file.next;
                    file.next = file.next.saturating_add(message.len() as u64);
                    file.unwritten += message.len();
                    FilesRequest::Write { file: name, offset, message }
                }
                (Some(Purpose::List), _) if !file.asked_next => {
                    file.asked_next = true;
                    FilesRequest::Next { file: name }
                }
                _ => return,
            }
        };
        self.client.handle_request(&self.cx, request, &mut self.said);
        self.settle();
    }

    /// Holds the client to the contract of files.
    fn hear(&mut self, told: FilesIndication<M>) {
        match told {
            FilesIndication::Opened { file, .. } => {
                let file = self.files.get_mut(file).expect("a living name");
                assert!(!std::mem::replace(&mut file.open, true), "opened once");
            }
            FilesIndication::Read { file, offset, message } => {
                let file = self.files.get_mut(file).expect("a living name");
                let (expected, length) = file.reads.pop_front().expect("a read that was asked");
                assert_eq!(offset, expected, "in the order asked");
                assert!(message.len() <= length, "no more than asked");
            }
            FilesIndication::Entries { file, .. } => {
                let file = self.files.get_mut(file).expect("a living name");
                assert!(
                    std::mem::replace(&mut file.asked_next, false),
                    "entries that were asked for"
                );
            }
            FilesIndication::Written { file, octets } => {
                let file = self.files.get_mut(file).expect("a living name");
                assert!(octets <= file.unwritten, "no more than was written");
                file.unwritten -= octets;
            }
            FilesIndication::Closed { file, result } => {
                let file = self.files.forget(file).expect("a last word comes once");
                assert!(result.is_err() || file.closing, "it ends well only where it was closed");
            }
            FilesIndication::Stated { token, .. }
            | FilesIndication::Digested { token, .. }
            | FilesIndication::Room { token, .. }
            | FilesIndication::Done { token, .. } => {
                let file = self.files.forget(token).expect("a last word comes once");
                assert!(file.purpose.is_none());
            }
        }
    }
}
