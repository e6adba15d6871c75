//! Enums and the fixed parts of ADUs.

use std::fmt::Write;

use super::names::{camel, enumeration, field as named, head, plain, unsigned};
use crate::program::{Program, ValueType};

pub(super) fn write(program: &Program, written: &mut String) {
    let has_headers = program.adus.iter().any(|adu| !adu.by_host);
    if has_headers {
        let names = if program.enums.is_empty() { "Header" } else { "{FieldValue, Header}" };
        let _ = writeln!(written, "use stackwright_wire::{names};\n");
    }
    for (nth, one) in program.enums.iter().enumerate() {
        write_enum(program, nth, written);
        if has_headers {
            write_field_value(&enumeration(&one.name), &one.values, written);
        }
    }
    for nth in 0..program.adus.len() {
        write_head(program, nth, written);
    }
}

/// Writes the syntax of a message, for programs that display packets.
pub(super) fn write_syntax(program: &Program, written: &mut String) {
    written.push_str(
        "\n/// The syntax of a message: an ADU, told by its first octet.\npub const SYNTAX: &[Step] = &[Step::Choice {\n    by: Discriminant::Ahead,\n    cases: &[\n",
    );
    for (nth, adu) in program.adus.iter().enumerate() {
        let rest = adu.fields.iter().find(|field| field.kind == ValueType::Bytes);
        let rest = rest.map(|field| format!(", Step::Rest({:?})", field.name)).unwrap_or_default();
        let _ = writeln!(
            written,
            "        Case {{ value: {}, name: {:?}, steps: &[Step::Header(Layout::of::<{}>()){rest}] }},",
            adu.code,
            adu.name,
            head(program, nth)
        );
    }
    written.push_str("    ],\n    otherwise: &[],\n}];\n");
}

fn write_enum(program: &Program, nth: usize, written: &mut String) {
    let one = &program.enums[nth];
    let _ = writeln!(
        written,
        "/// `{}`.\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\n#[repr({})]\npub enum {} {{",
        one.name,
        unsigned(one.bits),
        enumeration(&one.name)
    );
    for (name, value) in &one.values {
        let _ = writeln!(written, "    /// {value}.\n    {} = {value},", camel(name));
    }
    written.push_str("}\n\n");
}

fn write_field_value(name: &str, values: &[(String, u64)], written: &mut String) {
    let _ = writeln!(written, "impl FieldValue for {name} {{");
    let _ =
        writeln!(written, "    fn from_bits(bits: u64) -> Option<Self> {{\n        match bits {{");
    for (value, bits) in values {
        let _ = writeln!(written, "            {bits} => Some({name}::{}),", camel(value));
    }
    written.push_str("            _ => None,\n        }\n    }\n\n");
    written.push_str("    fn to_bits(&self) -> u64 {\n        *self as u64\n    }\n}\n\n");
}

fn write_head(program: &Program, nth: usize, written: &mut String) {
    let adu = &program.adus[nth];
    let derived = if adu.by_host { "" } else { ", Header" };
    let _ = writeln!(
        written,
        "/// The fixed part of the ADU `{}`.\n#[derive(Clone, Copy, PartialEq, Eq, Debug{derived})]\npub struct {} {{",
        adu.name,
        head(program, nth)
    );
    if !adu.by_host {
        let _ = writeln!(
            written,
            "    /// Which ADU it is.\n    #[bits(8)]\n    #[fixed({})]\n    pub adu: (),",
            adu.code
        );
    }
    for field in adu.fields.iter().filter(|field| field.kind != ValueType::Bytes) {
        let _ = writeln!(written, "    /// `{}`.", field.name);
        match field.kind {
            ValueType::Number(8 | 16 | 32 | 64) | ValueType::Truth | ValueType::Octets(_) => {}
            ValueType::Number(bits) if !adu.by_host => {
                let _ = writeln!(written, "    #[bits({bits})]");
            }
            ValueType::Enum(of) if !adu.by_host => {
                let _ = writeln!(written, "    #[bits({})]", program.enums[of].bits);
            }
            _ => {}
        }
        let _ =
            writeln!(written, "    pub {}: {},", named(&field.name), plain(program, field.kind));
    }
    written.push_str("}\n\n");
}
