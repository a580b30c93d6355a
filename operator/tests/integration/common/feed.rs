//! A feed of notes that runs while the test disturbs their readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::kafka::Topic;
use super::notes::event;

/// The number of notes per lot; the feed pauses between two lots.
const LOT: usize = 10;

/// Sends notes to each partition in turn until it is ended.
pub(crate) struct Feed {
    over: Arc<AtomicBool>,
    sender: Option<JoinHandle<usize>>,
}

impl Feed {
    /// Starts a feed of one lot every `pause`.
    pub(crate) fn into(topic: &Topic, pause: Duration) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (flag, producer, partitions) = (Arc::clone(&over), topic.producer(), topic.partitions);
        let sender = std::thread::spawn(move || {
            let mut number = 0;
            while !flag.load(Ordering::SeqCst) {
                for _ in 0..LOT {
                    let partition = (number as i32) % partitions;
                    producer
                        .send(Some(partition), None, Some(event(number).as_bytes()))
                        .unwrap();
                    number += 1;
                }
                std::thread::sleep(pause);
            }
            producer.finish().unwrap();
            number
        });
        Self {
            over,
            sender: Some(sender),
        }
    }

    /// Ends the feed, waits until the broker has all notes, and returns their number.
    pub(crate) fn end(mut self) -> usize {
        self.over.store(true, Ordering::SeqCst);
        self.sender.take().unwrap().join().unwrap()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}
