//! `dissector`: a protocol's layouts and its syntax as a plug-in for Wireshark. The script carries
//! them as tables, before the walk through them, which is the same for every protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use clap::Args;
use stackwright::catalogue::{self, CatalogueEntry};
use stackwright::wire::syntax::{Case, Discriminant, Layout, Reference, Step};
use stackwright::wire::{ByteOrder, Field};

use crate::problem::Problem;
use crate::report::say;

const WALK: &str = include_str!("dissector/walk.lua");

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright dissector artp > artp.lua
  wireshark -X lua_script:artp.lua capture.pcapng")]
pub(crate) struct Dissector {
    /// The protocol, such as artp.
    ///
    /// Save the script in Wireshark's plug-in folder (Help > About > Folders), or run wireshark -X
    /// lua_script:FILE.
    #[arg(value_name = "NAME")]
    pub(crate) protocol: String,
}

pub(crate) fn run(dissector: &Dissector) -> Result<(), Problem> {
    let name = &dissector.protocol;
    let entry = catalogue::find(name).ok_or_else(|| Problem::unknown(name))?;
    if entry.syntax.is_empty() {
        return Err(Problem::NoPackets { name: name.clone() });
    }
    say!("{}", script(entry).trim_end());
    Ok(())
}

fn script(entry: &CatalogueEntry) -> String {
    let name = entry.facts.name;
    let filter = own_filter(name);
    let mut known = Known::default();
    known.look(entry.syntax);
    let mut script = String::new();
    let mut line = |line: String| {
        script.push_str(&line);
        script.push('\n');
    };
    line(format!("-- {name}, {}: for Wireshark.", entry.purpose));
    line(format!(
        "-- Written by `stackwright dissector {name}`. Do not edit it: write it again.\n"
    ));
    line(format!("local title = {}", text(&name.to_uppercase())));
    line(format!("local proto = Proto({}, title)", text(&filter)));
    line(format!(
        "local ports = {}",
        text(&entry.port.map_or_else(String::new, |port| port.to_string()))
    ));
    let links = LINKS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, links)| *links);
    let links = links.iter().map(|(link, behind)| format!("[wtap_encaps.{link}] = {behind}"));
    line(format!("local links = {{ {} }}", links.collect::<Vec<_>>().join(", ")));
    line(format!(
        "local odd = ProtoExpert.new({}, \"it does not fit\", expert.group.PROTOCOL, expert.severity.WARN)",
        text(&format!("{filter}.odd"))
    ));
    line("proto.experts = { odd }\n\nlocal fields = {}".into());
    line("local function shown(field) table.insert(fields, field) return field end\n".into());
    line("local layouts = {".into());
    for layout in known.layouts.values() {
        line(format!(
            "  {} = {{ name = {}, octets = {}, fields = {{",
            layout.name,
            text(layout.name),
            layout.octets
        ));
        for field in layout.fields {
            line(format!("    {},", known.field(&filter, layout, field)));
        }
        line("  } },".into());
    }
    line("}\n\nlocal opaque = {".into());
    for name in &known.opaque {
        line(format!("  [{}] = {},", text(name), bytes(&filter, name)));
    }
    line(format!("}}\nlocal unexplained = {}", bytes(&filter, "unexplained")));
    line("proto.fields = fields\n".into());
    line(format!("local syntax = {}", list(entry.syntax, 1)));
    script + WALK
}

/// Links whose frames are a protocol's, as Wireshark calls them, and how many octets precede it
/// there.
const LINKS: &[(&str, &[(&str, usize)])] =
    &[("ax25", &[("AX25", 0), ("AX25_KISS", 1)]), ("kiss", &[("AX25_KISS", 0)])];

/// What there is to know of a syntax before it is written.
#[derive(Default)]
struct Known {
    layouts: BTreeMap<&'static str, Layout>,
    /// The names of octets that nothing explains.
    opaque: BTreeSet<&'static str>,
    /// The fields on which something depends, by header and name, with the names of their values.
    needed: BTreeMap<(&'static str, &'static str), BTreeMap<u64, &'static str>>,
}

impl Known {
    fn look(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Header(layout) => drop(self.layouts.insert(layout.name, *layout)),
                Step::Part { octets, steps, .. } => {
                    self.need(octets);
                    self.look(steps);
                }
                Step::Octets { name, octets } => {
                    self.need(octets);
                    self.opaque.insert(name);
                }
                Step::Rest(name) => drop(self.opaque.insert(name)),
                Step::Choice { by, cases, otherwise } => {
                    match by {
                        Discriminant::Value(field) => {
                            let named = cases.iter().filter(|case| !case.name.is_empty());
                            let names = named.map(|case| (case.value, case.name));
                            self.need(field).extend(names);
                        }
                        Discriminant::Occurred(field, _) => drop(self.need(field)),
                        Discriminant::Ahead => {}
                    }
                    cases.iter().for_each(|case| self.look(case.steps));
                    self.look(otherwise);
                }
                Step::Repeat(steps) => self.look(steps),
            }
        }
    }

    fn need(&mut self, field: &Reference) -> &mut BTreeMap<u64, &'static str> {
        self.needed.entry((field.header, field.field)).or_default()
    }

    /// A field as an entry of a table: where it is, and what shows it.
    fn field(&self, filter: &str, layout: &Layout, field: &Field) -> String {
        let (first, last) = (field.offset / 8, (field.offset + field.bits).div_ceil(8));
        let octets = last - first;
        let needed = self.needed.get(&(layout.name, field.name));
        let names = needed.filter(|names| !names.is_empty()).map(|names| {
            let names: Vec<_> =
                names.iter().map(|(value, name)| format!("[{value}] = {}", text(name))).collect();
            format!("{{ {} }}", names.join(", "))
        });
        let names = names.unwrap_or_else(|| "nil".into());
        let abbreviation = text(&format!("{filter}.{}.{}", snake(layout.name), field.name));
        let (label, doc) = (text(field.name), text(field.doc));
        let shown = match octets {
            1..=8 => {
                let kind =
                    ["uint8", "uint16", "uint24", "uint32"].get(octets - 1).unwrap_or(&"uint64");
                let ones = u64::MAX >> (64 - field.bits);
                // Lua's numbers have 53 bits: the walk takes the bits of eight octets apart itself.
                let mask = match field.bits < octets * 8 && octets < 8 {
                    true => format!("{:#x}", ones << (last * 8 - field.offset - field.bits)),
                    false => "nil".into(),
                };
                format!(
                    "ProtoField.{kind}({abbreviation}, {label}, base.DEC, {names}, {mask}, {doc})"
                )
            }
            _ => format!("ProtoField.bytes({abbreviation}, {label}, base.NONE, {doc})"),
        };
        let little = if field.order == ByteOrder::LittleEndian { ", little = true" } else { "" };
        let needed = if needed.is_some() { ", needed = true" } else { "" };
        format!(
            "{{ name = {label}, at = {first}, octets = {octets}, bit = {}, bits = {}{little}{needed}, shown = shown({shown}) }}",
            field.offset % 8,
            field.bits
        )
    }
}

fn bytes(filter: &str, name: &str) -> String {
    format!(
        "shown(ProtoField.bytes({}, {}))",
        text(&format!("{filter}.{}", self::filter(&snake(name)))),
        text(name)
    )
}

/// Steps, indented.
fn list(steps: &[Step], depth: usize) -> String {
    if steps.is_empty() {
        return "{}".into();
    }
    let (outer, inner) = ("  ".repeat(depth - 1), "  ".repeat(depth));
    let steps = steps.iter().fold(String::new(), |mut written, step| {
        let _ = writeln!(written, "{inner}{},", self::step(step, depth + 1));
        written
    });
    format!("{{\n{steps}{outer}}}")
}

fn step(step: &Step, depth: usize) -> String {
    match step {
        Step::Header(layout) => {
            format!("{{ kind = \"header\", layout = layouts.{} }}", layout.name)
        }
        Step::Part { octets, less, steps } => {
            let (length, steps) = (name(octets), list(steps, depth));
            format!("{{ kind = \"part\", length = {length}, less = {less}, steps = {steps} }}")
        }
        Step::Octets { name: shown, octets } => {
            let (shown, length) = (text(shown), name(octets));
            format!("{{ kind = \"octets\", shown = opaque[{shown}], length = {length} }}")
        }
        Step::Rest(shown) => format!("{{ kind = \"rest\", shown = opaque[{}] }}", text(shown)),
        Step::Choice { by, cases, otherwise } => {
            let by = match by {
                Discriminant::Value(field) => format!("field = {}", name(field)),
                Discriminant::Occurred(field, value) => {
                    format!("field = {}, occurred = {value}", name(field))
                }
                Discriminant::Ahead => "ahead = true".into(),
            };
            let inner = "  ".repeat(depth);
            let cases =
                cases.iter().fold(String::new(), |mut written, Case { value, name, steps }| {
                    let name = if name.is_empty() {
                        String::new()
                    } else {
                        format!("name = {}, ", text(name))
                    };
                    let steps = list(steps, depth + 1);
                    let _ = writeln!(written, "{inner}[{value}] = {{ {name}steps = {steps} }},");
                    written
                });
            let (outer, otherwise) = ("  ".repeat(depth - 1), list(otherwise, depth));
            format!(
                "{{ kind = \"choice\", {by}, cases = {{\n{cases}{outer}}}, otherwise = {otherwise} }}"
            )
        }
        Step::Repeat(steps) => format!("{{ kind = \"again\", steps = {} }}", list(steps, depth)),
    }
}

/// A field as the walk calls it.
fn name(field: &Reference) -> String {
    text(&format!("{}.{}", field.header, field.field))
}

/// A text between quotation marks, as Lua reads it (Lua 5.2 Reference Manual §3.1).
fn text(text: &str) -> String {
    let quoted = text.chars().fold(String::new(), |mut quoted, letter| {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
        quoted
    });
    format!("\"{quoted}\"")
}

/// The names that protocols of Wireshark's own have.
const TAKEN: &[&str] = &["ax25", "dsr", "tcp", "udp", "xtp"];

/// A protocol's name in Wireshark's filters.
fn own_filter(name: &str) -> String {
    let filter = filter(name);
    if TAKEN.contains(&name) { filter + "_stackwright" } else { filter }
}

/// A name as Wireshark's filters may have it.
fn filter(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// A header's name in the style of filters: `OptionHeader` is `option_header`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (index, letter) in name.char_indices() {
        if index > 0 && letter.is_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
