//! Campaigns that others run: an array of Slurm, an Indexed Job of Kubernetes. What they run is run
//! here as they would.

use std::path::Path;
use std::process::Command;

use yaml_rust2::{Yaml, YamlLoader};

use crate::campaign::setting::{Said, Setting, ours};

const RECORDS: &str = r#"echo $1 >> ran; echo $1 > "$2""#;

/// All seven cells ran, each once.
#[track_caller]
fn each_ran_once(setting: &Setting) {
    let mut ran = setting.lines("ran");
    ran.sort();
    assert_eq!(ran, ["1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(setting.files("results/s").iter().filter(|name| name.ends_with(".json")).count(), 7);
}

#[test]
fn the_tasks_of_slurm_arrays_run_all_cells() {
    let setting = Setting::shell(RECORDS, 7, "");
    let task = |offset: &str, task: &str| {
        let mut bash = Command::new("bash");
        bash.arg(ours("slurm.sh")).arg(setting.path("campaign.toml")).arg(setting.path("results"));
        bash.env("PROGRAM", env!("CARGO_BIN_EXE_campaign")).env("CELLS", "2");
        bash.env("OFFSET", offset).env("SLURM_ARRAY_TASK_ID", task);
        Said::from(bash.output().expect("bash starts"))
    };
    // Two arrays of two tasks: the last task has but one cell.
    for (offset, number) in [("0", "0"), ("0", "1"), ("2", "0"), ("2", "1")] {
        task(offset, number).ended(0);
    }
    each_ran_once(&setting);
    task("0", "1").ended(0);
    each_ran_once(&setting);
    let said = task("2", "2").ended(2);
    assert!(said.err.contains("there is no cell 8"), "{}", said.err);
}

#[test]
fn slurm_is_told_how_to_be_asked() {
    let output = Command::new("bash").arg(ours("slurm.sh")).output().expect("bash starts");
    let said = Said::from(output).ended(2);
    assert_eq!(said.err, "usage: slurm.sh FILE DIR\n");
}

fn job() -> Yaml {
    let text = std::fs::read_to_string(ours("kubernetes.yaml")).expect("it is there");
    let mut documents = YamlLoader::load_from_str(&text).expect("it is YAML");
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

#[test]
fn the_kubernetes_job_is_an_indexed_one() {
    let job = job();
    assert_eq!(job["apiVersion"].as_str(), Some("batch/v1"));
    assert_eq!(job["kind"].as_str(), Some("Job"));
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"].as_str(), Some("Indexed"));
    assert!(spec["completions"].as_i64() > Some(0) && spec["parallelism"].as_i64() > Some(0));
    // A limit for each index, and a policy for failures, are for pods that are not started again in
    // place.
    assert!(spec["backoffLimitPerIndex"].as_i64() > Some(0));
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"].as_str(), Some("Never"));
    let container = &pod["containers"][0];
    let rule = &spec["podFailurePolicy"]["rules"][0]["onExitCodes"];
    assert_eq!(rule["containerName"], container["name"]);
    // What is mounted is a volume, and the campaign's file and folder are in it.
    let mount = &container["volumeMounts"][0];
    assert_eq!(mount["name"], pod["volumes"][0]["name"]);
    let place = mount["mountPath"].as_str().expect("a path");
    let environment = container["env"].as_vec().expect("a list");
    let value = |name: &str| {
        let entry = environment.iter().find(|entry| entry["name"].as_str() == Some(name));
        entry
            .and_then(|entry| entry["value"].as_str())
            .unwrap_or_else(|| panic!("{name} is a text"))
    };
    for name in ["CAMPAIGN", "INTO"] {
        assert!(Path::new(value(name)).starts_with(place), "{name}");
    }
    assert!(value("CELLS").parse::<u64>().is_ok_and(|cells| cells > 0));
}

#[test]
fn the_indexes_of_a_kubernetes_job_run_all_cells() {
    let setting = Setting::shell(RECORDS, 7, "");
    let job = job();
    let command = job["spec"]["template"]["spec"]["containers"][0]["command"]
        .as_vec()
        .expect("a list")
        .clone();
    let words: Vec<&str> = command.iter().map(|word| word.as_str().expect("a text")).collect();
    let folder = Path::new(env!("CARGO_BIN_EXE_campaign")).parent().expect("it is in a folder");
    let path = std::env::join_paths(
        [folder.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    for index in 0..3 {
        let mut pod = Command::new(words[0]);
        pod.args(&words[1..]).env("PATH", path.as_ref().expect("no colon is in it"));
        pod.env("CAMPAIGN", setting.path("campaign.toml")).env("INTO", setting.path("results"));
        pod.env("CELLS", "3").env("JOB_COMPLETION_INDEX", index.to_string());
        Said::from(pod.output().expect("it starts")).ended(0);
    }
    each_ran_once(&setting);
}
