//! The operations of the disk itself. Their paths are settled; links in them are followed as far as
//! they stay below the root.

use std::rc::Rc;

use sha2::{Digest, Sha256};
use stackwright_contract::services::{Attribute, Failure, FileKind, FolderEntry, Status};

use super::Tree;
use super::tree::{Attributes, FOLDER_MODE, Inode, Node};

/// The most links on the way to a file, as on Linux.
const LINKS_MOST: usize = 40;
/// The permissions that can be set.
const MODE_MOST: u16 = 0o777;
/// The room of a disk that never fills up, in octets.
const ENDLESS: u64 = 1 << 40;

impl Tree {
    /// Counts an operation.
    ///
    /// # Errors
    /// If it is the one that is to fail, or there is no power.
    pub(super) fn operate(&mut self) -> Result<(), Failure> {
        self.operations += 1;
        let has_power = self.faults.power_lost_at.is_none_or(|at| self.operations < at);
        let breaks = self.faults.breaks_at == Some(self.operations);
        if breaks || !has_power { Err(Failure::Broken) } else { Ok(()) }
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
        let path = self.resolve(path)?;
        match self.nodes.get(&path) {
            Some(Node::File(inode)) => Ok(Rc::clone(inode)),
            Some(Node::Folder(_) | Node::Link(_)) => Err(Failure::BadName),
            None if path.is_empty() => Err(Failure::BadName),
            None => Err(Failure::NotFound),
        }
    }

    /// Returns where a file of this name will be: its folder exists, no folder has the name, and a
    /// link of that name leads to a file.
    pub(super) fn place(&self, path: &str) -> Result<String, Failure> {
        let mut place = self.named(path)?;
        self.folder_of(&place)?;
        if let Some(Node::Link(_)) = self.nodes.get(&place) {
            place = self.resolve(&place)?;
            // A link that leads to nothing brings nothing to life.
            self.nodes.get(&place).ok_or(Failure::Denied)?;
        }
        match self.nodes.get(&place) {
            _ if place.is_empty() => Err(Failure::BadName),
            Some(Node::Folder(_)) => Err(Failure::BadName),
            _ => Ok(place),
        }
    }

    /// Checks that nothing has the name.
    pub(super) fn must_be_new(&self, path: &str) -> Result<(), Failure> {
        let taken = path.is_empty() || self.nodes.contains_key(&self.named(path)?);
        if taken { Err(Failure::Exists) } else { Ok(()) }
    }

    /// Gives a file that was created its name. It takes over the permissions of the file that it
    /// replaces.
    pub(super) fn keep(&mut self, place: &str, inode: &Inode) -> Result<(), Failure> {
        let place = self.place(place)?;
        if let Some(Node::File(old)) = self.nodes.get(&place) {
            let mode = old.borrow().attributes.mode;
            inode.borrow_mut().attributes.mode = mode;
        }
        if !self.is_locked_by_another(&place, inode) {
            self.parts.remove(&place);
        }
        self.nodes.insert(place, Node::File(Rc::clone(inode)));
        Ok(())
    }

    /// Keeps a file that was created as the part of `place`.
    pub(super) fn keep_part(&mut self, place: &str, inode: &Inode) -> Result<(), Failure> {
        self.folder_of(place)?;
        if inode.borrow().octets.is_empty() {
            // It has nothing to go on from.
            self.parts.retain(|_, part| !Rc::ptr_eq(part, inode));
            return Ok(());
        }
        if self.is_locked_by_another(place, inode) {
            return Err(Failure::Denied);
        }
        self.parts.insert(place.to_owned(), Rc::clone(inode));
        Ok(())
    }

    /// Returns the part of `place`, begun if there is none. It is locked as long as it is held.
    pub(super) fn resume(&mut self, place: &str) -> Result<Inode, Failure> {
        if let Some(part) = self.parts.get(place) {
            let is_locked = Rc::strong_count(part) > 1;
            return if is_locked { Err(Failure::Denied) } else { Ok(Rc::clone(part)) };
        }
        let part = self.new_inode(Vec::new());
        self.parts.insert(place.to_owned(), Rc::clone(&part));
        Ok(part)
    }

    fn is_locked_by_another(&self, place: &str, inode: &Inode) -> bool {
        let part = self.parts.get(place);
        part.is_some_and(|part| !Rc::ptr_eq(part, inode) && Rc::strong_count(part) > 1)
    }

    /// Returns the octets of a file, or of its part.
    pub(super) fn inode(&self, path: &str, part: bool) -> Result<Inode, Failure> {
        if part {
            self.parts.get(&self.place(path)?).map(Rc::clone).ok_or(Failure::NotFound)
        } else {
            self.file(path)
        }
    }

    pub(super) fn status(&self, path: &str, part: bool) -> Result<Status, Failure> {
        if part {
            return Ok(Node::File(self.inode(path, part)?).status());
        }
        let named = self.named(path)?;
        let node = if named.is_empty() { None } else { self.nodes.get(&named) };
        let behind = match node {
            None if !named.is_empty() => return Err(Failure::NotFound),
            Some(Node::Link(_)) => match self.resolve(&named) {
                Ok(behind) if behind.is_empty() || self.nodes.contains_key(&behind) => behind,
                _ => return Ok(Status::new(FileKind::Other, 0)),
            },
            _ => named,
        };
        Ok(self.nodes.get(&behind).map_or(ROOT, Node::status))
    }

    pub(super) fn digest(
        &self,
        path: &str,
        octets: std::ops::Range<u64>,
        part: bool,
    ) -> Result<([u8; 32], u64), Failure> {
        if self.faults.no_digests {
            return Err(Failure::Unsupported);
        }
        let inode = self.inode(path, part)?;
        let stored = inode.borrow();
        if stored.vanished {
            return Err(Failure::Broken);
        }
        let end = octets.end.min(stored.octets.len() as u64);
        let start = octets.start.min(end);
        let digest = Sha256::digest(&stored.octets[start as usize..end as usize]);
        Ok((digest.into(), end - start))
    }

    pub(super) fn room(&self, path: &str) -> Result<u64, Failure> {
        self.must_be_folder(path)?;
        Ok(self.faults.full_after.map_or(ENDLESS, |most| most.saturating_sub(self.written)))
    }

    pub(super) fn make_folder(&mut self, path: &str) -> Result<(), Failure> {
        self.must_be_new(path)?;
        let path = self.named(path)?;
        self.folder_of(&path)?;
        let folder = self.new_folder();
        self.nodes.insert(path, folder);
        Ok(())
    }

    pub(super) fn set(&mut self, path: &str, attribute: Attribute) -> Result<(), Failure> {
        let path = self.resolve(path)?;
        if path.is_empty() || matches!(attribute, Attribute::Mode(mode) if mode > MODE_MOST) {
            return Err(Failure::Denied);
        }
        let change = |attributes: &mut Attributes| match attribute {
            Attribute::Modified(seconds) => attributes.modified = Some(seconds),
            Attribute::Mode(mode) => attributes.mode = mode,
        };
        match self.nodes.get_mut(&path).ok_or(Failure::NotFound)? {
            Node::Folder(attributes) => change(attributes),
            Node::File(inode) => change(&mut inode.borrow_mut().attributes),
            Node::Link(_) => unreachable!("links were followed"),
        }
        Ok(())
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<FolderEntry>, Failure> {
        let path = self.must_be_folder(path)?;
        let entry = |(path, node): (&str, &Node)| FolderEntry {
            target: if let Node::Link(target) = node { Some(target.clone()) } else { None },
            ..FolderEntry::new(path, node.status())
        };
        Ok(self.below(&path).filter(|(name, _)| !name.contains('/')).map(entry).collect())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let (from, to) = (&*self.named(from)?, &*self.named(to)?);
        let moved = self.nodes.get(from).ok_or(Failure::NotFound)?.clone();
        self.folder_of(to)?;
        if from == to {
            return Ok(());
        }
        if to.is_empty() || is_below(to, from) {
            return Err(Failure::BadName);
        }
        match (&moved, self.nodes.get(to)) {
            (Node::Folder(_), Some(Node::Folder(_))) if !self.is_empty(to) => {
                return Err(Failure::NotEmpty);
            }
            (Node::Folder(_), None | Some(Node::Folder(_))) => {}
            (Node::Folder(_), _) | (_, Some(Node::Folder(_))) => return Err(Failure::BadName),
            _ => {}
        }
        self.nodes.remove(from);
        self.nodes.insert(to.to_owned(), moved);
        move_below(&mut self.nodes, from, to);
        move_below(&mut self.parts, from, to);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) -> Result<(), Failure> {
        let path = self.named(path)?;
        if path.is_empty() {
            return Err(Failure::Denied);
        }
        if self.below(&path).next().is_some() {
            return Err(Failure::NotEmpty);
        }
        // Parts that are not locked go with their folder.
        self.parts.retain(|part, inode| !is_below(part, &path) || Rc::strong_count(inode) > 1);
        if !self.is_empty(&path) {
            return Err(Failure::NotEmpty);
        }
        self.nodes.remove(&path).map(drop).ok_or(Failure::NotFound)
    }

    /// Returns whether nothing is below a folder, no part either.
    fn is_empty(&self, folder: &str) -> bool {
        self.below(folder).next().is_none() && !self.parts.keys().any(|path| is_below(path, folder))
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

    /// Returns the plain path of a folder.
    fn must_be_folder(&self, path: &str) -> Result<String, Failure> {
        let path = self.resolve(path)?;
        match self.nodes.get(&path) {
            None if !path.is_empty() => Err(Failure::NotFound),
            Some(Node::File(_) | Node::Link(_)) => Err(Failure::BadName),
            None | Some(Node::Folder(_)) => Ok(path),
        }
    }

    /// Checks that the folder of `path` exists.
    fn folder_of(&self, path: &str) -> Result<(), Failure> {
        let Some((folder, _)) = path.rsplit_once('/') else { return Ok(()) };
        match self.nodes.get(folder) {
            Some(Node::Folder(_)) => Ok(()),
            _ => Err(Failure::NotFound),
        }
    }

    /// Follows the links on the way to a name, and not one that has the name.
    fn named(&self, path: &str) -> Result<String, Failure> {
        let Some((folder, name)) = path.rsplit_once('/') else { return Ok(path.to_owned()) };
        let folder = self.resolve(folder)?;
        Ok(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") })
    }

    /// Follows all links of a path.
    ///
    /// # Errors
    /// If one leads out of the root, or there are too many.
    fn resolve(&self, path: &str) -> Result<String, Failure> {
        let mut left: Vec<&str> = path.rsplit('/').collect();
        let mut resolved: Vec<&str> = Vec::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            match name {
                "" | "." => continue,
                ".." => {
                    resolved.pop().ok_or(Failure::Denied)?;
                    continue;
                }
                name => resolved.push(name),
            }
            if let Some(Node::Link(target)) = self.nodes.get(&resolved.join("/")) {
                links += 1;
                if links > LINKS_MOST {
                    return Err(Failure::BadName);
                }
                if target.starts_with('/') {
                    return Err(Failure::Denied);
                }
                resolved.pop();
                left.extend(target.rsplit('/'));
            }
        }
        Ok(resolved.join("/"))
    }
}

const ROOT: Status =
    Status { mode: Some(FOLDER_MODE), unique: Some(0), ..Status::new(FileKind::Folder, 0) };

impl Node {
    fn status(&self) -> Status {
        let (status, attributes) = match self {
            Node::Link(_) => return Status::new(FileKind::Link, 0),
            Node::Folder(attributes) => (Status::new(FileKind::Folder, 0), *attributes),
            Node::File(inode) => {
                let stored = inode.borrow();
                let size = stored.octets.len() as u64;
                let status = Status::new(FileKind::File, size);
                (Status { version: stored.version(), ..status }, stored.attributes)
            }
        };
        let Attributes { modified, mode, unique } = attributes;
        Status { modified, mode: Some(mode), unique: Some(unique), ..status }
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Moves what is below the folder `from` to below `to`.
fn move_below<T>(entries: &mut std::collections::BTreeMap<String, T>, from: &str, to: &str) {
    let paths: Vec<_> = entries.keys().filter(|path| is_below(path, from)).cloned().collect();
    for path in paths {
        let moved = entries.remove(&path).expect("just seen");
        entries.insert(format!("{to}{}", &path[from.len()..]), moved);
    }
}
