//! A channel without a modem: what one program sends in KISS, the others receive.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The octet that frames begin and end with.
const FEND: u8 = 0xc0;

/// Starts a hub, which serves as long as the process lives.
pub(crate) fn hub() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let clients: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            let Ok(reader) = stream.try_clone() else { continue };
            clients.lock().expect("no panic").push(stream);
            let clients = Arc::clone(&clients);
            thread::spawn(move || serve(reader, &clients));
        }
    });
    address
}

/// Passes whole frames on: those of several clients do not mix.
fn serve(mut from: TcpStream, clients: &Mutex<Vec<TcpStream>>) {
    let Ok(own) = from.peer_addr() else { return };
    let (mut octets, mut frame) = ([0; 4096], Vec::new());
    while let Ok(length @ 1..) = from.read(&mut octets) {
        for octet in &octets[..length] {
            frame.push(*octet);
            if *octet != FEND {
                continue;
            }
            if frame.len() > 1 {
                let mut clients = clients.lock().expect("no panic");
                clients.retain_mut(|client| {
                    let other = client.peer_addr().is_ok_and(|address| address != own);
                    !other || client.write_all(&frame).is_ok()
                });
            }
            frame.clear();
            frame.push(FEND);
        }
    }
}
