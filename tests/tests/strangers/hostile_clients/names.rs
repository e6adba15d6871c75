//! Names that lead elsewhere, or that a terminal would obey.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;

use super::Prey;

/// NUL, CR, LF and escape in names: refused where they would reach a file system, never echoed as
/// they are.
pub(super) fn control_characters(prey: &Prey) {
    let mut control = prey.guest();
    for command in [
        &b"RETR sm\0all\r\n"[..],
        b"STOR a\0b\r\n",
        b"STOR a\rb\r\n",
        b"STOR a\r\0b\r\n",
        b"MKD a\rb\r\n",
        b"MKD a\0b\r\n",
        b"RNFR small\0\r\n",
        b"CWD \0\r\n",
        b"SIZE a\rb\r\n",
    ] {
        // A port is ready, so that nothing but the name stands in the way.
        let _data = control.passive().expect("a port");
        control.send(command).expect("a connection");
        let reply = control.reply().expect("a reply");
        assert!(
            matches!(reply.code, 500..=599),
            "{:?}: {reply:?}",
            String::from_utf8_lossy(command)
        );
        let text = reply.text.trim_end_matches("\r\n");
        assert!(!text.contains(['\r', '\0']), "{reply:?}");
    }
    // An escape may be a name; it never comes back raw.
    let reply = control.ask("CWD \x1B[31mred").expect("a reply");
    assert!(matches!(reply.code, 500..=599) && !reply.text.contains('\x1B'), "{reply:?}");
    control.ask("NOOP").and_then(|reply| reply.is(200)).expect("replies in step with commands");
    assert!(prey.new_names().is_empty(), "{:?} appeared", prey.new_names());
    prey.unharmed();
}

/// Every way out of the folder by `..`.
pub(super) fn dot_dot(prey: &Prey) {
    let mut control = prey.guest();
    for path in [
        "../secret",
        "/../secret",
        "inside/../../secret",
        "/inside/../../secret",
        "./.././secret",
        "..//secret",
    ] {
        for verb in ["SIZE", "MDTM", "DELE", "RNFR"] {
            let reply = control.ask(&format!("{verb} {path}")).expect("a reply");
            assert!(matches!(reply.code, 500..=599), "{verb} {path}: {reply:?}");
        }
        let _data = control.passive().expect("a port");
        let reply = control.ask(&format!("RETR {path}")).expect("a reply");
        assert!(matches!(reply.code, 500..=599), "RETR {path}: {reply:?}");
    }
    for folder in ["..", "/..", "inside/../..", "../..", "/../../../../../../tmp", "/../root/.."] {
        let mut control = prey.guest();
        // Some servers stay at the root: right as well. What is outside must not be seen from
        // wherever we are then.
        let _ = control.ask(&format!("CWD {folder}")).expect("a reply");
        let reply = control.ask("SIZE secret").expect("a reply");
        assert!(matches!(reply.code, 500..=599), "CWD {folder}: {reply:?}");
        for verb in ["LIST", "NLST", "MLSD"] {
            let mut data = control.passive().expect("a port");
            let reply = control.ask(&format!("{verb} {folder}")).expect("a reply");
            if reply.code == 150 || reply.code == 125 {
                let mut listed = String::new();
                data.read_to_string(&mut listed).expect("a listing");
                assert!(!listed.contains("secret"), "{verb} {folder}: {listed}");
                control.reply().expect("the listing's end");
            }
        }
    }
    let mut control = prey.guest();
    for target in ["../new", "/../new", "inside/../../new"] {
        // A server that renames nothing refuses both.
        let _ = control.ask("RNFR small").expect("a reply");
        let reply = control.ask(&format!("RNTO {target}")).expect("a reply");
        // A server that takes `..` of the root for the root renames within it.
        if reply.code == 250 {
            control.ask("RNFR new").and_then(|reply| reply.is(350)).expect("the new name, inside");
            control.ask("RNTO small").and_then(|reply| reply.is(250)).expect("the old name");
        }
        let reply = control.ask(&format!("MKD {target}")).expect("a reply");
        if reply.code == 257 {
            control.ask("RMD new").and_then(|reply| reply.is(250)).expect("a folder made inside");
        }
        let data = control.passive().expect("a port");
        let reply = control.ask(&format!("STOR {target}")).expect("a reply");
        if reply.code == 150 || reply.code == 125 {
            drop(data);
            control.expect(226).expect("the transfer's end");
        }
    }
    prey.unharmed();
}

/// Links that lead out are not followed, whatever is asked of them.
pub(super) fn symbolic_links(prey: &Prey) {
    let root = prey.outside.join("root");
    symlink(prey.outside.path(), root.join("folder-link")).expect("a folder of ours");
    symlink("..", root.join("relative-link")).expect("a folder of ours");
    symlink(prey.outside.join("secret"), root.join("file-link")).expect("a folder of ours");
    symlink(prey.outside.join("planted"), root.join("new-link")).expect("a folder of ours");
    symlink("loop", root.join("loop")).expect("a folder of ours");
    let mut control = prey.guest();
    for path in [
        "folder-link/secret",
        "relative-link/secret",
        "file-link",
        "inside/../relative-link/secret",
        "loop",
    ] {
        let reply = control.ask(&format!("SIZE {path}")).expect("a reply");
        assert!(matches!(reply.code, 500..=599), "SIZE {path}: {reply:?}");
        let _data = control.passive().expect("a port");
        let reply = control.ask(&format!("RETR {path}")).expect("a reply");
        assert!(matches!(reply.code, 400..=599), "RETR {path}: {reply:?}");
    }
    for path in ["folder-link/planted", "relative-link/planted", "new-link", "file-link"] {
        let data = control.passive().expect("a port");
        let reply = control.ask(&format!("STOR {path}")).expect("a reply");
        if reply.code == 150 || reply.code == 125 {
            // It may replace the link by a file of that name, inside: what the link points at must
            // not be touched.
            (&data).write_all(b"planted").expect("a connection");
            drop(data);
            control.reply().expect("the transfer's end");
        }
    }
    for folder in ["folder-link", "relative-link"] {
        let _ = control.ask(&format!("CWD /{folder}")).expect("a reply");
        let reply = control.ask("SIZE secret").expect("a reply");
        assert!(matches!(reply.code, 500..=599), "CWD {folder}: {reply:?}");
        let _ = control.ask("CWD /").expect("a reply");
        let reply = control.ask(&format!("MKD {folder}/planted")).expect("a reply");
        assert!(matches!(reply.code, 500..=599), "MKD {folder}/planted: {reply:?}");
    }
    prey.unharmed();
}
