//! A graph as a picture.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use stackwright_contract::Service;
use stackwright_wire::Message;

use super::graph::Graph;
use super::place::{Below, Kind};

impl<M: Message, B: Service + 'static, T> Graph<M, B, T> {
    /// Draws the graph as text: a box for each node, each below one that stands on it, with the
    /// service between them.
    pub fn draw(&self) -> String {
        let mut picture = String::new();
        let mut drawn = Vec::new();
        for top in &self.roots {
            self.draw_node(*top, "", &mut drawn, &mut picture);
        }
        picture
    }

    /// `left` is what stands left of all its lines.
    fn draw_node(&self, place: usize, left: &str, drawn: &mut Vec<usize>, picture: &mut String) {
        let here = &self.web.places[place];
        let label = self.label(place);
        let mut line = |text: &str| {
            picture.push_str(left);
            picture.push_str(text);
            picture.push('\n');
        };
        if drawn.contains(&place) {
            return line(&format!("({label}, as above)"));
        }
        drawn.push(place);
        let edge = "─".repeat(label.chars().count() + 1);
        line(&format!("┌─{edge}┐"));
        line(&format!("│ {label} │"));
        line(&format!("└{}{edge}┘", if here.below.is_empty() { "─" } else { "┬" }));
        let last = here.below.len().saturating_sub(1);
        for (port, below) in here.below.iter().enumerate() {
            let service = here.uses[port].service;
            // What leads on to the ports further right stands left of what is below this one.
            let left = if port == last { format!("{left} ") } else { format!("{left} │ ") };
            let mark = if port == last { "│" } else { "├─╮" };
            let line = format!(
                "{}{mark} {service}",
                &left[..left.len() - if port == last { 0 } else { '│'.len_utf8() + 1 }]
            );
            picture.push_str(&line);
            match below {
                Below::Lane(lane) => {
                    let _ = writeln!(picture, ": outside, lane {lane}");
                }
                Below::Place(lower, _) => {
                    picture.push('\n');
                    let left = if port == last { &left[..left.len() - 1] } else { &left[..] };
                    self.draw_node(*lower, left, drawn, picture);
                }
            }
        }
    }

    /// Draws the graph for Graphviz: `dot -Tsvg`.
    pub fn dot(&self) -> String {
        let mut text = String::from(
            "digraph graph_of_protocols {\n    node [shape=box];\n    edge [dir=both];\n",
        );
        let mut node = |id: &str, label: &str, style: &str| {
            let _ = writeln!(text, "    {id} [label={}{style}];", quoted(label));
        };
        for place in 0..self.web.places.len() {
            let here = &self.web.places[place];
            let style = if here.kind != Kind::Named { ", style=rounded" } else { "" };
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
                let _ = writeln!(
                    text,
                    "    n{place} -> {lower} [label={}];",
                    quoted(here.uses[port].service)
                );
            }
        }
        text.push_str("}\n");
        text
    }

    /// Returns the node's name, and its protocol's where that is another.
    fn label(&self, place: usize) -> String {
        let here = &self.web.places[place];
        if here.name == here.facts.name || here.kind == Kind::Between {
            here.name.clone()
        } else {
            format!("{}: {}", here.name, here.facts.name)
        }
    }
}

/// Returns a text in DOT's quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
