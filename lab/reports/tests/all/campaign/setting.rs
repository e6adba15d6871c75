//! A folder with a campaign in it, and the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What a command said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("it says text"),
            err: String::from_utf8(output.stderr).expect("it says text"),
        }
    }
}

impl Said {
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "said: {}\n{}", self.out, self.err);
        self
    }
}

/// A campaign in a folder that goes away with it.
pub(crate) struct Setting(TempDir);

impl Setting {
    /// With this text as the campaign's file.
    pub(crate) fn new(text: &str) -> Self {
        let setting = Setting(tempfile::tempdir().expect("a folder can be made"));
        setting.describe(text);
        setting
    }

    /// With one sweep `s`, whose cells are `script`, run by a shell; `$1` is the seed, `$2` where
    /// the result goes.
    pub(crate) fn shell(script: &str, seeds: u64, more: &str) -> Self {
        let script = script.replace('{', "{{").replace('}', "}}");
        Setting::new(&format!(
            "[[sweep]]\nname = \"s\"\nprogram = \"sh\"\nrun = [\"-c\", '''{script}''', \"-\", \"{{seed}}\", \"{{out}}\"]\n\
             seeds = {{ first = 1, last = {seeds} }}\n{more}\n"
        ))
    }

    pub(crate) fn describe(&self, text: &str) {
        fs::write(self.path("campaign.toml"), text).expect("a file can be written");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program, about to run the campaign.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_campaign"));
        command.arg(self.path("campaign.toml")).args(arguments);
        command
    }

    /// Runs the program without a folder for results.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Said {
        self.program(arguments).output().expect("the program starts").into()
    }

    /// Runs the program with the folder `results`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.with_results(arguments).output().expect("the program starts").into()
    }

    /// The program with the folder `results`, about to run.
    pub(crate) fn with_results(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(arguments);
        command.arg("--into").arg(self.path("results"));
        command
    }

    /// The lines of a file that cells write; none where there is none.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// What lies in a folder, in order.
    pub(crate) fn files(&self, name: &str) -> Vec<String> {
        let mut files: Vec<String> = fs::read_dir(self.path(name))
            .into_iter()
            .flatten()
            .map(|file| file.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        files
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// A file of the repository's `lab/campaign`.
pub(crate) fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../campaign").join(name)
}
