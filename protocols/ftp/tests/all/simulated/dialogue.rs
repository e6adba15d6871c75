//! A person who speaks to the server, line by line.

use std::net::SocketAddr;

use stackwright_contract::{Duration, Handle};
use stackwright_ftp::address;
use stackwright_ftp::server::{Indication as ServerTold, Trouble};
use stackwright_simulator::{Habits, Tree, World};

use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, Disk, M, ServerStation, add_server, door, server_is_empty,
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A server, and a raw client that has logged in on `control`.
pub(crate) struct Dialogue {
    pub(crate) world: World<M>,
    pub(crate) server: ServerStation,
    pub(crate) disk: Disk,
    pub(crate) raw: Raw,
    pub(crate) control: Handle,
}

impl Dialogue {
    pub(crate) fn new(config: stackwright_ftp::server::Config) -> Self {
        let dialogue = Self::with(1, config, Habits::default());
        assert_eq!(dialogue.codes(), [220, 331, 230, 200]);
        dialogue
    }

    /// The same where the server may take its time to read.
    pub(crate) fn with(seed: u64, config: stackwright_ftp::server::Config, habits: Habits) -> Self {
        let mut world = World::new(seed);
        let disk = Tree::shared();
        let server = add_server(&mut world, config, habits, &disk);
        let mut raw = Raw::add(&mut world, CLIENT);
        let control = raw.open(&mut world, door());
        let mut dialogue = Dialogue { world, server, disk, raw, control };
        dialogue.say("USER ftp\r\nPASS x\r\nTYPE I\r\n");
        dialogue
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.raw.say(&mut self.world, self.control, text.as_bytes());
        self.world.run_for(Duration::from_millis(100));
    }

    pub(crate) fn codes(&self) -> Vec<u16> {
        self.raw.codes(&self.world, self.control)
    }

    pub(crate) fn new_codes(&self, before: usize) -> Vec<u16> {
        self.codes().split_off(before)
    }

    /// Says lines, and gives the replies to them as they came, each as `code text`.
    pub(crate) fn ask(&mut self, text: &str) -> Vec<String> {
        let before = self.raw.replies(&self.world, self.control).len();
        self.say(text);
        let replies = self.raw.replies(&self.world, self.control).split_off(before);
        replies.iter().map(|reply| format!("{} {}", reply.code, reply.text)).collect()
    }

    /// The code of the reply to one line.
    pub(crate) fn code(&mut self, line: &str) -> u16 {
        let before = self.codes().len();
        self.say(&format!("{line}\r\n"));
        let codes = self.new_codes(before);
        assert_eq!(codes.len(), 1, "{line:?} has one reply: {codes:?}");
        codes[0]
    }

    /// What a command brings on a data association, and its last reply.
    pub(crate) fn fetch(&mut self, line: &str) -> (String, u16) {
        let data = self.connect();
        self.say(&format!("{line}\r\n"));
        self.world.run_for(seconds(1));
        let octets = self.raw.heard(&self.world, data).octets.clone();
        (String::from_utf8(octets).expect("text"), *self.codes().last().expect("a reply"))
    }

    /// Stores octets by a command, and gives its last reply.
    pub(crate) fn upload(&mut self, line: &str, octets: &[u8]) -> u16 {
        let data = self.connect();
        self.say(&format!("{line}\r\n"));
        if !self.raw.is_over(&self.world, data) {
            self.raw.say(&mut self.world, data, octets);
            self.raw.finish(&mut self.world, data);
        }
        self.world.run_for(seconds(1));
        *self.codes().last().expect("a reply")
    }

    /// Where the last PASV was answered to.
    pub(crate) fn passive(&mut self) -> SocketAddr {
        self.say("PASV\r\n");
        let replies = self.raw.replies(&self.world, self.control);
        let last = replies.last().expect("a reply to PASV");
        assert_eq!(last.code, 227);
        address::find_port(&last.text).expect("six numbers")
    }

    pub(crate) fn connect(&mut self) -> Handle {
        let remote = self.passive();
        let data = self.raw.open(&mut self.world, remote);
        self.world.run_for(seconds(1));
        data
    }

    pub(crate) fn transfers(&self) -> Vec<Result<(), Trouble>> {
        let told = &self.world.application(self.server).0;
        let result = |told: &ServerTold| match told {
            ServerTold::Transferred { result, .. } => Some(*result),
            _ => None,
        };
        told.iter().filter_map(result).collect()
    }

    pub(crate) fn settle(mut self) {
        self.world.run_for(AGES);
        server_is_empty(&mut self.world, self.server);
    }
}
