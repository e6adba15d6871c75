//! What a subscriber of `tracing` is told.

use std::fmt::{Debug, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_endpoint::{Config, System, blocking::Endpoint};
use stackwright_wire::BufferTree;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "stackwright"
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn opening_refusing_and_ending_are_told() {
    let heard = Heard::default();
    let _guard = tracing::dispatcher::set_default(&tracing::Dispatch::new(heard.clone()));
    let stack = |system: &System| {
        let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
    };
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let endpoint = Endpoint::bind(any, Config::default(), stack).unwrap();
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let _other = endpoint.accept().unwrap();
    one.send(&[0; 2 << 20]).unwrap_err();
    one.close().unwrap();
    let heard = heard.0.lock().unwrap().join("\n");
    for wanted in ["message=opened", "message=message refused", "octets=2097152", "timeouts=0"] {
        assert!(heard.contains(wanted), "{wanted}: {heard}");
    }
    assert!(heard.contains("message=ended"), "{heard}");
}
