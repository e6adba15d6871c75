//! The pictures of a folder, and those of them that are kept split.

use std::cell::RefCell;
use std::fs::{DirEntry, File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;
use stackwright_jis::generated::Why;
use stackwright_jis::{NoPicture, Shelf, SplitCache, SplitPicture};

/// The longest file that is read: one client must not take all memory.
const OCTETS_MOST: u64 = 64 << 20;

/// Entries of the folder that are looked at for a list of pictures, and the octets of its text.
const LISTED_FROM: usize = 10_000;
const LISTED_MOST: usize = 220;

/// For how long that list holds: whoever asks for names that are not there again and again has the
/// folder read so often, at most.
const LISTED_FOR: Duration = Duration::from_secs(1);

/// A file that was modified less than this ago may be modified again at the same time of the file
/// system's clock, and is not kept.
const SETTLED: Duration = Duration::from_secs(2);

/// The file, its length, and when it was modified.
type Version = (u64, u64, SystemTime);

/// A folder; what is in it is served, and nothing that a name with `/` reaches.
pub(super) struct Folder {
    path: PathBuf,
    kept: RefCell<SplitCache<Version>>,
    /// The list of pictures, and when it was made.
    listed: RefCell<Option<(Instant, String)>>,
}

impl Folder {
    /// Serves `path`, and keeps at most `most` octets of split pictures.
    pub(super) fn new(path: PathBuf, most: usize) -> Self {
        Folder { path, kept: RefCell::new(SplitCache::new(most)), listed: RefCell::default() }
    }

    /// Opens a file, whatever its length.
    fn open(&self, name: &str) -> Option<(File, Metadata)> {
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        let path = plain.then(|| self.path.join(name))?;
        // A link, or a device, may be anything: neither is followed or waited for.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path).ok()?;
        let about = file.metadata().ok()?;
        about.is_file().then_some((file, about))
    }

    /// Says that a picture is not there, and names some that are: who fetches a picture has no
    /// other list of them.
    fn unknown(&self) -> NoPicture {
        let mut listed = self.listed.borrow_mut();
        let (_, text) = match listed.take_if(|(at, _)| at.elapsed() < LISTED_FOR) {
            Some(known) => listed.insert(known),
            None => listed.insert((Instant::now(), self.list())),
        };
        (Why::Unknown, text.clone())
    }

    fn list(&self) -> String {
        let entries = self.path.read_dir().into_iter().flatten().flatten().take(LISTED_FROM);
        let name = |entry: DirEntry| entry.file_name().into_string().ok();
        let pictures = entries.filter_map(name).filter(|name| {
            let ending = Path::new(name).extension();
            ending.is_some_and(|ending| ending.eq_ignore_ascii_case("jpg") || ending == "jpeg")
                && !name.starts_with('.')
        });
        let mut pictures: Vec<String> = pictures.collect();
        pictures.sort_unstable();
        let mut text = "there is no picture of this name".to_owned();
        for (nth, name) in pictures.iter().enumerate() {
            let before = if nth == 0 { "; there are " } else { ", " };
            if text.len() + before.len() + name.len() > LISTED_MOST {
                text += &format!(", and {} others", pictures.len() - nth);
                break;
            }
            text = text + before + name;
        }
        text
    }
}

/// # Errors
/// Returns that it is too long, or what the system says.
fn read(file: File) -> Result<Vec<u8>, NoPicture> {
    let mut octets = Vec::new();
    // It may have grown since it was looked at.
    let read = file.take(OCTETS_MOST + 1).read_to_end(&mut octets);
    let length = read
        .map_err(|why| (Why::Unsuitable, format!("the server cannot read it: {}", why.kind())))?;
    if length as u64 > OCTETS_MOST { Err(too_long()) } else { Ok(octets) }
}

fn too_long() -> NoPicture {
    let most = OCTETS_MOST >> 20;
    (Why::Unsuitable, format!("its file is longer than {most} MiB, the server's bound"))
}

impl Shelf for Folder {
    fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.open(name).and_then(|(file, _)| read(file).ok())
    }

    fn split(&self, name: &str, most: usize) -> Result<Rc<SplitPicture>, NoPicture> {
        let Some((file, about)) = self.open(name) else {
            return Err(self.unknown());
        };
        let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let version = (about.ino(), about.len(), modified);
        if let Some(picture) = self.kept.borrow_mut().find(name, most, &version) {
            return Ok(picture);
        }
        if about.len() > OCTETS_MOST {
            return Err(too_long());
        }
        let picture = Rc::new(SplitPicture::of(Some(read(file)?), most)?);
        if modified.elapsed().is_ok_and(|ago| ago >= SETTLED) {
            self.kept.borrow_mut().keep(name, most, version, picture.clone());
        }
        Ok(picture)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use stackwright_programs::picture::Picture;
    use stackwright_programs::scratch::Scratch;

    use super::*;

    const MOST: usize = 1450;

    fn write(scratch: &Scratch, ago: Duration) {
        let file = Picture { columns: 6, rows: 4, coefficients: 8 }.file(1);
        let path = scratch.join("a.jpg");
        fs::write(&path, file).expect("a folder of ours");
        let file = File::options().write(true).open(path).expect("it was written");
        file.set_modified(SystemTime::now() - ago).expect("a file of ours");
    }

    #[test]
    fn a_picture_is_split_once_until_its_file_changes() {
        let scratch = Scratch::new();
        let folder = Folder::new(scratch.path().into(), 1 << 20);
        let split = || folder.split("a.jpg", MOST).expect("it is a picture");
        write(&scratch, Duration::from_secs(60));
        let first = split();
        assert!(Rc::ptr_eq(&first, &split()));
        // The same octets, written again.
        write(&scratch, Duration::from_secs(50));
        let second = split();
        assert!(!Rc::ptr_eq(&first, &second));
        assert!(Rc::ptr_eq(&second, &split()));
        fs::remove_file(scratch.join("a.jpg")).expect("a file of ours");
        assert!(folder.split("a.jpg", MOST).is_err(), "what is gone is not served from memory");
    }

    #[test]
    fn a_file_that_is_too_long_is_refused_with_the_reason() {
        let scratch = Scratch::new();
        let file = File::create(scratch.join("long.jpg")).expect("a folder of ours");
        file.set_len(OCTETS_MOST + 1).expect("it is sparse");
        let folder = Folder::new(scratch.path().into(), 1 << 20);
        let (why, text) = folder.split("long.jpg", MOST).expect_err("it is too long");
        assert_eq!(why, Why::Unsuitable);
        assert!(text.contains("64 MiB"), "{text}");
        file.set_len(OCTETS_MOST).expect("it is sparse");
        let (_, text) = folder.split("long.jpg", MOST).expect_err("it is no picture");
        assert!(text.contains("not a JPEG"), "{text}");
    }

    #[test]
    fn what_was_modified_just_now_and_what_exceeds_the_bound_is_not_kept() {
        let scratch = Scratch::new();
        let split = |folder: &Folder| folder.split("a.jpg", MOST).expect("it is a picture");
        write(&scratch, Duration::ZERO);
        let folder = Folder::new(scratch.path().into(), 1 << 20);
        assert!(!Rc::ptr_eq(&split(&folder), &split(&folder)));
        write(&scratch, Duration::from_secs(60));
        let none = Folder::new(scratch.path().into(), 0);
        assert!(!Rc::ptr_eq(&split(&none), &split(&none)));
    }
}
