//! FTP over TCP, IPv4 and AX.25, between two programs of ours and through the TNCs of a simulated
//! channel: the stack that `stackwright draw ftp-radio` draws. Nothing of it needs a right.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright_programs::content::octets;
use stackwright_programs::processes::{Running, run, stackwright};
use stackwright_programs::scratch::Scratch;

const CLIENT: &str = include_str!("../../../cli/stacks/ftp-radio.toml");

/// The file, for a station whose TNC is there; without neighbours, it asks for them.
fn at_tnc(text: &str, tnc: Option<SocketAddr>, has_neighbors: bool) -> String {
    let text = text.replace("N0CALL-2", "N0AAA-2").replace("N0CALL-1", "N0AAA-1");
    let text = text.replace("127.0.0.1:8001", &tnc.expect("a TNC").to_string());
    let asks = |line: &&str| has_neighbors || !line.starts_with("neighbors");
    text.lines().filter(asks).flat_map(|line| [line, "\n"]).collect()
}

/// The client's stack as the server's: the ends change places.
fn served() -> String {
    let (_, below) = CLIENT.split_once("[tcp]\n").expect("TCP is in it");
    let mut below = below.to_owned();
    for [one, other] in [["44.0.0.1", "44.0.0.2"], ["N0CALL-1", "N0CALL-2"]] {
        below = below.replace(one, "\0").replace(other, one).replace('\0', other);
    }
    let above = "top = \"ftp\"\n[ftp]\nprotocol = \"ftp server\"\nover = [\"tcp\", \"disk\"]\n";
    format!("{above}[tcp]\n{below}")
}

fn a_file_crosses(rate: &str, has_neighbors: bool) {
    let text = format!(
        "rate = '{rate}'\nkey-up = '100 ms'\npersistence = 1\nslot = '20 ms'\n\
         [[station]]\nname = 'N0AAA-1'\nkiss = '127.0.0.1:0'\n\
         [[station]]\nname = 'N0AAA-2'\nkiss = '127.0.0.1:0'\n"
    );
    let channel = ChannelDescription::read(&text).expect("a channel");
    let channel = RadioChannel::start(&channel).expect("it listens");
    let (folder, content) = (Scratch::new(), octets(1, 1000));
    let [file, server, client, copy] =
        ["f", "server.toml", "client.toml", "copy"].map(|name| folder.join(name));
    fs::write(&file, &content).expect("a folder of ours");
    fs::write(&server, at_tnc(&served(), channel.tnc(0), has_neighbors)).expect("a folder of ours");
    fs::write(&client, at_tnc(CLIENT, channel.tnc(1), has_neighbors)).expect("a folder of ours");
    let mut serve = Command::new(stackwright());
    serve.arg("serve").arg(folder.path()).args(["--listen", "44.0.0.1:21", "--stack"]).arg(server);
    let _server = Running::start(serve.stdin(Stdio::null()).stdout(Stdio::null()));
    let mut get = Command::new(stackwright());
    get.args(["get", "ftp://44.0.0.1/f", "-q", "--timeout", "80", "--stack"]).arg(client);
    run(get.arg(&copy)).succeeded();
    assert!(fs::read(copy).expect("it is there") == content, "the same octets");
}

#[test]
fn a_file_crosses_at_1200_bits_a_second() {
    a_file_crosses("1200 b/s", true);
}

#[test]
fn a_file_crosses_at_9600_bits_a_second_between_stations_that_ask_for_each_other() {
    a_file_crosses("9600 b/s", false);
}
