//! ARTP over the kernel's UDP, and a runtime.

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::{Association, Config, Endpoint, System};
use stackwright_wire::BufferTree;
use tokio::task::LocalSet;

pub(crate) type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

pub(crate) const ANY: &str = "127.0.0.1:0";

/// The stack, where `change` is made to its configuration.
pub(crate) fn with(change: impl Fn(&mut artp::Config)) -> impl Fn(&System) -> Artp {
    move |system| {
        let mut config =
            artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        change(&mut config);
        Over::new(artp::layer(config, system.seed()), system.udp())
    }
}

pub(crate) fn plain(system: &System) -> Artp {
    with(|_| {})(system)
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(test))
}

pub(crate) async fn listening(config: Config, make: impl Fn(&System) -> Artp) -> Endpoint<Artp> {
    Endpoint::bind(ANY.parse::<std::net::SocketAddr>().unwrap(), config, make).await.unwrap()
}

/// Two endpoints that are connected.
pub(crate) async fn pair(
    config: Config,
    make: impl Fn(&System) -> Artp,
) -> ([Endpoint<Artp>; 2], [Association<Artp>; 2]) {
    let server = listening(config, &make).await;
    let client = Endpoint::new(config, &make).unwrap();
    let place = server.local().unwrap();
    let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
    ([client, server], [one, other])
}
