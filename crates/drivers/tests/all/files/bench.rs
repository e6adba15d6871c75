//! A disk on a driver, with the names and the patience of an upper layer.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use stackwright_contract::services::{
    Attribute, Failure, FileVersion, FilesIndication, FilesRequest, FolderEntry, Keep, Purpose,
    Status,
};
use stackwright_contract::{Handle, IndicationOf, Names, Outlet, Protocol, RequestOf};
use stackwright_drivers::Driver;
use stackwright_drivers::files::{Disk, DiskOptions, Root};
use stackwright_wire::{BufferTree, Leaf, Message, Pool};
use tempfile::TempDir;

pub(crate) const BLOCK: usize = 64 << 10;
/// Nothing here takes long; a word that is lost shall not hold the tests up for ever.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Heard<M>(VecDeque<FilesIndication<M>>);

impl<M: Message + Send> Outlet<Disk<M>> for Heard<M> {
    fn indicate(&mut self, indication: IndicationOf<Disk<M>>) {
        self.0.push_back(indication);
    }
    fn request(&mut self, request: RequestOf<Disk<M>>) {
        match request {}
    }
}

pub(crate) struct Bench<M: Message + Send = BufferTree> {
    pub(crate) driver: Driver,
    pub(crate) disk: Disk<M>,
    pub(crate) heard: Heard<M>,
    pub(crate) names: Names<()>,
    pub(crate) pool: Arc<Pool<M>>,
    /// What is mounted at the root; it is gone before the folder is removed.
    _mounted: Option<SmallDisk>,
    /// What the root lies in: `home/root` is the root, all else is outside.
    pub(crate) home: TempDir,
}

pub(crate) fn writable() -> DiskOptions {
    DiskOptions { writable: true, sync: false, ..DiskOptions::default() }
}

pub(crate) fn bench() -> Bench {
    Bench::with(writable())
}

impl<M: Message + Send> Bench<M> {
    pub(crate) fn with(options: DiskOptions) -> Self {
        Self::at(tempfile::tempdir().expect("a folder for the test"), options)
    }

    pub(crate) fn at(home: TempDir, options: DiskOptions) -> Self {
        let root = home.path().join("root");
        if !root.exists() {
            fs::create_dir(&root).expect("a root");
        }
        Self::made(home, &root, options)
    }

    /// A disk that is soon full; `None` where this user can have none.
    pub(crate) fn small(options: DiskOptions) -> Option<Self> {
        let home = tempfile::tempdir().expect("a folder for the test");
        let root = home.path().join("root");
        fs::create_dir(&root).expect("a root");
        let mounted = Some(SmallDisk::mount(&root)?);
        Some(Bench { _mounted: mounted, ..Self::made(home, &root, options) })
    }

    /// A disk that is a folder of the system.
    pub(crate) fn below(root: &str, options: DiskOptions) -> Self {
        Self::made(tempfile::tempdir().expect("a folder for the test"), Path::new(root), options)
    }

    fn made(home: TempDir, root: &Path, options: DiskOptions) -> Self {
        let driver = Driver::new(1).expect("a poll");
        let pool = Arc::new(Pool::new(BLOCK, 16));
        let registry = driver.registry();
        let root = Root::open(root).expect("the root");
        let disk = Disk::new(root, options, registry, 0, Arc::clone(&pool));
        let heard = Heard(VecDeque::new());
        Bench { driver, disk, heard, names: Names::default(), pool, _mounted: None, home }
    }

    /// A path of this machine.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("root").join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file for the test");
    }

    pub(crate) fn got(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    /// All names in the root as they are on the disk, hidden ones too.
    pub(crate) fn on_disk(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.path(""))
            .expect("the root")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn ask(&mut self, request: FilesRequest<M>) {
        self.driver.request(&mut self.disk, request, &mut self.heard);
    }

    /// What is told next.
    pub(crate) fn hear(&mut self) -> FilesIndication<M> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(indication) = self.heard.0.pop_front() {
                return indication;
            }
            assert!(Instant::now() < until, "the disk is silent");
            self.driver.turn(&mut self.disk, &mut self.heard, Some(PATIENCE)).expect("a turn");
        }
    }

    /// What is told without waiting: there was no worker in between.
    pub(crate) fn told(&mut self) -> Option<FilesIndication<M>> {
        self.driver.turn(&mut self.disk, &mut self.heard, Some(Duration::ZERO)).expect("a turn");
        self.heard.0.pop_front()
    }

    /// Nothing more is told, after all workers had the time to say it.
    pub(crate) fn silent(&mut self) {
        for _ in 0..8 {
            assert!(self.stat("").is_ok());
        }
        assert!(self.heard.0.is_empty(), "{:?}", self.heard.0.len());
        assert_eq!((self.disk.next_deadline(), self.disk.wants_flush()), (None, false));
    }

    pub(crate) fn name(&mut self) -> Handle {
        self.names.name(())
    }

    pub(crate) fn ask_open(&mut self, path: &str, purpose: Purpose) -> Handle {
        let file = self.name();
        self.ask(FilesRequest::Open { file, path: path.into(), purpose });
        file
    }

    pub(crate) fn open(
        &mut self,
        path: &str,
        purpose: Purpose,
    ) -> Result<(Handle, Option<u64>), Failure> {
        let asked = self.ask_open(path, purpose);
        match self.hear() {
            FilesIndication::Opened { file, size, .. } if file == asked => Ok((file, size)),
            FilesIndication::Closed { file, result: Err(why) } if file == asked => {
                self.names.forget(file);
                Err(why)
            }
            _ => panic!("not an answer to Open"),
        }
    }

    /// Opens a file that is there; its version.
    pub(crate) fn open_versioned(
        &mut self,
        path: &str,
        purpose: Purpose,
    ) -> (Handle, Option<FileVersion>) {
        let asked = self.ask_open(path, purpose);
        match self.hear() {
            FilesIndication::Opened { file, version, .. } if file == asked => (file, version),
            _ => panic!("it was not opened"),
        }
    }

    pub(crate) fn create(&mut self, path: &str) -> Result<Handle, Failure> {
        self.open(path, Purpose::Create { from: 0 }).map(|(file, _)| file)
    }

    pub(crate) fn ask_read(&mut self, file: Handle, offset: u64, length: usize) {
        self.ask(FilesRequest::Read { file, offset, length });
    }

    pub(crate) fn hear_read(&mut self, asked: Handle) -> (u64, M) {
        match self.hear() {
            FilesIndication::Read { file, offset, message } if file == asked => (offset, message),
            FilesIndication::Closed { result, .. } => panic!("closed: {result:?}"),
            _ => panic!("not an answer to Read"),
        }
    }

    pub(crate) fn read(&mut self, file: Handle, offset: u64, length: usize) -> Vec<u8> {
        self.ask_read(file, offset, length);
        let (at, message) = self.hear_read(file);
        assert_eq!(at, offset);
        octets(&message)
    }

    pub(crate) fn write(
        &mut self,
        file: Handle,
        offset: u64,
        message: M,
    ) -> Result<usize, Failure> {
        self.ask(FilesRequest::Write { file, offset, message });
        match self.hear() {
            FilesIndication::Written { file: told, octets } if told == file => Ok(octets),
            FilesIndication::Closed { file: told, result: Err(why) } if told == file => {
                self.names.forget(file);
                Err(why)
            }
            _ => panic!("not an answer to Write"),
        }
    }

    pub(crate) fn close(&mut self, file: Handle, keep: Keep) -> Result<(), Failure> {
        self.ask(FilesRequest::Close { file, keep });
        self.hear_closed(file)
    }

    pub(crate) fn hear_closed(&mut self, asked: Handle) -> Result<(), Failure> {
        match self.hear() {
            FilesIndication::Closed { file, result } if file == asked => {
                self.names.forget(file);
                result
            }
            _ => panic!("not an answer to Close"),
        }
    }

    pub(crate) fn stat(&mut self, path: &str) -> Result<Status, Failure> {
        self.stat_of(path, false)
    }

    pub(crate) fn stat_of(&mut self, path: &str, part: bool) -> Result<Status, Failure> {
        let asked = self.name();
        self.ask(FilesRequest::Stat { token: asked, path: path.into(), part, is_file: false });
        match self.hear() {
            FilesIndication::Stated { token, result } if token == asked => {
                self.names.forget(token);
                result
            }
            _ => panic!("not an answer to Stat"),
        }
    }

    pub(crate) fn digest(
        &mut self,
        path: &str,
        octets: Range<u64>,
        part: bool,
    ) -> Result<([u8; 32], u64), Failure> {
        let asked = self.name();
        self.ask(FilesRequest::Digest { token: asked, path: path.into(), octets, part });
        match self.hear() {
            FilesIndication::Digested { token, result } if token == asked => {
                self.names.forget(token);
                result
            }
            _ => panic!("not an answer to Digest"),
        }
    }

    pub(crate) fn room(&mut self, path: &str) -> Result<u64, Failure> {
        let asked = self.name();
        self.ask(FilesRequest::Room { token: asked, path: path.into() });
        match self.hear() {
            FilesIndication::Room { token, result } if token == asked => {
                self.names.forget(token);
                result
            }
            _ => panic!("not an answer to Room"),
        }
    }

    pub(crate) fn make_folder(&mut self, path: &str) -> Result<(), Failure> {
        let token = self.name();
        self.ask(FilesRequest::MakeFolder { token, path: path.into() });
        self.hear_done(token)
    }

    pub(crate) fn set(&mut self, path: &str, attribute: Attribute) -> Result<(), Failure> {
        let token = self.name();
        self.ask(FilesRequest::Set { token, path: path.into(), attribute });
        self.hear_done(token)
    }

    fn hear_done(&mut self, asked: Handle) -> Result<(), Failure> {
        match self.hear() {
            FilesIndication::Done { token, result } if token == asked => {
                self.names.forget(token);
                result
            }
            _ => panic!("not done"),
        }
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let token = self.name();
        self.ask(FilesRequest::Rename { token, from: from.into(), to: to.into() });
        self.hear_done(token)
    }

    pub(crate) fn remove(&mut self, path: &str) -> Result<(), Failure> {
        let token = self.name();
        self.ask(FilesRequest::Remove { token, path: path.into() });
        self.hear_done(token)
    }

    /// The answers to `Next`, up to the empty one.
    pub(crate) fn pieces(&mut self, path: &str) -> Result<Vec<Vec<FolderEntry>>, Failure> {
        let (folder, size) = self.open(path, Purpose::List)?;
        assert_eq!(size, None);
        let mut pieces = Vec::new();
        loop {
            self.ask(FilesRequest::Next { file: folder });
            match self.hear() {
                FilesIndication::Entries { file, entries, .. } if file == folder => {
                    if entries.is_empty() {
                        break;
                    }
                    pieces.push(entries);
                }
                _ => panic!("not an answer to Next"),
            }
        }
        self.close(folder, Keep::Whole).map(|()| pieces)
    }

    pub(crate) fn list(&mut self, path: &str) -> Result<Vec<FolderEntry>, Failure> {
        Ok(self.pieces(path)?.concat())
    }

    /// The content of a file, as a peer gets it.
    pub(crate) fn fetch(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        let (file, _) = self.open(path, Purpose::Read { as_octets: false, versioned: false })?;
        let mut content = Vec::new();
        loop {
            let more = self.read(file, content.len() as u64, BLOCK);
            if more.is_empty() {
                break;
            }
            content.extend(more);
        }
        self.close(file, Keep::Whole).map(|()| content)
    }

    /// Stores a file, as a peer does.
    pub(crate) fn store(&mut self, path: &str, content: &[u8]) -> Result<(), Failure> {
        let file = self.create(path)?;
        self.write(file, 0, M::with_headroom(0, content))?;
        self.close(file, Keep::Whole)
    }
}

/// What a message says, regions read.
pub(crate) fn octets(message: &impl Message) -> Vec<u8> {
    let mut octets = Vec::new();
    for leaf in message.leaves() {
        match leaf {
            Leaf::Octets(piece) => octets.extend_from_slice(piece),
            Leaf::Region(region) => {
                use std::os::unix::fs::FileExt;
                let file = region.source.downcast_ref::<fs::File>().expect("a file of the system");
                let mut piece = vec![0; region.length];
                file.read_exact_at(&mut piece, region.offset).expect("as long as told");
                octets.extend(piece);
            }
        }
    }
    octets
}

/// Octets that repeat with no power of two.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

/// Whether this process may do everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the file system of this folder has files without names.
pub(crate) fn nameless_files(folder: &Path) -> bool {
    use rustix::fs::{Mode, OFlags, open};
    open(folder, OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR).is_ok()
}

/// A disk of 1 MiB; it goes with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where only root could.
    fn mount(at: &Path) -> Option<Self> {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).status();
        if is_root() && mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(at.to_owned()));
        }
        assert!(!is_root() || env::var_os("CI").is_none(), "root can mount a small disk");
        eprintln!("skipped: a small disk can be mounted by root only");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
