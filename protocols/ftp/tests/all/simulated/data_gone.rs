//! A data association that cannot be opened, while the server's reply is still on its way, or never
//! comes.

use stackwright_contract::Duration;
use stackwright_contract::services::Failure;
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_simulator::{Habits, Tree, World};

use crate::simulated::raw::Raw;
use crate::simulated::setting::{SERVER, add_client, client_config, door, job, last_words};

/// How a job fails whose data association nobody accepts, where this is said to RETR a moment
/// later; and in what time.
fn fails(to_retr: &[u8]) -> (Failure, Duration) {
    let mut world = World::new(1);
    let mut raw = Raw::add(&mut world, SERVER);
    let (_, controls) = raw.listen(&mut world, door(), 1);
    let client = add_client(&mut world, client_config(), Habits::default(), &Tree::shared());
    let ask = Ask::Copy {
        job: job(0),
        from: CopySide::Left,
        source: "x".into(),
        target: "y".into(),
        early: true,
    };
    world.ask(client, ask);
    let replies: [&[u8]; 7] = [
        b"220 hello\r\n",
        b"331 password\r\n",
        b"230 in\r\n",
        b"200 binary\r\n500 what\r\n",
        b"550 no\r\n500 what\r\n",
        b"227 come (10,0,0,1,7,208)\r\n",
        to_retr,
    ];
    for reply in replies {
        world.run_for(Duration::from_millis(100));
        raw.say(&mut world, controls[0], reply);
    }
    let heard = &raw.heard(&world, controls[0]).octets;
    assert!(heard.ends_with(b"RETR x\r\n"), "{}", String::from_utf8_lossy(heard));
    let since = world.now();
    let ended = world.run_until(
        |world| !last_words(&world.application(client).0).is_empty(),
        Duration::from_secs(600),
    );
    assert!(ended, "it has a last word");
    match last_words(&world.application(client).0)[..] {
        [Told::Failed { side: CopySide::Left, failure, .. }] => (failure, world.now().since(since)),
        ref told => panic!("{told:?}"),
    }
}

#[test]
fn what_the_server_says_tells_more() {
    assert_eq!(fails(b"550 no\r\n").0, Failure::NotFound);
}

#[test]
fn silence_is_not_waited_for_long() {
    let (failure, took) = fails(b"");
    assert_eq!(failure, Failure::Lost);
    assert!(took < Duration::from_secs(10), "{took:?}");
}
