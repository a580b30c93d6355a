//! Topics of a real Kafka, and configurations that read them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};

use lethe_connectors::kafka::Producer;

use super::process::TIMEOUT;

/// Returns a unique name.
pub(crate) fn name(stem: &str) -> String {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    let number = NAMES.fetch_add(1, Ordering::Relaxed);
    format!("{stem}-{}-{number}", std::process::id())
}

/// A topic of some broker.
pub(crate) struct Topic {
    /// The broker's address.
    pub(crate) brokers: String,
    /// The topic's name.
    pub(crate) name: String,
    /// The number of partitions.
    pub(crate) partitions: i32,
}

impl Topic {
    /// Creates a topic at the shared broker.
    pub(crate) fn new(stem: &str, partitions: i32) -> Self {
        Self::at(&super::env("LETHE_TEST_KAFKA"), stem, partitions)
    }

    /// Creates a topic at a broker.
    pub(crate) fn at(brokers: &str, stem: &str, partitions: i32) -> Self {
        let topic = Self {
            brokers: brokers.to_owned(),
            name: name(stem),
            partitions,
        };
        topic.create();
        topic
    }

    /// Creates the topic, possibly again.
    pub(crate) fn create(&self) {
        let new = NewTopic::new(&self.name, self.partitions, TopicReplication::Fixed(1))
            .set("max.message.bytes", "33554432");
        let made = block_on(self.admin().create_topics([&new], &AdminOptions::new())).unwrap();
        made.into_iter().for_each(|topic| {
            topic.unwrap();
        });
        self.settle(true);
    }

    /// Deletes the topic.
    pub(crate) fn delete(&self) {
        let gone = block_on(self.admin().delete_topics(&[&self.name], &AdminOptions::new())).unwrap();
        gone.into_iter().for_each(|topic| {
            topic.unwrap();
        });
        self.settle(false);
    }

    /// Deletes the records before an offset, as retention does.
    pub(crate) fn trim(&self, partition: i32, offset: i64) {
        let mut list = rdkafka::TopicPartitionList::new();
        list.add_partition_offset(&self.name, partition, rdkafka::Offset::Offset(offset))
            .unwrap();
        block_on(self.admin().delete_records(&list, &AdminOptions::new())).unwrap();
        assert_eq!(self.watermarks()[&partition].0, offset);
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.client().create().unwrap()
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers);
        config
    }

    /// Waits until the broker's metadata has the topic with a leader for each partition, or no longer has it.
    fn settle(&self, there: bool) {
        let consumer: BaseConsumer = self.client().create().unwrap();
        for _ in 0..6000 {
            let metadata = consumer.fetch_metadata(None, TIMEOUT).unwrap();
            let found = metadata.topics().iter().find(|topic| topic.name() == self.name);
            let ready = found.is_some_and(|topic| {
                topic.partitions().len() == self.partitions as usize
                    && topic.partitions().iter().all(|partition| partition.leader() >= 0)
            });
            if ready == there && (there || found.is_none()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("topic {} did not settle", self.name);
    }

    /// Returns a producer for the topic.
    pub(crate) fn producer(&self) -> Producer {
        Producer::plain(&self.brokers, &self.name, 500).unwrap()
    }

    /// Sends payloads to its partitions in turn, and waits until they are written.
    pub(crate) fn fill<P: AsRef<[u8]>>(&self, payloads: impl IntoIterator<Item = P>) {
        let producer = self.producer();
        for (number, payload) in payloads.into_iter().enumerate() {
            let partition = (number as i32) % self.partitions;
            producer
                .send(Some(partition), None, Some(payload.as_ref()))
                .unwrap();
        }
        producer.finish().unwrap();
    }

    /// Returns the first offset and the one past the last, of each partition.
    pub(crate) fn watermarks(&self) -> BTreeMap<i32, (i64, i64)> {
        let consumer: BaseConsumer = self.client().create().unwrap();
        (0..self.partitions)
            .map(|partition| {
                (
                    partition,
                    consumer.fetch_watermarks(&self.name, partition, TIMEOUT).unwrap(),
                )
            })
            .collect()
    }

    /// Returns every (partition, offset) in the log. Topics here have no transactions, so each offset is a
    /// record.
    pub(crate) fn offsets(&self) -> Vec<(i32, i64)> {
        self.watermarks()
            .into_iter()
            .flat_map(|(partition, (low, high))| (low..high).map(move |offset| (partition, offset)))
            .collect()
    }

    /// Returns the offset that the group has committed for each partition; `None` without a commit.
    pub(crate) fn committed(&self, group: &str) -> BTreeMap<i32, Option<i64>> {
        let consumer: BaseConsumer = self.client().set("group.id", group).create().unwrap();
        let mut list = rdkafka::TopicPartitionList::new();
        list.add_partition_range(&self.name, 0, self.partitions - 1);
        let committed = consumer.committed_offsets(list, TIMEOUT).unwrap();
        committed
            .elements()
            .iter()
            .map(|element| {
                (
                    element.partition(),
                    element.offset().to_raw().filter(|&raw| raw >= 0),
                )
            })
            .collect()
    }

    /// Returns the `[source]` table that reads the topic, as a group of its own.
    pub(crate) fn source(&self) -> String {
        self.source_with("")
    }

    /// Does the same with additional keys.
    pub(crate) fn source_with(&self, more: &str) -> String {
        format!(
            "[source]\nkind = \"kafka\"\nbrokers = [{:?}]\ntopics = [{:?}]\ngroup = \"{}-group\"\n{more}\n",
            self.brokers, self.name, self.name
        )
    }
}
