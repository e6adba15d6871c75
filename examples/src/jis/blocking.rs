//! The client of `jis.protocol` by hand over an association of an endpoint, as an application is
//! written that has no compiler of specifications.

use std::time::Duration;

use stackwright::endpoint::blocking::Endpoint;
use stackwright::endpoint::{Config, System};
use stackwright::wire::Message;
use stackwright_jis::generated::client::Functions;
use stackwright_jis::generated::{BlocksHead, EndHead, RefusedHead, ReqHead, TableHead, TableKind};
use stackwright_jis::requested;

use super::client::{Asked, Sums, TimedView};
use super::{Picture, Tailored, Wrong, host, layer, pool};

/// A request is over after this silence.
const SILENCE: Duration = Duration::from_secs(10);

/// Fetches a picture as the command line says, and prints what it took.
///
/// # Errors
/// If a picture does not arrive.
pub fn fetch_by_hand() -> Result<(), Wrong> {
    let (asked, mut sums) = (Asked::read()?, Sums::default());
    for _ in 0..asked.times {
        let view = TimedView::begin();
        let mut carried = 0;
        let make = |system: &System| -> Tailored {
            let (host, most) = host(system.secret());
            carried = most;
            layer(host, system.seed(), system.udp_with(pool()))
        };
        let mut endpoint = Endpoint::new(Config::default(), make)?;
        endpoint.set_timeout(Some(SILENCE));
        let mut association = endpoint.connect(asked.server)?;
        association.set_timeout(Some(SILENCE));
        let name: Picture = requested(&asked.name).ok_or("the name is too long")?;
        let mut request = name;
        request.push(&ReqHead { adu: (), most: asked.most(carried) });
        association.send_message(request, Default::default())?;
        let (mut tables, mut counted, mut held) = ([false; 2], false, Vec::new());
        loop {
            let (message, _) = association.receive_message()?;
            let mut waits = vec![message];
            while let Some(message) = waits.pop() {
                match hear(view.clone(), message, &mut tables, &mut counted)? {
                    Heard::Done => {}
                    Heard::Early(message) => held.push(message),
                    Heard::Tables => waits.append(&mut held),
                }
            }
            if Functions::<Picture>::covered(&view) || view.is_over() {
                break;
            }
        }
        sums.add(&view, view.passed())?;
        association.close()?;
    }
    sums.print();
    Ok(())
}

enum Heard {
    Done,
    /// It is not awaited before the tables.
    Early(Picture),
    /// Both tables are there.
    Tables,
}

fn hear(
    mut view: TimedView,
    mut message: Picture,
    tables: &mut [bool; 2],
    counted: &mut bool,
) -> Result<Heard, Wrong> {
    if message.pull::<RefusedHead>().is_ok() {
        return Err("it was refused".into());
    }
    if let Ok(head) = message.pull::<TableHead>() {
        let nth = usize::from(head.kind == TableKind::Huffman);
        if tables[nth] {
            return Ok(Heard::Done); // a second one changes nothing
        }
        view.set(head, &message);
        tables[nth] = true;
        return Ok(if *tables == [true; 2] { Heard::Tables } else { Heard::Done });
    }
    if *tables != [true; 2] {
        return Ok(Heard::Early(message));
    }
    if let Ok(head) = message.pull::<BlocksHead>() {
        view.paint(head, &message);
    } else if let Ok(head) = message.pull::<EndHead>()
        && !*counted
    {
        *counted = true;
        Functions::<Picture>::total(&mut view, head);
    }
    Ok(Heard::Done)
}
