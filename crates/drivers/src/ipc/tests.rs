//! Every word crosses as it is.

use std::num::NonZeroU32;

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Batch, Credit, Datagrams, Ecn, MessageKind,
    MessageProperties,
};
use stackwright_contract::{
    Address, CallSign, Command, CommandError, Handle, Participant, PathLimits, PhaseRule,
    RuleRefusal, Trouble, Word,
};
use stackwright_wire::{Message as _, SingleBuffer};

use super::channel::Channel;
use super::fields::Fields;
use super::word::{Heard, ended, heard_indication, heard_request, of_indication, of_request};

type T = Datagrams<SingleBuffer>;
type Request = AssociationRequest<T>;
type Indication = AssociationIndication<T>;

fn participants() -> Vec<Participant> {
    let zone = "[fe80::1%7]:9".parse::<std::net::SocketAddr>().expect("an address");
    let call: CallSign = "DL1ABC-9".parse().expect("a call sign");
    vec![
        Participant::from(([192, 0, 2, 7], 4330)).through(0),
        Participant::from(zone).through(65_534),
        Address::InternetProtocol { host: [192, 0, 2, 7].into(), protocol: 36 }.into(),
        Address::Station { call, pid: 0xf0, route: 513 }.into(),
        Address::Hardware { address: [2, 0, 0, 1, 2, 3], kind: 0x800 }.into(),
        Participant::OTHER_END,
    ]
}

fn batches() -> Vec<(Batch<SingleBuffer>, MessageProperties)> {
    let some = MessageProperties {
        lifetime: NonZeroU32::new(70_000),
        number: Some(0),
        priority: 3,
        kind: MessageKind::Control,
        ecn: Ecn::Ce,
        returned: true,
    };
    let message = |octets: &[u8]| SingleBuffer::with_headroom(0, octets);
    vec![
        (message(&[]).into(), Default::default()),
        (message(b"seven").into(), some),
        (Batch::new(message(&[7; 9000]), 4000), Default::default()),
    ]
}

fn requests() -> Vec<Request> {
    let [association, listener] = [2, 1].map(|index| Handle { index, generation: !index });
    let credit = Credit { octets: 1 << 33, messages: 5 };
    let addresses = participants().into_iter();
    let mut words: Vec<_> = addresses.map(|local| Request::Listen { listener, local }).collect();
    let sent = batches().into_iter();
    words.extend(sent.map(|(batch, properties)| Request::Send { association, batch, properties }));
    let rule = PhaseRule { ordered: true, fenced: false, resends: Some(300) };
    let wish = Command::Wish(PhaseRule { fenced: true, ..PhaseRule::default() });
    let require = Command::Require(rule);
    let commands = [Command::Unread, Command::Renegotiate, Command::Phase(200), require, wish];
    words.extend(commands.map(|command| Request::Control { association, command }));
    let [first, second] = [participants()[0], participants()[1]];
    words.extend([None, Some(second)].map(|local| Request::Open {
        association,
        remote: first,
        local,
        credit,
    }));
    words.extend([
        Request::Await { listener, association, credit },
        Request::Credit { association, credit },
        Request::Finish { association },
        Request::Abort { association, code: u32::MAX },
        Request::Close { name: listener },
    ]);
    words
}

fn indications() -> Vec<Indication> {
    let association = Handle { index: 7, generation: 1 << 31 };
    let path = PathLimits { longest: 1400, frame_time: 3, checks: true, empty: false };
    let credit = Credit { octets: usize::MAX, messages: usize::MAX };
    let [local, remote] = [participants()[1], participants()[0]];
    let mut words = vec![
        Indication::Listening { listener: association, local },
        Indication::Opened { association, local, remote, credit, path },
        Indication::Changed { association, path: PathLimits::UNBOUNDED },
        Indication::Credit { association, credit },
        Indication::Ending { association },
        Indication::Finished { association },
    ];
    let came = batches().into_iter();
    words.extend(came.map(|(batch, properties)| Indication::Delivered {
        association,
        batch,
        properties,
    }));
    let refused = CommandError::Refused(RuleRefusal::TooWeak);
    let errors = [CommandError::Unknown, CommandError::Busy, CommandError::Declined, refused];
    let outcomes = errors.into_iter().map(Err).chain([Ok(70_000)]);
    words.extend(outcomes.map(|outcome| Indication::Controlled { association, outcome }));
    let troubles = [
        Trouble::Unreachable,
        Trouble::Refused,
        Trouble::Prohibited,
        Trouble::TooLong { longest: 1280 },
        Trouble::TooFar,
        Trouble::Malformed,
    ];
    let quoted = [1, 2, 3, 4, 5, 6, 7, 8];
    words.extend(troubles.map(|what| Indication::Reported {
        association,
        by: remote,
        what,
        quoted,
    }));
    let ends = (0..15).map(|why| ended(why, 99).expect("each is one"));
    words.extend(ends.map(|why| Indication::Ended { name: association, why }));
    words
}

/// Sends words through a channel in parts of 1 to 200 octets, and returns those that come.
fn through<W>(
    words: Vec<(Fields, Option<SingleBuffer>)>,
    heard: impl Fn(&Fields, SingleBuffer) -> Option<Heard<W>>,
) -> Vec<W> {
    let (mut here, mut there) = (Channel::new(0), Channel::<SingleBuffer>::new(9000));
    words.into_iter().for_each(|(fields, carried)| here.say(&fields, carried));
    let mut came = Vec::new();
    for octets in (1..200).cycle() {
        here.allow(octets);
        let Some(part) = here.next_part() else { break };
        there.hear(part);
        while let Some((fields, octets)) = there.next_word().expect("words") {
            match heard(&fields, octets) {
                Some(Heard::Word(word)) => came.push(word),
                other => panic!("{fields:?} is no word: {}", other.is_some()),
            }
        }
    }
    assert_eq!(here.waits(), 0);
    came
}

/// As text, with the octets that it carries.
fn shown<W: Word<Message = SingleBuffer> + std::fmt::Debug>(word: &mut W) -> String {
    let octets = word.batch_mut().map(|batch| {
        let mut octets = Vec::new();
        batch.as_octets().append_to(&mut octets);
        let size = batch.segment_size();
        *batch = SingleBuffer::with_headroom(0, &[]).into();
        (size, octets)
    });
    format!("{word:?} {octets:?}")
}

#[test]
fn every_word_crosses_as_it_is() {
    let said = requests().into_iter().map(|mut word| {
        let fields = of_request(&mut word);
        (fields, word.batch_mut().map(|batch| batch.as_octets().share()))
    });
    let came = through(said.collect(), heard_request::<T>);
    assert_eq!(came.len(), requests().len());
    for (mut one, mut other) in requests().into_iter().zip(came) {
        assert_eq!(shown(&mut one), shown(&mut other));
    }
    let said = indications().into_iter().map(|mut word| {
        let fields = of_indication(&word);
        (fields, word.batch_mut().map(|batch| batch.as_octets().share()))
    });
    let came = through(said.collect(), heard_indication::<T>);
    assert_eq!(came.len(), indications().len());
    for (mut one, mut other) in indications().into_iter().zip(came) {
        assert_eq!(shown(&mut one), shown(&mut other));
    }
}
