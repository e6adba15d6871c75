//! Many associations at once: the listener's backlog, and more of them than ARTP has session
//! numbers between two addresses.

#[allow(dead_code, reason = "others use all of it")]
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::common::{listening, plain, run};
use stackwright_contract::ask::Counters;
use stackwright_endpoint::{Config, Endpoint};
use tokio::task::spawn_local;

#[test]
fn a_hundred_clients_at_once_find_room() {
    run(async {
        let server = listening(Config::default(), plain).await;
        let stack = spawn_local(server.run());
        let place = server.local().unwrap();
        let connects = (0..100).map(|_| {
            spawn_local(async move {
                let client = Endpoint::new(Config::default(), plain).unwrap();
                let association = client.connect(place).await.unwrap();
                let sent = association.ask(Counters).unwrap().sent;
                (client, association, sent)
            })
        });
        let mut clients = Vec::new();
        for connect in connects.collect::<Vec<_>>() {
            clients.push(connect.await.unwrap());
        }
        // None was accepted so far.
        assert_eq!(server.totals().associations, 100);
        assert_eq!(server.totals().dropped, 0, "no client had to ask again");
        // A request and a confirmation; beyond 64 that are half open, the request once more, with a
        // cookie.
        assert!(clients.iter().all(|(_, _, sent)| *sent <= 3));
        for _ in 0..100 {
            server.accept().await.unwrap();
        }
        stack.abort();
    });
}

#[test]
fn six_hundred_associations_from_one_endpoint_to_another() {
    run(async {
        let server = listening(Config::default(), plain).await;
        let place = server.local().unwrap();
        let serves = spawn_local(async move {
            loop {
                let association = server.accept().await.unwrap();
                spawn_local(async move {
                    while let Ok((octets, properties)) = association.receive().await {
                        association.send_with(&octets, properties).await.unwrap();
                    }
                });
            }
        });
        let client = Rc::new(Endpoint::new(Config::default(), plain).unwrap());
        let connects = (0..600_u32).map(|number| {
            let client = Rc::clone(&client);
            spawn_local(async move {
                let association = client.connect(place).await.unwrap();
                association.send(&number.to_be_bytes()).await.unwrap();
                assert_eq!(association.receive().await.unwrap().0, number.to_be_bytes());
                association
            })
        });
        let mut associations = Vec::new();
        for connect in connects.collect::<Vec<_>>() {
            associations.push(connect.await.unwrap());
        }
        let mut ports = BTreeMap::<_, usize>::new();
        for association in &associations {
            *ports.entry(association.local().unwrap()).or_default() += 1;
        }
        let mut shares: Vec<_> = ports.into_values().collect();
        shares.sort_unstable();
        assert_eq!(shares, [90, 255, 255]);
        for association in associations {
            association.close().await.unwrap();
        }
        assert_eq!(client.totals().associations, 0);
        serves.abort();
    });
}
