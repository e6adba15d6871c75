//! A disk that fills up in the middle of a transfer: it is told so, and once there is room, the
//! same command goes on with what arrived.

use std::path::Path;
use std::process::{Command, Stdio};

use super::scene::{Direction, LENGTH, RATE, Scene, resumed_at};

/// A file system of its own, in memory, over a folder.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    /// Mounts it. `None` where this process may not.
    fn mount(folder: &'a Path, size: usize) -> Option<Self> {
        let size = format!("size={size}");
        let mounted = mount(&["-t", "tmpfs", "-o", &size, "stackwright"], folder);
        mounted.then_some(Disk(folder))
    }

    fn resize(&self, size: usize) {
        let size = format!("remount,size={size}");
        assert!(mount(&["-o", &size], self.0), "the disk grows");
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        // A file that is still open in a program that has just been killed must not keep it.
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

fn mount(options: &[&str], folder: &Path) -> bool {
    let mut command = Command::new("mount");
    let command = command.args(options).arg(folder);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

pub(super) fn disk(direction: Direction) -> Option<String> {
    let mut scene = Scene::new(direction, RATE);
    // Mounted before the server opens the folder.
    scene.kill_server();
    let target = scene.target().to_owned();
    let Some(disk) = Disk::mount(&target, LENGTH / 2) else {
        return Some("this needs the right to mount".into());
    };
    scene.start_server();
    let watch = scene.watch();
    let outcome = scene.copy(&[]).exited(1);
    assert!(outcome.text().contains("no room"), "{}", outcome.text());
    disk.resize(3 * LENGTH);
    let told = scene.copy(&[]).succeeded().text();
    let kept = resumed_at(&told).is_some_and(|octets| octets > LENGTH as u64 / 4);
    assert!(kept, "{told}");
    watch.end();
    scene.assert_copied();
    scene.kill_server();
    None
}
