//! A control connection, spoken by hand.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::processes::PATIENCE;

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its three digits.
    pub code: u16,
    /// All its lines.
    pub text: String,
}

/// The client's end of a control connection.
#[derive(Debug)]
pub struct Control {
    stream: BufReader<TcpStream>,
    peer: SocketAddr,
}

impl Control {
    /// Connects and hears the greeting.
    pub fn connect(peer: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(peer)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut control = Self { stream: BufReader::new(stream), peer };
        control.expect(220)?;
        Ok(control)
    }

    /// Connects and logs in as a guest, for binary transfers.
    pub fn guest(peer: SocketAddr) -> io::Result<Self> {
        let mut control = Self::connect(peer)?;
        let reply = control.ask("USER anonymous")?;
        if reply.code == 331 {
            control.ask("PASS guest@example.org")?.is(230)?;
        } else {
            reply.is(230)?;
        }
        control.ask("TYPE I")?.is(200)?;
        Ok(control)
    }

    /// The connection itself, to do with what a client should not.
    pub fn stream(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    /// Sends octets as they are.
    pub fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(octets)
    }

    /// Hears one reply.
    pub fn reply(&mut self) -> io::Result<Reply> {
        let mut text = self.line()?;
        let code = text.get(..3).and_then(|digits| digits.parse().ok());
        let code = code.ok_or_else(|| io::Error::other(format!("no reply: {text:?}")))?;
        if text.as_bytes().get(3) == Some(&b'-') {
            let last = format!("{code} ");
            loop {
                let line = self.line()?;
                text += &line;
                if line.starts_with(&last) {
                    break;
                }
            }
        }
        Ok(Reply { code, text })
    }

    /// Hears one reply, which must have this code.
    pub fn expect(&mut self, code: u16) -> io::Result<Reply> {
        self.reply()?.is(code)
    }

    /// Sends a command and hears the reply.
    pub fn ask(&mut self, command: &str) -> io::Result<Reply> {
        self.send(format!("{command}\r\n").as_bytes())?;
        self.reply()
    }

    /// Opens a data connection by `EPSV`, which is the same for both families.
    pub fn passive(&mut self) -> io::Result<TcpStream> {
        let text = self.ask("EPSV")?.is(229)?.text;
        let port = text.split('|').nth(3).and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| io::Error::other(format!("no port: {text:?}")))?;
        let data = TcpStream::connect(SocketAddr::new(self.peer.ip(), port))?;
        data.set_read_timeout(Some(PATIENCE))?;
        data.set_write_timeout(Some(PATIENCE))?;
        Ok(data)
    }

    /// Announces a data connection by `EPRT`; the server is to connect to the listener.
    pub fn active(&mut self) -> io::Result<TcpListener> {
        let listener = TcpListener::bind((self.peer.ip(), 0))?;
        self.ask(&announcement(listener.local_addr()?))?.is(200)?;
        Ok(listener)
    }

    /// Begins to fetch a file: the data connection is open, nothing of it is read.
    pub fn begin(&mut self, command: &str) -> io::Result<TcpStream> {
        let data = self.passive()?;
        let reply = self.ask(command)?;
        if reply.code == 125 { Ok(data) } else { reply.is(150).map(|_| data) }
    }

    /// Fetches a file.
    pub fn retrieve(&mut self, name: &str) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.begin(&format!("RETR {name}"))?.read_to_end(&mut content)?;
        self.expect(226)?;
        Ok(content)
    }

    /// Stores a file.
    pub fn store(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.begin(&format!("STOR {name}"))?.write_all(content)?;
        self.expect(226)?;
        Ok(())
    }

    /// One line, with the Telnet refusals (`IAC WONT x`, `IAC DONT x`) in front of it taken off.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        // A reply line that does not end is as bad as none.
        (&mut self.stream).take(10_000).read_until(b'\n', &mut line)?;
        let mut rest = &line[..];
        while let [0xFF, 0xFC | 0xFE, _, after @ ..] = rest {
            rest = after;
        }
        match rest {
            [] => Err(io::ErrorKind::UnexpectedEof.into()),
            [.., b'\r', b'\n'] => Ok(String::from_utf8_lossy(rest).into_owned()),
            other => {
                Err(io::Error::other(format!("no line: {:?}", String::from_utf8_lossy(other))))
            }
        }
    }
}

impl Reply {
    /// Insists on a code.
    pub fn is(self, code: u16) -> io::Result<Self> {
        if self.code == code {
            Ok(self)
        } else {
            Err(io::Error::other(format!("{code} expected: {:?}", self.text)))
        }
    }
}

/// The `EPRT` command for an address.
pub fn announcement(address: SocketAddr) -> String {
    let family = if address.is_ipv4() { 1 } else { 2 };
    format!("EPRT |{family}|{}|{}|", address.ip(), address.port())
}
