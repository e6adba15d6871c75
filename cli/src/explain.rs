//! `explain` and `draw`: described stacks in words and as pictures, protocols in words. Nothing is
//! opened.

mod protocol;
mod tailored;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stackwright::catalogue;
use stackwright::compose::graph::{Graph, Parameter, ParameterKind, Unasked};
use stackwright::jis;
use stackwright_drivers::Readiness;

use crate::described::Described;
use crate::flawed::shown;
use crate::problem::Problem;
use crate::registry::{self, services};
use crate::report::say;
use crate::stacks::Message;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright explain get-tls
  stackwright explain artp
  stackwright explain tailored --with \"reliable; ordered; flow_control(256)\"")]
pub(crate) struct Explain {
    /// A stack file, a built-in stack (get, put, ls, serve, each but put and ls also with -artp,
    /// -xtp and -inet; get-radio, ping, socks, xkernel-rpc, ftp-radio, thesis-radio, radio,
    /// radio-hub, group-talk, group-store), or a protocol such as artp.
    ///
    /// A protocol is explained by its policies and the reason for each. Without an argument, the
    /// format of stack files is explained.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) stack: Option<PathBuf>,
    /// For tailored: the services, such as "reliable; ordered; flow_control(256)", or a file
    /// NAME.protocol whose phases name them. Prints the policies that meet them, with reasons, or a
    /// correction.
    #[arg(long, value_name = "SERVICES|FILE", requires = "stack")]
    pub(crate) with: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright draw serve
  stackwright draw get --dot | dot -Tsvg > get.svg")]
pub(crate) struct Draw {
    /// A stack file, or a built-in stack: get, put, ls, serve, each but put and ls also with -artp,
    /// -xtp and -inet; get-radio, ping, socks, xkernel-rpc, ftp-radio, thesis-radio, radio,
    /// radio-hub, group-talk, group-store.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) stack: PathBuf,
    /// Print Graphviz input.
    #[arg(long)]
    pub(crate) dot: bool,
}

pub(crate) fn explain(explain: &Explain) -> Result<(), Problem> {
    if let Some(services) = &explain.with {
        if explain.stack.as_deref().is_none_or(|stack| stack != Path::new("tailored")) {
            let why = "services choose the policies of `tailored` alone";
            return Err(Problem::Unfit { what: "--with".into(), why });
        }
        return tailored::explain(services, explain.json);
    }
    let Some(stack) = &explain.stack else {
        list(explain.json);
        return Ok(());
    };
    if let Some(entry) = stack.to_str().and_then(catalogue::find).filter(|_| !stack.is_file()) {
        protocol::explain(entry, explain.json);
        return match entry.facts.name {
            "jis" => tailored::explain_specification("jis", jis::SPECIFICATION, explain.json),
            _ => Ok(()),
        };
    }
    let described = Described::load(stack)?;
    let graph = look(&described)?;
    let sentences = sentences(&described.name, &graph);
    if explain.json {
        let facts = graph.facts();
        say!(
            "{}",
            json!({
                "stack": described.name, "accepted": true, "provides": graph.provides(), "sentences": sentences,
                "guarantees": facts.gives.words().collect::<Vec<_>>(), "header_room": facts.header_room,
                "reads_payload": facts.reads_payload,
            })
        );
    } else {
        sentences.iter().for_each(|sentence| say!("{sentence}"));
    }
    Ok(())
}

pub(crate) fn draw(draw: &Draw) -> Result<(), Problem> {
    let graph = look(&Described::load(&draw.stack)?)?;
    let picture = shown(&if draw.dot { graph.dot() } else { graph.draw() });
    say!("{}", picture.trim_end());
    Ok(())
}

fn look(described: &Described) -> Result<Graph<Message, Readiness, Unasked>, Problem> {
    described.description.look(&registry::registry(None)).map_err(|flaw| described.flawed(&flaw))
}

fn sentences(name: &str, graph: &Graph<Message, Readiness, Unasked>) -> Vec<String> {
    let provides = graph.provides().join(" and ");
    let first = format!("`{name}` is accepted: it provides {provides}.");
    std::iter::once(first).chain(shown(&graph.explain()).lines().map(str::to_owned)).collect()
}

/// What may stand in a description.
fn list(json: bool) {
    let registry = registry::registry(None);
    if !json {
        say!("A stack file has one table per node; `over` names the nodes below it:\n");
        say!("{}\n", include_str!("../stacks/get.toml").trim_end());
        say!("Protocols for a node, with their parameters:\n");
    }
    for (name, purpose, parameters) in registry.iter() {
        let [provides, uses] = services(name);
        if json {
            let parameters = parameters.iter().map(|Parameter { name, kind, about, .. }| {
                json!({ "name": name, "kind": noun(*kind), "about": about })
            });
            let parameters: Vec<_> = parameters.collect();
            say!(
                "{}",
                json!({
                    "protocol": name, "purpose": purpose, "provides": provides, "uses": uses,
                    "parameters": parameters,
                })
            );
            continue;
        }
        let below = match uses.join(" and ") {
            uses if uses == "Readiness" => "uses the operating system".into(),
            uses => format!("uses {uses}"),
        };
        say!("{name:<15} {purpose}; provides {}, {below}", provides.join(" and "));
        for Parameter { name, kind, about, .. } in parameters {
            say!("    {name:<11} {:<14} {about}", noun(*kind));
        }
    }
}

fn noun(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Text => "a text",
        ParameterKind::Number => "a number",
        ParameterKind::Truth => "true or false",
    }
}
