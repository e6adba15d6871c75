//! Folders, files and links in memory, as a test sees them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stackwright_contract::services::{Failure, FileVersion};

use super::{DiskFaults, Unsynced};

/// The content of a file, whatever its name is by now: an open file keeps it.
pub(super) type Inode = Rc<RefCell<Stored>>;

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) octets: Vec<u8>,
    /// How many of them survive a loss of power.
    pub(super) synced: usize,
    pub(super) attributes: Attributes,
    /// The disk has lost it: it cannot be read, even where it is open.
    pub(super) vanished: bool,
    /// Of a part: the version that was noted.
    pub(super) noted: Option<FileVersion>,
}

impl Stored {
    pub(super) fn version(&self) -> Option<FileVersion> {
        let Attributes { modified, unique, .. } = self.attributes;
        let facts = format!("{} {} {unique}", self.octets.len(), modified?);
        Some(FileVersion::of(facts.as_bytes()))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes {
    /// The time of the last change, in seconds since 1970.
    pub(super) modified: Option<u64>,
    /// The permissions.
    pub(super) mode: u16,
    /// The number of the file or folder.
    pub(super) unique: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Folder(Attributes),
    File(Inode),
    /// A symbolic link, with its target.
    Link(String),
}

/// The permissions of a new file.
const FILE_MODE: u16 = 0o644;
/// The permissions of a new folder.
pub(super) const FOLDER_MODE: u16 = 0o755;

/// The tree of a simulated disk, with its faults.
///
/// A test shares it with a [`SimulatedDisk`](crate::SimulatedDisk) in an `Rc<RefCell<..>>`. Its own
/// changes happen at once.
#[derive(Debug, Default)]
pub struct Tree {
    /// The faults and delays.
    pub faults: DiskFaults,
    /// The nodes by their paths, without a `/` at either end. The root has the empty path, and no
    /// entry.
    pub(super) nodes: BTreeMap<String, Node>,
    /// The parts that can be resumed, by the paths of their files. One is locked while a file that
    /// is being created shares it.
    pub(super) parts: BTreeMap<String, Inode>,
    /// How many files and folders there ever were.
    made: u64,
    pub(super) operations: u64,
    pub(super) written: u64,
    pub(super) held: usize,
    pub(super) most_held: usize,
}

impl Tree {
    /// Makes an empty tree, to be shared.
    pub fn shared() -> Rc<RefCell<Self>> {
        Rc::default()
    }

    /// Adds a file, and the folders above it. An open file that had the name before keeps its
    /// content.
    ///
    /// # Panics
    /// If the path cannot be used.
    pub fn put(&mut self, path: &str, octets: impl Into<Vec<u8>>) {
        let path = settle(path).expect("a path below the root");
        self.folders_above(&path);
        let inode = self.new_inode(octets.into());
        sync(&inode);
        self.nodes.insert(path, Node::File(inode));
    }

    /// Adds a folder, and the folders above it.
    ///
    /// # Panics
    /// If the path cannot be used.
    pub fn put_folder(&mut self, path: &str) {
        let path = settle(path).expect("a path below the root");
        self.folders_above(&path);
        let folder = self.new_folder();
        self.nodes.insert(path, folder);
    }

    /// Adds a symbolic link, and the folders above it. `target` is relative to the link's folder.
    ///
    /// # Panics
    /// If the path cannot be used.
    pub fn put_link(&mut self, path: &str, target: &str) {
        let path = settle(path).expect("a path below the root");
        self.folders_above(&path);
        self.nodes.insert(path, Node::Link(target.to_owned()));
    }

    /// Adds the part of a file that can be resumed.
    ///
    /// # Panics
    /// If the path cannot be used.
    pub fn put_part(&mut self, path: &str, octets: impl Into<Vec<u8>>) {
        let path = settle(path).expect("a path below the root");
        self.folders_above(&path);
        let inode = self.new_inode(octets.into());
        sync(&inode);
        self.parts.insert(path, inode);
    }

    /// Writes what the cache holds of a file, or of its part, to the disk, as fdatasync(2) does.
    ///
    /// # Errors
    /// [`Failure::NotFound`], or that of a fault.
    pub fn sync(&mut self, path: &str, part: bool) -> Result<(), Failure> {
        self.operate()?;
        self.inode(&settle(path)?, part).map(|inode| sync(&inode))
    }

    /// Shortens the part of a file to `octets` octets.
    ///
    /// # Errors
    /// [`Failure::NotFound`], or that of a fault.
    pub fn cut_part(&mut self, path: &str, octets: usize) -> Result<(), Failure> {
        self.operate()?;
        let inode = self.inode(&settle(path)?, true)?;
        let mut part = inode.borrow_mut();
        part.octets.truncate(octets);
        part.synced = part.synced.min(octets);
        Ok(())
    }

    /// Replaces a file as careful programs do, in three operations: another name is written, then
    /// synced, then renamed.
    ///
    /// # Errors
    /// That of a fault.
    pub fn replace(&mut self, path: &str, octets: &[u8]) -> Result<(), Failure> {
        self.operate()?;
        self.write(octets.len())?;
        let inode = self.new_inode(octets.into());
        self.operate()?;
        sync(&inode);
        self.operate()?;
        self.nodes.insert(settle(path)?, Node::File(inode));
        Ok(())
    }

    /// Brings the disk back after a [loss of power](DiskFaults::power_lost_at).
    pub fn restart(&mut self, unsynced: Unsynced) {
        self.faults.power_lost_at = None;
        let files = self.nodes.values().filter_map(|node| match node {
            Node::File(inode) => Some(inode),
            Node::Folder(_) | Node::Link(_) => None,
        });
        for inode in files.chain(self.parts.values()) {
            let Stored { octets, synced, .. } = &mut *inode.borrow_mut();
            match unsynced {
                Unsynced::Kept => {}
                Unsynced::Zeros => octets[*synced..].fill(0),
                Unsynced::Gone => octets.truncate(*synced),
            }
            *synced = octets.len();
        }
    }

    /// Returns the octets of the part of a file that can be resumed.
    pub fn part(&self, path: &str) -> Option<Vec<u8>> {
        Some(self.parts.get(&settle(path).ok()?)?.borrow().octets.clone())
    }

    /// Returns the octets of a file.
    pub fn octets(&self, path: &str) -> Option<Vec<u8>> {
        Some(self.file(&settle(path).ok()?).ok()?.borrow().octets.clone())
    }

    /// Sets when a file was modified, in seconds since 1970.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn set_modified(&mut self, path: &str, seconds: u64) {
        self.must_be_there(path).borrow_mut().attributes.modified = Some(seconds);
    }

    /// Sets the permissions of a file.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn set_mode(&mut self, path: &str, mode: u16) {
        self.must_be_there(path).borrow_mut().attributes.mode = mode;
    }

    /// Returns the permissions of a file.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn mode(&self, path: &str) -> u16 {
        self.must_be_there(path).borrow().attributes.mode
    }

    /// Returns the paths of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let files = self.nodes.iter().filter(|(_, node)| matches!(node, Node::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns when a file was modified, in seconds since 1970, where it was ever set.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn modified(&self, path: &str) -> Option<u64> {
        self.must_be_there(path).borrow().attributes.modified
    }

    /// Returns the paths of all folders, in order.
    pub fn folders(&self) -> Vec<String> {
        let folders = self.nodes.iter().filter(|(_, node)| matches!(node, Node::Folder(_)));
        folders.map(|(path, _)| path.clone()).collect()
    }

    /// Keeps only the first `octets` octets of a file, also where it is open.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn shrink(&mut self, path: &str, octets: usize) {
        let inode = self.must_be_there(path);
        let mut stored = inode.borrow_mut();
        stored.octets.truncate(octets);
        stored.synced = stored.synced.min(octets);
    }

    /// Removes a file, also where it is open: reading it fails with `Broken`.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn vanish(&mut self, path: &str) {
        self.must_be_there(path).borrow_mut().vanished = true;
        self.nodes.remove(&settle(path).expect("a file is there"));
    }

    /// Returns how many octets wait in writes that are not answered.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Returns the most octets that ever waited at once in writes that were not answered.
    pub fn most_held(&self) -> usize {
        self.most_held
    }

    /// Returns how many operations were answered, failures included.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Returns how many octets were written, kept or not.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn folders_above(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            if !self.nodes.contains_key(&path[..end]) {
                let folder = self.new_folder();
                self.nodes.insert(path[..end].to_owned(), folder);
            }
        }
    }

    /// Makes a file that has no name yet.
    pub(super) fn new_inode(&mut self, octets: Vec<u8>) -> Inode {
        let attributes = self.new_attributes(FILE_MODE);
        Rc::new(RefCell::new(Stored {
            octets,
            synced: 0,
            attributes,
            vanished: false,
            noted: None,
        }))
    }

    pub(super) fn new_folder(&mut self) -> Node {
        Node::Folder(self.new_attributes(FOLDER_MODE))
    }

    fn new_attributes(&mut self, mode: u16) -> Attributes {
        self.made += 1;
        Attributes { modified: None, mode, unique: self.made }
    }

    fn must_be_there(&self, path: &str) -> Inode {
        settle(path)
            .and_then(|path| self.file(&path))
            .unwrap_or_else(|failure| panic!("{path}: {failure}"))
    }
}

/// Notes that what a file holds now survives a loss of power.
fn sync(inode: &Inode) {
    let mut stored = inode.borrow_mut();
    stored.synced = stored.octets.len();
}

/// Returns the path in its plain form.
///
/// # Errors
/// If it leads out of the root, or cannot be a path.
pub(super) fn settle(path: &str) -> Result<String, Failure> {
    if path.contains('\0') {
        return Err(Failure::BadName);
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(Failure::Denied)?;
            }
            name => parts.push(name),
        }
    }
    Ok(parts.join("/"))
}
