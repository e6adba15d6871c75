//! The receiving end: one run after the other, until standard input ends.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::json;

use crate::control::{Answer, Ear, Stop, halves};
use crate::plan::{Plan, Transport};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;
use crate::transport;
use crate::watch::Watch;

/// # Errors
/// When it cannot listen.
pub(crate) fn serve(transport: Transport, address: SocketAddr) -> Result<(), Problem> {
    transport::available(transport)?;
    transport::many_descriptors();
    let listener = TcpListener::bind(address).tried(&format!("listening at {address}"))?;
    let local = listener.local_addr().tried("listening")?;
    // Whoever started this holds its standard input: when they end, by whatever means, so does
    // this.
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    println!("{}", json!({ "listening": local.to_string() }));
    for stream in listener.incoming() {
        let said = stream.tried("accepting").and_then(|stream| one(transport, local, stream));
        if let Err(problem) = said {
            eprintln!("peers: {problem}");
        }
    }
    Ok(())
}

/// One run, whose failure is told to its sender.
fn one(transport: Transport, local: SocketAddr, stream: TcpStream) -> Result<(), Problem> {
    let (mut mouth, mut ear) = halves(stream)?;
    let Some(plan) = ear.hear::<Plan>()? else { return Ok(()) };
    if plan.transport != transport {
        let why = format!("this end serves {transport}, not {}", plan.transport);
        return mouth.say(&Answer::Failed(why));
    }
    let server = match transport::listen(&plan, local.ip()) {
        Ok(server) => server,
        Err(why) => return mouth.say(&Answer::Failed(why.to_string())),
    };
    let watch = Watch::start();
    mouth.say(&Answer::Ready { port: server.port, certificate: server.certificate })?;
    let tally = Arc::new(Tally::new(plan.octets(), watch, mouth));
    let listening = {
        let tally = Arc::clone(&tally);
        thread::spawn(move || listen(&mut ear, &tally))
    };
    if let Err(why) = (server.serve)(&plan, &tally) {
        tally.fail(&why.to_string());
    }
    // The sender closes when it has the count: until then its last word may still come.
    listening.join().map_err(|_| Problem::new("the control connection broke"))
}

/// Hears the word to stop, and that the sender is gone.
fn listen(ear: &mut Ear, tally: &Tally) {
    while let Ok(Some(Stop)) = ear.hear() {
        tally.close();
    }
    tally.abandon();
}
