//! A thousand associations: what each holds while it is idle.

#[path = "simulated/certificates.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod certificates;
#[path = "../../../crates/compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "instructions are the bench's")]
mod count;

use certificates::{Authority, NAME, expects, shows};
use stackwright_contract::services::{
    Credit, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{
    Command, Context, Handle, Outlet, Participant, PathLimits, Protocol as _, Secure, SessionGroup,
    TlsRole,
};
use stackwright_tls::{Config, Tls, TlsVersions};
use stackwright_wire::{BufferTree, Message as _};

type M = BufferTree;

const ASSOCIATIONS: u32 = 1000;
/// What an idle association may hold, with what rustls holds for it.
const MOST: usize = 32 << 10;

#[derive(Default)]
struct Said {
    down: Vec<Ask<M>>,
    secure: usize,
    octets: usize,
}

impl Outlet<Tls<M>> for Said {
    fn indicate(&mut self, told: Told<M>) {
        match told {
            Told::Controlled { outcome, .. } => {
                outcome.expect("it is secure");
                self.secure += 1;
            }
            Told::Delivered { batch, .. } => self.octets += batch.octets(),
            Told::Ended { why, .. } => panic!("{why}"),
            _ => {}
        }
    }

    fn request(&mut self, ask: Ask<M>) {
        self.down.push(ask);
    }
}

struct End {
    cx: Context,
    tls: Tls<M>,
    said: Said,
}

const ROOM: Credit = Credit::of_octets(1 << 16);

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

impl End {
    fn new(config: Config) -> Self {
        End { cx: Context::new(1), tls: Tls::new(config), said: Said::default() }
    }

    fn ask(&mut self, ask: Ask<M>) {
        self.tls.handle_request(&self.cx, ask, &mut self.said);
    }

    fn open(&mut self, association: Handle, role: TlsRole) {
        let (local, remote) = (Participant::OTHER_END, Participant::OTHER_END);
        self.ask(Ask::Open { association, remote, local: None, credit: ROOM });
        let path = PathLimits::UNBOUNDED;
        let opened = Told::Opened { association, local, remote, credit: ROOM, path };
        self.tls.handle_indication(&self.cx, opened, &mut self.said);
        let sessions = SessionGroup::Begins(u64::from(association.index));
        let command = Command::Secure(Secure { role, identity: 0, sessions });
        self.ask(Ask::Control { association, command });
    }
}

/// Carries what is sent until nothing is.
fn carry(ends: &mut [End; 2]) {
    loop {
        let mut moved = false;
        for side in 0..2 {
            ends[side].tls.flush(&Context::new(1), &mut ends[side].said);
            for ask in std::mem::take(&mut ends[side].said.down) {
                let Ask::Send { association, batch, properties } = ask else { continue };
                moved = true;
                let credit = Credit::of_octets(batch.octets());
                let [here, there] = if side == 0 { [0, 1] } else { [1, 0] };
                let told = Told::Delivered { association, batch, properties };
                let end = &mut ends[there];
                end.tls.handle_indication(&end.cx, told, &mut end.said);
                let end = &mut ends[here];
                let back = Told::Credit { association, credit };
                end.tls.handle_indication(&end.cx, back, &mut end.said);
            }
        }
        if !moved {
            return;
        }
    }
}

#[test]
fn a_thousand_idle_associations_hold_little() {
    let authority = Authority::new();
    let configs = [expects(authority.trusted()), shows(authority.issue(NAME, 2030))];
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let configs = configs.clone().map(|config| Config { versions, ..config });
        let (mut ends, held) = count::held(|| {
            let mut ends = configs.map(End::new);
            for index in 0..ASSOCIATIONS {
                ends[0].open(name(index), TlsRole::Client);
                ends[1].open(name(index), TlsRole::Server);
                carry(&mut ends);
            }
            ends
        });
        assert_eq!([&ends[0], &ends[1]].map(|end| end.said.secure), [ASSOCIATIONS as usize; 2]);
        let each = held / (2 * ASSOCIATIONS as usize);
        println!("{versions:?}: {each} octets for one end of an idle association");
        assert!(each <= MOST, "{each} octets");
        // After they have spoken, and rest again, it is no more.
        let ((), more) = count::held(|| {
            for index in 0..ASSOCIATIONS {
                let (association, properties) = (name(index), StreamProperties::default());
                let batch = M::with_headroom(0, &[7; 40_000]).into();
                ends[0].ask(Ask::Send { association, batch, properties });
                carry(&mut ends);
                ends[1].ask(Ask::Credit { association, credit: Credit::of_octets(40_000) });
            }
            ends.iter_mut().for_each(|end| end.said.down.clear());
        });
        assert_eq!(ends[1].said.octets, 40_000 * ASSOCIATIONS as usize);
        println!("{versions:?}: {} octets more after they have spoken", more as isize / 2000);
        assert!((more as isize) < (1 << 20), "{more}");
    }
}
