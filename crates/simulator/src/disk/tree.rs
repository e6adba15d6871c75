//! Folders and files in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stackwright_contract::services::{Failure, FileKind, FolderEntry, Status};

use super::DiskFaults;

/// The content of a file, whatever its name is by now: an open file keeps it.
pub(super) type Inode = Rc<RefCell<Stored>>;

#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) octets: Vec<u8>,
    /// The time of its last change, in seconds since 1970.
    pub(super) modified: Option<u64>,
    /// The disk has lost it: it cannot be read, even where it is open.
    pub(super) vanished: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Folder,
    File(Inode),
}

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
    nodes: BTreeMap<String, Node>,
    operations: u64,
    written: u64,
    held: usize,
    most_held: usize,
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
        let stored = Stored { octets: octets.into(), ..Stored::default() };
        self.nodes.insert(path, Node::File(Rc::new(RefCell::new(stored))));
    }

    /// Adds a folder, and the folders above it.
    ///
    /// # Panics
    /// If the path cannot be used.
    pub fn put_folder(&mut self, path: &str) {
        let path = settle(path).expect("a path below the root");
        self.folders_above(&path);
        self.nodes.insert(path, Node::Folder);
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
        self.must_be_there(path).borrow_mut().modified = Some(seconds);
    }

    /// Returns the paths of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let files = self.nodes.iter().filter(|(_, node)| matches!(node, Node::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Keeps only the first `octets` octets of a file, also where it is open.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn shrink(&mut self, path: &str, octets: usize) {
        self.must_be_there(path).borrow_mut().octets.truncate(octets);
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
            self.nodes.entry(path[..end].to_owned()).or_insert(Node::Folder);
        }
    }

    fn must_be_there(&self, path: &str) -> Inode {
        settle(path)
            .and_then(|path| self.file(&path))
            .unwrap_or_else(|failure| panic!("{path}: {failure}"))
    }
}

// The operations of the disk itself. Their paths are settled.
impl Tree {
    /// Counts an operation.
    ///
    /// # Errors
    /// If it is the one that is to fail.
    pub(super) fn operate(&mut self) -> Result<(), Failure> {
        self.operations += 1;
        if self.faults.breaks_at == Some(self.operations) { Err(Failure::Broken) } else { Ok(()) }
    }

    /// Counts octets that are written.
    ///
    /// # Errors
    /// If there is no space for all of them.
    pub(super) fn write(&mut self, octets: usize) -> Result<(), Failure> {
        let written = self.written + octets as u64;
        if self.faults.full_after.is_some_and(|most| written > most) {
            return Err(Failure::Full);
        }
        self.written = written;
        Ok(())
    }

    pub(super) fn hold(&mut self, octets: usize) {
        self.held += octets;
        self.most_held = self.most_held.max(self.held);
    }

    pub(super) fn release(&mut self, octets: usize) {
        self.held -= octets;
    }

    pub(super) fn file(&self, path: &str) -> Result<Inode, Failure> {
        match self.nodes.get(path) {
            Some(Node::File(inode)) => Ok(Rc::clone(inode)),
            Some(Node::Folder) => Err(Failure::BadName),
            None if path.is_empty() => Err(Failure::BadName),
            None => Err(Failure::NotFound),
        }
    }

    /// Checks that a file may have this name: its folder exists, and no folder has the name.
    pub(super) fn may_be_file(&self, path: &str) -> Result<(), Failure> {
        self.folder_of(path)?;
        match self.nodes.get(path) {
            _ if path.is_empty() => Err(Failure::BadName),
            Some(Node::Folder) => Err(Failure::BadName),
            _ => Ok(()),
        }
    }

    pub(super) fn keep(&mut self, path: &str, stored: Stored) -> Result<(), Failure> {
        self.may_be_file(path)?;
        self.nodes.insert(path.to_owned(), Node::File(Rc::new(RefCell::new(stored))));
        Ok(())
    }

    pub(super) fn status(&self, path: &str) -> Result<Status, Failure> {
        if path.is_empty() {
            return Ok(Node::Folder.status());
        }
        Ok(self.nodes.get(path).ok_or(Failure::NotFound)?.status())
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<FolderEntry>, Failure> {
        if self.status(path)?.kind != FileKind::Folder {
            return Err(Failure::BadName);
        }
        let entry = |(path, node): (&str, &Node)| FolderEntry::new(path, node.status());
        Ok(self.below(path).filter(|(name, _)| !name.contains('/')).map(entry).collect())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let moved = self.nodes.get(from).ok_or(Failure::NotFound)?.clone();
        self.folder_of(to)?;
        if from == to {
            return Ok(());
        }
        if to.is_empty() || is_below(to, from) {
            return Err(Failure::BadName);
        }
        match (&moved, self.nodes.get(to)) {
            (Node::File(_), Some(Node::Folder)) | (Node::Folder, Some(Node::File(_))) => {
                return Err(Failure::BadName);
            }
            (Node::Folder, Some(Node::Folder)) if self.below(to).next().is_some() => {
                return Err(Failure::Denied);
            }
            _ => {}
        }
        let below: Vec<_> =
            self.below(from).map(|(name, node)| (name.to_owned(), node.clone())).collect();
        self.nodes.remove(from);
        self.nodes.insert(to.to_owned(), moved);
        for (name, node) in below {
            self.nodes.remove(&format!("{from}/{name}"));
            self.nodes.insert(format!("{to}/{name}"), node);
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) -> Result<(), Failure> {
        if path.is_empty() || self.below(path).next().is_some() {
            return Err(Failure::Denied);
        }
        self.nodes.remove(path).map(drop).ok_or(Failure::NotFound)
    }

    /// Iterates over everything below a folder, by the path from there.
    fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a Node)> {
        self.nodes.iter().filter_map(move |(path, node)| {
            let path = if folder.is_empty() {
                path
            } else {
                path.strip_prefix(folder)?.strip_prefix('/')?
            };
            Some((path, node))
        })
    }

    /// Checks that the folder of `path` exists.
    fn folder_of(&self, path: &str) -> Result<(), Failure> {
        let Some((folder, _)) = path.rsplit_once('/') else { return Ok(()) };
        match self.nodes.get(folder) {
            Some(Node::Folder) => Ok(()),
            _ => Err(Failure::NotFound),
        }
    }
}

impl Node {
    fn status(&self) -> Status {
        match self {
            Node::Folder => Status::new(FileKind::Folder, 0),
            Node::File(inode) => {
                let stored = inode.borrow();
                let status = Status::new(FileKind::File, stored.octets.len() as u64);
                Status { modified: stored.modified, ..status }
            }
        }
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
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
