//! Where a file is on this machine: below a folder, or in no folder at all.

use std::env;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::graphs::Local;
use crate::problem::Problem;

/// The name of standard input and output.
pub(crate) const STANDARD: &str = "-";

/// Where a file is.
pub(crate) enum Place {
    /// In a folder, under a name.
    Folder { folder: PathBuf, name: String },
    /// Open, and nowhere: what is read or written there cannot be repeated.
    Open { file: File, shown: String },
}

const INPUT: &str = "standard input";
const OUTPUT: &str = "standard output";

impl Place {
    /// Returns where a fetched file goes, whose name on the server is `name`.
    pub(crate) fn target(dest: Option<&Path>, name: &str) -> Result<Self, Problem> {
        let Some(dest) = dest else {
            return Ok(Place::Folder { folder: env::current_dir()?, name: name.into() });
        };
        let of_dest = |why| Problem::Path { path: dest.into(), why };
        if dest.as_os_str() == STANDARD {
            let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok(Place::Open { file, shown: OUTPUT.into() });
        }
        match dest.metadata() {
            Ok(found) if found.is_dir() => {
                return Ok(Place::Folder { folder: dest.into(), name: name.into() });
            }
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(dest).map_err(of_dest)?;
                return Ok(Place::Open { file, shown: dest.display().to_string() });
            }
            _ if dest.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                return Err(Problem::NoFolder { path: dest.into() });
            }
            _ => {}
        }
        match dest.file_name().and_then(|name| name.to_str()) {
            Some(name) => Ok(Place::Folder { folder: parent(dest), name: name.into() }),
            None => Err(Problem::NotAFile { path: dest.into() }),
        }
    }

    /// Returns where a file is that is to be stored.
    pub(crate) fn source(path: &Path) -> Result<Self, Problem> {
        let of_path = |why| Problem::Path { path: path.into(), why };
        if path.as_os_str() == STANDARD {
            let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            return Ok(Place::Open { file, shown: INPUT.into() });
        }
        let found = path.metadata().map_err(of_path)?;
        let name = path.file_name().and_then(|name| name.to_str());
        match name {
            // Files of the kernel, as in /proc, have octets and no length: they are read to their
            // end.
            Some(name) if found.is_file() && found.len() > 0 => {
                Ok(Place::Folder { folder: parent(path), name: name.into() })
            }
            Some(_) if !found.is_dir() => {
                let file = File::open(path).map_err(of_path)?;
                Ok(Place::Open { file, shown: path.display().to_string() })
            }
            _ => Err(Problem::NotAFile { path: path.into() }),
        }
    }

    /// As it is called in a report.
    pub(crate) fn shown(&self) -> String {
        match self {
            Place::Folder { folder, name } => folder.join(name).display().to_string(),
            Place::Open { shown, .. } => shown.clone(),
        }
    }

    /// Whether a copy that fails can go on later where it ended.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self, Place::Folder { .. })
    }

    pub(crate) fn is_input(&self) -> bool {
        matches!(self, Place::Open { shown, .. } if shown == INPUT)
    }

    /// The name below the folder; any name where there is no folder.
    pub(crate) fn name(&self) -> &str {
        match self {
            Place::Folder { name, .. } => name,
            Place::Open { .. } => STANDARD,
        }
    }
}

impl From<Place> for Local {
    fn from(place: Place) -> Self {
        match place {
            Place::Folder { folder, .. } => Local::Folder(folder),
            Place::Open { file, shown } => Local::Open(file, shown),
        }
    }
}

/// The folder of a path.
fn parent(path: &Path) -> PathBuf {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).into()
}
