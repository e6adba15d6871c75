//! A graph in sentences. Why one is refused, its [`Flaw`](super::Flaw) says.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use stackwright_contract::{Guarantees, Service, rules};
use stackwright_wire::Message;

use super::graph::Graph;
use super::place::{Below, Kind};

impl<M: Message, B: Service + 'static, T> Graph<M, B, T> {
    /// Explains why each joint fits, what the whole guarantees, and how much header it pushes: one
    /// sentence a line.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        // Writing into a text does not fail.
        for here in &self.web.places {
            for (port, below) in here.below.iter().enumerate() {
                let service = here.uses[port].service;
                let _ = match below {
                    Below::Lane(lane) => {
                        writeln!(
                            text,
                            "`{}` speaks {service} with the outside, in lane {lane}.",
                            here.name
                        )
                    }
                    Below::Place(lower, _) => {
                        let lower = &self.web.places[*lower];
                        let why = if here.kind != Kind::Named {
                            String::from("which pass through it unchanged")
                        } else {
                            match words(here.facts.needs.shared(lower.whole.gives)) {
                                needs if needs.is_empty() => {
                                    format!("it needs nothing more than {service}")
                                }
                                needs => format!("it needs {needs}, and gets that there"),
                            }
                        };
                        let fits = if here.kind != Kind::Named {
                            "passes on the words of"
                        } else {
                            "fits on"
                        };
                        writeln!(text, "`{}` {fits} `{}`: {why}.", here.name, lower.name)
                    }
                };
            }
        }
        let facts = self.facts();
        let _ = match words(facts.gives) {
            gives if gives.is_empty() => {
                writeln!(text, "The whole promises nothing beyond its service.")
            }
            gives => writeln!(text, "The whole guarantees {gives}."),
        };
        let _ = match facts.header_room {
            0 => writeln!(text, "It pushes no header."),
            room => {
                writeln!(
                    text,
                    "It pushes at most {room} octets of header, of {}.",
                    rules::HEADER_ROOM_MOST
                )
            }
        };
        if facts.reads_payload {
            text.push_str("It reads payload: no region of a file passes it unread.\n");
        }
        text
    }
}

fn words(guarantees: Guarantees) -> String {
    let words: Vec<&str> = guarantees.words().collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => String::from(*last),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}
