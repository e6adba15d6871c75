//! Octets through real pipes.

use std::convert::Infallible;
use std::sync::Arc;

use stackwright_compose::Beside;
use stackwright_contract::services::{OctetsIndication, OctetsRequest};
use stackwright_contract::{Either, Outlet};
use stackwright_drivers::Driver;
use stackwright_drivers::pipe::Pipe;
use stackwright_wire::{Leaf, Message, Pool, SingleBuffer};

type Ends = Beside<Pipe<SingleBuffer>, Pipe<SingleBuffer>>;

/// What the two ends told: rooms and octets of the left, octets of the right.
#[derive(Default)]
struct Heard {
    credit: usize,
    right: Vec<u8>,
}

impl Outlet<Ends> for Heard {
    fn indicate(
        &mut self,
        indication: Either<OctetsIndication<SingleBuffer>, OctetsIndication<SingleBuffer>>,
    ) {
        match indication {
            Either::Left(OctetsIndication::Credit { credit }) => self.credit += credit,
            Either::Right(OctetsIndication::Delivered { message }) => {
                for leaf in message.leaves() {
                    if let Leaf::Octets(octets) = leaf {
                        self.right.extend_from_slice(octets);
                    }
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, request: Either<Infallible, Infallible>) {
        match request {
            Either::Left(never) | Either::Right(never) => match never {},
        }
    }
}

#[test]
fn octets_pass_in_order_and_only_within_the_room() {
    let mut driver = Driver::new(1).unwrap();
    let registry = driver.registry();
    let pool = Arc::new(Pool::new(4096, 4));
    let (left_in, right_out) = rustix::pipe::pipe().unwrap();
    let (right_in, left_out) = rustix::pipe::pipe().unwrap();
    let left = Pipe::new(left_in, left_out, &registry, 0, pool.clone()).unwrap();
    let right = Pipe::new(right_in, right_out, &registry, 1, pool).unwrap();
    let mut ends = Beside::new(left, right);
    let mut heard = Heard::default();

    let octets: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
    let (mut sent, mut granted) = (0, 0);
    while heard.right.len() < octets.len() {
        if heard.credit > 0 && sent < octets.len() {
            let length = heard.credit.min(octets.len() - sent).min(10_007);
            let message = SingleBuffer::with_headroom(0, &octets[sent..sent + length]);
            heard.credit -= length;
            sent += length;
            driver.request(&mut ends, Either::Left(OctetsRequest::Send { message }), &mut heard);
        }
        if heard.right.len() == granted {
            granted += 5_003;
            driver.request(
                &mut ends,
                Either::Right(OctetsRequest::Credit { credit: 5_003 }),
                &mut heard,
            );
        }
        driver.turn(&mut ends, &mut heard, None).unwrap();
        assert!(heard.right.len() <= granted, "nothing is delivered without room");
    }
    assert!(heard.right == octets);
}

/// A line is up from the start, and down when the other end hangs up, behind what it had written.
#[test]
fn a_line_says_when_the_other_end_is_gone() {
    #[derive(Default)]
    struct Told(Vec<String>);
    impl Outlet<Pipe<SingleBuffer>> for Told {
        fn indicate(&mut self, word: OctetsIndication<SingleBuffer>) {
            self.0.push(match word {
                OctetsIndication::State { up } => format!("up {up}"),
                OctetsIndication::Delivered { message } => format!("{} octets", message.len()),
                OctetsIndication::Credit { credit } => format!("room {credit}"),
            });
        }
        fn request(&mut self, never: Infallible) {
            match never {}
        }
    }
    for hears_by_writing in [false, true] {
        let mut driver = Driver::new(1).unwrap();
        let (input, written) = rustix::pipe::pipe().unwrap();
        let (read, output) = rustix::pipe::pipe().unwrap();
        let pool = Arc::new(Pool::new(4096, 4));
        let mut line =
            Pipe::<SingleBuffer>::new(input, output, &driver.registry(), 0, pool).unwrap();
        let mut told = Told::default();
        let tick = Some(std::time::Duration::from_millis(10));
        driver.turn(&mut line, &mut told, tick).unwrap();
        assert_eq!(told.0, ["up true", "room 65536"]);
        if hears_by_writing {
            drop(read);
        } else {
            rustix::io::write(&written, b"last").unwrap();
            drop(written);
            driver.request(&mut line, OctetsRequest::Credit { credit: 100 }, &mut told);
        }
        for _ in 0..3 {
            // What is sent to nobody is lost, however often.
            let message = SingleBuffer::with_headroom(0, &[0; 60_000]);
            driver.request(&mut line, OctetsRequest::Send { message }, &mut told);
            for _ in 0..3 {
                driver.turn(&mut line, &mut told, tick).unwrap();
            }
            driver.request(&mut line, OctetsRequest::Credit { credit: 1 }, &mut told);
            told.0.retain(|told| *told != "room 60000");
            if told.0.last().is_some_and(|told| told != "up false") {
                panic!("{:?}", told.0);
            }
        }
        let rest = if hears_by_writing { &["up false"][..] } else { &["4 octets", "up false"] };
        assert_eq!(told.0[2..], *rest);
    }
}

#[test]
fn another_thread_ends_a_wait() {
    let mut driver = Driver::new(1).unwrap();
    let registry = driver.registry();
    let pool = Arc::new(Pool::new(4096, 4));
    let (left_in, right_out) = rustix::pipe::pipe().unwrap();
    let (right_in, left_out) = rustix::pipe::pipe().unwrap();
    let left = Pipe::new(left_in, left_out, &registry, 0, pool.clone()).unwrap();
    let right = Pipe::new(right_in, right_out, &registry, 1, pool).unwrap();
    let (mut ends, mut heard) = (Beside::new(left, right), Heard::default());
    // What is due from the start.
    let zero = Some(std::time::Duration::ZERO);
    for _ in 0..3 {
        driver.turn(&mut ends, &mut heard, zero).unwrap();
    }
    let waker = driver.waker().unwrap();
    for _ in 0..2 {
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake().unwrap());
            driver.turn(&mut ends, &mut heard, None).unwrap();
        });
    }
}
