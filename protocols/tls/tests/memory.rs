//! A thousand associations: what each holds while it is idle.

#[path = "all/certificates.rs"]
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
use stackwright_wire::{BufferTree, Message, SingleBuffer};

/// What an idle association may hold, with what rustls holds for it.
const MOST: usize = 32 << 10;

struct Said<M: Message> {
    down: Vec<Ask<M>>,
    secure: usize,
    octets: usize,
}

impl<M: Message> Outlet<Tls<M>> for Said<M> {
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

struct End<M: Message> {
    cx: Context,
    tls: Tls<M>,
    said: Said<M>,
}

const ROOM: Credit = Credit::of_octets(1 << 16);

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

impl<M: Message> End<M> {
    fn new(config: Config) -> Self {
        End {
            cx: Context::new(1),
            tls: Tls::new(config),
            said: Said { down: Vec::new(), secure: 0, octets: 0 },
        }
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
fn carry<M: Message>(ends: &mut [End<M>; 2]) {
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
    idle::<BufferTree>(1000);
    idle::<SingleBuffer>(100);
}

fn idle<M: Message>(associations: u32) {
    let authority = Authority::new();
    let configs = [expects(authority.trusted()), shows(authority.issue(NAME, 2030))];
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let configs = configs.clone().map(|config| Config { versions, ..config });
        let (mut ends, held) = count::held(|| {
            let mut ends = configs.map(End::<M>::new);
            for index in 0..associations {
                ends[0].open(name(index), TlsRole::Client);
                ends[1].open(name(index), TlsRole::Server);
                carry(&mut ends);
            }
            ends
        });
        assert_eq!([&ends[0], &ends[1]].map(|end| end.said.secure), [associations as usize; 2]);
        let each = held / (2 * associations as usize);
        println!("{versions:?}: {each} octets for one end of an idle association");
        assert!(each <= MOST, "{each} octets");
        // After they have spoken, and rest again, it is no more.
        let ((), more) = count::held(|| {
            for index in 0..associations {
                let (association, properties) = (name(index), StreamProperties::default());
                let batch = M::with_headroom(0, &[7; 40_000]).into();
                ends[0].ask(Ask::Send { association, batch, properties });
                carry(&mut ends);
                ends[1].ask(Ask::Credit { association, credit: Credit::of_octets(40_000) });
            }
            ends.iter_mut().for_each(|end| end.said.down.clear());
        });
        assert_eq!(ends[1].said.octets, 40_000 * associations as usize);
        println!(
            "{versions:?}: {} octets more after they have spoken",
            more as isize / (2 * associations as isize)
        );
        assert!((more as isize) < (1 << 20), "{more}");
    }
}
