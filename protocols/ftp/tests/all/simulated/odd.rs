//! A server of which each answer can be replaced: what others were seen to say.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use stackwright_compose::Over;
use stackwright_contract::services::{FilesIndication, FilesRequest};
use stackwright_contract::{Duration, Handle};
use stackwright_ftp::{Client, client};
use stackwright_simulator::{Habits, Heard, StationId, World};

use crate::simulated::raw::Raw;
use crate::simulated::setting::{CLIENT, M, PlacedStreams, SERVER, client_config, door, placed};

/// Where the server accepts data.
const DATA: u16 = 2000;

/// How often the server looks at what was said.
const TURN: Duration = Duration::from_millis(10);

type Stack = Over<Client<M>, PlacedStreams>;
pub(crate) type Told = FilesIndication<M>;

/// How the data association of a transfer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataEnd {
    Finish,
    Abort,
}

/// A transfer that was announced and is not over.
struct Transfer {
    control: usize,
    stores: bool,
    reply: Vec<u8>,
}

/// A client, and the server that it gets to know.
pub(crate) struct Odd {
    pub(crate) world: World<M>,
    pub(crate) client: StationId<Stack, Heard<Told>>,
    raw: Raw,
    controls: Vec<Handle>,
    data: Vec<Handle>,
    /// How many octets of each control association were read.
    read: Vec<Option<usize>>,
    transfers: Vec<Transfer>,
    next_data: usize,
    pub(crate) greeting: Vec<u8>,
    /// What is replied to a line, or to a verb. Of a transfer: before the data.
    replies: BTreeMap<String, Vec<Vec<u8>>>,
    /// What is said when the data is over.
    pub(crate) final_reply: Vec<u8>,
    /// What RETR, LIST and MLSD send.
    pub(crate) content: Vec<u8>,
    pub(crate) data_end: DataEnd,
    /// All lines, in order, of all sessions.
    pub(crate) lines: Vec<String>,
    /// How many times the server had to answer before the client went on.
    pub(crate) turns: usize,
    /// What was stored.
    pub(crate) stored: Vec<u8>,
    /// Whether it drops what arrives together with a command.
    pub(crate) takes_one: bool,
    /// How many sessions it serves, and what it says to the others in place of a greeting.
    pub(crate) sessions_most: usize,
    pub(crate) one_too_many: Vec<u8>,
    names: u32,
}

impl Odd {
    pub(crate) fn new() -> Self {
        Self::with(client_config())
    }

    pub(crate) fn with(config: client::Config) -> Self {
        let mut world = World::new(1);
        let mut raw = Raw::add(&mut world, SERVER);
        let (_, controls) = raw.listen(&mut world, door(), 4);
        let (_, data) = raw.listen(&mut world, SocketAddr::new(SERVER, DATA), 8);
        let stack = Over::new(Client::new(config), placed(CLIENT, Habits::default()));
        let client = world.add(CLIENT, stack, Heard::default());
        Odd {
            world,
            client,
            raw,
            read: vec![None; controls.len()],
            controls,
            data,
            transfers: Vec::new(),
            next_data: 0,
            greeting: b"220 ready\r\n".to_vec(),
            replies: BTreeMap::new(),
            final_reply: b"226 done\r\n".to_vec(),
            content: Vec::new(),
            data_end: DataEnd::Finish,
            lines: Vec::new(),
            turns: 0,
            stored: Vec::new(),
            takes_one: false,
            sessions_most: usize::MAX,
            one_too_many: Vec::new(),
            names: 0,
        }
    }

    /// Replaces the reply to a line, or to all lines with this verb. Several: the first one first.
    pub(crate) fn reply(mut self, line: &str, reply: impl AsRef<[u8]>) -> Self {
        self.replies.entry(line.into()).or_default().push(reply.as_ref().to_vec());
        self
    }

    pub(crate) fn sends(mut self, content: impl AsRef<[u8]>) -> Self {
        self.content = content.as_ref().to_vec();
        self
    }

    /// What FEAT tells.
    pub(crate) fn features(self, features: &[&str]) -> Self {
        let lines: String = features.iter().map(|line| format!(" {line}\r\n")).collect();
        self.reply("FEAT", format!("211-Features:\r\n{lines}211 End\r\n"))
    }

    pub(crate) fn name(&mut self) -> Handle {
        self.names += 1;
        Handle { index: self.names - 1, generation: 0 }
    }

    pub(crate) fn ask(&mut self, request: FilesRequest<M>) {
        self.world.ask(self.client, request);
    }

    pub(crate) fn told(&self) -> &[Told] {
        &self.world.application(self.client).0
    }

    /// The verbs, in order.
    pub(crate) fn verbs(&self) -> Vec<&str> {
        self.lines.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect()
    }

    /// Lets time pass until `done`. Returns what was told, and how long it took.
    pub(crate) fn run(&mut self, done: impl Fn(&[Told]) -> bool) -> Duration {
        let since = self.world.now();
        while !done(self.told()) {
            let took = self.world.now().since(since);
            assert!(took < Duration::from_secs(600), "{:?}\n{:?}", self.lines, self.told());
            self.turn();
        }
        self.world.now().since(since)
    }

    /// Ends all sessions.
    pub(crate) fn close_controls(&mut self) {
        for nth in 0..self.controls.len() {
            if self.read[nth].is_some() {
                self.raw.finish(&mut self.world, self.controls[nth]);
            }
        }
    }

    /// Returns whether the client has ended all sessions.
    pub(crate) fn is_left(&self) -> bool {
        let mut there = self.controls.iter().zip(&self.read).filter(|(_, read)| read.is_some());
        there.all(|(control, _)| self.raw.heard(&self.world, *control).finished)
    }

    pub(crate) fn turn(&mut self) {
        self.world.run_for(TURN);
        for nth in 0..self.controls.len() {
            let control = self.controls[nth];
            let heard = self.raw.heard(&self.world, control);
            if heard.open.is_none() || self.raw.is_over(&self.world, control) {
                continue;
            }
            let mut replies = Vec::new();
            let living = (0..self.controls.len()).filter(|other| {
                self.read[*other].is_some() && !self.raw.is_over(&self.world, self.controls[*other])
            });
            let is_one_too_many = living.count() >= self.sessions_most;
            let read = *self.read[nth].get_or_insert_with(|| {
                let greeting = if is_one_too_many { &self.one_too_many } else { &self.greeting };
                replies.extend(greeting);
                0
            });
            let fresh = &heard.octets[read..];
            let complete = fresh.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
            let text = String::from_utf8_lossy(&fresh[..complete]).into_owned();
            self.read[nth] = Some(read + complete);
            self.turns += usize::from(complete > 0);
            let taken = if self.takes_one { 1 } else { usize::MAX };
            for line in text.lines().take(taken) {
                let line = line.trim_start_matches(['\u{fffd}', '\u{f4}', '\u{f2}']);
                self.lines.push(line.into());
                let verb = line.split(' ').next().unwrap_or_default();
                let mut reply = self.reply_to(line, verb);
                if matches!(verb, "RETR" | "STOR" | "APPE" | "LIST" | "MLSD")
                    && reply.starts_with(b"1")
                {
                    let stores = matches!(verb, "STOR" | "APPE");
                    let reply = self.final_reply.clone();
                    self.transfers.push(Transfer { control: nth, stores, reply });
                }
                replies.append(&mut reply);
            }
            let ends = replies.windows(6).any(|octets| octets == b"close!");
            if !replies.is_empty() && !ends {
                self.raw.say(&mut self.world, control, &replies);
            } else if ends {
                self.raw.abort(&mut self.world, control);
            }
        }
        self.move_data();
    }

    fn reply_to(&mut self, line: &str, verb: &str) -> Vec<u8> {
        for key in [line, verb] {
            if let Some(replies) = self.replies.get_mut(key) {
                return if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() };
            }
        }
        let reply = match verb {
            "USER" => "331 password\r\n",
            "PASS" => "230 in\r\n",
            "TYPE" => "200 ok\r\n",
            "PWD" => "257 \"/home\"\r\n",
            "CWD" => "250 ok\r\n",
            "EPSV" => "229 ext (|||2000|)\r\n",
            "PASV" => "227 pasv (10,0,0,1,7,208)\r\n",
            "REST" => "350 ok\r\n",
            "RETR" | "STOR" | "APPE" | "LIST" | "MLSD" => "150 go\r\n",
            "ABOR" => "226 aborted\r\n",
            "QUIT" => "221 bye\r\n",
            _ => "502 no\r\n",
        };
        reply.into()
    }

    fn move_data(&mut self) {
        let Some(transfer) = self.transfers.first() else { return };
        // A data association of a transfer that was refused is of no use.
        while !transfer.stores
            && self.raw.heard(&self.world, self.data[self.next_data]).ended.is_some()
        {
            self.next_data += 1;
        }
        let (control, data) = (self.controls[transfer.control], self.data[self.next_data]);
        let heard = self.raw.heard(&self.world, data);
        if heard.open.is_none() {
            return;
        }
        if transfer.stores && !heard.finished && heard.ended.is_none() {
            return;
        }
        if transfer.stores {
            self.stored = heard.octets.clone();
        } else {
            let content = self.content.clone();
            self.raw.say(&mut self.world, data, &content);
        }
        match self.data_end {
            DataEnd::Finish => self.raw.finish(&mut self.world, data),
            DataEnd::Abort => {
                self.world.run_for(TURN);
                self.raw.abort(&mut self.world, data);
            }
        }
        self.next_data += 1;
        let transfer = self.transfers.remove(0);
        self.world.run_for(TURN); // what was sent arrives first
        if transfer.reply == b"close!" {
            self.raw.abort(&mut self.world, control);
        } else if !transfer.reply.is_empty() {
            self.raw.say(&mut self.world, control, &transfer.reply);
        }
    }
}
