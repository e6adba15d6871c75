//! What a server offers beyond RFC 959, as it tells in its reply to FEAT (RFC 2389).

/// The features of a server. Where it does not tell them, it may know SIZE and MDTM, which are
/// older than FEAT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Features {
    pub(super) size: bool,
    pub(super) modified: bool,
    /// MLST and MLSD.
    pub(super) facts: bool,
    /// MFMT.
    pub(super) set_modified: bool,
    pub(super) digest: Digest,
    /// AVBL.
    pub(super) room: bool,
    /// ARST (CCSDS 717.0): the server can keep what arrived of an upload.
    pub(super) autorestart: bool,
    /// INTR (CCSDS 717.0).
    pub(super) interrupt: bool,
}

/// How a server is asked for the SHA-256 of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Digest {
    Absent,
    /// HASH, which another function is selected for.
    Unselected,
    /// HASH.
    Selected,
    /// XSHA256.
    Extension,
}

impl Features {
    /// What is tried with a server that does not know FEAT.
    pub(super) const UNTOLD: Self = Features {
        size: true,
        modified: true,
        facts: false,
        set_modified: false,
        digest: Digest::Absent,
        room: false,
        autorestart: false,
        interrupt: false,
    };

    /// What this server offers.
    pub(super) const OURS: Self = Features {
        facts: true,
        set_modified: true,
        digest: Digest::Selected,
        room: true,
        autorestart: true,
        interrupt: true,
        ..Self::UNTOLD
    };

    /// Parses the text of a positive reply to FEAT. Its first and its last line name no feature.
    pub(super) fn parse(text: &str) -> Self {
        let mut features = Features { size: false, modified: false, ..Self::UNTOLD };
        for line in text.lines() {
            let (name, parameters) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            match name.to_ascii_uppercase().as_str() {
                "SIZE" => features.size = true,
                "MDTM" => features.modified = true,
                "MLST" | "MLSD" => features.facts = true,
                "MFMT" => features.set_modified = true,
                "AVBL" => features.room = true,
                "ARST" => features.autorestart = true,
                "INTR" => features.interrupt = true,
                "HASH" => match hash(parameters) {
                    Digest::Absent => {}
                    hash => features.digest = hash,
                },
                "XSHA256" if features.digest == Digest::Absent => {
                    features.digest = Digest::Extension;
                }
                _ => {}
            }
        }
        features
    }
}

/// Parses the functions of HASH: `SHA-256*;SHA-1`, of which the star marks the selected one.
fn hash(functions: &str) -> Digest {
    let sha_256 = |function: &&str| function.trim_end_matches('*').eq_ignore_ascii_case("SHA-256");
    match functions.split([';', ' ', ',']).find(sha_256) {
        Some(function) if function.ends_with('*') => Digest::Selected,
        Some(_) => Digest::Unselected,
        None => Digest::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_in_any_case() {
        let text =
            "Extensions:\n mdtm\n SIZE\n MLST type*;size*;\n HASH SHA-1*;SHA-256\n XSHA256\nEnd";
        let expected = Features { facts: true, digest: Digest::Unselected, ..Features::UNTOLD };
        assert_eq!(Features::parse(text), expected);
        let none = Features { size: false, modified: false, ..Features::UNTOLD };
        assert_eq!(Features::parse("no features"), none);
        let text = "Features:\n XSHA256\n HASH MD5*\n ARST\n INTR\n AVBL\n MFMT\nEnd";
        let features = Features::parse(text);
        assert_eq!(features.digest, Digest::Extension);
        assert!(features.autorestart && features.interrupt && features.room);
        assert!(features.set_modified && !features.size);
        assert_eq!(hash("SHA-256*;MD5"), Digest::Selected);
    }
}
