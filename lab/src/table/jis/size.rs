//! E17: the size of programs that fetch and serve pictures.

use std::fs;

use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Row, figures};
use stackwright_results::verdict::Target;

use super::programs::{
    self, ADAPTIVE, ADAPTIVE_SERVER, BY_HAND, LAYER, SERVER, SMOLTCP, TAILORED, TCP, TCP_SERVER,
};
use crate::measure::Limit;
use crate::table::{About, AnyTable, Cell, NO_AXES, Table};

/// What the generated client may have more than the one by hand, in octets of code.
const GENERATED_MOST: f64 = 4096.0;

/// What the generated client may have of the code of one whose transport is in its file, too.
const LIKE_MOST: f64 = 1.2;

/// The document's sizes of a client and a server in KB: TCP in the program, in a server of the
/// system, in the kernel; STRL over the same three; UTS in the program.
const DOCUMENT: [(&str, [f64; 2]); 7] = [
    ("TCP, user library", [539.6, 510.6]),
    ("TCP, server process", [285.3, 256.2]),
    ("TCP, kernel", [278.4, 249.4]),
    ("STRL, user library", [819.4, 802.6]),
    ("STRL, server process", [546.2, 445.8]),
    ("STRL, kernel", [547.3, 446.0]),
    ("UTS, user library", [539.6, 510.6]),
];

/// The table. Its tasks are programs of one side.
pub(crate) const SIZE: &dyn AnyTable = &Table::<&[&str], ()> {
    about: About {
        name: "jis-size",
        title: "code of a picture client and a server",
        measures: "The section .text of the examples’ programs, built as releases: the same \
                   reading and joining of pictures, the same loop, and a generated client \
                   over the transport that its phase selects; the same over one that changes while \
                   data flow; one by hand over the same \
                   transport, as an application over an endpoint, and as a layer for one \
                   association alone; the generated one over smoltcp, a TCP at user level, \
                   by its smallest features; and over the kernel’s TCP, which has no \
                   transport in the file. A size is exact.",
        source: "De Silva et al., 1996, table 1",
        axes: NO_AXES,
        limit: Limit::Work,
    },
    cells: |_| cells(),
    open: |_, _| programs::build(),
    measure: |(), names, row, _| measure(names, row),
};

fn cells() -> Vec<Cell<&'static [&'static str]>> {
    let cell = |(side, key, names)| {
        let document = DOCUMENT.into_iter().map(|(who, sizes)| (who, sizes[side]));
        let row = Row::new(key, "size of code", key, "B");
        (row.beside(figures(document, "KB, whole program")), names)
    };
    let client: &[&str] = &[TAILORED, ADAPTIVE, BY_HAND, LAYER, SMOLTCP, TCP];
    let server: &[&str] = &[SERVER, ADAPTIVE_SERVER, TCP_SERVER];
    [(0, "client", client), (1, "server", server)].map(cell).into()
}

fn measure(names: &[&str], row: &mut Row) -> Result<(), Problem> {
    let by_hand: &[(&str, &str, Option<Target>)] = &[
        (BY_HAND, "code beyond the application by hand", Some(Target::AtMost(GENERATED_MOST))),
        (LAYER, "code beyond the layer by hand", None),
    ];
    for name in names {
        let Parts { code, loaded } = sizes(name)?;
        let mut column = Column::exact(name, true, [code as f64]);
        column.tell("all that is loaded", "B", &[loaded as f64], None);
        for (other, says, target) in by_hand.iter().filter(|_| *name == TAILORED) {
            let beyond = code as f64 - sizes(other)?.code as f64;
            column.tell(says, "B", &[beyond], *target);
        }
        row.columns.push(column);
    }
    row.compare(TAILORED, SMOLTCP, Some(Target::AtMost(LIKE_MOST)));
    row.compare(names[0], names[names.len() - 1], None);
    Ok(())
}

/// What a program consists of, in octets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parts {
    /// Its section `.text`.
    code: u64,
    /// All sections that are loaded.
    loaded: u64,
}

fn sizes(name: &str) -> Result<Parts, Problem> {
    let path = programs::path(name);
    let octets = fs::read(&path)
        .map_err(|why| Problem::new(format!("cannot read {}: {why}", path.display())))?;
    parts(&octets).ok_or_else(|| Problem::new(format!("{name} is no program of 64 bits")))
}

/// Reads the section headers of an ELF file of 64 bits, little-endian (System V ABI, chapter 4).
fn parts(octets: &[u8]) -> Option<Parts> {
    let number = |at: u64, length: usize| {
        let at = usize::try_from(at).ok()?;
        let field = octets.get(at..at.checked_add(length)?)?;
        Some(field.iter().rev().fold(0_u64, |number, octet| number << 8 | u64::from(*octet)))
    };
    if octets.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, each, count, names) =
        (number(40, 8)?, number(58, 2)?, number(60, 2)?, number(62, 2)?);
    let section = |nth: u64| table.checked_add(nth.checked_mul(each)?);
    let strings = number(section(names)?.checked_add(24)?, 8)?;
    let (mut code, mut loaded) = (0, 0);
    for nth in 0..count {
        let at = section(nth)?;
        let (name, flags, size) = (number(at, 4)?, number(at + 8, 8)?, number(at + 32, 8)?);
        const ALLOCATED: u64 = 2;
        if flags & ALLOCATED != 0 {
            loaded += size;
        }
        let name = usize::try_from(strings.checked_add(name)?).ok()?;
        if octets.get(name..)?.starts_with(b".text\0") {
            code = size;
        }
    }
    Some(Parts { code, loaded })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_code_and_other_octets_that_are_loaded() {
        let own = std::env::current_exe().and_then(fs::read).expect("this program");
        let Parts { code, loaded } = parts(&own).expect("it is one of 64 bits");
        assert!(code > 100_000 && loaded > code, "{code}, {loaded}");
        assert_eq!(parts(&own[..64]), None, "it is cut");
        assert_eq!(parts(b"#!/bin/sh"), None);
    }
}
