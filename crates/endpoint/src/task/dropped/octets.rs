//! Octets, over streams made of ARTP.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::Stream;

/// What is sent: no two places look alike.
fn octets(length: usize) -> Vec<u8> {
    (0..length as u32 / 4).flat_map(u32::to_be_bytes).collect()
}

async fn pair(scene: &Scene<Stacked>) -> (Stream<Stacked>, Stream<Stacked>) {
    tokio::try_join!(scene.client.connect_stream(scene.place), scene.server.accept_stream())
        .unwrap()
}

/// Reads to the end, and closes.
async fn all(mut stream: Stream<Stacked>) -> Vec<u8> {
    let mut came = Vec::new();
    stream.read_to_end(&mut came).await.unwrap();
    stream.close().await.unwrap();
    came
}

#[test]
fn connect_stream() {
    run(each(1, async |polls| {
        let scene = Scene::new(stacked).await;
        let over = polled(scene.client.connect_stream(scene.place), polls)
            .await
            .map(Result::unwrap)
            .is_some();
        let comes = async {
            let mut one = scene.client.connect_stream(scene.place).await.unwrap();
            one.write_all(b"here").await.unwrap();
            one.close().await.unwrap();
        };
        let serves = async {
            loop {
                let mut guest = scene.server.accept_stream().await.unwrap();
                let mut came = Vec::new();
                // Whoever was dropped is reset.
                if guest.read_to_end(&mut came).await.is_ok() {
                    assert_eq!(came, b"here");
                    return guest.close().await.unwrap();
                }
            }
        };
        tokio::join!(comes, serves);
        scene.ends().await;
        over
    }));
}

#[test]
fn accept_stream() {
    run(each(1, async |polls| {
        let scene = Scene::new(stacked).await;
        let connects = async {
            scene.client.connect_stream(scene.place).await.unwrap().close().await.unwrap()
        };
        let accepts = async {
            let guest = polled(scene.server.accept_stream(), polls).await;
            let over = guest.is_some();
            let guest = match guest {
                Some(guest) => guest.unwrap(),
                None => scene.server.accept_stream().await.unwrap(),
            };
            assert!(all(guest).await.is_empty());
            over
        };
        let ((), over) = tokio::join!(connects, accepts);
        scene.ends().await;
        over
    }));
}

#[test]
fn read() {
    run(each(1, async |polls| {
        let scene = Scene::new(stacked).await;
        let (mut one, mut other) = pair(&scene).await;
        let sent = octets(100_000);
        let writes = spawn_local(async move {
            one.write_all(&octets(100_000)).await.unwrap();
            one.close().await.unwrap();
        });
        let mut came = vec![0; 10];
        let read = polled(other.read(&mut came), polls).await.map(Result::unwrap);
        came.truncate(read.unwrap_or(0));
        came.extend(all(other).await);
        assert!(came == sent, "each octet once, in order");
        writes.await.unwrap();
        scene.ends().await;
        read.is_some()
    }));
}

#[test]
fn write() {
    run(each(1, async |polls| {
        let scene = Scene::new(stacked).await;
        let (mut one, other) = pair(&scene).await;
        let first = one.statistics().credit.octets;
        let sent = octets(2_000_000);
        // As long as it takes something at once …
        let mut written = 0;
        while let Some(taken) = polled(one.write(&sent[written..]), 1).await {
            written += taken.unwrap();
        }
        assert!(written > 0 && written < sent.len(), "there is no room left");
        // … and once more, where it has to wait.
        let reads = spawn_local(all(other));
        let more = polled(one.write(&sent[written..]), polls).await.map(Result::unwrap);
        written += more.unwrap_or(0);
        one.write_all(&sent[written..]).await.unwrap();
        until(|| one.statistics().credit.octets == first).await;
        one.close().await.unwrap();
        assert!(reads.await.unwrap() == sent, "each octet once, in order");
        scene.ends().await;
        more.is_some()
    }));
}

#[test]
fn shutdown() {
    run(each(0, async |polls| {
        let scene = Scene::new(stacked).await;
        let (mut one, other) = pair(&scene).await;
        let sent = octets(100_000);
        one.write_all(&sent).await.unwrap();
        let over = polled(one.shutdown(), polls).await.map(Result::unwrap).is_some();
        one.shutdown().await.unwrap();
        drop(one);
        assert!(all(other).await == sent, "what was written before it arrives");
        scene.ends().await;
        over
    }));
}

#[test]
fn close() {
    run(each(1, async |polls| {
        let scene = Scene::new(stacked).await;
        let (mut one, other) = pair(&scene).await;
        let sent = octets(100_000);
        one.write_all(&sent).await.unwrap();
        let reads = spawn_local(async move {
            let (mut other, mut came) = (other, Vec::new());
            let read = other.read_to_end(&mut came).await;
            (read.map(|_| came), other.close().await)
        });
        let over = polled(one.close(), polls).await.map(Result::unwrap).is_some();
        match reads.await.unwrap() {
            (Ok(came), Ok(())) => assert!(came == sent, "what was written before it arrives"),
            // It was never asked to close: that is how a stream is dropped.
            (Err(_), Err(_)) => assert_eq!(polls, 0),
            other => panic!("{:?}", other.1),
        }
        scene.ends().await;
        over
    }));
}
