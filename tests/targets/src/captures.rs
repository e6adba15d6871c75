//! Capture files, as `stackwright dissect` reads them.

#[path = "../../../cli/src/packets/capture.rs"]
mod capture;
#[path = "../../../cli/src/packets/layers.rs"]
mod layers;
#[path = "../../../cli/src/packets/show.rs"]
mod show;

use stackwright::ax25::header::LinksHeard;
use stackwright::catalogue::{self, PROTOCOLS};
use stackwright::wire::syntax::Found;

use capture::Packets;

/// Any octets as a file: reading ends, and whatever is a packet can be shown, as any protocol's.
pub fn captures(octets: &[u8]) {
    let Ok(mut packets) = Packets::of(octets) else { return };
    let (mut shown, mut heard) = (Vec::new(), LinksHeard::default());
    loop {
        let packet = match packets.another() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(why) => {
                assert!(!why.to_string().is_empty());
                break;
            }
        };
        assert!(
            packet.number == packets.count() && packet.number <= octets.len() as u64,
            "reading makes progress"
        );
        let interface = packet.interface.as_ref();
        let described = interface.and_then(|interface| interface.description.as_deref());
        let described = described.and_then(catalogue::find);
        for chosen in PROTOCOLS.iter().map(Some).chain([None]) {
            let above = layers::Above { chosen, ports: &[], described };
            let link = interface.map(|interface| interface.link);
            let layers = layers::layers(link, &packet.octets, &above, &mut heard);
            let octets = |found: &Found<'_>| match found {
                Found::Header(header) => header.octets().len(),
                Found::Octets { octets, .. } => octets.len(),
            };
            let explained: usize = layers.found.iter().map(octets).sum();
            assert!(
                explained + layers.payload.len() <= packet.octets.len(),
                "no octet is shown twice"
            );
            shown.clear();
            show::text(&mut shown, &packet, &layers).expect("memory takes it");
            show::brief(&mut shown, &packet, &layers).expect("memory takes it");
            let text = std::str::from_utf8(&shown).expect("what is shown is text");
            assert!(
                text.chars().all(|one| one == '\n' || !one.is_control()),
                "no terminal takes harm"
            );
            shown.clear();
            show::json(&mut shown, &packet, &layers).expect("memory takes it");
            serde_json::from_slice::<serde_json::Value>(&shown).expect("a line of JSON");
        }
    }
}
