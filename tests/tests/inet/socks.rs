//! `stackwright socks --inet`: clients of the kernel's TCP, whose connections onward are ours.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use stackwright_programs::processes::{PATIENCE, Running, run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::namespace::rootless;
use crate::strangers::{Device, has, soon};
use crate::{ENDS, folder};

const PROXY: &str = "127.0.0.1:1080";

/// A proxy for two clients at a time, and a server of the kernel's TCP.
fn up(device: &Device, [kernel, own]: [&str; 2], served: &Scratch) -> [Running; 2] {
    let mut socks = Command::new(stackwright());
    socks.args(["socks", "--clients", "2", "--inet", &device.inet(own)]);
    let mut serve = Command::new(stackwright());
    let at = if kernel.contains(':') { format!("[{kernel}]") } else { kernel.into() };
    serve.arg("serve").arg(served.path()).args(["--listen", &format!("{at}:2121")]);
    let [socks, serve] = [socks, serve]
        .map(|mut command| Running::start(command.stdin(Stdio::null()).stdout(Stdio::null())));
    assert!(soon(|| TcpStream::connect((kernel, 2121)).is_ok()), "the server listens");
    assert!(soon(|| TcpStream::connect(PROXY).is_ok()), "the proxy listens");
    [socks, serve]
}

#[test]
fn curl_fetches_through_our_proxy() {
    if !has("curl") {
        return;
    }
    rootless("socks::curl_fetches_through_our_proxy", || {
        let device = Device::up();
        for ends @ [kernel, _] in ENDS {
            let (served, content) = folder(20_000_000);
            let _programs = up(&device, ends, &served);
            let at = if kernel.contains(':') { format!("[{kernel}]") } else { kernel.into() };
            let fetch = |port: u16, code: i32| {
                let mut curl = Command::new("curl");
                curl.args(["-sS", "--max-time", "85", "--socks5-hostname", PROXY]);
                run(curl.arg(format!("ftp://{at}:{port}/f"))).exited(code)
            };
            assert!(fetch(2121, 0).output == content, "the same octets");
            // 97 is a refusal by the proxy.
            fetch(2, 97);
        }
    });
}

#[test]
fn clients_are_bounded_and_may_close_their_half() {
    rootless("socks::clients_are_bounded_and_may_close_their_half", || {
        let (device, (served, _)) = (Device::up(), folder(0));
        let _programs = up(&device, ENDS[0], &served);
        let greet = || {
            let mut client = TcpStream::connect(PROXY).expect("the proxy listens");
            client.set_read_timeout(Some(PATIENCE)).expect("it is open");
            client.write_all(b"\x05\x01\x00").expect("it is open");
            client
        };
        let greeted = |client: &mut TcpStream| {
            let mut answer = [0; 2];
            client.read_exact(&mut answer).map(|()| answer)
        };
        let (mut first, mut second, mut third) = (greet(), greet(), greet());
        for client in [&mut first, &mut second] {
            assert_eq!(greeted(client).expect("an answer"), [5, 0]);
        }
        third.set_read_timeout(Some(Duration::from_millis(300))).expect("it is open");
        assert!(greeted(&mut third).is_err(), "it waits for a place");
        first.write_all(b"\x05\x02\x00\x01\x0a\x4d\x00\x01\x08\x49").expect("it is open");
        let mut refused = Vec::new();
        first.read_to_end(&mut refused).expect("it is closed");
        assert_eq!(refused[..2], [5, 7], "BIND is refused");
        drop(first);
        third.set_read_timeout(Some(PATIENCE)).expect("it is open");
        assert_eq!(greeted(&mut third).expect("an answer"), [5, 0]);
        // The name of a host, and at once all that is to be said to it.
        let asks = b"\x05\x01\x00\x03\x0910.77.0.1\x08\x49USER ftp\r\nNOOP\r\n";
        third.write_all(asks).expect("it is open");
        third.shutdown(Shutdown::Write).expect("it is open");
        let mut said = Vec::new();
        third.read_to_end(&mut said).expect("it is closed");
        assert_eq!(said[..8], [5, 0, 0, 1, 10, 77, 0, 2], "connected, from our address");
        let said = String::from_utf8_lossy(&said[10..]);
        let codes = said.lines().filter_map(|line| line.get(..4));
        assert!(codes.eq(["220 ", "331 ", "200 "]), "{said}");
    });
}
