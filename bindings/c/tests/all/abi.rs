//! The header, the library and `abi/1.txt` say the same. What is there stays as long as the ABI
//! has this number: `abi/1.txt` may only become longer.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use stackwright_c::{Options, PathValues, Properties};

use crate::{STRICT, compiled, has, here, prefix, run};

/// The sources of all functions.
const SOURCES: [&str; 4] = [
    include_str!("../../src/lib.rs"),
    include_str!("../../src/failure.rs"),
    include_str!("../../src/endpoint.rs"),
    include_str!("../../src/association.rs"),
];

/// Types of Rust, and what C calls them.
const TYPES: [(&str, &str); 15] = [
    ("Area", "struct iovec"),
    ("Association", "sw_association"),
    ("Endpoint", "sw_endpoint"),
    ("Options", "sw_options"),
    ("PathValues", "sw_path_report"),
    ("Properties", "sw_properties"),
    ("SocketAddress", "struct sockaddr"),
    ("Socklen", "socklen_t"),
    ("c_char", "char"),
    ("c_int", "int"),
    ("c_uint", "unsigned"),
    ("c_void", "void"),
    ("isize", "ssize_t"),
    ("u32", "uint32_t"),
    ("usize", "size_t"),
];

fn in_c(of: &str) -> String {
    if let Some(of) = of.strip_prefix("*const ") {
        return format!("const {}*", in_c(of) + " ").replace("* *", "**");
    }
    if let Some(of) = of.strip_prefix("*mut ") {
        return format!("{} *", in_c(of)).replace("* *", "**");
    }
    let known = TYPES.iter().find(|(rust, _)| *rust == of);
    known.unwrap_or_else(|| panic!("C knows no {of}")).1.to_owned()
}

fn declared(of: &str, name: &str) -> String {
    let of = in_c(of);
    format!("{of}{}{name}", if of.ends_with('*') { "" } else { " " })
}

/// Returns the functions as C declares them, from their definitions in Rust.
fn functions() -> Vec<String> {
    let defined = |source: &'static str| {
        source.split("fn sw_").skip(1).map(|text| {
            let (name, rest) = text.split_once('(').expect("arguments");
            let (arguments, rest) = rest.split_once(')').expect("their end");
            let result = rest.split_once("-> ").and_then(|(_, rest)| rest.split_once(" {"));
            let arguments = arguments.split(',').filter_map(|each| each.trim().split_once(": "));
            let arguments: Vec<_> = arguments.map(|(name, of)| declared(of, name)).collect();
            let arguments = if arguments.is_empty() { "void".into() } else { arguments.join(", ") };
            let function = declared(result.expect("a result").0, &format!("sw_{name}"));
            format!("{function}({arguments});")
        })
    };
    SOURCES.into_iter().flat_map(defined).collect()
}

/// Returns a text with single spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn header() -> String {
    fs::read_to_string(here("include/stackwright.h")).expect("the header")
}

/// Returns the numbers that the header defines.
fn constants() -> Vec<String> {
    let header = header();
    let lines = header.lines().map(|line| line.split("/*").next().unwrap_or(line).trim());
    let numbers = lines.filter(|line| {
        line.starts_with("SW_ERROR_")
            || line.starts_with("#define SW_") && !line.contains(['{', '"'])
    });
    numbers.map(|line| line.trim_end_matches(',').to_owned()).collect()
}

macro_rules! layout {
    ($($name:literal $structure:ident { $($member:ident)* })*) => {{
        let mut said = String::new();
        $(
            writeln!(said, "{} {}", $name, size_of::<$structure>()).expect("memory");
            $(
                let at = offset_of!($structure, $member);
                let octets = of_member(|value: &$structure| &value.$member);
                writeln!(said, "{}.{} {at} {octets}", $name, stringify!($member)).expect("memory");
            )*
        )*
        said
    }};
}

/// Returns the octets of a member.
fn of_member<S, T>(_member: impl Fn(&S) -> &T) -> usize {
    size_of::<T>()
}

/// Returns the layout of the structures, in Rust.
fn layout() -> String {
    layout! {
        "sw_options" Options { flags arrivals credit spin_us }
        "sw_properties" Properties { has number lifetime_us priority }
        "sw_path_report" PathValues {
            longest window pace in_flight lost retransmitted timeouts
            round_trip_us variation_us least_us
        }
    }
}

#[test]
fn the_abi_is_the_one_that_was_promised() {
    let header = plain(&header());
    let functions = functions();
    for function in &functions {
        assert!(header.contains(function.as_str()), "the header has no\n{function}");
    }
    let mut said = format!("{}\n{}\n", functions.join("\n"), constants().join("\n"));
    said += &layout();
    let promised = fs::read_to_string(here("abi/1.txt")).expect("what was promised");
    assert_eq!(said, promised, "what was there is changed or gone, or what is new is not written");
}

#[test]
fn structures_are_laid_out_alike_in_c_and_rust() {
    assert_eq!(run(&mut Command::new(compiled("tests/layout.c", "layout", &[]))), layout());
}

#[test]
fn the_library_exports_the_functions_of_the_header_and_nothing_else() {
    let library = prefix().join("lib/libstackwright.so");
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let mut exported: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let header = plain(&header());
    let mut declared: Vec<_> = header
        .split([' ', '*'])
        .filter_map(|word| word.strip_prefix("sw_")?.split_once('(').map(|(name, _)| name))
        .collect();
    exported.sort_unstable();
    declared.sort_unstable();
    declared.dedup();
    let declared: Vec<_> = declared.into_iter().map(|name| format!("sw_{name}")).collect();
    assert_eq!(exported, declared);
    let dynamic = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains("soname: [libstackwright.so.1]"), "{dynamic}");
}

/// The release, as it is installed. With CI=true alone: it has to be built.
#[test]
fn the_library_stays_small() {
    if env::var_os("CI").is_none() {
        return;
    }
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("released");
    run(Command::new(here("install")).arg(&prefix));
    let octets = fs::metadata(prefix.join("lib/libstackwright.so")).expect("it is there").len();
    assert!(octets <= 1_600_000, "{octets} octets");
}

#[test]
fn the_header_and_the_examples_are_c99_and_c_plus_plus() {
    let include = format!("-I{}", prefix().join("include").display());
    for example in ["examples/echo.c", "examples/poll.c"] {
        let check = |compiler: &str, language: &[&str]| {
            run(Command::new(compiler)
                .args(STRICT)
                .args(language)
                .args(["-pedantic", "-fsyntax-only", &include])
                .arg(here(example)));
        };
        check("cc", &["-std=c99", "-D_POSIX_C_SOURCE=200809L"]);
        if has("c++") {
            check("c++", &["-x", "c++"]);
        }
    }
}
