//! How the words of a service become words of a graph, and back.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

use stackwright_wire::Message;

use super::{Indication, Request};
use crate::services::{Datagrams, Files, Frames, Groups, Octets, Streams};
use crate::{Both, Either, Nothing, Service};

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

impl<M: Message, B: Service> Speaks<M, B> for Groups<M> {
    __speaks!(Group, M, B);
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
