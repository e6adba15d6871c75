//! A stack over queues in place of a device.

use std::convert::Infallible;
use std::thread;
use std::time::{Duration, Instant};

use stackwright_contract::Outlet;
use stackwright_contract::services::{Batch, Credit, FramesIndication, FramesRequest};
use stackwright_drivers::Driver;
use stackwright_endpoint::frames::{QueuePort, Queues, queues};
use stackwright_wire::{BufferTree, Message as _};

type M = BufferTree;

const MOST: usize = 8;
const MTU: u16 = 100;

/// A layer that sends back what comes, if it is told to.
#[derive(Default)]
struct Heard {
    states: Vec<bool>,
    longest: u32,
    credit: Credit,
    frames: Vec<Vec<u8>>,
}

impl Outlet<QueuePort<M>> for Heard {
    fn indicate(&mut self, told: FramesIndication<M>) {
        match told {
            FramesIndication::State { port: 0, up } => self.states.push(up),
            FramesIndication::Changed { port: 0, path } => self.longest = path.longest,
            FramesIndication::Credit { port: 0, credit } => self.credit += credit,
            FramesIndication::Delivered { port: 0, batch } => {
                self.frames.push(octets(&batch.into_single()));
            }
            other => panic!("{other:?}"),
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

struct Stack {
    driver: Driver,
    port: QueuePort<M>,
    heard: Heard,
}

impl Stack {
    fn new() -> (Self, Queues<M>) {
        let driver = Driver::new(1).unwrap();
        let (port, queues) = queues(&driver.registry(), MTU, MOST).unwrap();
        let mut stack = Stack { driver, port, heard: Heard::default() };
        stack.turn(Duration::ZERO);
        (stack, queues)
    }

    fn turn(&mut self, most: Duration) {
        self.driver.turn(&mut self.port, &mut self.heard, Some(most)).unwrap();
    }

    fn ask(&mut self, request: FramesRequest<M>) {
        self.driver.request(&mut self.port, request, &mut self.heard);
    }

    fn grant(&mut self, octets: usize, messages: usize) {
        self.ask(FramesRequest::Credit { credit: Credit { octets, messages } });
        self.turn(Duration::ZERO);
    }

    fn send(&mut self, batch: Batch<M>) {
        self.heard.credit -= batch.cost();
        self.ask(FramesRequest::Send { port: 0, batch, mark: None });
    }
}

fn frame(octets: &[u8]) -> M {
    M::with_headroom(0, octets)
}

fn octets(message: &M) -> Vec<u8> {
    let mut octets = Vec::new();
    message.append_to(&mut octets);
    octets
}

#[test]
fn both_queues_are_bounded() {
    let (mut stack, queues) = Stack::new();
    assert_eq!((&stack.heard.states[..], stack.heard.longest), (&[true][..], 100));
    assert_eq!(stack.heard.credit, Credit { octets: 800, messages: 8 });
    for nth in 0..MOST {
        assert!(queues.send(frame(&[nth as u8; 10])).is_ok());
    }
    let refused = queues.send(frame(b"one too many")).unwrap_err();
    assert_eq!(octets(&refused), b"one too many");
    stack.turn(Duration::ZERO);
    assert!(stack.heard.frames.is_empty(), "there is no credit");
    stack.grant(25, 3);
    assert_eq!(stack.heard.frames, [[0; 10], [1; 10]], "nor for the octets of a third");
    stack.grant(5, 0);
    assert_eq!(stack.heard.frames.len(), 3);

    stack.send(Batch::new(frame(&[7; 350]), 100));
    assert_eq!(stack.heard.credit, Credit { octets: 450, messages: 4 });
    for length in [100, 100, 100, 50] {
        assert_eq!(queues.try_receive().map(|frame| frame.len()), Some(length));
    }
    assert!(queues.try_receive().is_none());
    stack.turn(Duration::ZERO);
    assert_eq!(stack.heard.credit, Credit { octets: 800, messages: 8 });
}

#[test]
fn a_frame_wakes_the_stack_of_another_thread() {
    let (mut stack, queues) = Stack::new();
    stack.grant(1000, 10);
    let program = thread::spawn(move || {
        for nth in 0..10_u8 {
            thread::sleep(Duration::from_millis(2));
            assert!(queues.send(frame(&[nth; 10])).is_ok());
        }
        queues
    });
    let since = Instant::now();
    while stack.heard.frames.len() < 10 {
        stack.turn(Duration::from_secs(20));
    }
    assert!(since.elapsed() < Duration::from_secs(10), "it slept through");
    drop(program.join().unwrap());
    stack.turn(Duration::from_secs(20));
    assert_eq!(stack.heard.states, [true, false]);
    // It was sent before that was known.
    stack.send(frame(b"too late").into());
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_task_waits_for_frames() {
    let (mut stack, queues) = Stack::new();
    let task = tokio::spawn(async move {
        let mut lengths = Vec::new();
        while let Some(frame) = queues.receive().await {
            lengths.push(frame.len());
        }
        lengths
    });
    for length in 1..100 {
        tokio::task::yield_now().await;
        while stack.heard.credit.messages == 0 {
            stack.turn(Duration::from_millis(1));
            tokio::task::yield_now().await;
        }
        stack.send(frame(&[7; 100][..length]).into());
    }
    drop(stack);
    assert_eq!(task.await.unwrap(), (1..100).collect::<Vec<_>>());
}

#[test]
fn nothing_is_sent_to_a_stack_that_is_gone() {
    let (stack, queues) = Stack::new();
    drop(stack);
    assert!(queues.send(frame(b"hello")).is_err());
}
