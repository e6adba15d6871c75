//! Names and lists of a side that means harm.

use stackwright_contract::services::{
    FileKind, FilesIndication, FilesRequest, FolderEntry, Purpose, Status,
};
use stackwright_contract::{Context, Either, Handle, Outlet, Protocol, RequestOf};
use stackwright_copy::{
    Copy, CopySide, Indication as Told, Request as Ask, SkipReason, TreeOptions,
};
use stackwright_wire::SingleBuffer as M;

use crate::trees::setting::JOB;

/// What the copy requests, and tells.
#[derive(Default)]
struct Asked {
    left: Vec<FilesRequest<M>>,
    right: Vec<FilesRequest<M>>,
    told: Vec<Told>,
}

impl Outlet<Copy<M>> for Asked {
    fn request(&mut self, request: RequestOf<Copy<M>>) {
        match request {
            Either::Left(request) => self.left.push(request),
            Either::Right(request) => self.right.push(request),
        }
    }

    fn indicate(&mut self, told: Told) {
        self.told.push(told);
    }
}

/// A source that lists what it likes, and a target that has nothing.
struct Hostile {
    copy: Copy<M>,
    cx: Context,
    asked: Asked,
    /// The paths that were opened or made at the target.
    targets: Vec<String>,
}

impl Hostile {
    fn new(options: TreeOptions) -> Self {
        let (copy, cx) = (Copy::default(), Context::new(1));
        let mut hostile = Hostile { copy, cx, asked: Asked::default(), targets: Vec::new() };
        let (source, target) = ("s".into(), "t".into());
        let ask = Ask::Tree { job: JOB, from: CopySide::Left, source, target, options };
        hostile.copy.handle_request(&hostile.cx, ask, &mut hostile.asked);
        hostile
    }

    fn tell(&mut self, left: bool, told: FilesIndication<M>) {
        let told = if left { Either::Left(told) } else { Either::Right(told) };
        self.copy.handle_indication(&self.cx, told, &mut self.asked);
    }

    /// Answers everything until nothing is asked. Each list is `list` of the path.
    fn answer(&mut self, list: impl Fn(&str) -> Vec<FolderEntry>) {
        let mut open: Vec<(Handle, Vec<FolderEntry>)> = Vec::new();
        let mut turns = 0;
        loop {
            let (left, request) = match self.asked.left.pop() {
                Some(request) => (true, request),
                None => match self.asked.right.pop() {
                    Some(request) => (false, request),
                    None => return,
                },
            };
            turns += 1;
            assert!(turns < 1_000_000, "it does not end");
            let answer = match request {
                FilesRequest::Open { file, path, purpose } => {
                    if purpose == Purpose::List && left {
                        open.push((file, list(&path)));
                    } else if !left {
                        self.targets.push(path);
                    }
                    FilesIndication::Opened {
                        file,
                        size: Some(0),
                        modified: Some(5),
                        version: None,
                    }
                }
                FilesRequest::Next { file } => {
                    let at = open.iter().position(|(name, _)| *name == file);
                    let entries = match at.filter(|_| left) {
                        Some(at) => std::mem::take(&mut open[at].1),
                        None => Vec::new(),
                    };
                    FilesIndication::Entries {
                        file,
                        entries,
                        left_out: Vec::new(),
                        is_doubtful: false,
                    }
                }
                FilesRequest::Close { file, .. } => {
                    FilesIndication::Closed { file, result: Ok(()) }
                }
                FilesRequest::Read { file, offset, .. } => {
                    let message = stackwright_wire::Message::with_headroom(0, &[]);
                    FilesIndication::Read { file, offset, message }
                }
                FilesRequest::Stat { token, .. } => {
                    FilesIndication::Stated { token, result: Ok(Status::new(FileKind::Folder, 0)) }
                }
                FilesRequest::MakeFolder { token, path } => {
                    self.targets.push(path);
                    FilesIndication::Done { token, result: Ok(()) }
                }
                FilesRequest::Set { token, path, .. } => {
                    self.targets.push(path);
                    FilesIndication::Done { token, result: Ok(()) }
                }
                FilesRequest::Remove { path, .. } => panic!("{path} is removed"),
                other => panic!("{other:?}"),
            };
            self.tell(left, answer);
        }
    }

    fn skipped(&self, reason: SkipReason) -> usize {
        let is = |told: &&Told| matches!(told, Told::Skipped { why, .. } if *why == reason);
        self.asked.told.iter().filter(is).count()
    }
}

fn entry(name: &str, kind: FileKind) -> FolderEntry {
    FolderEntry::new(name, Status::new(kind, 0))
}

#[test]
fn no_name_leads_out_of_the_target() {
    let names = ["..", ".", "", "/", "/etc/x", "a/../../x", "x\0y", "x\ny", "x\ry", "../x"];
    for kind in [FileKind::File, FileKind::Folder] {
        for delete in [false, true] {
            let mut hostile = Hostile::new(TreeOptions { delete, ..TreeOptions::default() });
            hostile.answer(|path| {
                let mut entries = vec![entry("fine", FileKind::File), entry("d", FileKind::Folder)];
                entries.extend(names.iter().map(|name| entry(name, kind)));
                if path == "s" { entries } else { vec![entry("..", kind)] }
            });
            assert_eq!(hostile.skipped(SkipReason::BadName), names.len() + 1);
            assert!(matches!(hostile.asked.told.last(), Some(Told::TreeDone { .. })));
            for path in &hostile.targets {
                assert!(["t", "t/fine", "t/d"].contains(&path.as_str()), "{path}");
            }
        }
    }
}

#[test]
fn one_name_twice_is_one_file() {
    let mut hostile = Hostile::new(TreeOptions::default());
    hostile.answer(|path| match path {
        "s" => vec![
            entry("a", FileKind::File),
            entry("a", FileKind::Folder),
            entry("a", FileKind::File),
        ],
        other => panic!("{other} is no folder"),
    });
    let copied = |told: &&Told| matches!(told, Told::FileCopied { .. });
    assert_eq!(hostile.asked.told.iter().filter(copied).count(), 1);
}

#[test]
fn a_folder_that_holds_itself_ends() {
    let mut hostile = Hostile::new(TreeOptions::default());
    hostile.answer(|_| vec![entry("again", FileKind::Folder)]);
    assert_eq!(hostile.skipped(SkipReason::TooDeep), 1);

    let mut hostile = Hostile::new(TreeOptions::default());
    hostile.answer(|_| {
        let status = Status { unique: Some(7), ..Status::new(FileKind::Folder, 0) };
        vec![FolderEntry::new("a", status), FolderEntry::new("b", status)]
    });
    assert_eq!(hostile.skipped(SkipReason::Loop), 4);
}

#[test]
fn a_list_without_end_is_bounded() {
    let mut hostile = Hostile::new(TreeOptions::default());
    // 256 MiB: each name is in two paths.
    let long = "x".repeat(4000);
    hostile.answer(|_| vec![entry(&long, FileKind::Other); (128 << 20) / 4000]);
    assert_eq!(hostile.skipped(SkipReason::TooLong), 1);
    assert!(matches!(hostile.asked.told.last(), Some(Told::TreeDone { .. })));
}

#[test]
fn folders_that_wait_are_bounded() {
    let mut hostile = Hostile::new(TreeOptions::default());
    // 128 MiB: each name is in three paths.
    let name = |number: usize| format!("{number:03900}");
    let all = (128 << 20) / (3 * 3900) + 1;
    hostile.answer(|path| match path {
        "s" => (0..all).map(|number| entry(&name(number), FileKind::Folder)).collect(),
        _ => vec![entry(&"y".repeat(200), FileKind::File)],
    });
    let told = |told: &&Told| matches!(told, Told::Entered { .. });
    let entered = hostile.asked.told.iter().filter(told).count();
    assert!(entered > all / 2, "{entered}");
    assert_eq!(entered - 1 + hostile.skipped(SkipReason::TooMany), all);
    assert!(entered - 1 < all, "all were remembered");
    // Its path is longer than 4096 octets.
    assert_eq!(hostile.skipped(SkipReason::BadName), entered - 1);
    assert!(matches!(hostile.asked.told.last(), Some(Told::TreeDone { .. })));
}
