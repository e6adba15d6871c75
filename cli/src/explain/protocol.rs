//! A protocol in words: what it promises, what it needs, and what was chosen for its slots.

use serde_json::{Value, json};
use stackwright::catalogue::CatalogueEntry;
use stackwright::contract::Guarantees;
use stackwright::transport::SLOTS;
use stackwright::transport::rules::{Facts, Property};

use crate::report::say;

pub(crate) fn explain(entry: &CatalogueEntry, json: bool) {
    if json {
        say!("{}", told(entry));
        return;
    }
    let CatalogueEntry { facts, provides, uses, purpose, .. } = entry;
    say!("{}: {purpose}. It provides {provides} and uses {uses}.", facts.name);
    promise("It guarantees", facts.gives);
    promise("It preserves these guarantees of the layer below:", facts.passes);
    promise("It needs from the layer below:", facts.needs);
    let reads =
        if facts.reads_payload { "reads or changes payload" } else { "does not read payload" };
    match facts.header_room {
        0 => say!("It adds no header, and {reads}."),
        octets => say!("It adds a header of at most {octets} octets, and {reads}."),
    }
    if let Some(port) = entry.port {
        say!("Its default UDP port is {port}.");
    }
    if !entry.policies.is_empty() {
        say!("\nThe policy in each slot of the transport:");
    }
    let width = SLOTS.iter().map(|slot| slot.len()).max().unwrap_or(0);
    for (slot, policy) in slots(entry) {
        say!("  {slot:<width$}  {}: {}", policy.name, policy.does);
        for (relation, properties) in relations(policy) {
            if properties != Property::NONE {
                say!("  {:width$}    {relation} {}", "", words(properties).join(", "));
            }
        }
    }
}

fn promise(what: &str, guarantees: Guarantees) {
    let words: Vec<_> = guarantees.words().collect();
    if !words.is_empty() {
        say!("{what} {}.", words.join(", "));
    }
}

fn slots(entry: &CatalogueEntry) -> impl Iterator<Item = (&'static str, &'static Facts)> {
    SLOTS.into_iter().chain(["membership"]).zip(entry.policies)
}

fn relations(policy: &Facts) -> [(&'static str, Property); 4] {
    [
        ("needs", policy.needs),
        ("needs one of", policy.needs_one_of),
        ("gives", policy.gives),
        ("conflicts with", policy.shuns),
    ]
}

fn words(properties: Property) -> Vec<&'static str> {
    properties.words().collect()
}

fn told(entry: &CatalogueEntry) -> Value {
    let slot = |(slot, policy): (&str, &Facts)| {
        let mut told = json!({ "slot": slot, "policy": policy.name, "does": policy.does });
        for (relation, properties) in relations(policy) {
            told[relation.replace(' ', "_")] = words(properties).into();
        }
        told
    };
    let guarantees = |guarantees: Guarantees| guarantees.words().collect::<Vec<_>>();
    let CatalogueEntry { facts, .. } = entry;
    json!({
        "protocol": facts.name, "purpose": entry.purpose, "provides": entry.provides, "uses": entry.uses,
        "promises": guarantees(facts.gives), "passes": guarantees(facts.passes), "needs": guarantees(facts.needs),
        "header_room": facts.header_room, "reads_payload": facts.reads_payload, "port": entry.port,
        "slots": slots(entry).map(slot).collect::<Vec<_>>(),
    })
}
