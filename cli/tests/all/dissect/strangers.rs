//! Captures that others write.

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::dissect::shown;

/// Datagrams over loopback, caught by dumpcap: where it is installed, and may.
#[test]
fn dumpcap_on_loopback() {
    let file =
        tempfile::Builder::new().suffix(".pcapng").tempfile().expect("a place for temporary files");
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let port = receiver.local_addr().expect("it is bound").port();
    let filter = format!("udp dst port {port}");
    let catching = Command::new("dumpcap")
        .args(["-q", "-i", "lo", "-c", "3", "-a", "duration:20", "-f", &filter, "-w"])
        .arg(file.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut catching) = catching else { return eprintln!("skipped: dumpcap is not installed") };
    let sender = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let begin = Instant::now();
    let status = loop {
        sender.send_to(b"caught\n", ("127.0.0.1", port)).expect("loopback takes it");
        thread::sleep(Duration::from_millis(50));
        if let Some(status) = catching.try_wait().expect("our own child") {
            break status;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "dumpcap does not end");
    };
    if !status.success() {
        return eprintln!("skipped: dumpcap may not catch anything here");
    }
    let shown = shown(&std::fs::read(file.path()).expect("what it wrote"), &[]);
    let to = format!(" → 127.0.0.1:{port}  49 octets\n");
    assert_eq!(shown.matches(&to).count(), 3, "{shown}");
    assert_eq!(shown.matches("  Payload, 7 octets\n    caught\n").count(), 3, "{shown}");
    assert_eq!(shown.matches("  Ethernet\n").count(), 3, "{shown}");
}

/// The older format, and both orders of octets in the newer one, as Wireshark's own tools write it.
#[test]
fn text2pcap() {
    for format in ["pcap", "nsecpcap", "pcapng"] {
        let text = crate::dissect::file(b"0000 68 65 6c 6c 6f 0a\n");
        let file = tempfile::NamedTempFile::new().expect("a place for temporary files");
        let made = Command::new("text2pcap")
            .args(["-q", "-F", format, "-4", "192.0.2.1,192.0.2.2", "-T", "1000,2000"])
            .args([text.path(), file.path()])
            .output();
        let Ok(made) = made else { return eprintln!("skipped: text2pcap is not installed") };
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let shown = shown(&std::fs::read(file.path()).expect("what it wrote"), &[]);
        assert!(shown.contains("192.0.2.1:1000 → 192.0.2.2:2000"), "{shown}");
        assert!(shown.contains("  Payload, 6 octets\n    hello\n"), "{shown}");
    }
}
