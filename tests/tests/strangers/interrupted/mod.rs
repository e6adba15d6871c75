//! Transfers of 100 MB that are interrupted: a side is killed, the disk is full, the network is
//! blocked. What was interrupted is completed, and no half file ever stands under the final name.
//!
//! `STACKWRIGHT_KILLS=20` kills each side twenty times in each direction, and not twice;
//! `STACKWRIGHT_BLOCKED=30` blocks the network for 30 seconds, and not for 5.

mod blocked;
mod full;
mod killed;
mod scene;
mod wire;

use libtest_mimic::Trial;

use crate::setting::ignorable;
use scene::Direction;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for direction in Direction::BOTH {
        let mut add = |name: &str, interrupt: fn(Direction) -> Option<String>| {
            let name = format!("interrupted/{name}/{}", direction.name());
            trials.push(ignorable(name, &["ip", "tc"], false, move || {
                if !wire::may_be_put_up() {
                    return Some("this needs the right to make network namespaces".into());
                }
                interrupt(direction)
            }));
        };
        add("client-killed", |direction| done(killed::client(direction)));
        add("server-killed", |direction| done(killed::server(direction)));
        add("disk-full", full::disk);
        add("blocked/waits", |direction| done(blocked::waits(direction)));
        add("blocked/tries-again", |direction| done(blocked::tries_again(direction)));
        add("blocked/gives-up", |direction| done(blocked::gives_up(direction)));
    }
    trials
}

/// The outcome of a trial that had something to try.
fn done((): ()) -> Option<String> {
    None
}
