//! The sending end: one run, and its figures.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::control::{Answer, Count, Ear, Mouth, Stop, Verdict, halves};
use crate::course::Course;
use crate::plan::{Goal, Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::transport::{self, Latencies, Sent};
use crate::watch::Lap;

/// Runs a plan and prints what came of it.
///
/// # Errors
/// When the receiver did not confirm what it should.
pub(crate) fn run(plan: &Plan, address: SocketAddr) -> Result<(), Problem> {
    transport::available(plan.transport)?;
    transport::many_descriptors();
    let stream = TcpStream::connect(address).tried(&format!("connecting to {address}"))?;
    let (mut mouth, mut ear) = halves(stream)?;
    mouth.say(plan)?;
    let (port, certificate) = match ear.hear()? {
        Some(Answer::Ready { port, certificate }) => (port, certificate),
        Some(Answer::Failed(why)) => return Err(Problem::new(format!("the receiver: {why}"))),
        None => return Err(Problem::new("the receiver is gone")),
    };
    let remote = SocketAddr::new(address.ip(), port);
    let course = Arc::new(Course::new());
    {
        let course = Arc::clone(&course);
        thread::spawn(move || course.end(verdict(&mut ear)));
    }
    let sent = if let (Workload::Bulk, Goal::Seconds(seconds)) = (plan.workload, plan.goal) {
        let course_too = Arc::clone(&course);
        thread::spawn(move || {
            stop_after(Duration::from_secs_f64(seconds), &course_too, &mut mouth)
        });
        transport::send(plan, remote, certificate, &course)
    } else {
        let sent = transport::send(plan, remote, certificate, &course);
        // All requests are answered: the receiver shall say what that cost.
        if plan.workload != Workload::Bulk && sent.is_ok() {
            mouth.say(&Stop)?;
        }
        sent
    };
    // What the receiver says of a failure tells more than that the transport then broke.
    let sent = sent.map_err(|why| match course.wait_for(PATIENCE).then(|| course.wait()) {
        Some(Err(said)) => said,
        _ => why,
    })?;
    let (count, lap) = course.wait()?;
    println!("{}", figures(plan, &sent, count, sent.lap.unwrap_or(lap)));
    Ok(())
}

/// How long the receiver may take to say what went wrong at its end.
const PATIENCE: Duration = Duration::from_millis(500);

fn verdict(ear: &mut Ear) -> Result<Count, Problem> {
    match ear.hear()? {
        Some(Verdict::Counted(count)) => Ok(count),
        Some(Verdict::Failed(why)) => Err(Problem::new(format!("the receiver: {why}"))),
        None => Err(Problem::new("the receiver is gone")),
    }
}

fn stop_after(time: Duration, course: &Course, mouth: &mut Mouth) {
    course.wait_for_begin();
    if !course.wait_for(time) {
        // A receiver that is gone is noticed by whoever hears.
        let _ = mouth.say(&Stop);
        // Closing says that the sender is gone: not before the count is here.
        let _ = course.wait();
    }
}

fn figures(plan: &Plan, sent: &Sent, count: Count, lap: Lap) -> Value {
    let mut figures = json!({
        "transport": plan.transport,
        "congestion": plan.congestion,
        "workload": plan.workload,
        "octets": count.octets,
        "messages": sent.messages.unwrap_or(count.octets / plan.size as u64),
        "seconds": lap.seconds,
        "seconds_receiving": count.seconds,
        "processor_sender": lap.processor,
        "processor_receiver": count.processor,
        "retransmitted": sent.retransmitted,
        "counted_by": "receiver",
    });
    if let Some(latencies) = &sent.latencies {
        figures["latencies_us"] = microseconds(latencies);
    }
    figures
}

fn microseconds(latencies: &Latencies) -> Value {
    let at = |quantile| latencies.value_at_quantile(quantile) as f64 * 1e-3;
    json!({
        "p50": at(0.5),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": latencies.max() as f64 * 1e-3,
        "mean": latencies.mean() * 1e-3,
    })
}
