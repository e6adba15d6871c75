//! `group status`: how a replica sees its group.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::printable::Printable;
use crate::problem::Problem;
use crate::report::say;

/// How long a replica has for its answer: it is one packet.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer: a line for each of a thousand members.
const ANSWER_MOST: usize = 1 << 17;

#[derive(Args)]
#[command(after_help = "\
Example:
  stackwright group status 127.0.0.1:6380")]
pub(crate) struct Status {
    /// Where clients of Redis reach the replica.
    #[arg(value_name = "ADDR:PORT")]
    redis: SocketAddr,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

impl Status {
    pub(super) fn run(&self) -> Result<(), Problem> {
        let text = ask(self.redis)?;
        let fact = |name: &str| {
            let mut facts = text.lines().filter_map(|line| line.split_once(':'));
            facts.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let number = |name: &str| fact(name).and_then(|number| number.parse::<u64>().ok());
        let members: Vec<Vec<&str>> = (0..)
            .map_while(|nth| fact(&format!("member{nth}")))
            .map(|member| member.split(',').collect())
            .filter(|member: &Vec<_>| member.len() == 4)
            .collect();
        let lag = |member: &[&str]| member[3].strip_prefix("lag=").and_then(|lag| lag.parse().ok());
        let (role, reason) = (fact("role").unwrap_or("none"), fact("reason"));
        let has_quorum = fact("quorum") == Some("yes");
        if self.json {
            let members = members.iter().map(|member| {
                json!({
                    "address": member[0],
                    "votes": member[1] == "votes",
                    "silent": member[2] == "silent",
                    "lag": lag(member).unwrap_or(0_u64),
                })
            });
            let status = json!({
                "view": number("view"),
                "role": role,
                "quorum": has_quorum,
                "reason": reason,
                "members": members.collect::<Vec<Value>>(),
            });
            say!("{status}");
            return Ok(());
        }
        let view = number("view").unwrap_or(0);
        say!("view {view}: {} members, {} vote", members.len(), number("voters").unwrap_or(0));
        for member in &members {
            let silent = if member[2] == "silent" { ", silent" } else { "" };
            let behind = match lag(member).unwrap_or(0_u64) {
                0 => String::new(),
                lag => format!(", {lag} casts behind"),
            };
            let address = Printable(member[0]).to_string();
            say!("  {address:<24} {}{silent}{behind}", Printable(member[1]));
        }
        match reason {
            Some(reason) => say!("nothing can be written: {}", Printable(reason)),
            None => say!("writes go on; the replica that was asked is: {}", Printable(role)),
        }
        Ok(())
    }
}

/// Returns what a replica answers to `INFO`.
fn ask(redis: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&redis, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"INFO\r\n")?;
    let mut stream = BufReader::new(stream.take(ANSWER_MOST as u64));
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let other = || io::Error::new(io::ErrorKind::InvalidData, "no replica of a group is there");
    let length = line.strip_prefix('$').and_then(|length| length.trim_end().parse().ok());
    let length: usize = length.filter(|length| *length < ANSWER_MOST).ok_or_else(other)?;
    let mut octets = vec![0; length];
    stream.read_exact(&mut octets)?;
    String::from_utf8(octets).map_err(|_| other())
}
