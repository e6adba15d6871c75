//! A host on a device without link addresses, down to its frames.

use std::collections::VecDeque;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
    MessageProperties,
};
use stackwright_contract::{
    Context, Handle, IndicationOf, Outlet, PathLimits, Protocol as _, RequestOf,
};
use stackwright_ip::{Config, Ip, Point};
use stackwright_wire::Message as _;

use crate::hosts::{AMPLE, M, at, ip};

type Stack = Over<Ip<M>, Point<M>>;

#[derive(Default)]
struct Words {
    frames: VecDeque<Batch<M>>,
    up: Credit,
    told: Vec<DatagramsIndication<M>>,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        self.told.push(indication);
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        match request {
            FramesRequest::Send { batch, .. } => self.frames.push_back(batch),
            FramesRequest::Credit { credit } => self.up += credit,
        }
    }
}

struct End {
    stack: Stack,
    cx: Context,
    words: Words,
}

impl End {
    fn new(own: &str, peer: &str) -> Self {
        let mut config = Config::host(ip(own), 24);
        config.interfaces[0].addresses.push((ip(peer), 64));
        let stack = Over::new(Ip::new(config), Point::default());
        let mut end = End { stack, cx: Context::new(1), words: Words::default() };
        end.flush();
        end
    }

    fn flush(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.words);
        }
    }

    fn tell(&mut self, indication: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.words);
        self.flush();
    }

    fn ask(&mut self, request: DatagramsRequest<M>) {
        self.stack.handle_request(&self.cx, request, &mut self.words);
        self.flush();
    }

    fn up(&mut self, credit: Credit) {
        self.tell(FramesIndication::State { port: 0, up: true });
        self.tell(FramesIndication::Changed { port: 0, path: PathLimits::of_longest(1400) });
        self.tell(FramesIndication::Credit { port: 0, credit });
    }

    fn send(&mut self, association: Handle, octets: &[u8]) {
        let batch = M::with_headroom(32, octets).into();
        let properties = MessageProperties::default();
        self.ask(DatagramsRequest::Send { association, batch, properties });
    }

    fn said(&mut self) -> Vec<String> {
        let told = self.words.told.drain(..);
        told.map(|told| match told {
            DatagramsIndication::Opened { path, credit, .. } => {
                format!("opened {} {}", path.longest, credit.messages)
            }
            DatagramsIndication::Delivered { batch, .. } => format!("delivered {}", batch.octets()),
            DatagramsIndication::Credit { credit, .. } => format!("credit {}", credit.messages),
            DatagramsIndication::Changed { path, .. } => format!("changed {}", path.longest),
            other => format!("{other:?}"),
        })
        .collect()
    }
}

const NAME: Handle = Handle { index: 0, generation: 0 };

#[test]
fn a_host_begins_when_its_device_is_up_and_again() {
    let mut end = End::new("10.0.0.1", "2001:db8::1");
    let (association, local) = (NAME, None);
    let remote = at("10.0.0.2", 17);
    end.ask(DatagramsRequest::Open { association, remote, local, credit: AMPLE });
    assert_eq!(end.said(), [""; 0]);
    end.up(Credit { octets: 2000, messages: 2 });
    assert_eq!(end.said(), ["opened 1380 1024"]);
    for _ in 0..4 {
        end.send(NAME, &[1; 500]);
    }
    assert_eq!(end.words.frames.len(), 2, "the others wait");
    end.tell(FramesIndication::Credit { port: 0, credit: Credit { octets: 600, messages: 9 } });
    assert_eq!(end.words.frames.len(), 4);
    end.tell(FramesIndication::Changed { port: 0, path: PathLimits::of_longest(1300) });
    assert_eq!(end.said(), ["changed 1280"]);
    end.tell(FramesIndication::State { port: 0, up: false });
    end.send(NAME, &[1; 500]);
    assert_eq!((end.words.frames.len(), end.cx.dropped_count()), (4, 1));
    end.up(Credit { octets: 2000, messages: 2 });
    end.send(NAME, &[1; 500]);
    assert_eq!((end.words.frames.len(), end.cx.dropped_count()), (5, 1));
}

/// Credit adds up in both directions, over both layers: after as many exchanges as one likes,
/// nothing of it is lost.
#[test]
fn credit_never_leaks() {
    let [mut one, mut other] =
        [("10.0.0.1", "2001:db8::1"), ("10.0.0.2", "2001:db8::2")].map(|(own, peer)| {
            let mut end = End::new(own, peer);
            end.up(Credit { octets: 10_000, messages: 8 });
            end
        });
    let mut above = [Credit { octets: 1 << 20, messages: 1024 }; 2];
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
                    end.send(NAME, &vec![7; octets]);
                    sent += 1;
                }
            }
        }
        for turn in 0..2 {
            let (from, to, place) =
                if turn == 0 { (&mut one, &mut other, 0) } else { (&mut other, &mut one, 1) };
            while let Some(batch) = from.words.frames.pop_front() {
                let credit = batch.cost();
                to.words.up -= credit;
                to.tell(FramesIndication::Delivered { port: 0, batch });
                from.tell(FramesIndication::Credit { port: 0, credit });
            }
            for told in std::mem::take(&mut from.words.told) {
                match told {
                    DatagramsIndication::Credit { credit, .. } => above[place] += credit,
                    DatagramsIndication::Delivered { batch, .. } => {
                        came += batch.count();
                        let (association, credit) = (NAME, batch.cost());
                        let credit = DatagramsRequest::Credit { association, credit };
                        from.stack.handle_request(&from.cx, credit, &mut from.words);
                    }
                    _ => {}
                }
            }
        }
    }
    for told in one.words.told.iter().chain(&other.words.told) {
        came += usize::from(matches!(told, DatagramsIndication::Delivered { .. }));
    }
    assert!(sent > 20_000, "{sent}");
    assert_eq!((came, one.cx.dropped_count(), other.cx.dropped_count()), (sent, 0, 0));
    for credit in [above[0], above[1], one.words.up, other.words.up] {
        assert!(credit.messages > 512 && credit.octets > 1 << 19, "{credit:?}");
    }
}
