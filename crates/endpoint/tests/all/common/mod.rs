//! ARTP over the kernel's UDP, and a runtime.

mod stack;

pub(crate) use stack::*;
use stackwright_endpoint::{Association, Config, Endpoint, System};
use tokio::task::LocalSet;

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
