//! An Internet stack of our own beside the kernel's: `stackwright serve`, `get` and `ping` with
//! `--inet`, at an address that the kernel does not own.
//!
//! Each test has a network of its own, in which it needs no right; where users may make none, or
//! may not open a TUN device, it says so. `INET_MB=1000` moves files of so many megabytes.

mod air;
mod between;
#[path = "../../../crates/drivers/tests/all/namespace.rs"]
#[allow(dead_code, reason = "tests of drivers make networks as root, too")]
mod namespace;
mod radio;
mod relays;
mod routers;
mod rpc;
mod socks;
mod strangers;

use std::fs;
use std::process::{Command, Stdio};

use namespace::rootless;
use stackwright_programs::content::octets;
use stackwright_programs::processes::{Running, run, stackwright};
use stackwright_programs::scratch::Scratch;
use strangers::{Device, fetched, has, ours, vsftpd};

/// The kernel's address on the device and ours, by version of IP.
const ENDS: [[&str; 2]; 2] = [["10.77.0.1", "10.77.0.2"], ["fd77::1", "fd77::2"]];

/// A folder with a file `f`, and its octets.
fn folder(most: usize) -> (Scratch, Vec<u8>) {
    let wished = std::env::var("INET_MB").ok().and_then(|text| text.parse::<usize>().ok());
    let content = octets(1, wished.map_or(most, |megabytes| megabytes * 1_000_000));
    let folder = Scratch::new();
    fs::write(folder.join("f"), &content).expect("a folder of ours");
    (folder, content)
}

#[test]
fn the_kernel_is_pinged_and_pings() {
    if !has("ping") {
        return;
    }
    rootless("the_kernel_is_pinged_and_pings", || {
        for link in [Device::up, Device::tap, Device::veth] {
            let device = link();
            for [kernel, own] in ENDS {
                let inet = device.inet(own);
                let mut ping = Command::new(stackwright());
                ping.args(["ping", kernel, "--inet", &inet, "--count", "20", "--interval", "20ms"]);
                let said = run(&mut ping).succeeded().text();
                // The kernel may drop what it sends before it has seen the device's carrier.
                let is_answered = said.contains("20 of 20") || said.contains("19 of 20");
                assert!(is_answered, "{said}");
                assert!(!said.contains(" 0 µs"), "an answer takes time: {said}");
                let (empty, _) = folder(0);
                let _server = ours(&empty, &inet);
                for size in ["56", "60000"] {
                    let mut ping = Command::new("ping");
                    ping.args(["-c", "20", "-i", "0.02", "-s", size, own]);
                    let said = run(&mut ping).succeeded().text();
                    assert!(said.contains(" 0% packet loss"), "{said}");
                }
            }
        }
    });
}

#[test]
fn curl_fetches_from_us() {
    if !has("curl") {
        return;
    }
    rootless("curl_fetches_from_us", || {
        for link in [Device::up, Device::tap, Device::veth] {
            let device = link();
            for [_, own] in ENDS {
                let (served, content) = folder(20_000_000);
                let _server = ours(&served, &device.inet(own));
                assert!(fetched(own, "f") == content, "the same octets");
            }
        }
    });
}

#[test]
fn curl_stores_at_us() {
    if !has("curl") {
        return;
    }
    rootless("curl_stores_at_us", || {
        let device = Device::up();
        let [_, own] = ENDS[0];
        let (source, content) = folder(20_000_000);
        let target = Scratch::new();
        let mut server = Command::new(stackwright());
        let password = target.join("password");
        fs::write(&password, "secret\n").expect("a folder of ours");
        server.arg("serve").arg(target.path()).args(["--inet", &device.inet(own)]);
        server.args(["--writable", "--user", "anna", "--password-file"]).arg(&password);
        let _server = strangers::listening(server, own);
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "-u", "anna:secret", "-T"]).arg(source.join("f"));
        run(curl.arg(format!("ftp://{own}:2121/g"))).succeeded();
        assert!(fs::read(target.join("g")).expect("it was stored") == content, "the same octets");
    });
}

#[test]
fn we_fetch_from_vsftpd() {
    if !has("vsftpd") {
        return;
    }
    rootless("we_fetch_from_vsftpd", || {
        let device = Device::up();
        for [kernel, own] in ENDS {
            let (served, content) = folder(20_000_000);
            let _server = vsftpd(&served, kernel);
            let target = Scratch::new();
            let mut get = Command::new(stackwright());
            let host = if kernel.contains(':') { format!("[{kernel}]") } else { kernel.into() };
            get.args(["get", &format!("ftp://{host}:2121/f"), "-q", "--inet", &device.inet(own)]);
            run(get.arg(target.join("f"))).succeeded();
            assert!(fs::read(target.join("f")).expect("it is there") == content, "the same octets");
        }
    });
}

/// What the kernel offers is taken or left, in all combinations.
#[test]
fn sixteen_settings_of_the_kernel() {
    if !has("curl") {
        return;
    }
    rootless("sixteen_settings_of_the_kernel", || {
        let device = Device::up();
        let [_, own] = ENDS[0];
        let (served, content) = folder(2_000_000);
        let _server = ours(&served, &device.inet(own));
        let names = ["tcp_sack", "tcp_timestamps", "tcp_window_scaling", "tcp_ecn"];
        for setting in 0..16 {
            for (bit, name) in names.iter().enumerate() {
                let value = if setting >> bit & 1 == 1 { "1" } else { "0" };
                let set = fs::write(format!("/proc/sys/net/ipv4/{name}"), value);
                set.unwrap_or_else(|why| panic!("{name}: {why}"));
            }
            assert!(fetched(own, "f") == content, "setting {setting:04b}");
        }
    });
}

#[test]
fn a_closed_port_refuses_at_once() {
    if !has("curl") {
        return;
    }
    rootless("a_closed_port_refuses_at_once", || {
        let device = Device::up();
        for [_, own] in ENDS {
            let (empty, _) = folder(0);
            let _server = ours(&empty, &device.inet(own));
            let host = if own.contains(':') { format!("[{own}]") } else { own.into() };
            let mut curl = Command::new("curl");
            // 7 is a refusal, 28 would be silence.
            run(curl.args(["-s", "--max-time", "20"]).arg(format!("ftp://{host}:2/"))).exited(7);
        }
    });
}

/// A client that has said everything and closed its half is answered all the same.
#[test]
fn nc_closes_its_half() {
    if !has("nc") {
        return;
    }
    rootless("nc_closes_its_half", || {
        let device = Device::up();
        for [_, own] in ENDS {
            let (empty, _) = folder(0);
            let _server = ours(&empty, &device.inet(own));
            let mut nc = Command::new("sh");
            nc.args(["-c", &format!("printf 'USER ftp\\r\\nNOOP\\r\\n' | nc -N -w 20 {own} 2121")]);
            let said = run(&mut nc).succeeded().text();
            let codes = said.lines().filter_map(|line| line.get(..4));
            assert!(codes.eq(["220 ", "331 ", "200 "]), "{said}");
        }
    });
}

#[test]
fn traceroute_reaches_us() {
    if !has("traceroute") {
        return;
    }
    rootless("traceroute_reaches_us", || {
        let device = Device::up();
        for [_, own] in ENDS {
            let (empty, _) = folder(0);
            let _server = ours(&empty, &device.inet(own));
            for probe in ["-U", "-I", "-T"] {
                let mut trace = Command::new("traceroute");
                trace.args(["-n", "-q", "1", "-w", "5", "-m", "3", probe, own]);
                let said = run(&mut trace).succeeded().text();
                assert_eq!(said.lines().count(), 2, "{said}");
                assert!(said.contains(&format!(" 1  {own} ")), "{said}");
            }
        }
    });
}

/// Wireshark finds nothing malformed, and every check right.
#[test]
fn wireshark_finds_nothing_wrong() {
    if !has("tshark") {
        return;
    }
    rootless("wireshark_finds_nothing_wrong", || {
        let device = Device::up();
        let capture = Scratch::new();
        let file = capture.join("sw0.pcapng");
        let mut shark = Command::new("tshark");
        shark.args(["-q", "-n", "-i", "sw0", "-w"]).arg(&file);
        let mut shark = Running::start(shark.stdout(Stdio::null()).stderr(Stdio::null()));
        let begun = || file.metadata().is_ok_and(|found| found.len() > 0);
        assert!(strangers::soon(begun), "tshark captures");
        for [_, own] in ENDS {
            let (served, content) = folder(1_000_000);
            let _server = ours(&served, &device.inet(own));
            assert!(fetched(own, "f") == content, "the same octets");
        }
        let number = shark.number().to_string();
        run(Command::new("kill").args(["-INT", &number])).succeeded();
        assert!(strangers::soon(|| shark.ended().is_some()), "tshark ends");
        let count = |filter: &str| {
            let mut read = Command::new("tshark");
            read.arg("-nr").arg(&file).args(["-Y", filter]);
            run(&mut read).succeeded().text().lines().filter(|line| line.contains("TCP")).count()
        };
        assert!(count("tcp") > 100);
        assert_eq!(count("_ws.malformed or ip.checksum.status == \"Bad\""), 0);
    });
}
