//! Many sessions over ARTP that all speak in one instant.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread;
use std::time::Duration;

use stackwright::artp;
use stackwright::compose::Over;
use stackwright::ordered::Ordered;
use stackwright::wire::BufferTree;
use stackwright_endpoint::{Config, Endpoint, System};
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::Running;
use stackwright_programs::scratch::Scratch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::over_udp::{ARTP, Server, path, program, say};

const CLIENTS: usize = 64;
const LINES: usize = 2048;

/// Each of them sends nothing but empty lines, and each line has its reply; somebody else, who
/// fetches a file meanwhile, has it whole.
fn is_answered(start: impl FnOnce(&Path) -> Server) {
    let (far, near) = (Scratch::new(), Scratch::new());
    let content = octets(1, 10_000_000);
    fs::write(far.join("file"), &content).expect("a folder of ours");
    let mut server = start(far.path());
    let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stack = |system: &System| {
            let config = artp::Config::new(system.secret());
            let artp = artp::layer::<BufferTree>(config, system.seed());
            Over::new(Ordered::new(Default::default()), Over::new(artp, system.udp()))
        };
        let endpoint = Endpoint::new(Config::default(), stack).expect("an endpoint");
        let mut crowd = Vec::new();
        for _ in 0..CLIENTS {
            let mut stream = endpoint.connect_stream(remote).await.expect("a session");
            let mut greeting = [0; 200];
            let length = stream.read(&mut greeting).await.expect("a greeting");
            assert!(greeting[..length].starts_with(b"220 "));
            crowd.push(stream);
        }
        let target = near.join("file");
        let mut other =
            Running::start(program().args(["get", &server.url("file"), path(&target), "--json"]));
        // Whatever is written meanwhile is in the server's socket when it goes on.
        let stopped = server.running.stop();
        for stream in &mut crowd {
            stream.write_all(&[b'\n'; LINES]).await.expect("room for all lines");
            stream.flush().await.expect("a session");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(stopped);
        for stream in &mut crowd {
            let (mut lines, mut replies) = (0, [0; 4096]);
            while lines < LINES {
                let length = stream.read(&mut replies).await.expect("a reply to each line");
                assert!(length > 0, "{lines} lines are answered");
                lines += replies[..length].iter().filter(|octet| **octet == b'\n').count();
            }
            assert_eq!(lines, LINES);
        }
        let ended = loop {
            match other.ended() {
                Some(ended) => break ended,
                None => thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(ended.success(), "{ended}");
        assert_same(&fs::read(&target).expect("the file"), &content);
    });
    assert!(server.running.alive());
    say(&["ls", &server.url("")]).succeeded();
}

#[test]
fn a_crowd_of_empty_lines_is_answered() {
    is_answered(|folder| Server::over(ARTP, folder, &[]));
}

#[test]
fn a_crowd_of_empty_lines_is_answered_on_a_graph() {
    let options = ["--listen", "127.0.0.1:0", "--stack", "serve-artp"];
    is_answered(|folder| Server::start(ARTP, folder, &options));
}
