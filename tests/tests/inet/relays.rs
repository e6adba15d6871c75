//! Stations that relay for each other (DSR), and programs that reach others through a TUN device of
//! a station, on a simulated channel that is twenty times as fast as one.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright::contract::CallSign;
use stackwright_programs::content::octets;
use stackwright_programs::processes::{Running, run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::air::{SPEED, running};
use crate::folder;
use crate::namespace::{ip, rootless};
use crate::strangers::{Elsewhere, answers, fetched, has, soon};

const RATE: u32 = 9600;
/// Where the TNCs of a test with two networks are.
const NEAR: &str = "192.168.9.1";
/// The networks of both devices: the station has the first address, the kernel the second.
const DEVICES: [&str; 2] = ["44.1.0", "44.2.0"];

/// N0AAA, N0BBB and N0CCC in a line: the ends do not hear each other. A fourth TNC hears all.
fn line(at: &str) -> RadioChannel {
    let station = |name: &str, hears: &str| {
        format!("[[station]]\nname = '{name}'\nkiss = '{at}:0'\nhears = [{hears}]\n")
    };
    let text = format!(
        "rate = '{RATE} b/s'\nspeed = {SPEED}\nkey-up = '100 ms'\npersistence = 0.25\n\
         slot = '20 ms'\n{}{}{}{}",
        station("N0AAA", "'N0BBB'"),
        station("N0BBB", "'N0AAA', 'N0CCC'"),
        station("N0CCC", "'N0BBB'"),
        station("N0DDD", "'N0AAA', 'N0BBB', 'N0CCC'"),
    );
    let channel = ChannelDescription::read(&text).expect("a channel");
    RadioChannel::start(&channel).expect("it listens")
}

fn tnc(channel: &RadioChannel, nth: usize) -> SocketAddr {
    channel.tnc(nth).expect("a TNC")
}

/// The command of a station whose file says `more`.
fn station(folder: &Scratch, call: &str, tnc: SocketAddr, more: &str) -> Vec<String> {
    let file = folder.join(call);
    let rate = RATE * SPEED;
    let text =
        format!("call = \"{call}\"\n[tnc.vhf]\nline = \"tcp://{tnc}\"\nrate = {rate}\n{more}");
    fs::write(&file, text).expect("a folder of ours");
    [stackwright(), "station".into(), file].map(|word| word.to_string_lossy().into()).into()
}

fn here(words: &[String]) -> Running {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stderr(Stdio::null());
    running(command)
}

#[test]
fn a_station_behind_another_is_reached() {
    let (channel, files, served) = (line("127.0.0.1"), Scratch::new(), Scratch::new());
    let content = octets(1, 5_000);
    fs::write(served.join("f"), &content).expect("a folder of ours");
    let serves = format!("[serve]\nftp = {{ root = {:?} }}\n", served.path());
    let relays = "[ipv4]\ndsr = true\n";
    let _relay = here(&station(&files, "N0BBB", tnc(&channel, 1), relays));
    let far = station(&files, "N0CCC", tnc(&channel, 2), &format!("{serves}{relays}"));
    let _far = here(&far);
    let at = tnc(&channel, 0);
    let settings = format!("rate={}&dsr=true", RATE * SPEED);
    for call in ["N0BBB", "N0CCC"] {
        let mut ping = Command::new(stackwright());
        ping.args(["ping", &format!("ax25://{call}@{at}?{settings}"), "--call", "N0AAA"]);
        let said = run(&mut ping).succeeded().text();
        assert!(said.contains("4 of 4"), "{said}");
    }
    let mut heard = TcpStream::connect(tnc(&channel, 3)).expect("it listens");
    let copy = files.join("copy");
    let mut get = Command::new(stackwright());
    get.args(["get", "-q", &format!("ftp+xstp+ax25://N0CCC@{at}/f?{settings}")]);
    run(get.arg(&copy).args(["--call", "N0AAA"])).succeeded();
    assert!(fs::read(copy).expect("it is there") == content, "the same octets");
    heard.set_nonblocking(true).expect("a socket");
    let mut frames = Vec::new();
    // It ends with what is there.
    let _ = heard.read_to_end(&mut frames);
    // XSTP behind a route by one relay: the sixth rule, in a UI frame of compressed headers.
    let of_route = |three: &&[u8]| three[..2] == [0x03, 0xc5] && three[2] >> 4 == 6;
    let short = frames.windows(3).filter(of_route).count();
    assert!(short > 40, "{short} frames with a short route");
}

/// Two kernels, a station with a device at each, and what a fourth TNC hears.
struct Kernels {
    _channel: RadioChannel,
    far: Elsewhere,
    stations: Vec<Running>,
    monitor: Running,
    files: Scratch,
}

impl Kernels {
    /// At both ends of the line with a relay between them, or else next to each other.
    fn new(relayed: bool) -> Self {
        let (far, files) = (Elsewhere::new(), Scratch::new());
        ip("link set lo up");
        ip(&format!("link add va type veth peer name vb netns {}", far.number()));
        ip(&format!("addr add {NEAR}/24 dev va"));
        far.ip("addr add 192.168.9.2/24 dev vb");
        ip("link set va up");
        far.ip("link set vb up");
        let channel = line(NEAR);
        let capture = files.join("air.pcapng");
        let mut monitor = Command::new(stackwright());
        let heard = format!("tcp://{}", tnc(&channel, 3));
        monitor.args(["monitor", &heard, "-w"]).arg(&capture).stdin(Stdio::null());
        let monitor = Running::start(monitor.stdout(Stdio::null()));
        assert!(soon(|| capture.metadata().is_ok_and(|found| found.len() > 0)), "it captures");
        let ends =
            if relayed { [("N0AAA", 0), ("N0CCC", 2)] } else { [("N0AAA", 0), ("N0BBB", 1)] };
        let mut stations = Vec::new();
        for (own, other) in [(0, 1), (1, 0)] {
            let (call, nth) = ends[own];
            for line in [
                "tuntap add dev ax0 mode tun".into(),
                format!("addr add {}.2/30 dev ax0", DEVICES[own]),
                "link set ax0 mtu 220 up".into(),
                format!("route add {}.0/30 via {}.1", DEVICES[other], DEVICES[own]),
            ] {
                if own == 0 { ip(&line) } else { far.ip(&line) }
            }
            let router: CallSign = ends[other].0.parse().expect("a call sign");
            let more = format!(
                "[ipv4]\ndsr = true\ncompress = false\n\
                 device = {{ name = \"ax0\", address = \"{}.1/30\" }}\n\
                 route = [{{ to = \"{}.0/30\", via = \"{}\" }}]\n",
                DEVICES[own],
                DEVICES[other],
                router.host(),
            );
            let words = station(&files, call, tnc(&channel, nth), &more);
            if own == 0 {
                stations.push(here(&words));
            } else {
                let mut command = far.command(&words[0]);
                command.args(&words[1..]).stderr(Stdio::null());
                stations.push(running(command));
            }
        }
        if relayed {
            let relays = "[ipv4]\ndsr = true\ncompress = false\n";
            stations.push(here(&station(&files, "N0BBB", tnc(&channel, 1), relays)));
        }
        Kernels { _channel: channel, far, stations, monitor, files }
    }

    /// The kernel's ping, and its curl from a server in the other network.
    fn fetch(&self, length: usize) {
        let host = format!("{}.2", DEVICES[1]);
        assert!(soon(|| answers(&host)), "{host} answers");
        let mut ping = Command::new("ping");
        let said = run(ping.args(["-c", "20", "-i", "0.3", &host])).succeeded().text();
        assert!(said.contains(" 0% packet loss"), "{said}");
        let (served, content) = folder(length);
        let mut server = self.far.command(&stackwright().to_string_lossy());
        server.arg("serve").arg(served.path()).args(["--listen", &format!("{host}:2121")]);
        let _server = Running::start(server.stdin(Stdio::null()).stdout(Stdio::null()));
        assert!(soon(|| std::net::TcpStream::connect((&*host, 2121)).is_ok()), "it listens");
        assert!(fetched(&host, "f") == content, "the same octets");
    }

    /// Ends the monitor, and returns how many packets of what it has heard each filter of tshark
    /// finds.
    fn heard<const N: usize>(&mut self, filters: [&str; N]) -> [usize; N] {
        let number = self.monitor.number().to_string();
        run(Command::new("kill").args(["-INT", &number])).succeeded();
        assert!(soon(|| self.monitor.ended().is_some()), "it ends");
        filters.map(|filter| {
            let mut read = Command::new("tshark");
            read.arg("-nr").arg(self.files.join("air.pcapng")).args(["-Y", filter]);
            run(&mut read).succeeded().text().lines().count()
        })
    }
}

/// What Wireshark shall not find.
const WRONG: &str =
    "_ws.malformed || ip.checksum.status == \"Bad\" || tcp.checksum.status == \"Bad\"";

/// A neighbour's packets have no octet of DSR.
#[test]
fn kernels_reach_each_other_by_radio() {
    if !has("curl") || !has("tshark") {
        return;
    }
    rootless("relays::kernels_reach_each_other_by_radio", || {
        let mut kernels = Kernels::new(false);
        kernels.fetch(50_000);
        let [icmp, tcp, dsr, longer, wrong] = kernels.heard([
            "ax25 && ip && icmp",
            "ax25 && ip && tcp",
            "dsr",
            "dsr && (icmp || tcp)",
            WRONG,
        ]);
        assert!(icmp >= 40 && tcp > 200 && dsr > 0, "{icmp} {tcp} {dsr}");
        assert_eq!((longer, wrong), (0, 0));
    });
}

#[test]
fn kernels_reach_each_other_through_a_relay() {
    if !has("curl") || !has("tshark") {
        return;
    }
    rootless("relays::kernels_reach_each_other_through_a_relay", || {
        let mut kernels = Kernels::new(true);
        kernels.fetch(5_000);
        // The relay tells that the far station has gone.
        kernels.stations[1].kill();
        let host = format!("{}.2", DEVICES[1]);
        assert!(soon(|| !answers(&host)), "{host} is silent");
        let [requests, replies, errors, echoes, segments, wrong] = kernels.heard([
            "dsr.option.type == 1",
            "dsr.option.type == 2",
            "dsr.option.type == 3 && dsr.option.err.src == 10.164.179.25",
            "dsr.option.type == 96 && icmp",
            "dsr.option.type == 96 && tcp",
            WRONG,
        ]);
        println!("{requests} requests, {replies} replies, {errors} errors");
        assert!([requests, replies, errors].iter().all(|count| *count > 0), "all kinds");
        assert!(echoes >= 80 && segments > 60, "{echoes} {segments}");
        assert_eq!(wrong, 0);
    });
}
