//! Notes that keep coming while something happens to whoever reads them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::kafka::Topic;
use super::notes::event;

/// Notes that go together; between two such lots the feed pauses.
const LOT: usize = 10;

/// Notes that keep coming, to each partition in turn, until it is told to end.
pub(crate) struct Feed {
    over: Arc<AtomicBool>,
    sender: Option<JoinHandle<usize>>,
}

impl Feed {
    /// Begins a feed of ten notes every `pause`.
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

    /// Ends it, waits until the broker has everything, and says how many notes there are.
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
