//! The folder that servers of a measurement serve.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::content::{Sized, octets};
use crate::scratch::{Scratch, open_to_all};

/// Makes a folder with a file of each size, and a folder `in` where everybody may write.
///
/// It lies in a memory file system, if there is one: disks are not what is compared.
///
/// # Errors
///
/// When there is no room for the files.
pub fn folder(sizes: &[Sized]) -> io::Result<Scratch> {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { Scratch::below(memory) } else { Scratch::new() };
    for size in sizes {
        // In pieces: what this process holds would be counted as its children's.
        let mut file = File::create(folder.join(&size.file()))?;
        for start in (0..size.octets).step_by(1_000_000) {
            file.write_all(&octets(start as u64, 1_000_000.min(size.octets - start)))?;
        }
    }
    open_to_all(&folder.join("in"));
    Ok(folder)
}
