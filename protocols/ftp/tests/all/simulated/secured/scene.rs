//! A client whose layers below are the test.

use std::net::SocketAddr;

use stackwright_contract::services::{
    Credit, Failure, FilesIndication, FilesRequest, Purpose, StreamsIndication as Told,
    StreamsRequest as Ask,
};
use stackwright_contract::{
    Command, CommandError, Context, Handle, Outlet, PathLimits, Protocol, Secure, SessionGroup,
    TlsRole,
};
use stackwright_ftp::Client;
use stackwright_ftp::client::{Config, TlsMode};
use stackwright_wire::Message;

use super::FILE;
use crate::simulated::setting::{M, client_config, door};

/// What a client asks of its streams, and tells above.
#[derive(Default)]
pub(super) struct Below {
    pub(super) asked: Vec<Ask<M>>,
    pub(super) told: Vec<FilesIndication<M>>,
}

impl Outlet<Client<M>> for Below {
    fn indicate(&mut self, told: FilesIndication<M>) {
        self.told.push(told);
    }

    fn request(&mut self, ask: Ask<M>) {
        self.asked.push(ask);
    }
}

/// A client whose server, and the layer that secures, is this test.
pub(super) struct Scene {
    pub(super) client: Client<M>,
    pub(super) cx: Context,
    pub(super) below: Below,
    pub(super) control: Handle,
}

impl Scene {
    /// A client that is asked for a file, and has opened its control association.
    pub(super) fn new(tls: TlsMode) -> Self {
        Self::with(Config { tls, tls_server: 3, ..client_config() })
    }

    pub(super) fn with(config: Config) -> Self {
        Self::asked(config, "/f", Purpose::Read { as_octets: true, versioned: false })
    }

    pub(super) fn asked(config: Config, path: &str, purpose: Purpose) -> Self {
        let control = Handle { index: 0, generation: 0 };
        let (client, cx) = (Client::new(config), Context::new(1));
        let mut scene = Scene { client, cx, below: Below::default(), control };
        scene.ask(FilesRequest::Open { file: FILE, path: path.into(), purpose });
        match purpose {
            Purpose::Read { .. } => {
                scene.ask(FilesRequest::Read { file: FILE, offset: 0, length: 1000 });
            }
            Purpose::List => scene.ask(FilesRequest::Next { file: FILE }),
            _ => {}
        }
        scene.control = scene.take(|ask| match ask {
            Ask::Open { association, .. } => Some(*association),
            _ => None,
        });
        scene
    }

    pub(super) fn ask(&mut self, request: FilesRequest<M>) {
        self.client.handle_request(&self.cx, request, &mut self.below);
    }

    pub(super) fn hear(&mut self, told: Told<M>) {
        self.client.handle_indication(&self.cx, told, &mut self.below);
    }

    pub(super) fn opened(&mut self, association: Handle, remote: SocketAddr) {
        let local: SocketAddr = "10.0.0.2:40000".parse().expect("an address");
        self.hear(Told::Opened {
            association,
            local: local.into(),
            remote: remote.into(),
            credit: Credit::of_octets(1 << 16),
            path: PathLimits::UNBOUNDED,
        });
    }

    pub(super) fn connected(&mut self) {
        self.opened(self.control, door());
    }

    pub(super) fn deliver(&mut self, association: Handle, octets: &[u8]) {
        let batch = M::with_headroom(0, octets).into();
        self.hear(Told::Delivered { association, batch, properties: Default::default() });
    }

    /// The server replies. Returns the commands that follow.
    pub(super) fn reply(&mut self, lines: &str) -> String {
        self.deliver(self.control, lines.as_bytes());
        self.said()
    }

    pub(super) fn controlled(&mut self, association: Handle, outcome: Result<u32, CommandError>) {
        self.hear(Told::Controlled { association, outcome });
    }

    /// Returns what was sent on the control association.
    pub(super) fn said(&mut self) -> String {
        let mut said = Vec::new();
        for ask in std::mem::take(&mut self.below.asked) {
            match ask {
                Ask::Send { association, batch, properties } if association == self.control => {
                    assert!(!properties.expedited, "TLS has no expedited octets");
                    let start = said.len();
                    said.resize(start + batch.octets(), 0);
                    batch.into_octets().copy_to(&mut said[start..]);
                }
                ask => self.below.asked.push(ask),
            }
        }
        String::from_utf8(said).expect("commands are text")
    }

    pub(super) fn take<T>(&mut self, which: impl Fn(&Ask<M>) -> Option<T>) -> T {
        let place = self.below.asked.iter().position(|ask| which(ask).is_some());
        let place = place.unwrap_or_else(|| panic!("among {:?}", self.below.asked));
        which(&self.below.asked.remove(place)).expect("it was found")
    }

    /// Returns the association that was commanded to be secured, and how.
    pub(super) fn secures(&mut self) -> (Handle, Secure) {
        self.take(|ask| match ask {
            Ask::Control { association, command: Command::Secure(secure) } => {
                Some((*association, *secure))
            }
            _ => None,
        })
    }

    pub(super) fn commands(&self) -> Vec<Command> {
        let command = |ask: &Ask<M>| match ask {
            Ask::Control { command, .. } => Some(*command),
            _ => None,
        };
        self.below.asked.iter().filter_map(command).collect()
    }

    pub(super) fn aborts(&self, name: Handle) -> bool {
        self.below
            .asked
            .iter()
            .any(|ask| matches!(ask, Ask::Abort { association, .. } if *association == name))
    }

    /// Returns how the file ended, if it did.
    pub(super) fn closed(&self) -> Option<Result<(), Failure>> {
        self.below.told.iter().find_map(|told| match told {
            FilesIndication::Closed { result, .. } => Some(*result),
            _ => None,
        })
    }

    /// Returns the octets that were read, once they were told.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        self.below.told.iter().find_map(|told| match told {
            FilesIndication::Read { message, .. } => {
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                Some(octets)
            }
            _ => None,
        })
    }

    /// Logs in, up to the command for a data association: with a file of 5 octets.
    pub(super) fn logged_in(tls: TlsMode) -> Self {
        Self::logged_in_with(Config { tls, ..client_config() })
    }

    pub(super) fn logged_in_with(config: Config) -> Self {
        let tls = config.tls;
        Self::with(config).log_in(tls)
    }

    pub(super) fn log_in(mut self, tls: TlsMode) -> Self {
        let scene = &mut self;
        scene.connected();
        if tls == TlsMode::Explicit {
            assert_eq!(scene.reply("220 ProFTPD\r\n"), "AUTH TLS\r\n");
            assert_eq!(scene.reply("234 go\r\n"), "");
        }
        let (control, _) = scene.secures();
        scene.controlled(control, Ok(Secure::FULL));
        if tls == TlsMode::Implicit {
            scene.reply("220 ProFTPD\r\n");
        }
        scene.reply("331 password\r\n");
        scene.reply("230 in\r\n");
        scene.reply("200 PBSZ=0\r\n200 private\r\n");
        scene.reply("200 binary\r\n211-Features\r\n SIZE\r\n211 End\r\n");
        self
    }

    /// Opens the data association at the port of reply 229.
    pub(super) fn open_data(&mut self) -> Handle {
        let data = self.take(|ask| match ask {
            Ask::Open { association, .. } => Some(*association),
            _ => None,
        });
        self.opened(data, SocketAddr::new(door().ip(), 2000));
        data
    }

    /// Opens the data association, on which the client sends nothing in the clear.
    pub(super) fn with_data(tls: TlsMode) -> (Self, Handle) {
        let mut scene = Self::logged_in(tls);
        assert_eq!(scene.reply("213 5\r\n229 Entering (|||2000|)\r\n"), "RETR f\r\n");
        let data = scene.open_data();
        let (secured, Secure { role, sessions, .. }) = scene.secures();
        assert_eq!((secured, role), (data, TlsRole::Client));
        assert!(matches!(sessions, SessionGroup::Joins(_)));
        assert_eq!(scene.commands(), [], "payload of a secure association is read");
        (scene, data)
    }
}
