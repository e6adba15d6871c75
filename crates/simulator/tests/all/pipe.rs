//! A line of octets: whole, in order, and only as fast as the other side reads.

use std::net::{IpAddr, Ipv4Addr};

use stackwright_contract::services::{OctetsIndication as Told, OctetsRequest as Ask};
use stackwright_contract::{Context, Duration};
use stackwright_simulator::{Asks, Chunks, Conditions, Habits, Heard, PipeEnd, World, pipe};
use stackwright_wire::{Message, SingleBuffer};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

#[test]
fn octets_arrive_in_order_in_any_portions() {
    for (seed, chunks) in
        [Chunks::Large, Chunks::Single, Chunks::Fixed(3), Chunks::Mixed].into_iter().enumerate()
    {
        let habits = Habits { credit: 50, buffer: 20, chunks, ..Habits::default() };
        let (one, other) = pipe::<SingleBuffer>(HERE, THERE, habits);
        let mut world = World::new(seed as u64);
        let jitter = Duration::from_millis(5);
        world.network_mut().set_conditions(Conditions { jitter, ..Conditions::IDEAL });
        let payload: Vec<u8> = (0..5000).map(|nth: u32| nth as u8).collect();
        let mut sent = 0;
        let sending = payload.clone();
        let talker = move |_: &Context,
                           told: Told<SingleBuffer>,
                           asks: &mut Asks<PipeEnd<SingleBuffer>>| {
            let Told::Credit { credit } = told else {
                assert!(matches!(told, Told::State { up: true }), "nobody talks back: {told:?}");
                return;
            };
            let end = sending.len().min(sent + credit);
            if end > sent {
                asks.push_back(Ask::Send {
                    message: SingleBuffer::with_headroom(0, &sending[sent..end]),
                });
            }
            sent = end;
        };
        let there = world.add(THERE, other, Heard::default());
        world.add(HERE, one, talker);
        world.run_for(Duration::from_secs(1));
        let heard = &world.application(there).0[..];
        let first = matches!(heard, [Told::State { up: true }, Told::Credit { .. }]);
        assert!(first, "nothing comes before there is room: {heard:?}");
        let mut heard = Vec::new();
        while heard.len() < payload.len() {
            world.ask(there, Ask::Credit { credit: 777 });
            world.run_for(Duration::from_secs(60));
            for told in std::mem::take(&mut world.application_mut(there).0) {
                if let Told::Delivered { message } = told {
                    heard.extend_from_slice(message.octets());
                }
            }
            assert!(world.stack(there).held() <= 20 && world.network().most_in_flight() <= 20);
        }
        assert_eq!(heard, payload);
    }
}
