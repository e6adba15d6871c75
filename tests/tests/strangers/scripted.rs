//! A small FTP server that follows a script: correct where the script is silent, and wrong exactly
//! where it speaks.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

/// What a script does about one command.
pub(crate) enum Turn {
    /// Answers as a good server would.
    Usual,
    /// Has answered.
    Done,
    /// Closes the control connection.
    Leave,
}

/// One association, as the script sees it.
pub(crate) struct Session {
    control: TcpStream,
    /// What `RETR` gives, and what `SIZE` tells of.
    pub(crate) content: Vec<u8>,
    passive: Option<TcpListener>,
    announced: Option<SocketAddr>,
}

impl Session {
    /// Says one line.
    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        self.control.write_all(format!("{line}\r\n").as_bytes())
    }

    /// Sends octets as they are.
    pub(crate) fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.control.write_all(octets)
    }

    /// The data connection the client has asked for.
    pub(crate) fn data(&mut self) -> io::Result<TcpStream> {
        match (self.passive.take(), self.announced.take()) {
            (Some(listener), _) => Ok(listener.accept()?.0),
            (None, Some(address)) => TcpStream::connect(address),
            (None, None) => Err(io::Error::other("a transfer without a data connection")),
        }
    }

    /// Waits for the client's next data connection on a fresh port.
    pub(crate) fn listen(&mut self) -> io::Result<u16> {
        self.listen_on(0)
    }

    /// Waits for it on a port of the script's choice.
    pub(crate) fn listen_on(&mut self, port: u16) -> io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        self.passive = Some(listener);
        Ok(port)
    }

    /// The line before a transfer, with the size in the place where clients look for it.
    pub(crate) fn opening(&mut self) -> io::Result<()> {
        let line = format!(
            "150 Opening BINARY mode data connection for it ({} bytes).",
            self.content.len()
        );
        self.say(&line)
    }

    fn usual(&mut self, verb: &str, argument: &str) -> io::Result<bool> {
        match verb {
            "USER" => self.say("331 Password, please.")?,
            "PASS" => self.say("230 Welcome.")?,
            "SYST" => self.say("215 UNIX Type: L8")?,
            "FEAT" => self.send(b"211-Features:\r\n EPSV\r\n SIZE\r\n211 End\r\n")?,
            "TYPE" | "MODE" | "STRU" | "NOOP" | "OPTS" => self.say("200 Fine.")?,
            "PWD" => self.say("257 \"/\" is here.")?,
            "CWD" => self.say("250 There.")?,
            "SIZE" => self.say(&format!("213 {}", self.content.len()))?,
            "REST" => self.say("350 Go on.")?,
            "EPSV" => {
                let port = self.listen()?;
                self.say(&format!("229 Entering Extended Passive Mode (|||{port}|)."))?;
            }
            "PASV" => {
                let port = self.listen()?;
                self.say(&format!(
                    "227 Entering Passive Mode (127,0,0,1,{},{}).",
                    port >> 8,
                    port & 255
                ))?;
            }
            "EPRT" => {
                let port =
                    argument.split('|').nth(3).and_then(|port| port.parse().ok()).unwrap_or(0);
                self.announced = Some((Ipv4Addr::LOCALHOST, port).into());
                self.say("200 Fine.")?;
            }
            "RETR" => {
                self.opening()?;
                let mut data = self.data()?;
                data.write_all(&self.content)?;
                drop(data);
                self.say("226 Transfer complete.")?;
            }
            "STOR" => {
                self.say("150 Go ahead.")?;
                io::copy(&mut self.data()?, &mut io::sink())?;
                self.say("226 Transfer complete.")?;
            }
            "QUIT" => {
                self.say("221 Goodbye.")?;
                return Ok(false);
            }
            _ => self.say("502 Not here.")?,
        }
        Ok(true)
    }
}

/// A server with a script, alive until the program ends or nobody comes any more.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
}

impl Scripted {
    /// Serves every client that comes. The script is asked first with an empty command, for the
    /// greeting.
    pub(crate) fn start<S>(content: Vec<u8>, script: S) -> Self
    where
        S: Fn(&mut Session, &str, &str) -> io::Result<Turn> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("a bound socket");
        let script = Arc::new(script);
        thread::spawn(move || {
            for control in listener.incoming().flatten() {
                let session =
                    Session { control, content: content.clone(), passive: None, announced: None };
                let script = script.clone();
                // A client that goes away is what many scripts are after.
                thread::spawn(move || serve(session, &*script));
            }
        });
        Self { address }
    }

    /// The URL of `path` on this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("ftp://{}/{path}", self.address)
    }
}

fn serve<S>(mut session: Session, script: &S) -> io::Result<()>
where
    S: Fn(&mut Session, &str, &str) -> io::Result<Turn>,
{
    // A script that waits for a client that waits would hold the run.
    session.control.set_read_timeout(Some(Duration::from_secs(30)))?;
    session.control.set_write_timeout(Some(Duration::from_secs(30)))?;
    session.control.set_nodelay(true)?;
    match script(&mut session, "", "")? {
        Turn::Usual => session.say("220 At your service.")?,
        Turn::Done => {}
        Turn::Leave => return Ok(()),
    }
    let lines = BufReader::new(session.control.try_clone()?).lines();
    for line in lines {
        let line = line?;
        let (verb, argument) = line.split_once(' ').unwrap_or((&line, ""));
        let verb = verb.to_ascii_uppercase();
        match script(&mut session, &verb, argument)? {
            Turn::Usual if session.usual(&verb, argument)? => {}
            Turn::Done => {}
            Turn::Usual | Turn::Leave => break,
        }
    }
    Ok(())
}

/// Ends a connection with a reset, as a machine does that falls over.
pub(crate) fn reset(stream: TcpStream) {
    // With a linger time of nothing, close discards and resets.
    let _ = set_socket_linger(&stream, Some(Duration::ZERO));
}
