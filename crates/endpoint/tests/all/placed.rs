//! Messages are placed into areas of the application's.

use std::io::IoSliceMut;

use stackwright_endpoint::{Config, System, blocking::Endpoint};
use stackwright_wire::BufferTree;

/// Whatever the areas and the messages are, the octets are all there, in order, and each message
/// ends where it ended.
#[test]
fn messages_are_placed_whole_whatever_the_areas() {
    let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).unwrap();
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let message: Vec<u8> = (0..=255).cycle().take(1000).collect();
    one.send(&message[..7]).unwrap();
    let other = endpoint.accept().unwrap();
    (0..20).for_each(|nth| one.send(&message[..50 * nth]).unwrap());
    for (nth, length) in [7].into_iter().chain((0..20).map(|nth| 50 * nth)).enumerate() {
        let mut came = Vec::new();
        loop {
            let mut areas = [[0; 1].to_vec(), vec![0; 10 * nth], Vec::new(), vec![0; 40]];
            let mut slices: Vec<_> = areas.iter_mut().map(|area| IoSliceMut::new(area)).collect();
            let placed = other.receive_into(&mut slices).unwrap();
            came.extend(areas.concat().into_iter().take(placed.octets));
            if placed.whole {
                break;
            }
            assert_eq!(placed.octets, 41 + 10 * nth, "the areas are full");
        }
        assert_eq!(came, message[..length], "message {nth}");
    }
    assert_eq!(other.statistics().received.messages, 21);
    let room = one.statistics().credit;
    assert!(room.octets > 0 && room.messages > 0, "credit came back");
}
