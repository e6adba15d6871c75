//! Two hundred associations at once: one thread, and memory that does not follow them.

use std::io::Read;
use std::net::TcpStream;

use libtest_mimic::Trial;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::control::Control;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::{family, trial};

const CROWD: usize = 200;
const FILE: usize = 4_000_000;

pub(crate) fn trials() -> Vec<Trial> {
    [false, true]
        .map(|six| {
            trial(format!("crowd/200-transfers/{}", family(six)), &[], six, move || transfers(six))
        })
        .into()
}

/// A transfer that has begun and is held there: its client has read a little and waits.
struct Held {
    control: Control,
    data: TcpStream,
    arrived: Vec<u8>,
}

impl Held {
    fn begin(server: &Server) -> Self {
        let mut control = Control::guest(server.address).expect("a login");
        let mut data = control.begin("RETR file").expect("a transfer");
        let mut arrived = vec![0; 10_000];
        data.read_exact(&mut arrived).expect("the first octets");
        Self { control, data, arrived }
    }

    fn finish(mut self, content: &[u8]) {
        self.data.read_to_end(&mut self.arrived).expect("the rest");
        assert_same(&self.arrived, content);
        self.control.expect(226).expect("the transfer's end");
        self.control.ask("QUIT").and_then(|reply| reply.is(221)).expect("a farewell");
    }
}

/// One for all associations, and the disk's two, which know of none.
const THREADS: u64 = 3;

fn transfers(six: bool) {
    let folder = Scratch::new();
    let content = octets(200, FILE);
    std::fs::write(folder.join("file"), &content).expect("a folder of ours");
    let server = ours(folder.path(), six, &[]);

    // What is made on first use (pools, buffers) is made by the first few.
    let first: Vec<_> = (0..8).map(|_| Held::begin(&server)).collect();
    let memory = server.running.status("VmRSS");

    let crowd: Vec<_> = (0..CROWD - first.len()).map(|_| Held::begin(&server)).collect();
    let threads = server.running.status("Threads");
    assert!(threads <= THREADS, "{threads} threads for {CROWD} transfers");
    let grown = server.running.status("VmRSS").saturating_sub(memory);
    assert!(grown < 64 * 1024, "{grown} kB more for {CROWD} transfers than for 8");

    // The last come first: nobody waits for those before.
    for held in first.into_iter().chain(crowd).rev() {
        held.finish(&content);
    }
    let peak = server.running.status("VmHWM");
    assert!(peak < memory + 64 * 1024, "{peak} kB at the peak, {memory} kB for 8 transfers");
}
