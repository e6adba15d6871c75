//! What a word of a graph tells of itself: what the word in it tells.

use stackwright_wire::Message;

use super::{Indication, Request};
use crate::services::{Batch, Datagrams, Files, Frames, Groups, Octets, Streams};
use crate::{Handle, Life, Participant, Service, Word};

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
                    Self::Group(_) => Groups::<M>::NAME,
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
                    Self::Group(word) => word.primitive(),
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
                    Self::Group(word) => word.life(),
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
                    Self::Group(word) => word.name_mut(),
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
                    Self::Group(word) => word.listener_mut(),
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
                    Self::Group(word) => word.participants_mut(),
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
                    Self::Group(word) => word.message(),
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
                    Self::Group(word) => word.messages(),
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
                    Self::Group(word) => word.batch_mut(),
                    Self::File(word) => word.batch_mut(),
                    Self::Outside(_) | Self::Own(_) => None,
                }
            }
        }
    };
}

any_word!(Request "request");
any_word!(Indication "indication");
