//! Whatever a text calls its things, what is generated of it compiles: names of Rust, of its
//! library, and of the generated module itself, in every position; or the text is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use stackwright_spec::{DiagnosticCode, RustForm, Severity, compile, rust};

const HOSTILE: &str = "\
     abstract as async become box break const continue crate do dyn extern final fn for gen \
     impl let macro match mod move mut override priv pub ref return self Self static struct \
     super trait try type typeof unsafe unsized use virtual while yield union raw safe auto \
     default macro_rules Option Result Some None Ok Err String Vec Box Default Clone Copy \
     Debug PartialEq Into From Iterator Drop Send core std alloc stackwright_wire \
     stackwright_role clone into from try_into drop borrow as_ref to_owned type_id eq fmt \
     hash share len pull push with_headroom start send send_a send_b emit emit_o event step \
     react up_to longer head body in_head in_body inputs state variables functions out \
     message argument_0 value timer adu a_body hears bit is_over name decode wait Begin Room \
     Drained Ended Never Together Timer0 Timer Adu Event State Host Input Output Part \
     Functions Variables Instant Header FieldValue Message Guarantees Duration RoleEvent M F \
     W AHead BHead Kind fooBar foo_bar FooBar FOO foo Adu adu_ start_ core_ _1 _2 __ x1 a A b B o O r R";

struct Names(fastrand::Rng, Vec<&'static str>);

impl Names {
    fn any(&mut self) -> &'static str {
        self.1[self.0.usize(0..self.1.len())]
    }

    fn text(&mut self) -> String {
        let [e, v, w, a, b, r, s, t] = [(); 8].map(|()| self.any());
        let [f1, f2, f3, f4, f5, g, i1, i2, o1, o2] = [(); 10].map(|()| self.any());
        let [p1, p2, p3, p4, p5, p6, p7, p8, p9] = [(); 9].map(|()| self.any());
        let [h1, h2, h3, x, y, l] = [(); 6].map(|()| self.any());
        format!(
            "protocol Names version 1 {{
    enum {e}: u8 {{ {v} = 1, {w} = 2 }}
    adu {a} {{ {f1}: u16; {f2}: {e}; {f3}: bool; {f4}: bits<7>; {f5}: bytes <= 9; }}
    adu {b} {{ {g}: u16; }}
    role {r} {{
        sends {b}, {a}; receives {a};
        input {i1}({p1}: u16, {p2}: bytes, {p8}: {e}, {p9}: {a}), {i2};
        output {o1}({p3}: u16, {p4}: {a}), {o2};
        host {h1}({p5}: {a}, {p6}: u16); host pure {h2}() -> bytes;
        host pure {h3}({p7}: u16) -> u16;
        var {x}: u16; var {y}: {e};
        {{ local {l}: u16;
            {{ loop {{
                await {a}(came0) where came0.{f3};
                call {h1}(came0, came0.{f1}); emit {o1}(came0.{f4}, came0); emit {l}(came0.{f1});
            }} }}
         || {{ every {l}(came1) {{ {x} := {h3}(came1); send {b} {{ {g}: {x} + 1 }}; }} }}
        }}
     || {{ every {i1}(came2) {{
            {y} := came2.{p8}; call {h1}(came2.{p9}, 7);
            send {a} {{ {f1}: {h3}(came2.{p1}), {f2}: {y}, {f3}: true, {f4}: 1, {f5}: came2.{p2} }};
        }} }}
     || {{ await {i2}; await 1 s; emit {o2}; await room; await drained; await idle 3 s; }}
    }}
    role {s} {{
        sends {a}; receives {b};
        host pure {h2}() -> bytes;
        await {b}(came);
        send {a} {{ {f1}: came.{g}, {f2}: {w}, {f3}: false, {f4}: 2, {f5}: {h2}() }};
    }}
    role {t} {{ sends {b}; send {b} {{ {g}: 1 }}; }}
}}
"
        )
    }
}

/// The libraries that a generated module names, built with this test: a set that fits together.
fn libraries(folder: &Path) -> Vec<String> {
    let test = std::env::current_exe().expect("it runs");
    let built = test.parent().expect("it lies beside its libraries");
    let of = |name: &str| {
        let prefix = format!("lib{name}-");
        let mut found: Vec<PathBuf> = std::fs::read_dir(built)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "rlib"))
            .filter(|path| {
                path.file_name().is_some_and(|one| one.to_string_lossy().starts_with(&prefix))
            })
            .collect();
        // The newest first: others are of builds before.
        found.sort_by_key(|path| {
            std::cmp::Reverse(path.metadata().and_then(|of| of.modified()).ok())
        });
        found
    };
    let probe = folder.join("probe.rs");
    let text = "pub fn probe<M: stackwright_wire::Message, P: stackwright_role::RolePart<M>>() -> \
                stackwright_contract::Guarantees { P::NEEDS }\n";
    std::fs::write(&probe, text).expect("it is written");
    for role in of("stackwright_role") {
        for wire in of("stackwright_wire") {
            for contract in of("stackwright_contract") {
                let mut arguments = vec![format!("-Ldependency={}", built.display())];
                for (name, path) in [("role", &role), ("wire", &wire), ("contract", &contract)] {
                    arguments.push(format!("--extern=stackwright_{name}={}", path.display()));
                }
                if compiled(&probe, &arguments).is_ok() {
                    return arguments;
                }
            }
        }
    }
    panic!("no libraries in {}", built.display());
}

fn compiled(source: &Path, arguments: &[String]) -> Result<(), String> {
    let done = Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--cap-lints=allow",
            "--emit=metadata",
            "--out-dir",
        ])
        .arg(source.parent().expect("a folder"))
        .args(arguments)
        .arg(source)
        .output()
        .expect("rustc, which compiled this test");
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
}

/// `PROGRAMS=…` compiles as many.
#[test]
fn hostile_names_compile_or_are_refused() {
    // Words of the language are no names.
    let is_name = |name: &&str| {
        compile(&format!("protocol P version 1 {{ role {name} {{ halt; }} }}")).is_ok()
    };
    let pool = HOSTILE.split_whitespace().filter(is_name).collect();
    let mut names = Names(fastrand::Rng::with_seed(3), pool);
    let programs = std::env::var("PROGRAMS").ok().and_then(|count| count.parse().ok());
    let (mut crates, mut accepted, mut texts) = (String::new(), 0, 0);
    while accepted < programs.unwrap_or(30) {
        texts += 1;
        let text = names.text();
        match compile(&text) {
            Ok(of) => {
                for form in [RustForm::Plain, RustForm::Contract] {
                    let module = rust(&of.program, &of.automata, form).expect("it is short");
                    let source: Vec<String> =
                        text.lines().map(|line| format!("// {line}\n")).collect();
                    crates += &format!(
                        "pub mod m{accepted}_{form:?} {{\n{module}\n{}}}\n",
                        source.concat()
                    );
                }
                accepted += 1;
            }
            Err(told) => {
                let wrong = told.iter().filter(|one| one.severity == Severity::Error);
                for one in wrong {
                    // What stands for two things is another matter.
                    let known = matches!(
                        one.code,
                        DiagnosticCode::Duplicate
                            | DiagnosticCode::Type
                            | DiagnosticCode::WrongKind
                            | DiagnosticCode::UnknownName
                            | DiagnosticCode::Arguments
                            | DiagnosticCode::Fields
                            | DiagnosticCode::Shared
                    );
                    assert!(known, "{}", one.render("names", &text, false));
                }
            }
        }
    }
    println!("{accepted} of {texts} texts are accepted");
    assert!(texts < 10 * accepted);
    let folder = std::env::temp_dir().join(format!("stackwright-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for a while");
    let source = folder.join("names.rs");
    std::fs::write(&source, crates).expect("it is written");
    let libraries = libraries(&folder);
    if let Err(why) = compiled(&source, &libraries) {
        panic!("{} says\n{}", source.display(), &why[..why.len().min(6000)]);
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}
