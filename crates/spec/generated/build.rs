//! Generates the modules of this package from the specifications in `crates/spec/tests/sources`.

use std::path::Path;
use std::{env, fs};

use stackwright_spec::{RustForm, compile, rust};

const PLAIN: [(&str, &str); 3] =
    [("abro", "abro"), ("jis", "jis"), ("stop_and_wait", "stop-and-wait")];

const ON_THE_CONTRACT: [(&str, &str); 8] = [
    ("beats", "beats"),
    ("greeting", "greeting"),
    ("meter_1", "meter-1"),
    ("meter_2", "meter-2"),
    ("picture", "picture"),
    ("ping_pong", "ping-pong"),
    ("stop_and_wait", "stop-and-wait"),
    ("survey", "survey"),
];

fn main() {
    generate("plain.rs", RustForm::Plain, &PLAIN);
    generate("contract.rs", RustForm::Contract, &ON_THE_CONTRACT);
}

fn generate(file: &str, form: RustForm, modules: &[(&str, &str)]) {
    let mut written = String::new();
    for (module, source) in modules {
        let source = format!("../tests/sources/{source}.protocol");
        println!("cargo::rerun-if-changed={source}");
        let text = fs::read_to_string(&source).expect("it is there");
        let compiled = compile(&text).expect("it compiles");
        let rust = rust(&compiled.program, &compiled.automata, form).expect("it is short");
        written += &format!("pub mod {module} {{\n{rust}}}\n");
    }
    let folder = env::var("OUT_DIR").expect("Cargo sets it");
    fs::write(Path::new(&folder).join(file), written).expect("it is written");
}
