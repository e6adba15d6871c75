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

pub(crate) use scene::{LEFT, leave_part, resumed_at};

use libtest_mimic::Trial;

use crate::setting::ignorable;
use scene::Direction;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for direction in Direction::BOTH {
        let mut add = |name: &str, interrupt: fn(Direction) -> Option<String>| {
            let name = format!("interrupted/{name}/{}", direction.name());
            trials.push(ignorable(name, &["ip", "tc", "taskset"], false, move || {
                if !wire::may_be_put_up() {
                    return Some("this needs the right to make network namespaces".into());
                }
                interrupt(direction)
            }));
        };
        add("client-killed", killed::client);
        add("server-killed", killed::server);
        add("disk-full", full::disk);
        add("blocked/waits", blocked::waits);
        add("blocked/tries-again", blocked::tries_again);
        add("blocked/gives-up", blocked::gives_up);
    }
    trials
}
