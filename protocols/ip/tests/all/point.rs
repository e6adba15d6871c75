//! A host on a device without link addresses, down to its frames.

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
};
use stackwright_contract::{Handle, PathLimits};
use stackwright_ip::{Config, Ip, Point};
use stackwright_simulator::LoneStack;
use stackwright_wire::Message as _;

use crate::hosts::{AMPLE, M, at, ip};

type Stack = Over<Ip<M>, Point<M>>;

/// A host of both versions, with an association to a peer.
type End = LoneStack<Stack>;

fn end(own: &str, own6: &str) -> End {
    let mut config = Config::host(ip(own), 24);
    config.interfaces[0].addresses.push((ip(own6), 64));
    End::new(Over::new(Ip::new(config), Point::default()), 1)
}

fn up(end: &mut End, credit: Credit) {
    end.up(PathLimits::of_longest(1400), credit);
}

fn send(end: &mut End, octets: &[u8]) {
    end.send(NAME, M::with_headroom(32, octets));
}

fn said(end: &mut End) -> Vec<String> {
    end.told(|told| {
        Some(match told {
            DatagramsIndication::Opened { path, credit, .. } => {
                format!("opened {} {}", path.longest, credit.messages)
            }
            DatagramsIndication::Delivered { batch, .. } => format!("delivered {}", batch.octets()),
            DatagramsIndication::Credit { credit, .. } => format!("credit {}", credit.messages),
            DatagramsIndication::Changed { path, .. } => format!("changed {}", path.longest),
            other => format!("{other:?}"),
        })
    })
}

const NAME: Handle = Handle { index: 0, generation: 0 };

#[test]
fn a_host_begins_when_its_device_is_up_and_again() {
    let mut end = end("10.0.0.1", "2001:db8::1");
    let (association, local) = (NAME, None);
    let remote = at("10.0.0.2", 17);
    end.ask(DatagramsRequest::Open { association, remote, local, credit: AMPLE });
    assert_eq!(said(&mut end), [""; 0]);
    up(&mut end, Credit { octets: 2000, messages: 2 });
    assert_eq!(said(&mut end), ["opened 1380 1024"]);
    for _ in 0..4 {
        send(&mut end, &[1; 500]);
    }
    assert_eq!(end.sent().len(), 2, "the others wait");
    end.tell(FramesIndication::Credit { port: 0, credit: Credit { octets: 600, messages: 9 } });
    assert_eq!(end.sent().len(), 2);
    end.tell(FramesIndication::Changed { port: 0, path: PathLimits::of_longest(1300) });
    assert_eq!(said(&mut end), ["changed 1280"]);
    end.tell(FramesIndication::State { port: 0, up: false });
    send(&mut end, &[1; 500]);
    assert_eq!((end.sent().len(), end.cx.dropped_count()), (0, 1));
    up(&mut end, Credit { octets: 2000, messages: 2 });
    send(&mut end, &[1; 500]);
    assert_eq!((end.sent().len(), end.cx.dropped_count()), (1, 1));
}

/// Credit adds up in both directions, over both layers: after as many exchanges as one likes,
/// nothing of it is lost.
#[test]
fn credit_never_leaks() {
    let [mut one, mut other] =
        [("10.0.0.1", "2001:db8::1"), ("10.0.0.2", "2001:db8::2")].map(|(own, peer)| {
            let mut end = end(own, peer);
            up(&mut end, Credit { octets: 10_000, messages: 8 });
            assert!(matches!(end.said.down[..], [FramesRequest::Credit { credit: Credit::ROOM }]));
            end.said.down.clear();
            end
        });
    let (mut above, mut below) = ([Credit::ROOM; 2], [Credit::ROOM; 2]);
    let open =
        |remote| DatagramsRequest::Open { association: NAME, remote, local: None, credit: AMPLE };
    one.ask(open(at("10.0.0.2", 17)));
    other.ask(open(at("10.0.0.1", 17)));
    let (mut sent, mut came) = (0, 0);
    for round in 0..3000 {
        for (place, end) in [&mut one, &mut other].into_iter().enumerate() {
            // As much as the credit takes, of every length.
            for turn in 0..4 {
                let octets = 1 + (round * 37 + turn * 311) % 1380;
                let cost = Credit { octets, messages: 1 };
                if above[place].covers(cost) {
                    above[place] -= cost;
                    send(end, &vec![7; octets]);
                    sent += 1;
                }
            }
        }
        for turn in 0..2 {
            let (from, to) =
                if turn == 0 { (&mut one, &mut other) } else { (&mut other, &mut one) };
            while let Some(word) = from.said.down.pop() {
                match word {
                    FramesRequest::Credit { credit } => below[turn] += credit,
                    FramesRequest::Send { batch, .. } => {
                        let credit = batch.cost();
                        below[1 - turn] -= credit;
                        to.tell(FramesIndication::Delivered { port: 0, batch });
                        from.tell(FramesIndication::Credit { port: 0, credit });
                    }
                }
            }
            for told in std::mem::take(&mut from.said.up) {
                match told {
                    DatagramsIndication::Credit { credit, .. } => above[turn] += credit,
                    DatagramsIndication::Delivered { batch, .. } => {
                        came += batch.count();
                        let (association, credit) = (NAME, batch.cost());
                        from.ask(DatagramsRequest::Credit { association, credit });
                    }
                    _ => {}
                }
            }
        }
    }
    for told in one.said.up.iter().chain(&other.said.up) {
        came += usize::from(matches!(told, DatagramsIndication::Delivered { .. }));
    }
    assert!(sent > 20_000, "{sent}");
    assert_eq!((came, one.cx.dropped_count(), other.cx.dropped_count()), (sent, 0, 0));
    for credit in above.into_iter().chain(below) {
        assert!(credit.messages > 512 && credit.octets > 1 << 19, "{credit:?}");
    }
}
