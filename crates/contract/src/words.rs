//! The words of any service as one closed enum: how protocols speak in a graph that is built while
//! a program runs.
//!
//! A protocol itself never sees these. [`Speaks`] turns the typed words of a service into them and
//! back; a service that is none of the closed set travels as [`Request::Own`]. Nothing here names a
//! driver: what is outside of a graph is the parameter `B`.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::marker::PhantomData;

use stackwright_wire::Message;

use crate::services::{
    Batch, Datagrams, DatagramsIndication, DatagramsRequest, Files, FilesIndication, FilesRequest,
    Frames, FramesIndication, FramesRequest, Octets, OctetsIndication, OctetsRequest, Streams,
    StreamsIndication, StreamsRequest,
};
use crate::{Both, Either, Handle, Life, Nothing, Participant, Service, Word};

// The variants are singular, so that the compiler can go on calling a service by its short name in
// a refusal.

/// A request of any service.
pub enum Request<M: Message, B: Service> {
    /// To a line.
    Line(OctetsRequest<M>),
    /// To a frame service.
    Frame(FramesRequest<M>),
    /// To a datagram service.
    Datagram(DatagramsRequest<M>),
    /// To a stream service.
    Stream(StreamsRequest<M>),
    /// To the side that has files.
    File(FilesRequest<M>),
    /// To what is outside.
    Outside(B::Request),
    /// In an application's own words.
    Own(Box<dyn Any>),
}

/// An indication of any service.
pub enum Indication<M: Message, B: Service> {
    /// Of a line.
    Line(OctetsIndication<M>),
    /// Of a frame service.
    Frame(FramesIndication<M>),
    /// Of a datagram service.
    Datagram(DatagramsIndication<M>),
    /// Of a stream service.
    Stream(StreamsIndication<M>),
    /// Of the side that has files.
    File(FilesIndication<M>),
    /// Of what is outside.
    Outside(B::Indication),
    /// In an application's own words.
    Own(Box<dyn Any>),
}

impl<M: Message, B: Service> Request<M, B> {
    /// Returns whether it carries several messages.
    #[inline(always)]
    pub fn has_several(&self) -> bool {
        match self {
            Request::Datagram(DatagramsRequest::Send { batch, .. })
            | Request::Frame(FramesRequest::Send { batch, .. }) => batch.segment_size().is_some(),
            Request::Outside(request) => B::requests_several(request),
            _ => false,
        }
    }
}

impl<M: Message, B: Service> Request<M, B> {
    /// Returns the last word on a name for which no lower could be asked, in the vocabulary of this
    /// request.
    pub fn unreachable(&self, name: Handle) -> Option<Indication<M, B>> {
        match self {
            Request::Datagram(_) => Datagrams::unreachable(name).map(Indication::Datagram),
            Request::Stream(_) => Streams::unreachable(name).map(Indication::Stream),
            _ => None,
        }
    }

    /// Returns what the layer above is told in the place of this request where it is
    /// [dropped](Service::refund_request).
    #[cold]
    pub fn refund(&self) -> [Option<Indication<M, B>>; 2] {
        match self {
            Request::Datagram(word) => {
                Datagrams::refund_request(word).map(|told| told.map(Indication::Datagram))
            }
            Request::Stream(word) => {
                Streams::refund_request(word).map(|told| told.map(Indication::Stream))
            }
            Request::Frame(word) => {
                Frames::refund_request(word).map(|told| told.map(Indication::Frame))
            }
            Request::Outside(word) => {
                B::refund_request(word).map(|told| told.map(Indication::Outside))
            }
            Request::Line(_) | Request::File(_) | Request::Own(_) => [None, None],
        }
    }
}

impl<M: Message, B: Service> Indication<M, B> {
    /// Returns whether it carries several messages.
    #[inline(always)]
    pub fn has_several(&self) -> bool {
        match self {
            Indication::Datagram(DatagramsIndication::Delivered { batch, .. })
            | Indication::Frame(FramesIndication::Delivered { batch, .. }) => {
                batch.segment_size().is_some()
            }
            Indication::Outside(indication) => B::indicates_several(indication),
            _ => false,
        }
    }

    /// Returns the request that gives back the credit of this indication where it is
    /// [dropped](Service::refund_indication).
    #[cold]
    pub fn refund(&self) -> Option<Request<M, B>> {
        match self {
            Indication::Datagram(word) => Datagrams::refund_indication(word).map(Request::Datagram),
            Indication::Stream(word) => Streams::refund_indication(word).map(Request::Stream),
            Indication::Frame(word) => Frames::refund_indication(word).map(Request::Frame),
            Indication::Outside(word) => B::refund_indication(word).map(Request::Outside),
            Indication::Line(_) | Indication::File(_) | Indication::Own(_) => None,
        }
    }
}

impl<M: Message, B: Service> Request<M, B> {
    /// Splits the first message off a request that carries several, as a request of its own.
    #[inline]
    pub fn split_first(&mut self) -> Option<Self> {
        match self {
            Request::Datagram(several) => Datagrams::split_request(several).map(Request::Datagram),
            Request::Frame(several) => Frames::split_request(several).map(Request::Frame),
            Request::Outside(several) => B::split_request(several).map(Request::Outside),
            _ => None,
        }
    }
}

impl<M: Message, B: Service> Indication<M, B> {
    /// Splits the first message off an indication that carries several, as an indication of its
    /// own.
    #[inline]
    pub fn split_first(&mut self) -> Option<Self> {
        match self {
            Indication::Datagram(several) => {
                Datagrams::split_indication(several).map(Indication::Datagram)
            }
            Indication::Frame(several) => Frames::split_indication(several).map(Indication::Frame),
            Indication::Outside(several) => B::split_indication(several).map(Indication::Outside),
            _ => None,
        }
    }
}

/// One vocabulary that a protocol provides or uses. Two that are equal are the same type, including
/// the type of the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// The service's name, as it stands in a refusal.
    pub service: &'static str,
    kind: TypeId,
}

impl Port {
    /// Returns the port where `S` is spoken.
    pub fn of<S: Service + 'static>() -> Self {
        Port { service: S::NAME, kind: TypeId::of::<S>() }
    }
}

/// A service with words that can travel through a graph.
///
/// By default they travel as an application's own, so that such a service implements nothing:
///
/// ```
/// use stackwright_contract::{Service, words::Speaks};
/// use stackwright_wire::Message;
/// struct Counting;
/// impl Service for Counting {
///     const NAME: &'static str = "Counting";
///     type Request = u32;
///     type Indication = u32;
///     type Name = ();
/// }
/// impl<M: Message, B: Service> Speaks<M, B> for Counting {}
/// ```
pub trait Speaks<M: Message, B: Service>:
    Service<Request: 'static, Indication: 'static> + Sized + 'static
{
    /// The number of vocabularies that it consists of.
    const PORTS: usize = 1;

    /// Adds its vocabularies to `ports`, from the left.
    fn ports(ports: &mut Vec<Port>) {
        ports.push(Port::of::<Self>());
    }

    /// Returns the port on which a request is spoken.
    #[inline(always)]
    fn request_port(request: &Self::Request) -> usize {
        let _only = request;
        0
    }

    /// Returns the port on which an indication is spoken.
    #[inline(always)]
    fn indication_port(indication: &Self::Indication) -> usize {
        let _only = indication;
        0
    }

    // The word is not returned together with its port: out of a pair it would be moved once more.

    /// Turns a request into a word of a graph.
    fn erase_request(request: Self::Request) -> Request<M, B> {
        Request::Own(Box::new(request))
    }

    /// Turns an indication into a word of a graph.
    fn erase_indication(indication: Self::Indication) -> Indication<M, B> {
        Indication::Own(Box::new(indication))
    }

    /// Returns the request in a word that was spoken on `port`.
    ///
    /// # Panics
    /// Where the word is of another vocabulary: two ports are compared before they are joined.
    fn recall_request(port: usize, word: Request<M, B>) -> Self::Request {
        let _only = port;
        match word {
            Request::Own(word) => *word.downcast().unwrap_or_else(|_| __foreign::<Self, _>()),
            _ => __foreign::<Self, _>(),
        }
    }

    /// Returns the indication in a word that was spoken on `port`.
    ///
    /// # Panics
    /// Where the word is of another vocabulary: two ports are compared before they are joined.
    fn recall_indication(port: usize, word: Indication<M, B>) -> Self::Indication {
        let _only = port;
        match word {
            Indication::Own(word) => *word.downcast().unwrap_or_else(|_| __foreign::<Self, _>()),
            _ => __foreign::<Self, _>(),
        }
    }

    /// Returns whether a request that was spoken on `port` carries several messages, without a look
    /// at the words of other vocabularies.
    #[inline(always)]
    fn has_several_requests(port: usize, word: &Request<M, B>) -> bool {
        let _own = (port, word);
        false
    }

    /// Returns whether an indication that was spoken on `port` carries several messages, without a
    /// look at the words of other vocabularies.
    #[inline(always)]
    fn has_several_indications(port: usize, word: &Indication<M, B>) -> bool {
        let _own = (port, word);
        false
    }

    /// Returns the port on which a name is spoken of, and how it is called there: by the name of
    /// one vocabulary, whatever its type.
    fn erase_name(name: &Self::Name) -> Option<(usize, &dyn Any)> {
        Some((0, name))
    }

    /// Returns the name that is called so on `port`; `None` where it is of another vocabulary.
    fn recall_name(port: usize, name: &dyn Any) -> Option<Self::Name> {
        let _only = port;
        name.downcast_ref().copied()
    }
}

/// Writes the four translations of a service that has a variant of its own.
#[macro_export]
#[doc(hidden)]
macro_rules! __speaks {
    ($variant:ident, $message:ty, $outside:ty) => {
        #[inline(always)]
        fn erase_request(request: Self::Request) -> $crate::words::Request<$message, $outside> {
            $crate::words::Request::$variant(request)
        }

        #[inline(always)]
        fn erase_indication(indication: Self::Indication) -> $crate::words::Indication<$message, $outside> {
            $crate::words::Indication::$variant(indication)
        }

        #[inline(always)]
        fn has_several_requests(_port: usize, word: &$crate::words::Request<$message, $outside>) -> bool {
            matches!(word, $crate::words::Request::$variant(word)
                if <Self as $crate::Service>::requests_several(word))
        }

        #[inline(always)]
        fn has_several_indications(
            _port: usize,
            word: &$crate::words::Indication<$message, $outside>,
        ) -> bool {
            matches!(word, $crate::words::Indication::$variant(word)
                if <Self as $crate::Service>::indicates_several(word))
        }

        #[inline(always)]
        fn recall_request(_port: usize, word: $crate::words::Request<$message, $outside>) -> Self::Request {
            match word {
                $crate::words::Request::$variant(request) => request,
                _ => $crate::words::__foreign::<Self, _>(),
            }
        }

        #[inline(always)]
        fn recall_indication(
            _port: usize,
            word: $crate::words::Indication<$message, $outside>,
        ) -> Self::Indication {
            match word {
                $crate::words::Indication::$variant(indication) => indication,
                _ => $crate::words::__foreign::<Self, _>(),
            }
        }
    };
}

/// Makes a service what is outside of graphs of messages `$message`: its words get the variant
/// `Outside`.
///
/// ```
/// use stackwright_contract::{Service, outermost};
/// struct Line;
/// impl Service for Line {
///     const NAME: &'static str = "Line";
///     type Request = u8;
///     type Indication = u8;
///     type Name = ();
/// }
/// outermost!(M => Line);
/// ```
#[macro_export]
macro_rules! outermost {
    ($message:ident => $service:ty) => {
        impl<$message: $crate::words::__Message> $crate::words::Speaks<$message, $service>
            for $service
        {
            $crate::__speaks!(Outside, $message, $service);
        }
    };
}

#[doc(hidden)]
pub use stackwright_wire::Message as __Message;

#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn __foreign<S: Service, W>() -> W {
    panic!(
        "a word that {} does not know: the vocabularies of two ports are compared before they are joined",
        S::NAME
    )
}

impl<M: Message, B: Service> Speaks<M, B> for Octets<M> {
    __speaks!(Line, M, B);
}

impl<M: Message, B: Service> Speaks<M, B> for Frames<M> {
    __speaks!(Frame, M, B);
}

impl<M: Message, B: Service> Speaks<M, B> for Datagrams<M> {
    __speaks!(Datagram, M, B);
}

impl<M: Message, B: Service> Speaks<M, B> for Streams<M> {
    __speaks!(Stream, M, B);
}

impl<M: Message, B: Service> Speaks<M, B> for Files<M> {
    __speaks!(File, M, B);
}

impl<M: Message, B: Service> Speaks<M, B> for Nothing {
    const PORTS: usize = 0;

    fn ports(_ports: &mut Vec<Port>) {}

    fn erase_name(name: &Self::Name) -> Option<(usize, &dyn Any)> {
        match *name {}
    }
}

impl<M: Message, B: Service, L: Speaks<M, B>, R: Speaks<M, B>> Speaks<M, B> for Both<L, R> {
    const PORTS: usize = L::PORTS + R::PORTS;

    fn ports(ports: &mut Vec<Port>) {
        L::ports(ports);
        R::ports(ports);
    }

    #[inline]
    fn request_port(request: &Self::Request) -> usize {
        match request {
            Either::Left(request) => L::request_port(request),
            Either::Right(request) => L::PORTS + R::request_port(request),
        }
    }

    #[inline]
    fn indication_port(indication: &Self::Indication) -> usize {
        match indication {
            Either::Left(indication) => L::indication_port(indication),
            Either::Right(indication) => L::PORTS + R::indication_port(indication),
        }
    }

    #[inline]
    fn erase_request(request: Self::Request) -> Request<M, B> {
        match request {
            Either::Left(request) => L::erase_request(request),
            Either::Right(request) => R::erase_request(request),
        }
    }

    #[inline]
    fn erase_indication(indication: Self::Indication) -> Indication<M, B> {
        match indication {
            Either::Left(indication) => L::erase_indication(indication),
            Either::Right(indication) => R::erase_indication(indication),
        }
    }

    #[inline]
    fn recall_request(port: usize, word: Request<M, B>) -> Self::Request {
        if port < L::PORTS {
            Either::Left(L::recall_request(port, word))
        } else {
            Either::Right(R::recall_request(port - L::PORTS, word))
        }
    }

    #[inline]
    fn recall_indication(port: usize, word: Indication<M, B>) -> Self::Indication {
        if port < L::PORTS {
            Either::Left(L::recall_indication(port, word))
        } else {
            Either::Right(R::recall_indication(port - L::PORTS, word))
        }
    }

    #[inline]
    fn has_several_requests(port: usize, word: &Request<M, B>) -> bool {
        match port.checked_sub(L::PORTS) {
            None => L::has_several_requests(port, word),
            Some(port) => R::has_several_requests(port, word),
        }
    }

    #[inline]
    fn has_several_indications(port: usize, word: &Indication<M, B>) -> bool {
        match port.checked_sub(L::PORTS) {
            None => L::has_several_indications(port, word),
            Some(port) => R::has_several_indications(port, word),
        }
    }

    fn erase_name(name: &Self::Name) -> Option<(usize, &dyn Any)> {
        match name {
            Either::Left(name) => L::erase_name(name),
            Either::Right(name) => R::erase_name(name).map(|(port, name)| (L::PORTS + port, name)),
        }
    }

    fn recall_name(port: usize, name: &dyn Any) -> Option<Self::Name> {
        match port.checked_sub(L::PORTS) {
            None => L::recall_name(port, name).map(Either::Left),
            Some(port) => R::recall_name(port, name).map(Either::Right),
        }
    }
}

/// What is outside of a graph: the service `B`, once for each lane. The number of lanes is known
/// when the graph is built; they are counted from the left, as in a static stack.
pub struct Outside<B>(PhantomData<B>);

/// A word, or a name, and its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InLane<W> {
    /// Counted from 0.
    pub lane: usize,
    /// The word, or the name.
    pub word: W,
}

impl<B: Service> Service for Outside<B> {
    const NAME: &'static str = B::NAME;
    type Request = InLane<B::Request>;
    type Indication = InLane<B::Indication>;
    type Name = InLane<B::Name>;

    #[inline(always)]
    fn requests_several(request: &Self::Request) -> bool {
        B::requests_several(&request.word)
    }

    #[inline(always)]
    fn indicates_several(indication: &Self::Indication) -> bool {
        B::indicates_several(&indication.word)
    }

    fn split_request(several: &mut Self::Request) -> Option<Self::Request> {
        Some(InLane { lane: several.lane, word: B::split_request(&mut several.word)? })
    }

    fn split_indication(several: &mut Self::Indication) -> Option<Self::Indication> {
        Some(InLane { lane: several.lane, word: B::split_indication(&mut several.word)? })
    }

    fn refund_request(dropped: &Self::Request) -> [Option<Self::Indication>; 2] {
        let lane = dropped.lane;
        B::refund_request(&dropped.word).map(|told| told.map(|word| InLane { lane, word }))
    }

    fn refund_indication(dropped: &Self::Indication) -> Option<Self::Request> {
        Some(InLane { lane: dropped.lane, word: B::refund_indication(&dropped.word)? })
    }
}

/// A word of a graph tells what the word in it tells.
macro_rules! any_word {
    ($word:ident $own:literal) => {
        impl<M: Message, B: Service> $word<M, B> {
            /// Returns the name of its service, for people.
            pub fn service(&self) -> &'static str {
                match self {
                    Self::Line(_) => Octets::<M>::NAME,
                    Self::Frame(_) => Frames::<M>::NAME,
                    Self::Datagram(_) => Datagrams::<M>::NAME,
                    Self::Stream(_) => Streams::<M>::NAME,
                    Self::File(_) => Files::<M>::NAME,
                    Self::Outside(_) => B::NAME,
                    Self::Own(_) => "its own service",
                }
            }
        }

        impl<M: Message, B: Service> Word for $word<M, B> {
            type Message = M;

            fn primitive(&self) -> &'static str {
                match self {
                    Self::Line(word) => word.primitive(),
                    Self::Frame(word) => word.primitive(),
                    Self::Datagram(word) => word.primitive(),
                    Self::Stream(word) => word.primitive(),
                    Self::File(word) => word.primitive(),
                    Self::Outside(_) | Self::Own(_) => $own,
                }
            }

            fn life(&self) -> Life {
                match self {
                    Self::Line(word) => word.life(),
                    Self::Frame(word) => word.life(),
                    Self::Datagram(word) => word.life(),
                    Self::Stream(word) => word.life(),
                    Self::File(word) => word.life(),
                    Self::Outside(_) | Self::Own(_) => Life::Continues,
                }
            }

            fn name_mut(&mut self) -> Option<&mut Handle> {
                match self {
                    Self::Line(word) => word.name_mut(),
                    Self::Frame(word) => word.name_mut(),
                    Self::Datagram(word) => word.name_mut(),
                    Self::Stream(word) => word.name_mut(),
                    Self::File(word) => word.name_mut(),
                    Self::Outside(_) | Self::Own(_) => None,
                }
            }

            fn listener_mut(&mut self) -> Option<&mut Handle> {
                match self {
                    Self::Line(word) => word.listener_mut(),
                    Self::Frame(word) => word.listener_mut(),
                    Self::Datagram(word) => word.listener_mut(),
                    Self::Stream(word) => word.listener_mut(),
                    Self::File(word) => word.listener_mut(),
                    Self::Outside(_) | Self::Own(_) => None,
                }
            }

            fn participants_mut(&mut self) -> [Option<&mut Participant>; 2] {
                match self {
                    Self::Line(word) => word.participants_mut(),
                    Self::Frame(word) => word.participants_mut(),
                    Self::Datagram(word) => word.participants_mut(),
                    Self::Stream(word) => word.participants_mut(),
                    Self::File(word) => word.participants_mut(),
                    Self::Outside(_) | Self::Own(_) => [None, None],
                }
            }

            fn message(&self) -> Option<&M> {
                match self {
                    Self::Line(word) => word.message(),
                    Self::Frame(word) => word.message(),
                    Self::Datagram(word) => word.message(),
                    Self::Stream(word) => word.message(),
                    Self::File(word) => word.message(),
                    Self::Outside(_) | Self::Own(_) => None,
                }
            }

            fn messages(&self) -> usize {
                match self {
                    Self::Line(word) => word.messages(),
                    Self::Frame(word) => word.messages(),
                    Self::Datagram(word) => word.messages(),
                    Self::Stream(word) => word.messages(),
                    Self::File(word) => word.messages(),
                    Self::Outside(_) | Self::Own(_) => 0,
                }
            }

            fn batch_mut(&mut self) -> Option<&mut Batch<M>> {
                match self {
                    Self::Line(word) => word.batch_mut(),
                    Self::Frame(word) => word.batch_mut(),
                    Self::Datagram(word) => word.batch_mut(),
                    Self::Stream(word) => word.batch_mut(),
                    Self::File(word) => word.batch_mut(),
                    Self::Outside(_) | Self::Own(_) => None,
                }
            }
        }
    };
}

any_word!(Request "request");
any_word!(Indication "indication");
