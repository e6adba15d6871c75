//! A graph as a picture.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use stackwright_contract::Service;

use super::graph::Graph;
use super::node::Occupant;
use super::web::Below;

impl<M: 'static, B: Service + 'static, T> Graph<M, B, T> {
    /// As text: a box for each node, each below one that stands on it, with the service between them.
    pub fn draw(&self) -> String {
        let mut picture = String::new();
        let mut drawn = Vec::new();
        for (top, _) in &self.tops {
            self.draw_node(*top, "", "", &mut drawn, &mut picture);
        }
        picture
    }

    /// `first` is what stands left of the box's middle line, `rest` left of every other one.
    fn draw_node(
        &self,
        place: usize,
        first: &str,
        rest: &str,
        drawn: &mut Vec<usize>,
        picture: &mut String,
    ) {
        let here = &self.web.places[place];
        let label = self.label(place);
        // Writing into a text does not fail.
        if drawn.contains(&place) {
            let _ = writeln!(picture, "{first}({label}, as above)");
            return;
        }
        drawn.push(place);
        let line = "─".repeat(label.chars().count() + 2);
        let below = if here.below.is_empty() { "─" } else { "┬" };
        let _ = writeln!(picture, "{rest}┌{line}┐\n{first}│ {label} │\n{rest}└─{below}{}┘", &line['─'.len_utf8() * 2..]);
        let last = here.below.len().saturating_sub(1);
        for (port, below) in here.below.iter().enumerate() {
            let service = here.uses[port].service;
            let (branch, deeper) = if port == last { ("╰", " ") } else { ("├", "│") };
            match below {
                Below::Lane(lane) => {
                    let _ = writeln!(picture, "{rest}  {branch}── {service}: outside, lane {lane}");
                }
                Below::Place(lower, _) => {
                    let _ = writeln!(picture, "{rest}  │  {service}");
                    let first = format!("{rest}  {branch}─▸");
                    let rest = format!("{rest}  {deeper}  ");
                    // The upper line of the box below stands beside the line that leads on.
                    let mut inner = String::new();
                    self.draw_node(*lower, &first, &rest, drawn, &mut inner);
                    if deeper == " " && inner.starts_with(&rest) && inner.contains('┌') {
                        inner = inner.replacen(&rest, &format!("{}│  ", &rest[..rest.len() - 3]), 1);
                    }
                    picture.push_str(&inner);
                }
            }
        }
    }

    /// For Graphviz: `dot -Tsvg`.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph graph_of_protocols {\n    node [shape=box];\n    edge [dir=both];\n");
        let mut node = |id: &str, label: &str, style: &str| {
            let _ = writeln!(text, "    {id} [label={}{style}];", quoted(label));
        };
        for place in 0..self.web.places.len() {
            let here = &self.web.places[place];
            let module = matches!(*here.occupant.borrow(), Occupant::Module(_));
            let style = if module || here.between { ", style=rounded" } else { "" };
            node(&format!("n{place}"), &self.label(place), style);
        }
        for lane in 0..self.lanes.len() {
            node(&format!("lane{lane}"), &format!("lane {lane}"), ", shape=plaintext");
        }
        for (place, here) in self.web.places.iter().enumerate() {
            for (port, below) in here.below.iter().enumerate() {
                let lower = match below {
                    Below::Place(lower, _) => format!("n{lower}"),
                    Below::Lane(lane) => format!("lane{lane}"),
                };
                let _ = writeln!(text, "    n{place} -> {lower} [label={}];", quoted(here.uses[port].service));
            }
        }
        text.push_str("}\n");
        text
    }

    /// The node's name, and its protocol's where that is another.
    fn label(&self, place: usize) -> String {
        let here = &self.web.places[place];
        if here.name == here.facts.name || here.between {
            here.name.clone()
        } else {
            format!("{}: {}", here.name, here.facts.name)
        }
    }
}

/// A text in DOT's quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
