//! rustls' connection in either role, and one step of it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{
    CertificateError, CommonState, Error, HandshakeKind, InvalidMessage, ProtocolVersion,
};
use stackwright_contract::{Fingerprint, SecurityError, SessionGroup};
use stackwright_wire::{Message, Pool};

use crate::ask::SecurityFacts;
use crate::config::{Client, Server};
use crate::identity::fingerprint;

/// The most octets of payload in a record (RFC 8446 §5.1).
pub(crate) const PAYLOAD_MOST: usize = 1 << 14;
/// The most octets of a record: header, payload, and what encryption may add (RFC 5246 §6.2.3; RFC
/// 8446 §5.2 permits less).
pub(crate) const RECORD_MOST: usize = 5 + PAYLOAD_MOST + 2048;
/// The most octets that our records add to their payload: header, explicit nonce and tag of TLS
/// 1.2 (RFC 5288 §3).
pub(crate) const OVERHEAD: usize = 5 + 8 + 16;

/// A connection in either role.
pub(crate) enum Connection {
    Client(Box<UnbufferedClientConnection>),
    Server(Box<UnbufferedServerConnection>),
}

/// What is to be written as soon as payload may be.
pub(crate) enum Job<'a> {
    Nothing,
    Payload(&'a [u8]),
    CloseNotify,
}

/// What a step came to.
pub(crate) enum Step<M> {
    /// There is more to do.
    More,
    /// Payload has arrived.
    Payload(M),
    /// The peer will send no more payload, and has said so (close_notify).
    PeerClosed,
    /// What was to be written is written.
    Written,
    /// Nothing more can be done before more arrives.
    Waits,
}

impl Connection {
    pub(crate) fn client(client: &Client, only_12: bool) -> Result<Self, Error> {
        let config = client.only_12.as_ref().filter(|_| only_12).unwrap_or(&client.config);
        let (config, name) = (Arc::clone(config), client.name.clone());
        Ok(Connection::Client(Box::new(UnbufferedClientConnection::new(config, name)?)))
    }

    pub(crate) fn server(server: &Server, sessions: SessionGroup) -> Result<Self, Error> {
        let config = match sessions {
            SessionGroup::Begins(_) => &server.begins,
            SessionGroup::Joins(_) => &server.joins,
            SessionGroup::Borrows(_) => &server.borrows,
        };
        let config = Arc::clone(config);
        Ok(Connection::Server(Box::new(UnbufferedServerConnection::new(config)?)))
    }

    /// Takes a step: reads from the front of `arrived`, and appends to `records`. Returns how many
    /// octets of `arrived` are read; the others must be there in the next step.
    pub(crate) fn step<M: Message>(
        &mut self,
        arrived: &mut [u8],
        records: &mut Vec<u8>,
        job: &Job<'_>,
        pool: Option<&Pool<M>>,
    ) -> (usize, Result<Step<M>, Error>) {
        match self {
            Connection::Client(client) => {
                step(client.process_tls_records(arrived), records, job, pool)
            }
            Connection::Server(server) => {
                step(server.process_tls_records(arrived), records, job, pool)
            }
        }
    }

    fn common(&self) -> &CommonState {
        match self {
            Connection::Client(client) => client,
            Connection::Server(server) => server,
        }
    }

    /// Returns whether records are to be written, which the next step does before it reads.
    pub(crate) fn has_records(&self) -> bool {
        self.common().wants_write()
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.common().is_handshaking()
    }

    /// Returns whether the handshake resumes a session.
    pub(crate) fn resumes(&self) -> bool {
        self.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    pub(crate) fn facts(&self) -> SecurityFacts {
        let common = self.common();
        SecurityFacts {
            version: match common.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => "TLS 1.3",
                Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
                _ => "TLS",
            },
            suite: common
                .negotiated_cipher_suite()
                .and_then(|suite| suite.suite().as_str())
                .unwrap_or("an unnamed cipher suite"),
            certificate: self.certificate(),
            resumed: self.resumes(),
        }
    }

    fn certificate(&self) -> Option<Fingerprint> {
        self.common().peer_certificates()?.first().map(fingerprint)
    }
}

fn step<M: Message, Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    records: &mut Vec<u8>,
    job: &Job<'_>,
    pool: Option<&Pool<M>>,
) -> (usize, Result<Step<M>, Error>) {
    let UnbufferedStatus { discard: mut read, state } = status;
    let state = match state {
        Ok(state) => state,
        Err(error) => return (read, Err(error)),
    };
    let came_to = match state {
        ConnectionState::EncodeTlsData(mut handshake) => {
            let written = append(records, 0, |room| match handshake.encode(room) {
                Ok(written) => Ok(Some(written)),
                Err(EncodeError::InsufficientSize(short)) => Err(short),
                Err(EncodeError::AlreadyEncoded) => Ok(None),
            });
            written.map(|()| Step::More)
        }
        ConnectionState::TransmitTlsData(transmit) => {
            transmit.done();
            Ok(Step::More)
        }
        ConnectionState::ReadTraffic(mut traffic) => match traffic.next_record() {
            Some(Ok(record)) => {
                read += record.discard;
                let copy = |pool: &Pool<M>| pool.copy(record.payload);
                let payload = pool.map_or_else(|| M::with_headroom(0, record.payload), copy);
                Ok(Step::Payload(payload))
            }
            Some(Err(error)) => Err(error),
            None => Ok(Step::More),
        },
        ConnectionState::PeerClosed => Ok(Step::PeerClosed),
        ConnectionState::WriteTraffic(mut traffic) => match job {
            Job::Nothing => Ok(Step::Waits),
            Job::Payload(payload) => append(records, payload.len() + OVERHEAD, |room| {
                sized(traffic.encrypt(payload, room))
            })
            .map(|()| Step::Written),
            Job::CloseNotify => {
                append(records, 2 + OVERHEAD, |room| sized(traffic.queue_close_notify(room)))
                    .map(|()| Step::Written)
            }
        },
        // Early data is never accepted.
        _ => Ok(Step::Waits),
    };
    (read, came_to)
}

fn sized(written: Result<usize, EncryptError>) -> Result<Option<usize>, InsufficientSizeError> {
    match written {
        Ok(written) => Ok(Some(written)),
        Err(EncryptError::InsufficientSize(short)) => Err(short),
        Err(EncryptError::EncryptExhausted) => Ok(None),
    }
}

/// Appends what `write` writes, in `room` octets or as many more as it asks for.
fn append(
    records: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<Option<usize>, InsufficientSizeError>,
) -> Result<(), Error> {
    let start = records.len();
    records.resize(start + room, 0);
    let mut written = write(&mut records[start..]);
    if let Err(InsufficientSizeError { required_size }) = written {
        records.resize(start + required_size, 0);
        written = write(&mut records[start..]);
    }
    let length = written.ok().flatten();
    records.truncate(start + length.unwrap_or(0));
    length.map(|_| ()).ok_or(Error::EncryptError)
}

/// Returns why a connection fails, in the terms of the contract. `spoke`: the peer has sent a
/// record that was one.
pub(crate) fn reason(error: &Error, spoke: bool) -> SecurityError {
    match error {
        Error::AlertReceived(alert) => SecurityError::Alert(u8::from(*alert)),
        Error::InvalidCertificate(flaw) => match flaw {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                SecurityError::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                SecurityError::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                SecurityError::OtherName
            }
            CertificateError::UnknownIssuer => SecurityError::UnknownIssuer,
            CertificateError::Revoked => SecurityError::Revoked,
            // Said by our verifier alone.
            CertificateError::ApplicationVerificationFailure => SecurityError::NotPinned,
            _ => SecurityError::BadCertificate,
        },
        Error::NoCertificatesPresented => SecurityError::BadCertificate,
        Error::PeerIncompatible(_) => SecurityError::Incompatible,
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::MessageTooLarge
            | InvalidMessage::InvalidEmptyPayload,
        ) if !spoke => SecurityError::NotTls,
        _ => SecurityError::Broken,
    }
}
