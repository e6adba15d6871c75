//! What each end is told when an association is over.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::blocking::Endpoint;
use stackwright_endpoint::{Config, System};
use stackwright_wire::BufferTree;

type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

const ANY: &str = "127.0.0.1:0";

fn with(change: impl Fn(&mut artp::Config)) -> impl Fn(&System) -> Artp {
    move |system| {
        let mut config =
            artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        change(&mut config);
        Over::new(artp::layer(config, system.seed()), system.udp())
    }
}

fn stack(system: &System) -> Artp {
    with(|_| {})(system)
}

fn any() -> SocketAddr {
    ANY.parse().unwrap()
}

/// `c02_rr_threads`: the acknowledgement of the reply comes with the close, and is not overtaken.
#[test]
fn a_close_after_request_and_reply_is_told_as_an_end_in_good_order() {
    const TIMES: usize = 3000;
    let (tell, told) = mpsc::channel();
    let serving = thread::spawn(move || {
        let endpoint = Endpoint::bind(any(), Config::default(), stack).unwrap();
        tell.send(endpoint.local().unwrap()).unwrap();
        let mut others = 0;
        for _ in 0..TIMES {
            let association = endpoint.accept().unwrap();
            let end = loop {
                match association.receive() {
                    Ok((request, _)) => association.send(&request).unwrap(),
                    Err(end) => break end,
                }
            };
            others += usize::from(!end.is_finished());
        }
        others
    });
    let place = told.recv().unwrap();
    let client = Endpoint::new(Config::default(), stack).unwrap();
    for _ in 0..TIMES {
        let association = client.connect(place).unwrap();
        association.send(b"request").unwrap();
        assert_eq!(association.receive().unwrap().0, b"request");
        association.close().unwrap();
    }
    assert_eq!(serving.join().unwrap(), 0, "of {TIMES} were told otherwise");
}
