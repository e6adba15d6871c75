//! Pages for a browser on this machine: as much of HTTP (RFC 9112) as it needs, GET, one request a
//! connection.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use stackwright_results::{Problem, say};

use crate::measure::Stop;

/// How long a request may be, in octets, and how long it may take.
const REQUEST_MOST: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What is answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Page(&'static str),
    Json(String),
    Jpeg(Vec<u8>),
    /// To be saved.
    File {
        name: String,
        text: String,
    },
    Wrong(String),
    Unknown,
}

/// Serves pages at a port of the loopback address, 0 for a free one, until somebody asks for the
/// end.
///
/// # Errors
/// Where the port is taken, and what the system says.
pub(crate) fn serve(
    port: u16,
    answer: impl Fn(&str, &str) -> Answer + Sync,
) -> Result<(), Problem> {
    let server = Server::bind(port).map_err(|why| {
        Problem::new(format!("port {port} of this machine: {why}"))
            .advise("choose another with --port, or leave it out")
    })?;
    let stop = Stop::on_signals().map_err(Problem::new)?;
    say!("Open http://{}/ in a browser. Press Ctrl-C to stop.", server.address());
    server.serve(&stop, answer).map_err(Problem::new)
}

/// Answers on the loopback address.
struct Server(TcpListener);

impl Server {
    fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        Ok(Server(listener))
    }

    fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("it is bound")
    }

    /// Answers until it is to end: each connection on its own, since a browser opens some before
    /// it has anything to ask.
    fn serve(&self, stop: &Stop, answer: impl Fn(&str, &str) -> Answer + Sync) -> io::Result<()> {
        thread::scope(|scope| {
            while !stop.asked() {
                match self.0.accept() {
                    // A browser that hangs up is none of anybody's business.
                    Ok((stream, _)) => drop(scope.spawn(|| self.converse(stream, &answer))),
                    Err(why) if why.kind() == ErrorKind::WouldBlock => thread::sleep(LOOK),
                    Err(why) if why.kind() == ErrorKind::Interrupted => {}
                    Err(why) => return Err(why),
                }
            }
            Ok(())
        })
    }

    fn converse(
        &self,
        mut stream: TcpStream,
        answer: impl Fn(&str, &str) -> Answer,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut lines = BufReader::new((&stream).take(REQUEST_MOST)).lines();
        let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
        let mut is_ours = false;
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some(("host", host)) =
                line.to_ascii_lowercase().split_once(':').map(|(name, host)| (name, host.trim()))
            {
                // A page of somebody else, whose name leads to this machine, is not answered.
                let port = self.address().port();
                is_ours =
                    host == format!("127.0.0.1:{port}") || host == format!("localhost:{port}");
            }
        }
        let target = first.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        let answer = match target.filter(|_| is_ours) {
            Some(target) => {
                let (path, query) = target.split_once('?').unwrap_or((target, ""));
                answer(path, query)
            }
            None => Answer::Unknown,
        };
        let (status, kind, extra, body) = match &answer {
            Answer::Page(text) => ("200 OK", "text/html", String::new(), text.as_bytes()),
            Answer::Json(text) => ("200 OK", "application/json", String::new(), text.as_bytes()),
            Answer::Jpeg(octets) => ("200 OK", "image/jpeg", String::new(), octets.as_slice()),
            Answer::File { name, text } => {
                let saved = format!("Content-Disposition: attachment; filename=\"{name}\"\r\n");
                ("200 OK", "application/toml", saved, text.as_bytes())
            }
            Answer::Wrong(says) => {
                ("400 Bad Request", "text/plain", String::new(), says.as_bytes())
            }
            Answer::Unknown => {
                ("404 Not Found", "text/plain", String::new(), &b"There is no such page."[..])
            }
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: default-src 'self' 'unsafe-inline'\r\n\
             Cache-Control: no-store\r\n{extra}Connection: close\r\n\r\n",
            body.len()
        )?;
        stream.write_all(body)?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What browsers do, so as to be quicker when there is something to ask.
    #[test]
    fn a_connection_that_asks_nothing_yet_does_not_hold_others_up() {
        let (server, stop) = (Server::bind(0).expect("a port"), Stop::default());
        let address = server.address();
        let connect = || TcpStream::connect(address).expect("it listens");
        let ask = |mut stream: TcpStream| {
            write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it listens");
            io::read_to_string(stream).expect("an answer")
        };
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(&stop, |_, _| Answer::Page("here")));
            let early = connect();
            assert!(ask(connect()).ends_with("\r\n\r\nhere"));
            assert!(ask(early).ends_with("\r\n\r\nhere"));
            stop.ask();
            serving.join().expect("it ends").expect("it listens");
        });
    }
}
