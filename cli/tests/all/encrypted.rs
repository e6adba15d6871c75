//! Files over TLS between two of ours, from the command lines of the README to described stacks.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::{Outcome, Running, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::free_port;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");
/// Longer than what is done on the stack's own thread, and no multiple of a block.
const LENGTH: usize = 3_000_001;

/// A person who has never used the program, and a folder to serve.
struct Home(Scratch);

impl Home {
    fn new() -> Self {
        let home = Home(Scratch::new());
        fs::create_dir(home.0.join("pub")).expect("a folder of ours");
        fs::write(home.0.join("pub/paper.pdf"), octets(9, LENGTH)).expect("a folder of ours");
        home
    }

    /// A line of a shell, where the program is on the path.
    fn shell(&self, line: &str) -> Command {
        let folder = Path::new(PROGRAM).parent().expect("a folder").display();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {line}")]).current_dir(self.0.path());
        command.env("PATH", format!("{folder}:/usr/bin:/bin")).env("HOME", self.0.path());
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "NETRC", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, line: &str) -> Outcome {
        run(&mut self.shell(line))
    }

    /// Starts a server, and returns it with its first lines, down to the one with `last` in it.
    fn serve(&self, line: &str, last: &str) -> (Running, Vec<String>) {
        let mut command = self.shell(line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut running = Running::start(&mut command);
        let mut said = Vec::new();
        for line in BufReader::new(running.output()).lines() {
            said.push(line.expect("text"));
            if said.last().is_some_and(|line| line.contains(last)) {
                return (running, said);
            }
        }
        panic!("it ended: {said:?}");
    }

    fn arrived(&self, name: &str) {
        assert_same(&fs::read(self.0.join(name)).expect("the file"), &octets(9, LENGTH));
        fs::remove_file(self.0.join(name)).expect("the file");
    }
}

/// The fingerprint in the lines of a server.
fn fingerprint(said: &[String]) -> &str {
    let is_one = |word: &&str| word.len() == 64 && word.bytes().all(|x| x.is_ascii_hexdigit());
    let found = said.iter().flat_map(|line| line.split_whitespace()).find(is_one);
    found.unwrap_or_else(|| panic!("no fingerprint: {said:?}"))
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

/// The commands of the README's section, without the first, which installs the program. Only the
/// port is another, because somebody may use that one.
#[test]
fn the_readmes_three_commands_serve_and_fetch_a_file() {
    let readme = include_str!("../../../README.md");
    let section = readme.split("### Encrypted").nth(1).expect("the section");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let lines: Vec<_> = block.expect("commands").lines().collect();
    let [install, serve, get] = lines[..] else { panic!("three commands: {lines:?}") };
    assert_eq!(install, "cargo install --path cli");
    let commands = [serve, get].map(|line| line.split(" #").next().unwrap_or_default().trim());
    let [serve, get] = commands;

    let (home, place) = (Home::new(), format!("127.0.0.1:{}", free_port(false)));
    let (_server, said) = home.serve(&format!("{serve} --listen {place}"), "stackwright get");
    let get = get.replace("127.0.0.1:2121", &place).replace("SHA256", fingerprint(&said));
    assert!(get.contains(&place) && get.contains(fingerprint(&said)), "{get}");
    home.run(&get).succeeded();
    home.arrived("paper.pdf");
    // The last line of the server is a command that works, too.
    let hint = said.last().expect("a line").trim();
    home.run(&hint.replace("ADDRESS:PORT", &place).replace("FILE", "paper.pdf")).succeeded();
    home.arrived("paper.pdf");
}

/// A server whose certificate nobody vouches for is not used; the message shows what to pin.
#[test]
fn a_certificate_that_is_not_trusted_is_shown_with_the_command_that_pins_it() {
    let (home, port) = (Home::new(), free_port(false));
    let listen = format!("stackwright serve pub --listen-tls 127.0.0.1:{port}");
    let (_server, said) = home.serve(&listen, "stackwright get");
    let url = format!("ftps://127.0.0.1:{port}/paper.pdf");
    let refused = home.run(&format!("stackwright get {url} 'a copy'")).exited(4);
    let text = complaints(&refused);
    let command = text.lines().map(str::trim).find(|line| line.starts_with("stackwright get "));
    let command = command.unwrap_or_else(|| panic!("{text}"));
    assert!(command.ends_with(&format!("--pin {}", fingerprint(&said))), "{text}");
    home.run(command).succeeded();
    home.arrived("a copy");
    let refused = home.run(&format!("stackwright get {url} 'a copy' --json")).exited(4).text();
    let told: serde_json::Value = serde_json::from_str(refused.trim()).expect("JSON");
    assert_eq!(told["fingerprint"].as_str(), Some(fingerprint(&said)), "{refused}");
    let other = format!("stackwright get {url} x --pin {}", "ab".repeat(32));
    let text = complaints(&home.run(&other).exited(4));
    assert!(text.contains("pinned") && !text.contains("--pin"), "{text}");
    home.run(&format!("stackwright get {url} x --pin 12")).exited(2);
    home.run("stackwright get ftp+artp://127.0.0.1/x --tls").exited(2);
}

#[test]
fn bookmarks_and_netrc_serve_addresses_with_tls() {
    let (home, port) = (Home::new(), free_port(false));
    fs::write(home.0.join("password"), "secret\n").expect("a folder of ours");
    let (_server, said) = home.serve(
        &format!(
            "stackwright serve pub --listen-tls 127.0.0.1:{port} --session-reuse require \
             --user ann --password-file password --writable"
        ),
        "stackwright get",
    );
    let netrc = home.0.join(".netrc");
    fs::write(&netrc, "machine 127.0.0.1 login ann password secret\n").expect("a folder of ours");
    fs::set_permissions(&netrc, Permissions::from_mode(0o600)).expect("ours");
    home.run(&format!("stackwright bookmark add work ftps://127.0.0.1:{port}/")).succeeded();
    let pin = fingerprint(&said);
    home.run(&format!("stackwright get work:paper.pdf --pin {pin}")).succeeded();
    home.run(&format!("stackwright put paper.pdf work:back --pin {pin}")).succeeded();
    home.arrived("paper.pdf");
    home.arrived("pub/back");
    // From and to what is no file of a folder.
    let get = format!("stackwright get work:paper.pdf - --pin {pin}");
    assert_same(&home.run(&get).succeeded().output, &octets(9, LENGTH));
}

#[test]
fn described_stacks_encrypt_at_both_ends() {
    let (home, plain) = (Home::new(), free_port(false));
    // This makes the certificate.
    let (server, said) = home.serve(
        &format!("stackwright serve pub --tls --listen 127.0.0.1:{plain}"),
        "stackwright get",
    );
    drop(server);
    let pin = fingerprint(&said).to_owned();
    let state = home.0.join(".local/state/stackwright");
    let there = format!(
        "top = \"ftp\"\n[ftp]\nprotocol = \"ftp server\"\nover = [\"tls\", \"disk\"]\n\
         tls = \"required\"\n[tls]\nover = \"tcp\"\ncertificate = \"{0}/certificate.pem\"\n\
         key = \"{0}/key.pem\"\n[tcp]\n[disk]\n",
        state.display()
    );
    fs::write(home.0.join("there.toml"), there).expect("a folder of ours");
    let near = "top = \"copy\"\n[copy]\nover = [\"ftp\", \"disk\"]\n[ftp]\nprotocol = \"ftp client\"\n\
                over = \"tls\"\n[tls]\nover = \"tcp\"\n[tcp]\n[disk]\n";
    let own = format!("server = \"127.0.0.1\"\npin = \"{pin}\"\n[tcp]");
    let alone = near.replace("[tcp]", &own).replace("\"tls\"\n", "\"tls\"\ntls = \"explicit\"\n");
    for (name, text) in [("near.toml", near), ("alone.toml", &alone)] {
        fs::write(home.0.join(name), text).expect("a folder of ours");
    }

    let place = format!("127.0.0.1:{}", free_port(false));
    let serve =
        format!("stackwright serve pub --writable --stack there.toml --json --listen {place}");
    let (_server, _) = home.serve(&serve, "serving");
    for options in [format!("--stack near.toml --pin {pin}"), "--stack alone.toml".into()] {
        let get = format!("stackwright get ftp://{place}/paper.pdf {options}");
        home.run(&get).succeeded();
        let put = format!("stackwright put paper.pdf ftp://{place}/back {options}");
        home.run(&put).succeeded();
        home.arrived("paper.pdf");
        home.arrived("pub/back");
    }
    // Neither in plain, nor with a stack that could not encrypt.
    let text = complaints(&home.run(&format!("stackwright ls ftp://{place}/")).exited(4));
    assert!(text.contains("--tls"), "{text}");
    let get = format!("stackwright get ftp://{place}/paper.pdf --stack get --pin {pin}");
    assert!(complaints(&home.run(&get).exited(1)).contains("`tls`"));
}
