//! Two programs of ours at the ends of a veth: neither kernel's TCP nor its IP is between them.

use std::fs;
use std::process::{Command, Stdio};

use stackwright_programs::processes::{Running, run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::folder;
use crate::namespace::{alone, ip, rootless};
use crate::strangers::{Elsewhere, listening};

/// The stacks of a server and a client that stand on the kernel's UDP.
const OVER_UDP: [[&str; 2]; 2] = [
    [
        include_str!("../../../cli/stacks/serve-artp.toml"),
        include_str!("../../../cli/stacks/get-artp.toml"),
    ],
    [
        include_str!("../../../cli/stacks/serve-xtp.toml"),
        include_str!("../../../cli/stacks/get-xtp.toml"),
    ],
];

/// What UDP of our own stands on, at one end of the veth. It is there at once: nothing else has the
/// address, and it has the same station each time.
fn below_udp(own: &str, device: &str) -> String {
    format!(
        "[udp]\nover = \"ip\"\n[ip]\naddress = \"10.78.0.{own}/24\"\nover = \"resolve\"\n\
         [resolve]\nprobe = false\nover = \"ethernet\"\n[ethernet]\n\
         address = \"02:00:00:00:00:0{own}\"\nover = \"{device}\"\n[{device}]\ndevice = \"end{own}\"\n"
    )
}

#[test]
fn artp_and_xtp_run_on_our_udp() {
    rootless("between::artp_and_xtp_run_on_our_udp", || {
        ip("link set lo up");
        ip("link add end1 type veth peer name end2");
        ip("link set end1 up");
        ip("link set end2 up");
        // The kernel pings our server from its own station on the first end.
        ip("addr add 10.78.0.3/24 dev end1");
        for stacks in OVER_UDP {
            let ((served, content), files) = (folder(5_000_000), Scratch::new());
            let [server, client] = ["1", "2"].map(|own| files.join(own));
            for ((text, file), own) in stacks.iter().zip([&server, &client]).zip(["2", "1"]) {
                let text = text.replace("[udp]\n", &below_udp(own, "packet"));
                fs::write(file, text).expect("a folder of ours");
            }
            let mut serve = Command::new(stackwright());
            serve.arg("serve").arg(served.path()).args(["--listen", "10.78.0.2:2121", "--stack"]);
            serve.arg(server);
            let _server = listening(serve, "10.78.0.2");
            let target = Scratch::new();
            let mut get = Command::new(stackwright());
            get.args(["get", "ftp://10.78.0.2:2121/f", "-q", "--stack"]).arg(client);
            run(get.arg(target.join("f"))).succeeded();
            assert!(fs::read(target.join("f")).expect("it is there") == content, "the same octets");
        }
    });
}

/// Neither kernel has an address, nor hears a frame.
#[test]
fn ping_and_artp_cross_from_a_queue_in_one_network_to_one_in_another() {
    alone(|| {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root may take queues from the kernel");
        }
        let far = Elsewhere::new();
        ip(&format!("link add end1 type veth peer name end2 netns {}", far.number()));
        ip("link set end1 up");
        far.ip("link set end2 up");
        let ((served, content), files) = (folder(2_000_000), Scratch::new());
        let [server, client] = ["1", "2"].map(|own| files.join(own));
        for ((text, file), own) in OVER_UDP[0].iter().zip([&server, &client]).zip(["2", "1"]) {
            let text = text.replace("[udp]\n", &below_udp(own, "xdp"));
            fs::write(file, text).expect("a folder of ours");
        }
        let mut serve = far.command(&stackwright().to_string_lossy());
        serve.arg("serve").arg(served.path()).args(["--listen", "10.78.0.2:2121", "--stack"]);
        serve.arg(server).stdin(Stdio::null()).stdout(Stdio::null());
        let _server = Running::start(&mut serve);
        // Its own address is probed for some seconds, in which the server starts.
        let mut ping = Command::new(stackwright());
        ping.args(["ping", "10.78.0.2", "--inet", "xdp:end1=10.78.0.1/24", "--interval", "20ms"]);
        let pinged = run(&mut ping);
        // EPERM, EACCES, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT.
        let why = String::from_utf8_lossy(&pinged.complaints);
        if [1, 13, 38, 95, 97].iter().any(|error| why.contains(&format!("(os error {error})"))) {
            return eprintln!("skipped: this kernel has no AF_XDP for us: {why}");
        }
        let said = pinged.succeeded().text();
        assert!(said.contains("4 of 4"), "{said}");
        let mut get = Command::new(stackwright());
        get.args(["get", "ftp://10.78.0.2:2121/f", "-q", "--stack"]).arg(client);
        run(get.arg(files.join("f"))).succeeded();
        assert!(fs::read(files.join("f")).expect("it is there") == content, "the same octets");
    });
}
