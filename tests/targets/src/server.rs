//! A whole server, over any peers and beside any disk.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stackwright_contract::services::{
    Failure, FileKind, FilesIndication, FilesRequest, FolderEntry, Keep, Status, StreamsRequest,
};
use stackwright_contract::{
    Context, Duration, Either, Handle, IndicationOf, Outlet, Protocol, RequestOf,
};
use stackwright_ftp::server::{Anonymous, Config, Request, Rights};
use stackwright_ftp::{PORT, Server};
use stackwright_wire::Message;

use crate::Input;
use crate::lower::{HERE, Lower, M};

#[derive(Default)]
struct Asked {
    streams: VecDeque<StreamsRequest<M>>,
    files: VecDeque<FilesRequest<M>>,
}

impl Outlet<Server<M>> for Asked {
    fn indicate(&mut self, _told: IndicationOf<Server<M>>) {}

    fn request(&mut self, request: RequestOf<Server<M>>) {
        match request {
            Either::Left(ask) => self.streams.push_back(ask),
            Either::Right(ask) => self.files.push_back(ask),
        }
    }
}

struct Stage {
    cx: Context,
    server: Server<M>,
    asked: Asked,
    lower: Lower,
    /// What the disk has not answered, and which files of it are open.
    disk: VecDeque<FilesRequest<M>>,
    open: Vec<Handle>,
    closing: Vec<Handle>,
}

/// Each step takes an octet that says who acts: a peer, the disk, or time.
pub fn server(octets: &[u8]) {
    let config =
        Config { sessions_most: 3, ..Config::new(Box::new(Anonymous(Rights { write: true }))) };
    let mut stage = Stage {
        cx: Context::new(0),
        server: Server::new(config),
        asked: Asked::default(),
        lower: Lower::default(),
        disk: VecDeque::new(),
        open: Vec::new(),
        closing: Vec::new(),
    };
    let local = SocketAddr::new(HERE, PORT).into();
    stage.server.handle_request(&stage.cx, Request::Serve { local }, &mut stage.asked);
    stage.settle();
    let mut input = Input(octets);
    while !input.is_empty() {
        match input.octet() % 8 {
            0..5 => {
                let mut answers = VecDeque::new();
                stage.lower.act(&mut input, &mut answers);
                stage.tell(answers);
            }
            5..7 => stage.answer(&mut input),
            _ => stage.pass(Duration::from_millis(1 << (input.octet() % 20))),
        }
    }
    // Whatever happened: when everybody is gone, nothing is left.
    let mut answers = VecDeque::new();
    stage.lower.collapse(&mut answers);
    stage.tell(answers);
    while !stage.disk.is_empty() {
        stage.answer(&mut Input(&[]));
    }
    for _ in 0..20 {
        stage.pass(Duration::from_secs(400));
    }
    assert_eq!(stage.server.sessions(), 0, "nobody is here");
    stage.server.handle_request(&stage.cx, Request::Stop, &mut stage.asked);
    stage.settle();
    assert_eq!(stage.server.names(), 0, "no name is held");
    assert!(stage.lower.is_empty() && stage.open.is_empty(), "nothing is open below");
}

impl Stage {
    fn settle(&mut self) {
        let mut answers = VecDeque::new();
        for _turn in 0..1000 {
            while let Some(ask) = self.asked.streams.pop_front() {
                self.lower.hear(ask, &mut answers);
            }
            while let Some(ask) = self.asked.files.pop_front() {
                self.file_asked(ask);
            }
            let Some(told) = answers.pop_front() else { return };
            self.server.handle_indication(&self.cx, Either::Left(told), &mut self.asked);
        }
        panic!("the server and its streams answer each other without end");
    }

    fn tell(&mut self, answers: VecDeque<stackwright_contract::services::StreamsIndication<M>>) {
        for told in answers {
            self.server.handle_indication(&self.cx, Either::Left(told), &mut self.asked);
        }
        self.settle();
    }

    fn pass(&mut self, time: Duration) {
        self.cx.set_now(self.cx.now() + time);
        for _turn in 0..100 {
            let due = self.server.next_deadline().is_some_and(|deadline| deadline <= self.cx.now());
            if due {
                self.server.handle_timeout(&self.cx, &mut self.asked);
            }
            if self.server.wants_flush() {
                self.server.flush(&self.cx, &mut self.asked);
            } else if !due {
                return;
            }
            self.settle();
        }
        panic!("a deadline that never passes");
    }

    /// Holds the server to the contract of files.
    fn file_asked(&mut self, ask: FilesRequest<M>) {
        match &ask {
            FilesRequest::Open { file, .. } => {
                assert!(
                    self.open.iter().all(|open| open.index != file.index),
                    "{file:?} lives already"
                );
                self.open.push(*file);
            }
            FilesRequest::Read { file, length, .. } => {
                assert!(*length > 0 && !self.closing.contains(file));
            }
            FilesRequest::Write { file, .. } | FilesRequest::Next { file } => {
                assert!(!self.closing.contains(file), "nothing is asked behind Close");
            }
            FilesRequest::Close { file, .. } => {
                assert!(!self.closing.contains(file), "a file is closed once");
                if self.open.contains(file) {
                    self.closing.push(*file);
                }
            }
            _ => {}
        }
        let unwritten: usize = self
            .disk
            .iter()
            .map(|ask| match ask {
                FilesRequest::Write { message, .. } => message.len(),
                _ => 0,
            })
            .sum();
        assert!(unwritten <= 3 << 20, "what waits for the disk is bounded");
        self.disk.push_back(ask);
    }

    /// The disk answers what was asked first.
    fn answer(&mut self, input: &mut Input<'_>) {
        let Some(ask) = self.disk.pop_front() else { return };
        let dice = input.octet();
        let failure = [
            Failure::NotFound,
            Failure::Full,
            Failure::Broken,
            Failure::Lost,
            Failure::Unsupported,
        ][usize::from(dice) % 5];
        let fails = dice >= 200;
        let answer = match ask {
            FilesRequest::Stat { token, .. } => {
                let kind =
                    [FileKind::File, FileKind::Folder, FileKind::Other][usize::from(dice) % 3];
                let result = if fails { Err(failure) } else { Ok(Status::new(kind, 77)) };
                FilesIndication::Stated { token, result }
            }
            FilesRequest::Digest { token, .. } => {
                let result = if fails { Err(failure) } else { Ok(([dice; 32], 77)) };
                FilesIndication::Digested { token, result }
            }
            FilesRequest::Room { token, .. } => {
                FilesIndication::Room { token, result: Ok(1 << 30) }
            }
            FilesRequest::MakeFolder { token, .. }
            | FilesRequest::Set { token, .. }
            | FilesRequest::Rename { token, .. }
            | FilesRequest::Remove { token, .. } => {
                let result = if fails { Err(failure) } else { Ok(()) };
                FilesIndication::Done { token, result }
            }
            FilesRequest::Note { .. } | FilesRequest::Leave => return,
            FilesRequest::Open { file, .. }
            | FilesRequest::Read { file, .. }
            | FilesRequest::Next { file }
            | FilesRequest::Write { file, .. }
            | FilesRequest::Close { file, .. }
                if !self.open.contains(&file) =>
            {
                return; // the words have crossed
            }
            FilesRequest::Close { file, keep } => {
                self.closed(file);
                let result = if fails && keep == Keep::Whole { Err(failure) } else { Ok(()) };
                FilesIndication::Closed { file, result }
            }
            FilesRequest::Open { file, .. }
            | FilesRequest::Read { file, .. }
            | FilesRequest::Next { file }
            | FilesRequest::Write { file, .. }
                if fails =>
            {
                self.closed(file);
                FilesIndication::Closed { file, result: Err(failure) }
            }
            FilesRequest::Open { file, .. } => {
                let size = dice.is_multiple_of(2).then_some(u64::from(dice) * 300);
                FilesIndication::Opened { file, size, modified: size, version: None }
            }
            FilesRequest::Read { file, offset, length } => {
                let length =
                    if dice.is_multiple_of(4) { length.min(usize::from(dice)) } else { length };
                let message = M::with_headroom(0, &vec![dice; length.min(70_000)]);
                FilesIndication::Read { file, offset, message }
            }
            FilesRequest::Write { file, message, .. } => {
                FilesIndication::Written { file, octets: message.len() }
            }
            FilesRequest::Next { file } => {
                let name = String::from_utf8_lossy(input.take(usize::from(dice) % 16)).into_owned();
                let status =
                    Status { modified: Some(u64::from(dice)), ..Status::new(FileKind::File, 5) };
                let entries = vec![FolderEntry::new(name, status); usize::from(dice) % 4];
                let left_out = vec!["x".into(); usize::from(dice) % 2];
                FilesIndication::Entries { file, entries, left_out, is_doubtful: false }
            }
        };
        self.server.handle_indication(&self.cx, Either::Right(answer), &mut self.asked);
        self.settle();
    }

    fn closed(&mut self, file: Handle) {
        self.open.retain(|open| *open != file);
        self.closing.retain(|open| *open != file);
    }
}
