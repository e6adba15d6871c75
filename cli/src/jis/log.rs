//! What happened while a picture arrived: lines of JSON, each with its time in seconds since the
//! picture was asked for.
//!
//! | `what` | further members |
//! | --- | --- |
//! | `opened` | none: the association is open |
//! | `table` | `kind`: `quantisation` or `huffman` |
//! | `body` | `units`: `[scan, first, count]` of each piece |
//! | `end` | `units`, `length` and `check` of the file |
//! | `done`, `partial`, `denied`, `ended` | none: how it ended; `ended` is what no server said |

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackwright_jis::ArrivedPart;
use stackwright_jis::generated::TableKind;
use stackwright_jis::jpeg::{PieceHead, pieces};

/// A log that is written. Its clones are the same log.
#[derive(Clone)]
pub(super) struct Log(Rc<RefCell<Writing>>);

struct Writing {
    begin: Instant,
    into: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Log {
    /// Begins at the present time.
    pub(super) fn begin(file: File) -> Self {
        let (begin, into) = (Instant::now(), BufWriter::new(file));
        Log(Rc::new(RefCell::new(Writing { begin, into, failed: None })))
    }

    /// Notes what happens now and has no further members.
    pub(super) fn note(&self, what: &str) {
        self.write(json!({ "what": what }));
    }

    /// Notes what arrives now.
    pub(super) fn arrived(&self, part: ArrivedPart<'_>) {
        self.write(match part {
            ArrivedPart::Table(TableKind::Quantisation) => {
                json!({ "what": "table", "kind": "quantisation" })
            }
            ArrivedPart::Table(TableKind::Huffman) => json!({ "what": "table", "kind": "huffman" }),
            ArrivedPart::Body(body) => {
                let of_units = pieces(body).flatten().filter(|(head, _)| head.is_of_units());
                let units = of_units.map(|(head, _)| json!([head.scan, head.first, head.count]));
                json!({ "what": "body", "units": units.collect::<Value>() })
            }
            ArrivedPart::End(end) => {
                let (units, length, check) = (end.units, end.length, end.check);
                json!({ "what": "end", "units": units, "length": length, "check": check })
            }
        });
    }

    fn write(&self, mut line: Value) {
        let mut writing = self.0.borrow_mut();
        line["time"] = json!(writing.begin.elapsed().as_secs_f64());
        if let Err(why) = writeln!(writing.into, "{line}") {
            writing.failed.get_or_insert(why);
        }
    }

    /// Writes what is still held.
    ///
    /// # Errors
    /// Returns the first error of all lines.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut writing = self.0.borrow_mut();
        writing.into.flush()?;
        writing.failed.take().map_or(Ok(()), Err)
    }
}

/// What a log says of the pieces of a picture.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// When which units arrived; of their heads, the length is not known.
    pub(super) arrivals: Vec<(Duration, PieceHead)>,
    /// Units of the picture, length and check of its file, where its end arrived.
    pub(super) end: Option<[u32; 3]>,
}

/// Reads a log.
///
/// # Errors
/// Returns a sentence where a line is none of a log. One that was cut, as the last may be where the
/// program was killed, is not read.
pub(super) fn read(log: &[u8]) -> Result<Noted, String> {
    let mut noted = Noted::default();
    let lines = log.split_inclusive(|octet| *octet == b'\n');
    for (number, line) in (1..).zip(lines.filter(|line| line.ends_with(b"\n"))) {
        let line = serde_json::from_slice(line).ok();
        line.and_then(|line| read_line(&line, &mut noted))
            .ok_or_else(|| format!("line {number} is none of a log of `jis get --log`"))?;
    }
    Ok(noted)
}

fn read_line(line: &Value, noted: &mut Noted) -> Option<()> {
    let time = Duration::try_from_secs_f64(line["time"].as_f64()?).ok()?;
    let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
    match line["what"].as_str()? {
        "body" => {
            for piece in line["units"].as_array()? {
                let [scan, first, count] = &piece.as_array()?[..] else { return None };
                let (scan, count) =
                    (number(scan)?.try_into().ok()?, number(count)?.try_into().ok()?);
                let head = PieceHead { scan, first: number(first)?, count, length: 0 };
                noted.arrivals.push((time, head));
            }
        }
        "end" => {
            let [units, length, check] =
                ["units", "length", "check"].map(|what| number(&line[what]));
            noted.end = Some([units?, length?, check?]);
        }
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_but_for_a_last_line_that_was_cut() {
        let log = br#"{"time":0.001,"what":"opened"}
{"time":0.25,"what":"body","units":[[0,0,255],[1,70000,3]]}
{"time":0.5,"what":"end","units":300,"length":9,"check":4294967295}
{"time":0.5,"wh"#;
        let noted = read(log).expect("it is a log");
        let head = |scan, first, count| PieceHead { scan, first, count, length: 0 };
        let time = Duration::from_millis(250);
        assert_eq!(noted.arrivals, [(time, head(0, 0, 255)), (time, head(1, 70_000, 3))]);
        assert_eq!(noted.end, Some([300, 9, u32::MAX]));
    }

    #[test]
    fn what_is_no_log_is_refused_by_its_line() {
        let opened = "{\"time\":0,\"what\":\"opened\"}\n";
        for line in [
            "",
            "[]",
            "{\"what\":\"opened\"}",
            "{\"time\":-1,\"what\":\"opened\"}",
            "{\"time\":1,\"what\":\"body\",\"units\":[[0,0]]}",
            "{\"time\":1,\"what\":\"body\",\"units\":[[0,0,256]]}",
            "{\"time\":1,\"what\":\"end\"}",
        ] {
            let why = read(format!("{opened}{line}\n").as_bytes()).expect_err(line);
            assert!(why.contains("line 2"), "{line}: {why}");
        }
    }
}
