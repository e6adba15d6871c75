//! Pictures of a server, and those that it keeps split.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::generated::Why;
use crate::jpeg::{JpegFlaw, Picture, Summary};

/// Why there is nothing to send, with a sentence.
pub type NoPicture = (Why, String);

/// Has pictures.
pub trait Shelf {
    /// Returns the file of this name.
    fn file(&self, name: &str) -> Option<Vec<u8>>;

    /// Returns the picture of this name in bodies of at most `most` octets. By default it is read
    /// and split whenever it is asked for; see [`SplitCache`].
    ///
    /// # Errors
    /// Returns why there is none: no file, or none that can be split.
    fn split(&self, name: &str, most: usize) -> Result<Rc<SplitPicture>, NoPicture> {
        SplitPicture::of(self.file(name), most).map(Rc::new)
    }
}

/// Pictures in memory.
impl Shelf for BTreeMap<String, Vec<u8>> {
    fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.get(name).cloned()
    }
}

/// A picture as it is sent.
#[derive(Debug)]
pub struct SplitPicture {
    /// The body of the ADU with frame and quantisation tables.
    pub(crate) quantisation: Vec<u8>,
    /// The body of the ADU with Huffman tables and the heads of scans.
    pub(crate) huffman: Vec<u8>,
    pub(crate) summary: Summary,
    /// Bodies of pieces.
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl SplitPicture {
    /// Splits a file into bodies of at most `most` octets.
    ///
    /// # Errors
    /// Returns why not: there is no file, or none that can be split.
    pub fn of(file: Option<Vec<u8>>, most: usize) -> Result<Self, NoPicture> {
        let file = file.ok_or((Why::Unknown, "there is no picture of this name".to_string()))?;
        let unsuitable = |flaw: JpegFlaw| (Why::Unsuitable, flaw.to_string());
        let picture = Picture::read(&file).map_err(unsuitable)?;
        Ok(SplitPicture {
            bodies: picture.split(most).map_err(unsuitable)?,
            quantisation: picture.quantisation().to_vec(),
            huffman: picture.huffman().to_vec(),
            summary: picture.summary(),
        })
    }

    /// Returns the octets that it takes in memory, about.
    fn octets(&self) -> usize {
        let bodies = self.bodies.iter().map(|body| size_of::<Vec<u8>>() + body.capacity());
        bodies.sum::<usize>() + self.quantisation.len() + self.huffman.len()
    }
}

/// What a cache counts for a picture beside its octets: so that the number of pictures is bounded,
/// too.
const ENTRY: usize = 4096;

/// Split pictures that were asked for, up to a bound in octets; when it is reached, those go that
/// were not asked for longest. `V` tells versions of a file apart.
///
/// ```
/// use stackwright_jis::SplitCache;
/// let mut kept = SplitCache::<u64>::new(64 << 20);
/// assert!(kept.find("cat.jpg", 1450, &1).is_none());
/// ```
#[derive(Debug)]
pub struct SplitCache<V> {
    most: usize,
    octets: usize,
    /// The one that was asked for last comes last.
    kept: VecDeque<Kept<V>>,
}

#[derive(Debug)]
struct Kept<V> {
    name: String,
    /// The longest body.
    body_most: usize,
    version: V,
    picture: Rc<SplitPicture>,
}

impl<V> Kept<V> {
    fn octets(&self) -> usize {
        ENTRY + self.name.len() + self.picture.octets()
    }
}

impl<V: PartialEq> SplitCache<V> {
    /// Makes one that keeps at most `most` octets.
    pub const fn new(most: usize) -> Self {
        SplitCache { most, octets: 0, kept: VecDeque::new() }
    }

    /// Returns a picture in bodies of at most `body_most` octets, if this version of it is kept.
    pub fn find(&mut self, name: &str, body_most: usize, version: &V) -> Option<Rc<SplitPicture>> {
        let kept = self.take(name, body_most)?;
        if kept.version != *version {
            return None; // the file has changed
        }
        let picture = kept.picture.clone();
        self.octets += kept.octets();
        self.kept.push_back(kept);
        Some(picture)
    }

    /// Keeps a picture, instead of another version of it. One that is longer than the bound is not
    /// kept.
    pub fn keep(&mut self, name: &str, body_most: usize, version: V, picture: Rc<SplitPicture>) {
        self.take(name, body_most);
        let kept = Kept { name: name.into(), body_most, version, picture };
        let octets = kept.octets();
        if octets > self.most {
            return;
        }
        while self.octets + octets > self.most
            && let Some(oldest) = self.kept.pop_front()
        {
            self.octets -= oldest.octets();
        }
        self.octets += octets;
        self.kept.push_back(kept);
    }

    /// Returns the octets that are kept.
    pub fn octets(&self) -> usize {
        self.octets
    }

    fn take(&mut self, name: &str, body_most: usize) -> Option<Kept<V>> {
        let is_it = |kept: &Kept<V>| kept.name == name && kept.body_most == body_most;
        let place = self.kept.iter().position(is_it)?;
        let kept = self.kept.remove(place)?;
        self.octets -= kept.octets();
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn picture(octets: usize) -> Rc<SplitPicture> {
        let summary = Summary { units: 1, outside: 0, length: 1, check: 0, exact: true };
        let bodies = vec![vec![0; octets]];
        Rc::new(SplitPicture { quantisation: vec![], huffman: vec![], summary, bodies })
    }

    #[test]
    fn a_picture_is_kept_by_name_version_and_longest_body() {
        let mut cache = SplitCache::new(1 << 20);
        let one = picture(1000);
        cache.keep("one", 640, 1, one.clone());
        let found = cache.find("one", 640, &1).expect("it is kept");
        assert!(Rc::ptr_eq(&found, &one));
        assert!(cache.find("other", 640, &1).is_none());
        assert!(cache.find("one", 1450, &1).is_none());
        // Another version takes the place of the first.
        assert!(cache.find("one", 640, &2).is_none());
        assert_eq!(cache.octets(), 0);
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first_and_the_bound_holds() {
        let room = 10_000;
        let mut cache = SplitCache::new(3 * (ENTRY + room + 100));
        for name in ["a", "b", "c"] {
            cache.keep(name, 640, (), picture(room));
        }
        assert!(cache.find("a", 640, &()).is_some());
        cache.keep("d", 640, (), picture(room));
        assert!(cache.octets() <= 3 * (ENTRY + room + 100));
        let there = ["a", "b", "c", "d"].map(|name| cache.find(name, 640, &()).is_some());
        assert_eq!(there, [true, false, true, true]);
        let before = cache.octets();
        cache.keep("long", 640, (), picture(1 << 20));
        assert!(cache.find("long", 640, &()).is_none());
        assert_eq!(cache.octets(), before, "one that is too long displaces nothing");
    }
}
