//! What somebody looks at is not declared unread: it would come in pipes of the kernel, where the
//! system has them. A server whose disk is a client of another server encodes what it fetches.

use std::net::SocketAddr;

use stackwright_contract::services::{
    Credit, FilesIndication, FilesRequest, Purpose, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Command, Context, Handle, Outlet, PathLimits, Protocol};
use stackwright_ftp::Client;
use stackwright_wire::Message;

use crate::simulated::setting::{M, client_config};

#[derive(Default)]
struct Asked(Vec<StreamsRequest<M>>);

impl Outlet<Client<M>> for Asked {
    fn indicate(&mut self, _: FilesIndication<M>) {}

    fn request(&mut self, request: StreamsRequest<M>) {
        self.0.push(request);
    }
}

/// Whether a client that opens a file declares its data association unread.
fn declares_unread(as_octets: bool) -> bool {
    let (cx, mut client, mut asked) =
        (Context::new(1), Client::<M>::new(client_config()), Asked::default());
    let file = Handle { index: 0, generation: 0 };
    let (path, purpose) = ("/f".into(), Purpose::Read { as_octets, versioned: false });
    client.handle_request(&cx, FilesRequest::Open { file, path, purpose }, &mut asked);
    let address: SocketAddr = "10.0.0.1:21".parse().expect("an address");
    let open = |client: &mut Client<M>, asked: &mut Asked| {
        let opens = |request: &StreamsRequest<M>| match request {
            StreamsRequest::Open { association, .. } => Some(*association),
            _ => None,
        };
        let association = asked.0.iter().filter_map(opens).next_back().expect("it opens one");
        let (credit, path) = (Credit::of_octets(1 << 20), PathLimits::UNBOUNDED);
        let (local, remote) = (address.into(), address.into());
        let opened = StreamsIndication::Opened { association, local, remote, credit, path };
        client.handle_indication(&cx, opened, asked);
        association
    };
    let control = open(&mut client, &mut asked);
    for reply in ["220 hello", "331 who", "230 in", "200 so", "211 no", "229 here (|||2000|)"] {
        let message = M::with_headroom(0, format!("{reply}\r\n").as_bytes());
        let (batch, properties) = (message.into(), Default::default());
        let said = StreamsIndication::Delivered { association: control, batch, properties };
        client.handle_indication(&cx, said, &mut asked);
    }
    open(&mut client, &mut asked);
    asked
        .0
        .iter()
        .any(|request| matches!(request, StreamsRequest::Control { command: Command::Unread, .. }))
}

#[test]
fn what_is_only_passed_on_is_unread() {
    assert!(declares_unread(false));
    assert!(!declares_unread(true));
}
