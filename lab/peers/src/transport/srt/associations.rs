//! Many associations of SRT, by its own readiness.

use std::collections::HashMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;

use super::super::from_anywhere;
use super::Sent;
use super::socket::{BROKEN, READABLE, Readiness, Socket, WRITABLE};
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// How many openings are under way at once, as everywhere here.
const OPENING: usize = 256;

pub(super) fn serve(listener: &Socket, plan: &Plan, tally: &Tally) -> Result<(), Problem> {
    let message = plan.message();
    let mut request = vec![0; plan.size];
    let mut open = HashMap::new();
    let mut readiness = Readiness::new()?;
    readiness.add(listener, READABLE)?;
    while !tally.is_over() {
        for event in readiness.wait()?.to_vec() {
            if event.socket == listener.0 {
                while let Some(socket) = listener.accept()? {
                    readiness.add(&socket, READABLE)?;
                    open.insert(socket.0, socket);
                }
            } else if let Some(socket) = open.get_mut(&event.socket) {
                match socket.read(&mut request) {
                    Ok(length) if length > 0 => {
                        tally.count(length);
                        // A new association has room for one message.
                        socket.write_all(&message).tried("replying")?;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    // The sender has closed, or has given up and says so itself.
                    _ => {
                        readiness.remove(socket)?;
                        open.remove(&event.socket);
                    }
                }
            }
        }
    }
    Ok(())
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    let wanted = plan.associations();
    let message = plan.message();
    let mut reply = vec![0; plan.size];
    let mut open = HashMap::with_capacity(wanted);
    let mut readiness = Readiness::new()?;
    // All share one UDP socket, as sockets of SRT do that are bound to the same port.
    let mut local = from_anywhere(remote);
    let mut answered = 0;
    while answered < wanted {
        while open.len() < wanted && open.len() - answered < OPENING {
            let socket = Socket::new(plan, remote.ip(), false)?;
            socket.bind(local)?;
            local = socket.local()?;
            readiness.add(&socket, WRITABLE)?;
            socket.connect(remote)?;
            open.insert(socket.0, socket);
        }
        if course.is_over() {
            return Err(Problem::new("the receiver is gone"));
        }
        for event in readiness.wait()?.to_vec() {
            let Some(socket) = open.get_mut(&event.socket) else { continue };
            if event.what & BROKEN != 0 {
                return Err(Problem::new("SRT could not open, or gave up, an association"));
            }
            if event.what & WRITABLE != 0 {
                socket.write_all(&message).tried("sending")?;
                readiness.change(socket, READABLE)?;
            }
            if event.what & READABLE != 0 {
                let length = socket.read(&mut reply).tried("receiving")?;
                if length != plan.size {
                    return Err(Problem::new("the receiver closed before it had replied"));
                }
                readiness.remove(socket)?;
                answered += 1;
            }
        }
    }
    drop(open);
    Ok(Sent { messages: Some(wanted as u64), lap: Some(course.lap()), ..Sent::default() })
}
