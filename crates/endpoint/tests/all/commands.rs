//! Commands to a layer of the stack, what it tells of the path, and ends with a code.

use std::collections::VecDeque;
use std::time::Duration;

use stackwright_compose::Over;
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{
    Command, CommandError, Context, Facts, Handle, Outlet, PathLimits, Protocol,
};
use stackwright_drivers::udp::{LONGEST, Udp};
use stackwright_endpoint::{Config, Error, System, blocking};
use stackwright_wire::BufferTree;

type M = BufferTree;
type Stack = Over<Commanded, Udp<M>>;

const ANY: &str = "127.0.0.1:0";

/// A layer that does as it is commanded.
#[derive(Default)]
struct Commanded {
    /// Commands that are answered when [`RELEASE`] comes.
    later: VecDeque<(Handle, u32)>,
}

/// The path takes messages of this length from now on; returns that.
const fn narrow(longest: u64) -> Command {
    Command::Own { name: "narrow", argument: longest }
}

/// Is answered later, with this.
const fn later(answer: u64) -> Command {
    Command::Own { name: "later", argument: answer }
}

/// Answers what waits, and returns how many those were.
const RELEASE: Command = Command::Own { name: "release", argument: 0 };

impl Protocol for Commanded {
    const FACTS: Facts = Facts::named("commanded");
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let DatagramsRequest::Control { association, command } = request else {
            return out.request(request);
        };
        let outcome = match command {
            Command::Own { name: "narrow", argument } => {
                let path = PathLimits::of_longest(argument as usize);
                out.indicate(DatagramsIndication::Changed { association, path });
                Ok(argument as u32)
            }
            Command::Own { name: "later", argument } => {
                return self.later.push_back((association, argument as u32));
            }
            RELEASE => {
                let waiting = self.later.len() as u32;
                for (association, answer) in self.later.drain(..) {
                    out.indicate(DatagramsIndication::Controlled {
                        association,
                        outcome: Ok(answer),
                    });
                }
                Ok(waiting)
            }
            _ => Err(CommandError::Declined),
        };
        out.indicate(DatagramsIndication::Controlled { association, outcome });
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(indication);
    }
}

fn stack(system: &System) -> Stack {
    Over::new(Commanded::default(), system.udp())
}

#[test]
fn a_command_is_answered_and_the_path_is_what_was_told_last() {
    let endpoint = blocking::Endpoint::bind(
        ANY.parse::<std::net::SocketAddr>().unwrap(),
        Config::default(),
        stack,
    )
    .unwrap();
    let mut one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    assert_eq!(one.path(), PathLimits::of_longest(LONGEST), "UDP has told it");
    assert_eq!(one.control(narrow(1200)).unwrap(), 1200);
    assert_eq!(one.path(), PathLimits::of_longest(1200));
    assert!(matches!(
        one.control(Command::Renegotiate),
        Err(Error::Command(CommandError::Declined))
    ));
    // An answer that comes too late is not that of the next command.
    one.set_timeout(Some(Duration::ZERO));
    assert!(one.control(later(1)).is_err_and(|error| error.is_not_yet()));
    assert!(one.control(later(2)).is_err_and(|error| error.is_not_yet()));
    assert_eq!(one.control(RELEASE).unwrap(), 2);
    assert_eq!(one.control(narrow(700)).unwrap(), 700);
}

#[cfg(feature = "tokio")]
mod awaited {
    use std::pin::pin;
    use std::task::Poll;

    use stackwright_artp as artp;
    use stackwright_contract::services::Ended;
    use stackwright_drivers::tcp::Tcp;
    use stackwright_endpoint::Endpoint;
    use stackwright_ordered::Ordered;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn commands_are_answered_in_their_order_and_a_dropped_one_takes_no_other_s_answer() {
        let here: std::net::SocketAddr = ANY.parse().unwrap();
        let endpoint = Endpoint::bind(here, Config::default(), stack).await.unwrap();
        let one = endpoint.connect(endpoint.local().unwrap()).await.unwrap();
        let mut waits = [1, 2, 3].map(|answer| Box::pin(one.control(later(answer))));
        for wait in &mut waits {
            std::future::poll_fn(|cx| {
                assert!(wait.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        let [first, second, third] = waits;
        drop(second);
        let released = pin!(one.control(RELEASE));
        let (third, first, released) = tokio::join!(third, first, released);
        assert_eq!((first.unwrap(), third.unwrap(), released.unwrap()), (1, 3, 3));
        assert_eq!(one.control(narrow(900)).await.unwrap(), 900);
        assert_eq!(one.path().longest, 900);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_waits_for_an_answer_hears_of_the_end() {
        type OverTcp = Over<Waiting, Tcp<M>>;
        /// Answers no command.
        #[derive(Default)]
        struct Waiting;

        impl Protocol for Waiting {
            const FACTS: Facts = Facts::named("waiting");
            type Provides = stackwright_contract::services::Streams<M>;
            type Uses = stackwright_contract::services::Streams<M>;

            fn handle_request(
                &mut self,
                _: &Context,
                request: stackwright_contract::services::StreamsRequest<M>,
                out: &mut impl Outlet<Self>,
            ) {
                if !matches!(
                    request,
                    stackwright_contract::services::StreamsRequest::Control { .. }
                ) {
                    out.request(request);
                }
            }

            fn handle_indication(
                &mut self,
                _: &Context,
                indication: stackwright_contract::services::StreamsIndication<M>,
                out: &mut impl Outlet<Self>,
            ) {
                out.indicate(indication);
            }
        }

        let stack = |system: &System| -> OverTcp { Over::new(Waiting, system.tcp()) };
        let here: std::net::SocketAddr = ANY.parse().unwrap();
        let endpoint = Endpoint::bind(here, Config::default(), stack).await.unwrap();
        let here = endpoint.local().unwrap();
        let (one, other) =
            tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream()).unwrap();
        let aborts = async {
            tokio::task::yield_now().await;
            other.abort(7);
        };
        let (answer, ()) = tokio::join!(one.control(Command::Renegotiate), aborts);
        let error = answer.unwrap_err();
        assert!(matches!(error, Error::Ended(Ended::Reset(0))), "TCP says no code: {error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_code_reaches_the_peer() {
        let stack = |system: &System| {
            let config =
                artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
            let artp = Over::new(artp::layer::<M>(config, system.seed()), system.udp());
            Over::new(Ordered::default(), artp)
        };
        let here: std::net::SocketAddr = ANY.parse().unwrap();
        let server = Endpoint::bind(here, Config::default(), stack).await.unwrap();
        let client = Endpoint::new(Config::default(), stack).unwrap();
        let there = server.local().unwrap();
        let (one, mut other) =
            tokio::try_join!(client.connect_stream(there), server.accept_stream()).unwrap();
        one.abort(42);
        let read = async { other.read_u8().await.unwrap_err() };
        let error = tokio::select! {
            error = read => error,
            ended = client.run() => panic!("{ended:?}"),
        };
        assert!(error.to_string().contains("code 42"), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_stream_is_closed_though_the_peer_goes_on() {
        let here: std::net::SocketAddr = ANY.parse().unwrap();
        let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<M>).await.unwrap();
        let here = endpoint.local().unwrap();
        let (mut one, mut other) =
            tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream()).unwrap();
        one.write_all(b"all of it").await.unwrap();
        let goes_on = async {
            // More than all buffers and the credit hold.
            for _ in 0..300 {
                other.write_all(&[1; 64 << 10]).await.unwrap();
            }
            let mut all = String::new();
            other.read_to_string(&mut all).await.unwrap();
            other.close().await.unwrap();
            all
        };
        let (closed, all) = tokio::join!(one.close(), goes_on);
        closed.unwrap();
        assert_eq!(all, "all of it");
    }
}
