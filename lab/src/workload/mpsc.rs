//! Channel throughput, from an MPSC shoot-out of asynchronous Rust: what threads allocate and send, one receiver frees.

use std::hint::black_box;
use std::sync::mpsc::{self, Receiver, SyncSender};

use crate::options::Options;
use crate::trial::{Outcome, Share, Signal, trial};

/// Messages that a bounded channel has room for.
pub const ROOM: usize = 128;
/// A sender waits for the receiver after so many messages or bytes, because an unbounded channel has no other limit.
pub const ROUND: (usize, usize) = (1_000, 4 << 20);

enum Message {
    Payload(Vec<u8>),
    /// The sender waits until this has been received.
    EndOfRound(SyncSender<()>),
}

enum Sender {
    Unbounded(mpsc::Sender<Message>),
    Bounded(SyncSender<Message>),
}

enum Member {
    Receiver(Receiver<Message>),
    Sender(Sender),
}

pub fn run(options: &Options) -> Outcome {
    let payload = options.payload();
    let mut members = Vec::new();
    if options.bounded {
        let (sender, receiver) = mpsc::sync_channel(ROOM);
        members.push(Member::Receiver(receiver));
        members.extend((0..options.threads).map(|_| Member::Sender(Sender::Bounded(sender.clone()))));
    } else {
        let (sender, receiver) = mpsc::channel();
        members.push(Member::Receiver(receiver));
        members.extend((0..options.threads).map(|_| Member::Sender(Sender::Unbounded(sender.clone()))));
    }
    trial(members, options.seconds, |member, signal| match member {
        Member::Receiver(receiver) => receive(&receiver, signal),
        Member::Sender(sender) => send(&sender, payload, signal),
    })
}

/// Receives until the end, and counts; what is in the channel then is what the workload holds.
fn receive(receiver: &Receiver<Message>, signal: &Signal) -> Share {
    let started = signal.start();
    let mut operations = 0;
    for message in receiver {
        operations += u64::from(free(message) > 0);
        if !signal.is_running() {
            break;
        }
    }
    let share = Share::new(started, operations);
    // Until the last sender has seen the end.
    share.with_live_bytes(receiver.iter().map(free).sum())
}

/// Frees a message and returns its size: 0 of the end of a round.
fn free(message: Message) -> usize {
    match message {
        Message::Payload(bytes) => black_box(bytes).len(),
        Message::EndOfRound(sender) => {
            sender.send(()).expect("a sender waits for the answer");
            0
        }
    }
}

/// Sends round after round. Its operations are those of the receiver.
fn send(sender: &Sender, payload: usize, signal: &Signal) -> Share {
    let (answer, answered) = mpsc::sync_channel(1);
    let started = signal.start();
    while signal.is_running() {
        send_round(sender, payload, signal);
        sender.send(Message::EndOfRound(answer.clone()));
        answered.recv().expect("this thread has a sender itself");
    }
    Share::new(started, 0)
}

fn send_round(sender: &Sender, payload: usize, signal: &Signal) {
    for _ in 0..round(payload) {
        // Not zero: zeroed memory comes from `calloc`, which may not touch it.
        sender.send(Message::Payload(vec![1; payload]));
        if !signal.is_running() {
            break;
        }
    }
}

/// The messages of a round.
pub fn round(payload: usize) -> usize {
    (ROUND.1 / payload).min(ROUND.0)
}

impl Sender {
    fn send(&self, message: Message) {
        let sent = match self {
            Sender::Unbounded(sender) => sender.send(message),
            Sender::Bounded(sender) => sender.send(message),
        };
        assert!(sent.is_ok(), "the receiver stays until all senders have gone");
    }
}
