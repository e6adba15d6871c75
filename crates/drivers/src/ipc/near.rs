//! The application's side: the words of a stack that is in another process.

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Ended, Streams, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{
    Batches, Context, Facts, Guarantees, Handle, Life, Mirror, Names, Outlet, Participant,
    Protocol, Word as _,
};

use super::ROOM;
use super::channel::Channel;
use super::word::{Crossing, Heard, heard_indication, hello, of_request};

const NAME: &str = "server";

/// A stack in a server: each word crosses to it, and each answer back.
///
/// It asks for its server, the [other end](Participant::OTHER_END) of a stream, with the first
/// request. Where the server ends, every name does, as [`Ended::Unreachable`]; the next request
/// asks for it again. Questions are not carried: none is answered. Its type promises `GIVES`
/// ([`Guarantees::bits`]); a server whose stack does not is as good as none.
pub struct Near<T: Crossing, const GIVES: u16 = 0> {
    server: Option<Server<T>>,
    lines: Names<()>,
    /// Names of the layer above that have not had their last word.
    names: Mirror<()>,
    on_refusal: fn(String),
}

struct Server<T: Crossing> {
    line: Handle,
    channel: Channel<T::Message>,
}

impl<T: Crossing, const GIVES: u16> Default for Near<T, GIVES> {
    fn default() -> Self {
        Near { server: None, lines: Names::new(), names: Mirror::new(), on_refusal: |_| {} }
    }
}

impl<T: Crossing, const GIVES: u16> Near<T, GIVES> {
    /// Has `on_refusal` called with each sentence in which the server says why it refuses
    /// something.
    #[must_use]
    pub fn on_refusal(self, on_refusal: fn(String)) -> Self {
        Near { on_refusal, ..self }
    }
}

type Out<'a, T, const GIVES: u16> = &'a mut dyn Outlet<Near<T, GIVES>>;

impl<T: Crossing, const GIVES: u16> Near<T, GIVES> {
    /// Returns the server; asks for it where there is none.
    fn server(&mut self, out: Out<'_, T, GIVES>) -> &mut Server<T> {
        self.server.get_or_insert_with(|| {
            let line = self.lines.name(());
            out.request(StreamsRequest::Open {
                association: line,
                remote: Participant::OTHER_END,
                local: None,
                credit: Credit::of_octets(ROOM),
            });
            // A server of ours is believed in what it delivers.
            let mut channel = Channel::new(usize::MAX);
            channel.say(&hello::<T>(Guarantees::from_bits(GIVES)), None);
            Server { line, channel }
        })
    }

    /// Sends what the server takes now.
    fn send(&mut self, out: Out<'_, T, GIVES>) {
        let Some(Server { line, channel }) = &mut self.server else { return };
        while let Some(part) = channel.next_part() {
            let (batch, properties) = (part.into(), Default::default());
            out.request(StreamsRequest::Send { association: *line, batch, properties });
        }
    }

    /// Tells the words that came whole.
    fn tell(&mut self, cx: &Context, out: Out<'_, T, GIVES>) {
        while let Some(Server { line, channel }) = &mut self.server {
            let word = match channel.next_word() {
                Ok(None) => return,
                Ok(Some((fields, octets))) => heard_indication::<T>(&fields, octets),
                Err(_) => None,
            };
            match word {
                Some(Heard::Hello(_)) => {}
                Some(Heard::Refusal(sentence)) => {
                    cx.event(NAME, format_args!("{sentence}"));
                    (self.on_refusal)(sentence);
                }
                Some(Heard::Word(word)) => self.tell_one(cx, word, out),
                None => {
                    cx.dropped(NAME, "it speaks another version, or of another service");
                    out.request(StreamsRequest::Abort { association: *line, code: 0 });
                    self.lose(out);
                }
            }
        }
    }

    fn tell_one(&mut self, cx: &Context, word: AssociationIndication<T>, out: Out<'_, T, GIVES>) {
        let name = word.name();
        let lives = match word.life() {
            Life::Ends => self.names.remove(name).is_some(),
            _ => self.names.get(name).is_some(),
        };
        if !lives {
            return cx.dropped(NAME, "a word on a name that has ended");
        }
        out.indicate(word);
    }

    /// Ends every name: the server is gone.
    fn lose(&mut self, out: Out<'_, T, GIVES>) {
        self.server = None;
        let names: Vec<_> = self.names.iter().map(|(name, ())| name).collect();
        for name in names {
            self.names.remove(name);
            out.indicate(AssociationIndication::Ended { name, why: Ended::Unreachable });
        }
    }
}

impl<T: Crossing, const GIVES: u16> Protocol for Near<T, GIVES> {
    // No region of a file crosses.
    const FACTS: Facts =
        Facts { gives: Guarantees::from_bits(GIVES), reads_payload: true, ..Facts::named(NAME) };
    const BATCHES: Batches = Batches::ALL;
    type Provides = T;
    type Uses = Streams<T::Message>;

    fn handle_request(
        &mut self,
        _: &Context,
        mut request: AssociationRequest<T>,
        out: &mut impl Outlet<Self>,
    ) {
        let name = *request.name_mut().expect("each request has one");
        if request.life() == Life::Begins {
            self.names.insert(name, ());
        } else if self.names.get(name).is_none() {
            return; // it crossed the last word
        }
        let fields = of_request(&mut request);
        let carried = match request {
            AssociationRequest::Send { batch, .. } => Some(batch.into_octets()),
            _ => None,
        };
        self.server(out).channel.say(&fields, carried);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: StreamsIndication<T::Message>,
        out: &mut impl Outlet<Self>,
    ) {
        let name = word.name();
        if let StreamsIndication::Ended { .. } = word {
            self.lines.forget(name);
        }
        let Some(Server { channel, .. }) = self.server.as_mut().filter(|to| to.line == name) else {
            return;
        };
        match word {
            StreamsIndication::Opened { credit, .. } | StreamsIndication::Credit { credit, .. } => {
                channel.allow(credit.octets);
                self.send(out);
            }
            StreamsIndication::Delivered { batch, .. } => {
                let credit = Credit::of_octets(batch.octets());
                channel.hear(batch.into_octets());
                out.request(StreamsRequest::Credit { association: name, credit });
                self.tell(cx, out);
            }
            StreamsIndication::Finished { association } => {
                out.request(StreamsRequest::Close { name: association });
            }
            StreamsIndication::Ended { .. } => self.lose(out),
            _ => {}
        }
    }

    fn flush(&mut self, _: &Context, out: &mut impl Outlet<Self>) {
        self.send(out);
    }

    fn wants_flush(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.channel.is_due())
    }

    fn may_exit(&self) -> bool {
        self.server.as_ref().is_none_or(|server| server.channel.waits() == 0)
    }
}
