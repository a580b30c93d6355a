//! Reads topic ids (KIP-516): a topic that was deleted and recreated under its name has another id.
//!
//! librdkafka knows them, but its Rust binding does not expose them, so this module calls librdkafka's
//! `DescribeTopics`. Its `unsafe` code is behind a safe interface: [`Question`].
#![expect(
    unsafe_code,
    reason = "calls of librdkafka that its Rust binding does not have"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rdkafka::bindings as native;
use rdkafka::client::{Client, ClientContext};
use rdkafka::error::{IsError as _, KafkaError};
use rdkafka::types::RDKafkaErrorCode as Code;

use crate::source::TopicIds;

/// A pending request for topic ids. Dropping it abandons the request.
pub(crate) struct Question<'a> {
    queue: NonNull<native::rd_kafka_queue_t>,
    /// librdkafka's queue belongs to its client.
    client: PhantomData<&'a ()>,
}

impl<'a> Question<'a> {
    /// Sends the request. The brokers have `timeout` to respond; the result, or the timeout's error, arrives
    /// shortly after it at the latest.
    ///
    /// # Errors
    /// [`KafkaError`] if a name holds a zero byte.
    pub(crate) fn ask<C: ClientContext>(
        client: &'a Client<C>,
        topics: &[&str],
        timeout: Duration,
    ) -> Result<Self, KafkaError> {
        let invalid = || KafkaError::MetadataFetch(Code::InvalidArgument);
        let names = topics.iter().map(|topic| CString::new(*topic));
        let names: Vec<CString> = names.collect::<Result<_, _>>().map_err(|_| invalid())?;
        let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let limit = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        let mut why: [c_char; 256] = [0; 256];
        let client = client.native_ptr();
        // SAFETY: `client` is valid as long as the borrow of the safe client, which outlives this value. The names live to the end of
        // this function, and librdkafka copies them and the options. Each object is destroyed once: collection and options
        // here, the queue when this value is dropped.
        unsafe {
            let queue = NonNull::new(native::rd_kafka_queue_new(client)).ok_or_else(invalid)?;
            let this = Self {
                queue,
                client: PhantomData,
            };
            let collection =
                native::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
            let options = native::rd_kafka_AdminOptions_new(
                client,
                native::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS,
            );
            let set = native::rd_kafka_AdminOptions_set_request_timeout(
                options,
                limit,
                why.as_mut_ptr(),
                why.len(),
            );
            if !set.is_error() {
                native::rd_kafka_DescribeTopics(client, collection, options, this.queue.as_ptr());
            }
            native::rd_kafka_AdminOptions_destroy(options);
            native::rd_kafka_TopicCollection_destroy(collection);
            if set.is_error() {
                return Err(KafkaError::MetadataFetch(set.into()));
            }
            Ok(this)
        }
    }

    /// Returns the result if it arrives within `wait`. It arrives once.
    ///
    /// # Errors
    /// [`KafkaError`] if the brokers did not respond in time.
    pub(crate) fn answer(&self, wait: Duration) -> Option<Result<TopicIds, KafkaError>> {
        let wait = c_int::try_from(wait.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the queue is valid until this value is dropped. The event is destroyed once, after all that points into it was
        // copied.
        unsafe {
            let event = native::rd_kafka_queue_poll(self.queue.as_ptr(), wait);
            if event.is_null() {
                return None;
            }
            let error = native::rd_kafka_event_error(event);
            let answer = match error.is_error() {
                true => Err(KafkaError::MetadataFetch(error.into())),
                false => Ok(read(native::rd_kafka_event_DescribeTopics_result(event))),
            };
            native::rd_kafka_event_destroy(event);
            Some(answer)
        }
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        // SAFETY: `ask` made the queue, and only this destroys it. librdkafka counts its own reference for a
        // pending result, and drops that result.
        unsafe { native::rd_kafka_queue_destroy(self.queue.as_ptr()) }
    }
}

/// The prefix of the cluster ids of librdkafka's mock brokers. The demo's broker is one; mock brokers never
/// respond to the request.
const MOCK: &str = "mockCluster";

/// Requests topic ids and waits for the result. Mock brokers have none.
///
/// # Errors
/// [`KafkaError`] if the brokers do not respond within `timeout`.
pub(crate) fn topic_ids<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    timeout: Duration,
) -> Result<TopicIds, KafkaError> {
    let begun = Instant::now();
    // The client knows it already, unless it was just created.
    let cluster = client.fetch_cluster_id(timeout / 2);
    if cluster.is_some_and(|id| id.starts_with(MOCK)) {
        return Ok(TopicIds::new());
    }
    let left = timeout.saturating_sub(begun.elapsed());
    let question = Question::ask(client, topics, left)?;
    // librdkafka itself reports the timeout.
    let answer = question.answer(left * 2);
    answer.unwrap_or(Err(KafkaError::MetadataFetch(Code::OperationTimedOut)))
}

/// Copies the ids from a result.
///
/// # Safety
/// `result` must be null, or a result of `DescribeTopics` whose event is alive.
unsafe fn read(result: *const native::rd_kafka_DescribeTopics_result_t) -> TopicIds {
    let mut ids = TopicIds::new();
    if result.is_null() {
        return ids;
    }
    let mut count = 0;
    // SAFETY: the result lives, by this function's contract. It owns the array, of `count` descriptions, and each description
    // its name, error and id.
    unsafe {
        let topics = native::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        for at in 0..count {
            let topic = *topics.add(at);
            let error = native::rd_kafka_TopicDescription_error(topic);
            let name = native::rd_kafka_TopicDescription_name(topic);
            let id = native::rd_kafka_TopicDescription_topic_id(topic);
            if name.is_null() || id.is_null() || native::rd_kafka_error_code(error).is_error() {
                continue;
            }
            let id = printed(
                native::rd_kafka_Uuid_most_significant_bits(id),
                native::rd_kafka_Uuid_least_significant_bits(id),
            );
            if let Some(id) = id {
                ids.insert(CStr::from_ptr(name).to_string_lossy().into(), id.into());
            }
        }
    }
    ids
}

/// Returns an id as Kafka's own tools print it; `None` for all zeros, which means no id.
fn printed(most: i64, least: i64) -> Option<String> {
    let bits = (u128::from(most.cast_unsigned()) << 64) | u128::from(least.cast_unsigned());
    (bits != 0).then(|| URL_SAFE_NO_PAD.encode(bits.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::ClientConfig;
    use rdkafka::consumer::{BaseConsumer, Consumer as _};

    #[test]
    fn an_id_is_printed_as_kafka_prints_it() {
        // Kafka's Uuid.ZERO, and an id whose encoding has both characters that are specific to URL-safe
        // base64.
        assert_eq!(printed(0, 0), None);
        assert_eq!(printed(0, 1).as_deref(), Some("AAAAAAAAAAAAAAAAAAAAAQ"));
        assert_eq!(printed(-1, -1).as_deref(), Some("_____________________w"));
        assert_eq!(
            printed(0x0123_4567_89ab_cdef, i64::MIN).as_deref(),
            Some("ASNFZ4mrze-AAAAAAAAAAA")
        );
    }

    fn nobody() -> BaseConsumer {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", "127.0.0.1:1")
            .set("group.id", "g");
        config.create().expect("a client that connects to nobody")
    }

    #[test]
    fn brokers_that_are_away_give_an_error_and_not_ids() {
        let client = nobody();
        let asked = topic_ids(client.client(), &["notes"], Duration::from_millis(50));
        assert!(matches!(asked, Err(KafkaError::MetadataFetch(_))), "{asked:?}");
    }

    #[test]
    fn a_question_may_be_given_up_before_its_answer_comes() {
        let client = nobody();
        for _ in 0..50 {
            let question = Question::ask(client.client(), &["notes"], Duration::from_secs(5));
            let answer = question
                .expect("a name without a zero byte")
                .answer(Duration::ZERO);
            assert!(answer.is_none());
        }
        drop(client);
    }

    #[test]
    fn a_name_with_a_zero_byte_is_refused() {
        let client = nobody();
        assert!(Question::ask(client.client(), &["no\0tes"], Duration::from_secs(1)).is_err());
    }
}
