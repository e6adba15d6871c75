//! Two routers of ours between two kernels: `stackwright route` from a TUN device to a veth, and
//! from its other end to a TUN device in another network.

use std::fs;
use std::process::{Command, Stdio};

use stackwright_programs::processes::{Running, run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::folder;
use crate::namespace::{ip, rootless};
use crate::strangers::{Elsewhere, answers, fetched, has, soon};

/// The other kernel, the near router and the far one, by version of IP.
const HOPS: [[&str; 3]; 2] =
    [["10.1.0.2", "10.2.0.2", "10.3.0.1"], ["fd01::2", "fd02::2", "fd03::1"]];

/// What each kernel is told: of its device, and of the way to the other.
const KERNELS: [[&str; 6]; 2] = [
    [
        "tuntap add dev sw0 mode tun",
        "addr add 10.1.0.1/24 dev sw0",
        "addr add fd01::1/64 dev sw0 nodad",
        "link set sw0 up",
        "route add 10.3.0.0/24 via 10.1.0.2",
        "route add fd03::/64 via fd01::2",
    ],
    [
        "tuntap add dev sw0 mode tun",
        "addr add 10.3.0.1/24 dev sw0",
        "addr add fd03::1/64 dev sw0 nodad",
        "link set sw0 up",
        "route add 10.1.0.0/24 via 10.3.0.2",
        "route add fd01::/64 via fd03::2",
    ],
];

/// What each router is told: its addresses, its routes, and its end of the veth.
const ROUTERS: [[&str; 3]; 2] = [
    [
        "10.1.0.2/24 fd01::2/64, 10.2.0.1/24 fd02::1/64",
        "10.3.0.0/24 via 10.2.0.2, fd03::/64 via fd02::2",
        "va",
    ],
    [
        "10.3.0.2/24 fd03::2/64, 10.2.0.2/24 fd02::2/64",
        "10.1.0.0/24 via 10.2.0.1, fd01::/64 via fd02::1",
        "vb",
    ],
];

/// The other network, and the routers on the way there.
struct Routed {
    far: Elsewhere,
    routers: [Running; 2],
    files: Scratch,
}

impl Routed {
    fn up() -> Self {
        let (far, files) = (Elsewhere::new(), Scratch::new());
        ip(&format!("link add va type veth peer name vb netns {}", far.number()));
        for (line, of_far) in KERNELS[0].iter().zip(KERNELS[1]) {
            ip(line);
            far.ip(of_far);
        }
        ip("link set va up");
        far.ip("link set vb up");
        let routers = ROUTERS.map(|[address, routes, cable]| {
            let text = format!(
                "top = \"ip\"\n[ip]\naddress = \"{address}\"\nroutes = \"{routes}\"\n\
                 forwards = true\nover = [[\"point\", \"resolve\"]]\n[point]\nover = \"tun\"\n\
                 [tun]\ndevice = \"sw0\"\n[resolve]\nover = \"ethernet\"\n[ethernet]\n\
                 over = \"packet\"\n[packet]\ndevice = \"{cable}\"\n"
            );
            let file = files.join(cable);
            fs::write(&file, text).expect("a folder of ours");
            let program = stackwright();
            let mut command = if cable == "va" {
                Command::new(program)
            } else {
                far.command(&program.to_string_lossy())
            };
            command.args(["route", "--json", "--interval", "100ms"]).arg(file);
            let log = fs::File::create(files.join(&format!("{cable}.json")));
            Running::start(command.stdin(Stdio::null()).stdout(log.expect("a folder of ours")))
        });
        for [.., host] in HOPS {
            assert!(soon(|| answers(host)), "{host} answers");
        }
        Routed { far, routers, files }
    }
}

#[test]
fn curl_fetches_through_two_routers() {
    if !has("curl") {
        return;
    }
    rootless("routers::curl_fetches_through_two_routers", || {
        let mut routed = Routed::up();
        let (served, content) = folder(10_000_000);
        for [.., host] in HOPS {
            let mut server = routed.far.command(&stackwright().to_string_lossy());
            let at =
                if host.contains(':') { format!("[{host}]:2121") } else { format!("{host}:2121") };
            server.arg("serve").arg(served.path()).args(["--listen", &at]);
            let _server = Running::start(server.stdin(Stdio::null()).stdout(Stdio::null()));
            assert!(soon(|| std::net::TcpStream::connect((host, 2121)).is_ok()), "it listens");
            assert!(fetched(host, "f") == content, "the same octets");
        }
        let number = routed.routers[0].number().to_string();
        run(Command::new("kill").args(["-INT", &number])).succeeded();
        assert!(soon(|| routed.routers[0].ended().is_some()), "the router ends");
        let said = fs::read_to_string(routed.files.join("va.json")).expect("the router's words");
        let last: serde_json::Value =
            serde_json::from_str(said.lines().last().unwrap_or_default()).expect("JSON");
        assert!(last["octets"].as_u64() > Some(2 * content.len() as u64), "{said}");
    });
}

#[test]
fn traceroute_sees_both_routers() {
    if !has("traceroute") {
        return;
    }
    rootless("routers::traceroute_sees_both_routers", || {
        let _routed = Routed::up();
        for hops in HOPS {
            for probe in ["-U", "-I"] {
                let mut trace = Command::new("traceroute");
                trace.args(["-n", "-q", "1", "-w", "5", probe, hops[2]]);
                let said = run(&mut trace).succeeded().text();
                let seen = said.lines().skip(1).map(|line| line.split_whitespace().nth(1));
                assert!(seen.eq(hops.map(Some)), "{said}");
            }
        }
    });
}

/// There is no server of iperf3's protocol here: both its ends are the kernels', and what is
/// between them is ours.
#[test]
fn iperf3_measures_through_two_routers() {
    if !has("iperf3") {
        return;
    }
    rootless("routers::iperf3_measures_through_two_routers", || {
        let routed = Routed::up();
        for direction in [None, Some("-R")] {
            let mut server = routed.far.command("iperf3");
            let server = server.args(["-s", "-1"]).stdin(Stdio::null()).stdout(Stdio::null());
            let mut server = Running::start(server);
            let measure = || {
                let mut client = Command::new("iperf3");
                client.args(["-c", HOPS[0][2], "-n", "10M"]).args(direction);
                client.stdout(Stdio::null()).stderr(Stdio::null());
                client.status().is_ok_and(|status| status.success())
            };
            assert!(soon(measure), "iperf3 {direction:?} measures");
            assert!(soon(|| server.ended().is_some_and(|status| status.success())), "and ends");
        }
    });
}
