//! How each request is answered, when its time has come.

use std::rc::Rc;

use stackwright_contract::services::{Failure, FilesIndication, Keep, Purpose};
use stackwright_contract::{Context, Handle, Outlet};
use stackwright_wire::Message;

use super::tree::settle;
use super::{Content, File, SimulatedDisk, Tree, Work};

/// The most entries of a folder in one answer.
const ENTRIES_MOST: u64 = 16;

/// The longest file, in octets: a longer one does not fit on the disk.
const LONGEST: u64 = 1 << 32;

impl<M: Message> SimulatedDisk<M> {
    pub(super) fn answer(
        &mut self,
        cx: &Context,
        name: Handle,
        work: Work,
        out: &mut dyn Outlet<Self>,
    ) {
        // The borrow of the tree ends before the answer is delivered: the tree is shared with a
        // test that may examine it then.
        let Some((last, answer)) =
            self.work_on(cx, &mut self.tree.clone().borrow_mut(), name, work)
        else {
            return;
        };
        if last {
            self.ledger.ended(name);
            self.files.remove(name);
        }
        out.indicate(answer);
    }

    /// Returns the answer, and whether it ends the name; `None` if the file has failed before, and
    /// has ended.
    fn work_on(
        &mut self,
        cx: &Context,
        tree: &mut Tree,
        name: Handle,
        work: Work,
    ) -> Option<(bool, FilesIndication<M>)> {
        if let Work::Write { octets, .. } = &work {
            tree.release(octets.len());
        }
        if !self.ledger.lives(name) {
            return None;
        }
        let working = tree.operate();
        Some(match work {
            Work::Stat { path, part } => {
                let result = working.and_then(|()| tree.status(&settle(&path)?, part));
                (true, FilesIndication::Stated { token: name, result })
            }
            Work::Digest { path, octets, part } => {
                let result = working.and_then(|()| tree.digest(&settle(&path)?, octets, part));
                (true, FilesIndication::Digested { token: name, result })
            }
            Work::Note { version } => {
                let file = self.files.get_mut(name).expect("a living name stands for a file");
                if let Content::Created { inode, .. } = &file.content {
                    inode.borrow_mut().noted = Some(version);
                }
                return None; // no answer
            }
            Work::GiveUp => {
                let result = Err(Failure::GivenUp);
                (true, FilesIndication::Digested { token: name, result })
            }
            Work::Room { path } => {
                let result = working.and_then(|()| tree.room(&settle(&path)?));
                (true, FilesIndication::Room { token: name, result })
            }
            Work::MakeFolder { path } => {
                let result = working.and_then(|()| tree.make_folder(&settle(&path)?));
                (true, FilesIndication::Done { token: name, result })
            }
            Work::Set { path, attribute } => {
                let result = working.and_then(|()| tree.set(&settle(&path)?, attribute));
                (true, FilesIndication::Done { token: name, result })
            }
            Work::Rename { from, to } => {
                let result = working.and_then(|()| tree.rename(&settle(&from)?, &settle(&to)?));
                (true, FilesIndication::Done { token: name, result })
            }
            Work::Remove { path } => {
                let result = working.and_then(|()| tree.remove(&settle(&path)?));
                (true, FilesIndication::Done { token: name, result })
            }
            work => {
                let file = self.files.get_mut(name).expect("a living name stands for a file");
                match working.and_then(|()| file.work(cx, tree, name, work)) {
                    Ok(Some(answer)) => (false, answer),
                    Ok(None) => (true, FilesIndication::Closed { file: name, result: Ok(()) }),
                    Err(failure) => {
                        (true, FilesIndication::Closed { file: name, result: Err(failure) })
                    }
                }
            }
        })
    }
}

impl File {
    /// Returns the indication; `None` if the file is closed.
    fn work<M: Message>(
        &mut self,
        cx: &Context,
        tree: &mut Tree,
        file: Handle,
        work: Work,
    ) -> Result<Option<FilesIndication<M>>, Failure> {
        Ok(Some(match (work, &mut self.content) {
            (Work::Open { path }, _) => {
                let (content, size) = open(tree, settle(&path)?, self.purpose)?;
                let (modified, version) = match &content {
                    Content::Read(inode) => {
                        let stored = inode.borrow();
                        (stored.attributes.modified, stored.version())
                    }
                    Content::Created { inode, .. } => (None, inode.borrow().noted),
                    _ => (None, None),
                };
                self.content = content;
                FilesIndication::Opened { file, size, modified, version }
            }
            (Work::Read { offset, length }, Content::Read(inode)) => {
                let stored = inode.borrow();
                if stored.vanished {
                    return Err(Failure::Broken);
                }
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(stored.octets.len());
                let end = start.saturating_add(length).min(stored.octets.len());
                FilesIndication::Read {
                    file,
                    offset,
                    message: M::with_headroom(0, &stored.octets[start..end]),
                }
            }
            (Work::Next, Content::Listed(entries)) => {
                let count = (1 + cx.random(ENTRIES_MOST) as usize).min(entries.len());
                let entries = entries.drain(..count).collect();
                let left_out = tree.faults.leaves_out;
                let left_out = (0..left_out).map(|nth| format!("left out {nth}")).collect();
                FilesIndication::Entries { file, entries, left_out, is_doubtful: false }
            }
            (Work::Write { offset, octets }, Content::Created { inode, .. }) => {
                tree.write(octets.len())?;
                let end = offset.checked_add(octets.len() as u64).filter(|end| *end <= LONGEST);
                let (start, end) = (offset as usize, end.ok_or(Failure::Full)? as usize);
                let mut stored = inode.borrow_mut();
                stored.attributes.modified = Some(now(cx));
                if stored.octets.len() < end {
                    stored.octets.resize(end, 0);
                }
                stored.octets[start..end].copy_from_slice(&octets);
                FilesIndication::Written { file, octets: octets.len() }
            }
            (Work::Close { keep }, Content::Created { place, inode }) => {
                match keep {
                    Keep::Nothing => tree.parts.retain(|_, part| !Rc::ptr_eq(part, inode)),
                    Keep::Part => tree.keep_part(place, inode)?,
                    Keep::Whole => {
                        if self.purpose == Purpose::New {
                            tree.must_be_new(place)?;
                        }
                        inode.borrow_mut().attributes.modified = Some(now(cx));
                        tree.keep(place, inode)?;
                    }
                }
                return Ok(None);
            }
            (Work::Close { .. }, _) => return Ok(None),
            _ => unreachable!("asked only what fits the purpose, and answered in order"),
        }))
    }
}

/// Returns the time, in seconds since 1970.
fn now(cx: &Context) -> u64 {
    cx.now().nanoseconds() / 1_000_000_000
}

fn open(
    tree: &mut Tree,
    path: String,
    purpose: Purpose,
) -> Result<(Content, Option<u64>), Failure> {
    let (place, octets) = match purpose {
        Purpose::Read { .. } => {
            let inode = tree.file(&path)?;
            let size = inode.borrow().octets.len() as u64;
            return Ok((Content::Read(inode), Some(size)));
        }
        Purpose::List => return Ok((Content::Listed(tree.list(&path)?.into()), None)),
        Purpose::Resume => {
            let place = tree.place(&path)?;
            let inode = tree.resume(&place)?;
            let size = inode.borrow().octets.len() as u64;
            return Ok((Content::Created { place, inode }, Some(size)));
        }
        Purpose::Part => {
            let place = tree.place(&path)?;
            let inode = match tree.resume(&place) {
                Err(Failure::Denied) => tree.new_inode(Vec::new()),
                part => part?,
            };
            let mut part = inode.borrow_mut();
            (part.octets, part.synced, part.noted) = (Vec::new(), 0, None);
            drop(part);
            return Ok((Content::Created { place, inode }, Some(0)));
        }
        Purpose::Create { from } => {
            let place = tree.place(&path)?;
            let mut octets = Vec::new();
            if from > 0 {
                // A file without a name has no octets to continue from.
                let inode = tree.file(&place).map_err(|_| Failure::Short)?;
                let before = usize::try_from(from).map_err(|_| Failure::Short)?;
                octets
                    .extend_from_slice(inode.borrow().octets.get(..before).ok_or(Failure::Short)?);
            }
            (place, octets)
        }
        Purpose::Append => {
            let place = tree.place(&path)?;
            let octets = match tree.file(&place) {
                Ok(inode) => inode.borrow().octets.clone(),
                Err(Failure::NotFound) => Vec::new(),
                Err(why) => return Err(why),
            };
            (place, octets)
        }
        Purpose::New => {
            tree.must_be_new(&path)?;
            (tree.place(&path)?, Vec::new())
        }
    };
    let size = octets.len() as u64;
    let inode = tree.new_inode(octets);
    Ok((Content::Created { place, inode }, Some(size)))
}
