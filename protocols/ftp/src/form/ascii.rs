//! TYPE A: the lines of a file, which end with LF, end with CRLF on the wire (RFC 959 §3.1.1.1).
//!
//! A file may hold lines that end with CRLF already, and octets that are no text at all. So a LF
//! behind a CR is sent as it is, as vsftpd and proftpd do, and a CR or LF that stands alone is
//! received as it is.

use alloc::vec::Vec;

const CR: u8 = b'\r';
const LF: u8 = b'\n';

/// Ends lines with CRLF.
#[derive(Default, Debug)]
pub(super) struct Encoder {
    after_cr: bool,
}

impl Encoder {
    /// Appends `octets` to `out`, a CR before each LF that has none.
    pub(super) fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        for line in octets.split_inclusive(|octet| *octet == LF) {
            if let Some(text) = line.strip_suffix(&[LF]) {
                out.extend_from_slice(text);
                if text.last().map_or(!self.after_cr, |last| *last != CR) {
                    out.push(CR);
                }
                out.push(LF);
            } else {
                out.extend_from_slice(line);
            }
            self.after_cr = line.last() == Some(&CR);
        }
    }
}

/// Ends lines with LF.
#[derive(Default, Debug)]
pub(super) struct Decoder {
    /// A CR of which the next octet will tell whether it belongs to the end of a line.
    held: bool,
}

impl Decoder {
    /// Appends `octets` to `out`, without the CR of each CRLF.
    pub(super) fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        for line in octets.split_inclusive(|octet| *octet == LF) {
            if self.held && line[0] != LF {
                out.push(CR);
            }
            self.held = false;
            if let Some(text) = line.strip_suffix(b"\r\n") {
                out.extend_from_slice(text);
                out.push(LF);
            } else if let Some(text) = line.strip_suffix(&[CR]) {
                out.extend_from_slice(text);
                self.held = true;
            } else {
                out.extend_from_slice(line);
            }
        }
    }

    /// Appends what it holds to `out`: the file ends here.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if core::mem::take(&mut self.held) {
            out.push(CR);
        }
    }
}
