//! Our client through proxies that nobody here wrote, to vsftpd.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright_programs::content::{SIZES, assert_same};
use stackwright_programs::processes::run;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, proxy};

use crate::setting::{Setting, our_client, trial};

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let of = |program: &'static str, socks: bool| {
        let with = setting.clone();
        let name = if socks { "socks5" } else { "http" };
        trial(format!("proxy/{name}"), &[program, "vsftpd"], false, move || moves(&with, socks))
    };
    vec![of("microsocks", true), of("tinyproxy", false)]
}

fn moves(setting: &Setting, socks: bool) {
    let (proxy, home) = (proxy(socks), Scratch::new());
    let through = |verb: &str, password: &str| client(&proxy, &home, socks, verb, password);
    let server = setting.vsftpd(false);
    let url = |path: &str| server.url(path).replace("ftp://", "ftp://anonymous@");
    let size = SIZES[6];
    let arrived = home.join("arrived");
    run(through("get", "secret").arg(url(&size.file())).arg(&arrived)).succeeded();
    assert_same(&fs::read(&arrived).expect("the file"), setting.content(size));
    let stored = format!("in/through-a-proxy-{socks}");
    run(through("put", "secret").arg(&arrived).arg(url(&stored))).succeeded();
    assert_same(
        &fs::read(setting.folder().join(&stored)).expect("the file"),
        setting.content(size),
    );
    let listed = run(through("ls", "secret").arg(url(""))).succeeded().text();
    assert!(listed.contains(&size.file()), "{listed}");
    run(through("ls", "wrong").arg(url(""))).failed();
    // Of this machine nothing goes through the environment's proxy, but what is asked for does.
    let mut nobody = our_client("ls");
    nobody.args(["--proxy", "socks5://127.0.0.1:1", "--json"]).arg(server.url(""));
    run(&mut nobody).exited(3);
    let mut direct = our_client("ls");
    direct.env("ALL_PROXY", "socks5://127.0.0.1:1").arg("--json").arg(server.url(""));
    run(&mut direct).succeeded();
}

/// Our client, which finds the proxy's password in `~/.netrc`.
fn client(proxy: &Server, home: &Scratch, socks: bool, verb: &str, password: &str) -> Command {
    use std::os::unix::fs::PermissionsExt;
    let netrc = home.join("netrc");
    let of = |user: &str, password: &str| {
        format!("machine 127.0.0.1 login {user} password {password}\n")
    };
    fs::write(&netrc, of("ann", password) + &of("anonymous", "guest@")).expect("a folder of ours");
    fs::set_permissions(&netrc, fs::Permissions::from_mode(0o600)).expect("ours");
    let scheme = if socks { "socks5" } else { "http" };
    let mut command = our_client(verb);
    command.env("NETRC", netrc);
    command.args(["--json", "--proxy", &format!("{scheme}://ann@{}", proxy.address)]);
    command
}
