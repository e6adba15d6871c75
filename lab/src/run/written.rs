//! What a run leaves behind in files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use stackwright_results::Problem;
use stackwright_simulator::Trace;

/// Writes a file whole, or not at all: under another name first.
///
/// # Errors
/// What the system says, with what to do about it.
pub(crate) fn whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Problem> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|file| {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&part, path)
    });
    written.map_err(|why| {
        let _ = fs::remove_file(&part);
        let problem = Problem::new(format!("{}: {why}", path.display()));
        match why.kind() {
            io::ErrorKind::StorageFull => {
                problem.advise("free some space, or choose another place")
            }
            io::ErrorKind::NotFound => problem.advise("create the folder first"),
            _ => problem,
        }
    })
}

/// A trace as JSON lines: `{"time_ns":…,"station":…,"what":…}`.
pub(crate) fn trace(path: &Path, trace: &Trace) -> Result<(), Problem> {
    whole(path, |file| {
        for line in trace.lines() {
            let station = line.station.map(|address| address.to_string());
            let object = json!({ "time_ns": line.time.nanoseconds(), "station": station, "what": line.what });
            writeln!(file, "{object}")?;
        }
        Ok(())
    })
}

/// Octets as they are.
pub(crate) fn octets(path: &Path, octets: &[u8]) -> Result<(), Problem> {
    whole(path, |file| file.write_all(octets))
}
