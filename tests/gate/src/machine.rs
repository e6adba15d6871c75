//! What a figure depends on besides the code: another compiler makes other code, another C library
//! copies octets otherwise.

use std::env;
use std::process::Command;

/// What has to be the same for figures to be comparable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The compiler's version.
    pub rustc: String,
    /// What it compiles for, and flags that were given to it from outside.
    pub target: String,
    /// Valgrind's version.
    pub valgrind: String,
    /// The C library and its version.
    pub libc: String,
    /// The widest registers that the C library may use for copying, of those that valgrind knows.
    pub processor: String,
}

impl Machine {
    /// This one. What cannot be found out is called `unknown`, and agrees with no baseline.
    pub fn here() -> Self {
        Machine {
            rustc: env!("GATE_RUSTC").into(),
            target: env!("GATE_TARGET").into(),
            valgrind: said(Command::new("valgrind").arg("--version"))
                .trim_start_matches("valgrind-")
                .into(),
            libc: said(Command::new("getconf").arg("GNU_LIBC_VERSION")),
            processor: processor().into(),
        }
    }

    /// All of it, with the names that a baseline uses.
    pub fn parts(&self) -> [(&'static str, &str); 5] {
        [
            ("rustc", &self.rustc),
            ("target", &self.target),
            ("valgrind", &self.valgrind),
            ("libc", &self.libc),
            ("processor", &self.processor),
        ]
    }

    /// What is different there: name, here, there. What is unknown here is different.
    pub fn differences<'a>(&'a self, there: &'a Machine) -> Vec<(&'static str, &'a str, &'a str)> {
        let pairs = self.parts().into_iter().zip(there.parts());
        let differ = |((name, here), (_, there)): ((&'static str, &'a str), (_, &'a str))| {
            (here != there || here == UNKNOWN).then_some((name, here, there))
        };
        pairs.filter_map(differ).collect()
    }
}

const UNKNOWN: &str = "unknown";

fn said(command: &mut Command) -> String {
    match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => UNKNOWN.to_owned(),
    }
}

#[cfg(target_arch = "x86_64")]
fn processor() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx2") {
        "avx2"
    } else if std::arch::is_x86_feature_detected!("avx") {
        "avx"
    } else {
        "sse2"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> &'static str {
    env::consts::ARCH
}
