//! Addresses of one link: what else there is of them than address and port has to stay.

use std::net::SocketAddr;

use stackwright_contract::services::{
    Credit, FilesIndication, FilesRequest, Purpose, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Context, Handle, Outlet, PathLimits, Protocol};
use stackwright_ftp::Client;
use stackwright_ftp::client::{Config, DataMode};
use stackwright_wire::Message;

use crate::simulated::setting::M;

/// What a client asked of its streams.
#[derive(Default)]
struct Asked(Vec<StreamsRequest<M>>);

impl Outlet<Client<M>> for Asked {
    fn indicate(&mut self, _: FilesIndication<M>) {}

    fn request(&mut self, request: StreamsRequest<M>) {
        self.0.push(request);
    }
}

/// Fetches a file from a server of this link, up to the point where data is arranged.
fn asked(data: DataMode) -> Vec<StreamsRequest<M>> {
    let server: SocketAddr = "[fe80::1%7]:21".parse().unwrap();
    let here: SocketAddr = "[fe80::2%7]:5000".parse().unwrap();
    let mut config = Config::anonymous(server);
    config.data = data;
    let (cx, mut client, mut asked) = (Context::new(1), Client::new(config), Asked::default());
    let file = Handle { index: 0, generation: 0 };
    let purpose = Purpose::Read { as_octets: true, versioned: false };
    let open = FilesRequest::Open { file, path: "f".into(), purpose };
    client.handle_request(&cx, open, &mut asked);
    let Some(&StreamsRequest::Open { association, .. }) = asked.0.first() else { panic!() };
    let opened = StreamsIndication::Opened {
        association,
        local: here.into(),
        remote: server.into(),
        credit: Credit::of_octets(4096),
        path: PathLimits::UNBOUNDED,
    };
    client.handle_indication(&cx, opened, &mut asked);
    for reply in ["220 x", "331 x", "230 x", "200 x", "502 x", "550 x", "229 x (|||2000|)"] {
        let batch = M::with_headroom(0, format!("{reply}\r\n").as_bytes()).into();
        let delivered =
            StreamsIndication::Delivered { association, batch, properties: Default::default() };
        client.handle_indication(&cx, delivered, &mut asked);
    }
    asked.0
}

#[test]
fn data_goes_to_the_zone_of_the_control_association() {
    let expected: SocketAddr = "[fe80::1%7]:2000".parse().unwrap();
    let opens = |request: &StreamsRequest<M>| matches!(request, StreamsRequest::Open { remote, .. } if remote.internet() == Some(expected));
    assert!(asked(DataMode::Passive).iter().any(opens));
    let expected: SocketAddr = "[fe80::2%7]:0".parse().unwrap();
    let listens = |request: &StreamsRequest<M>| matches!(request, StreamsRequest::Listen { local, .. } if local.internet() == Some(expected));
    assert!(asked(DataMode::Active).iter().any(listens));
}
