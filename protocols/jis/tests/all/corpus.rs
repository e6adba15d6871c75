//! Pictures of many kinds, made by libjpeg's programs from sources that are always the same.

use std::io::Write;
use std::process::{Command, Stdio};

/// A file, and how it was made.
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) file: Vec<u8>,
}

/// What a source shows.
#[derive(Clone, Copy)]
enum Shows {
    Gradient,
    Noise,
    Edges,
}

/// A source in PPM.
fn source(width: usize, height: usize, shows: Shows) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut ppm = format!("P6\n{width} {height}\n255\n").into_bytes();
    for y in 0..height {
        for x in 0..width {
            let pixel = match shows {
                Shows::Gradient => [x * 255 / width, y * 255 / height, (x + y) % 256],
                Shows::Noise => [(); 3].map(|()| usize::from(random.u8(..))),
                Shows::Edges if (x / 5 + y / 7) % 3 == 0 => [250, 20, x % 256],
                Shows::Edges => [10, 200, 255 - y % 256],
            };
            ppm.extend(pixel.map(|value| value as u8));
        }
    }
    ppm
}

/// Runs a program of libjpeg on standard input.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| format!("{program}: {why}"))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().map_err(|why| why.to_string())?;
    let _ = writer.join(); // a program that ended closes its input
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && said.is_empty() { Ok(output.stdout) } else { Err(said.into()) }
}

/// The pixels that libjpeg decodes, with PPM's head. Warnings are mistakes.
pub(crate) fn pixels(file: &[u8]) -> Result<Vec<u8>, String> {
    run("djpeg", &["-pnm", "-dct", "int"], file)
}

/// Returns whether libjpeg's programs are there; if not, says so.
fn libjpeg_is_there() -> bool {
    let there = |program: &str| Command::new(program).arg("-version").output().is_ok();
    if !["cjpeg", "djpeg", "jpegtran"].into_iter().all(there) {
        let advice = "`tests/strangers/install cjpeg djpeg jpegtran` installs them";
        assert!(std::env::var_os("CI").is_none(), "{advice}");
        eprintln!("skipped: libjpeg's programs are not there; {advice}");
        return false;
    }
    true
}

const SAMPLINGS: [&str; 7] = ["1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "2x2,1x2,1x1"];

fn coded(name: String, size: (usize, usize), shows: Shows, arguments: &[&str]) -> Made {
    let file = run("cjpeg", arguments, &source(size.0, size.1, shows));
    let file = file.unwrap_or_else(|why| panic!("{name}: {why}"));
    Made { name, file }
}

/// Returns what `jpegtran` makes of a file.
pub(crate) fn transformed(file: &[u8], arguments: &[&str]) -> Vec<u8> {
    run("jpegtran", arguments, file).expect("it is transformed")
}

/// Coefficients by bands, and by bits; all bits of one band at once; several bits.
const SCRIPTS: [&str; 3] = [
    "0,1,2: 0-0, 0, 0; 0: 1-5, 0, 0; 0: 6-63, 0, 0; 1: 1-63, 0, 0; 2: 1-63, 0, 0;",
    "0: 0-0, 0, 1; 1: 0-0, 0, 1; 2: 0-0, 0, 1; 0: 1-63, 0, 3; 0: 1-63, 3, 2; 1: 1-63, 0, 1;
     0: 1-63, 2, 1; 2: 1-63, 0, 0; 0: 1-63, 1, 0; 1: 1-63, 1, 0;
     0: 0-0, 1, 0; 1: 0-0, 1, 0; 2: 0-0, 1, 0;",
    "0,1,2: 0-0, 0, 4; 0,1,2: 0-0, 4, 3; 0,1,2: 0-0, 3, 2; 0,1,2: 0-0, 2, 1;
     0: 1-20, 0, 6; 0: 21-63, 0, 6; 0: 1-63, 6, 5; 0: 1-63, 5, 4;
     0: 1-63, 4, 3; 0: 1-63, 3, 2; 0: 1-63, 2, 1; 0: 1-63, 1, 0;
     0,1,2: 0-0, 1, 0; 1: 1-63, 0, 0; 2: 1-63, 0, 0;",
];

/// Progressive pictures, or `None` as above.
pub(crate) fn progressive() -> Option<Vec<Made>> {
    if !libjpeg_is_there() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut made = Vec::new();
    for sampling in SAMPLINGS {
        for (shows, label) in [(Shows::Gradient, "gradient"), (Shows::Noise, "noise")] {
            let arguments = ["-progressive", "-sample", sampling, "-quality", "85"];
            made.push(coded(format!("{sampling} {label}"), (123, 77), shows, &arguments));
        }
        for (nth, script) in SCRIPTS.iter().enumerate() {
            let path = folder.path().join(nth.to_string());
            std::fs::write(&path, script).expect("it is written");
            let path = path.to_str().expect("its name is text");
            let arguments = ["-sample", sampling, "-quality", "97", "-scans", path];
            let size = (91, 130);
            made.push(coded(format!("{sampling} script {nth}"), size, Shows::Edges, &arguments));
            let restarts = [&arguments[..], &["-restart", "7B"]].concat();
            let name = format!("{sampling} script {nth}, restarts");
            made.push(coded(name, (61, 45), Shows::Noise, &restarts));
        }
    }
    for size in [(1, 1), (9, 1), (1, 9), (65_500, 1), (1, 65_500), (640, 480)] {
        let arguments = ["-progressive"];
        made.push(coded(format!("{size:?}"), size, Shows::Gradient, &arguments));
        let grey = ["-progressive", "-grayscale"];
        made.push(coded(format!("grey {size:?}"), size, Shows::Edges, &grey));
    }
    made.push(coded("rgb".into(), (100, 60), Shows::Edges, &["-progressive", "-rgb"]));
    Some(made)
}

/// All pictures, or `None` with a sentence where libjpeg's programs are not installed.
pub(crate) fn corpus() -> Option<Vec<Made>> {
    if !libjpeg_is_there() {
        return None;
    }
    let mut made = Vec::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("scans");
    std::fs::write(&script, "0;\n1;\n2;\n").expect("it is written");
    let script = script.to_str().expect("its name is text");
    let mut make = |name: String, size: (usize, usize), shows, arguments: &[&str]| {
        made.push(coded(name, size, shows, &[&["-baseline"], arguments].concat()));
    };
    for sampling in SAMPLINGS {
        for (shows, label) in
            [(Shows::Gradient, "gradient"), (Shows::Noise, "noise"), (Shows::Edges, "edges")]
        {
            let name = format!("{sampling} {label}");
            let arguments = ["-sample", sampling, "-quality", "75"];
            make(name, (123, 77), shows, &arguments);
        }
        let name = |what| format!("{sampling} {what}");
        make(name("optimised"), (200, 90), Shows::Gradient, &["-sample", sampling, "-optimize"]);
        make(name("restarts"), (90, 200), Shows::Edges, &["-sample", sampling, "-restart", "3B"]);
        make(name("scans"), (61, 45), Shows::Edges, &["-sample", sampling, "-scans", script]);
        let both = ["-sample", sampling, "-scans", script, "-optimize", "-restart", "1"];
        make(name("scans, optimised, restarts"), (61, 45), Shows::Noise, &both);
    }
    for quality in ["1", "10", "50", "90", "100"] {
        let arguments = ["-quality", quality, "-optimize"];
        make(format!("quality {quality}"), (160, 120), Shows::Edges, &arguments);
        make(format!("noise {quality}"), (64, 64), Shows::Noise, &["-quality", quality]);
    }
    for size in [(1, 1), (8, 8), (9, 1), (1, 9), (16, 17), (65_500, 1), (1, 65_500), (640, 480)] {
        make(format!("{size:?}"), size, Shows::Gradient, &[]);
        make(format!("grey {size:?}"), size, Shows::Gradient, &["-grayscale", "-optimize"]);
    }
    make("rgb".into(), (100, 60), Shows::Edges, &["-rgb"]);
    make("smooth".into(), (256, 256), Shows::Gradient, &["-optimize", "-quality", "30"]);
    for arguments in [&["-rotate", "90"][..], &["-transpose"]] {
        let file = transformed(&made[3].file, arguments);
        made.push(Made { name: format!("jpegtran {}", arguments[0]), file });
    }
    Some(made)
}
