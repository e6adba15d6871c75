//! Messages, over ARTP.

use stackwright_contract::services::MessageProperties;
use stackwright_wire::{BufferTree, Message};

use super::*;
use crate::Association;

/// How long each message is: room is for a few.
const LENGTH: usize = 1000;

fn numbered(number: u32) -> Vec<u8> {
    let mut octets = number.to_be_bytes().to_vec();
    octets.resize(LENGTH, 0);
    octets
}

fn number(octets: &[u8]) -> u32 {
    u32::from_be_bytes(*octets.first_chunk().unwrap())
}

/// Both ends of an association.
async fn pair(scene: &Scene<Artp>) -> (Association<Artp>, Association<Artp>) {
    tokio::try_join!(scene.client.connect(scene.place), scene.server.accept()).unwrap()
}

/// Receives until the peer has closed: all numbers that came, in their order.
async fn all(association: Association<Artp>) -> Vec<u32> {
    let mut numbers = Vec::new();
    loop {
        match association.receive().await {
            Ok((octets, _)) => numbers.push(number(&octets)),
            Err(error) => {
                assert!(error.is_finished(), "{error}");
                numbers.sort_unstable();
                return numbers;
            }
        }
    }
}

/// Sends until there is no room; how many went.
fn fill(association: &Association<Artp>) -> u32 {
    let message = |number| BufferTree::with_headroom(128, &numbered(number));
    (0..)
        .find(|number| {
            association.try_send_message(message(*number), MessageProperties::default()).is_err()
        })
        .unwrap()
}

#[test]
fn connect() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let over =
            polled(scene.client.connect(scene.place), polls).await.map(Result::unwrap).is_some();
        // Whoever arrived is told that he is gone, if he was there at all; and then somebody comes
        // who stays.
        let comes = async {
            let one = scene.client.connect(scene.place).await.unwrap();
            one.send(&numbered(7)).await.unwrap();
            one.close().await.unwrap();
        };
        let serves = async {
            loop {
                let guest = scene.server.accept().await.unwrap();
                // Whoever gave up before he was answered said nothing: the silence is noticed.
                if guest.receive().await.is_ok_and(|(octets, _)| number(&octets) == 7) {
                    return assert!(all(guest).await.is_empty());
                }
            }
        };
        tokio::join!(comes, serves);
        scene.ends().await;
        over
    }));
}

#[test]
fn accept() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let connects = async {
            let one = scene.client.connect(scene.place).await.unwrap();
            one.send(&numbered(1)).await.unwrap();
            one.close().await.unwrap();
        };
        let accepts = async {
            let guest = polled(scene.server.accept(), polls).await;
            let over = guest.is_some();
            let guest = match guest {
                Some(guest) => guest.unwrap(),
                None => scene.server.accept().await.unwrap(),
            };
            assert_eq!(all(guest).await, [1], "who arrives is accepted once");
            over
        };
        let ((), over) = tokio::join!(connects, accepts);
        scene.ends().await;
        over
    }));
}

#[test]
fn send() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let (one, other) = pair(&scene).await;
        let first = one.statistics().credit;
        let full = fill(&one);
        let receives = spawn_local(all(other));
        let over = match polled(one.send(&numbered(full)), polls).await {
            Some(sent) => {
                sent.unwrap();
                true
            }
            None => {
                one.send(&numbered(full)).await.unwrap();
                false
            }
        };
        assert_eq!(one.statistics().sent.messages, full as usize + 1);
        until(|| one.statistics().credit == first).await;
        one.close().await.unwrap();
        assert!(receives.await.unwrap().into_iter().eq(0..=full), "each once");
        scene.ends().await;
        over
    }));
}

#[test]
fn send_message() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let (one, other) = pair(&scene).await;
        let full = fill(&one);
        let receives = spawn_local(all(other));
        let message = BufferTree::with_headroom(128, &numbered(full));
        let mut sending = one.send_message(message, MessageProperties::default());
        let over = polled(&mut sending, polls).await.map(Result::unwrap).is_some();
        match sending.into_message() {
            Some(message) => {
                assert!(!over, "it is the stack's");
                one.send_message(message, MessageProperties::default()).await.unwrap();
            }
            None => assert!(over, "it is still ours"),
        }
        one.close().await.unwrap();
        assert!(receives.await.unwrap().into_iter().eq(0..=full), "each once");
        scene.ends().await;
        over
    }));
}

#[test]
fn commit() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let (one, other) = pair(&scene).await;
        let full = fill(&one);
        let receives = spawn_local(all(other));
        let mut buffer = one.reserve(LENGTH, 2);
        for (mut pieces, number) in buffer.each_mut().zip(full..) {
            pieces.next().unwrap()[..4].copy_from_slice(&number.to_be_bytes());
        }
        let end = full + buffer.messages() as u32;
        let mut sending = one.commit(buffer, MessageProperties::default());
        let over = polled(&mut sending, polls).await.map(Result::unwrap).is_some();
        match sending.into_message() {
            Some(buffer) => {
                assert!(!over, "it is the stack's");
                one.commit(buffer, MessageProperties::default()).await.unwrap();
            }
            None => assert!(over, "it is still ours"),
        }
        one.close().await.unwrap();
        assert!(receives.await.unwrap().into_iter().eq(0..end), "each once");
        scene.ends().await;
        over
    }));
}

/// Forty messages come, each once: those that came before, and what is received from now on.
async fn forty(mut numbers: Vec<u32>, other: Association<Artp>, sends: JoinHandle<()>) {
    numbers.extend(all(other).await);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..40), "each once");
    sends.await.unwrap();
}

#[test]
fn receive() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let (one, other) = pair(&scene).await;
        let sends = spawn_local(async move {
            for number in 0..40 {
                one.send(&numbered(number)).await.unwrap();
            }
            one.close().await.unwrap();
        });
        let mut numbers = Vec::new();
        let over = match polled(other.receive(), polls).await {
            Some(came) => {
                numbers.push(number(&came.unwrap().0));
                true
            }
            None => false,
        };
        forty(numbers, other, sends).await;
        scene.ends().await;
        over
    }));
}

#[test]
fn receive_batch() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let (one, other) = pair(&scene).await;
        let sends = spawn_local(async move {
            for number in 0..20 {
                let mut buffer = one.reserve(LENGTH, 2);
                for (place, pieces) in (2 * number..).zip(buffer.each_mut()) {
                    pieces.for_each(|piece| piece[..4].copy_from_slice(&u32::to_be_bytes(place)));
                }
                one.commit(buffer, MessageProperties::default()).await.unwrap();
            }
            one.close().await.unwrap();
        });
        let mut numbers = Vec::new();
        let over = match polled(other.receive_batch(), polls).await {
            Some(came) => {
                for pieces in came.unwrap().0.pieces() {
                    numbers.push(number(&pieces.flatten().copied().collect::<Vec<_>>()));
                }
                true
            }
            None => false,
        };
        forty(numbers, other, sends).await;
        scene.ends().await;
        over
    }));
}

#[test]
fn close() {
    run(each(1, async |polls| {
        let scene = Scene::new(artp).await;
        let (one, other) = pair(&scene).await;
        let full = fill(&one);
        let receives = spawn_local(all(other));
        let over = polled(one.close(), polls).await.map(Result::unwrap).is_some();
        assert!(receives.await.unwrap().into_iter().eq(0..full), "what was sent before it arrives");
        scene.ends().await;
        over
    }));
}
