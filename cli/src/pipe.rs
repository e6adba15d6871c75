//! Files of the system that are no place in a folder: standard input and output, named pipes,
//! devices, files without a length. They are read to their end, and written through.

use std::convert::Infallible;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};

use stackwright::contract::services::{Failure, Files, FilesIndication, FilesRequest, Keep};
use stackwright::contract::{Context, Facts, Handle, Nothing, Outlet, Protocol};
use stackwright::wire::{Leaf, Message as _};

use crate::stacks::Message;

/// One open file, as the file of every path.
pub(crate) struct Pipe(File);

impl Pipe {
    pub(crate) fn new(file: File) -> Self {
        Pipe(file)
    }

    fn read(&mut self, file: Handle, offset: u64, length: usize) -> FilesIndication<Message> {
        let mut octets = Vec::new();
        // Less than was asked is the end of the file, and a pipe gives what there is.
        match (&self.0).take(length as u64).read_to_end(&mut octets) {
            Ok(_) => {
                FilesIndication::Read { file, offset, message: Message::with_headroom(0, &octets) }
            }
            Err(_) => FilesIndication::Closed { file, result: Err(Failure::Broken) },
        }
    }

    fn write(&mut self, file: Handle, message: &Message) -> FilesIndication<Message> {
        for leaf in message.leaves() {
            let written = match leaf {
                Leaf::Octets(octets) => self.0.write_all(octets),
                // It is said to read payload, so that it gets octets.
                Leaf::Region(_) => Err(ErrorKind::Unsupported.into()),
            };
            if let Err(why) = written {
                let failure = match why.kind() {
                    ErrorKind::StorageFull => Failure::Full,
                    ErrorKind::BrokenPipe => Failure::GivenUp,
                    _ => Failure::Broken,
                };
                return FilesIndication::Closed { file, result: Err(failure) };
            }
        }
        FilesIndication::Written { file, octets: message.len() }
    }
}

impl Protocol for Pipe {
    const FACTS: Facts = Facts { reads_payload: true, ..Facts::named("pipe") };
    type Provides = Files<Message>;
    type Uses = Nothing;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: FilesRequest<Message>,
        out: &mut impl Outlet<Self>,
    ) {
        let unsupported = Failure::Unsupported;
        out.indicate(match request {
            FilesRequest::Open { file, .. } => {
                FilesIndication::Opened { file, size: None, modified: None, version: None }
            }
            FilesRequest::Read { file, offset, length } => self.read(file, offset, length),
            FilesRequest::Write { file, message, .. } => self.write(file, &message),
            FilesRequest::Close { file, keep } => {
                let result = match keep {
                    Keep::Whole => self.0.flush().map_err(|_| Failure::Broken),
                    _ => Ok(()),
                };
                FilesIndication::Closed { file, result }
            }
            FilesRequest::Next { file } => {
                FilesIndication::Closed { file, result: Err(unsupported) }
            }
            FilesRequest::Stat { token, .. } => {
                FilesIndication::Stated { token, result: Err(unsupported) }
            }
            FilesRequest::Digest { token, .. } => {
                FilesIndication::Digested { token, result: Err(unsupported) }
            }
            FilesRequest::Room { token, .. } => {
                FilesIndication::Room { token, result: Err(unsupported) }
            }
            FilesRequest::MakeFolder { token, .. }
            | FilesRequest::Set { token, .. }
            | FilesRequest::Rename { token, .. }
            | FilesRequest::Remove { token, .. } => {
                FilesIndication::Done { token, result: Err(unsupported) }
            }
            FilesRequest::Note { .. } | FilesRequest::Leave => return,
        });
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: Infallible,
        _out: &mut impl Outlet<Self>,
    ) {
        match indication {}
    }
}
