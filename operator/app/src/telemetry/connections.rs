//! The open connections, and the choice of the one that is closed for a new one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::task::AbortHandle;

/// Open connections, oldest first, never more than the limit.
pub(crate) struct Connections {
    most: usize,
    /// The number of connections so far, which is the number of the next one.
    taken: u64,
    open: BTreeMap<u64, Connection>,
}

/// One connection.
pub(crate) struct Connection {
    pub(crate) peer: IpAddr,
    /// Whether it has sent a whole request.
    pub(crate) has_asked: Arc<AtomicBool>,
    /// The task that serves it; aborting it closes the connection.
    pub(crate) task: AbortHandle,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            taken: 0,
            open: BTreeMap::new(),
        }
    }

    /// Adds a connection. If there are too many, [`Connections::close_one`] makes room.
    pub(crate) fn admit(&mut self, connection: Connection) {
        if self.open.len() >= self.most {
            self.close_one();
        }
        self.open.insert(self.taken, connection);
        self.taken += 1;
    }

    /// Removes the connections that have ended for any reason.
    pub(crate) fn forget_ended(&mut self) {
        self.open.retain(|_, connection| !connection.task.is_finished());
    }

    /// Closes a connection that has not sent its request, if there is one: the oldest of the address with the
    /// most such connections, so that an address with one connection keeps it while another one floods.
    /// Otherwise closes the oldest that is being answered, chosen in the same way.
    pub(crate) fn close_one(&mut self) {
        let victim = self.victim(false).or_else(|| self.victim(true));
        if let Some(closed) = victim.and_then(|number| self.open.remove(&number)) {
            closed.task.abort();
        }
    }

    fn victim(&self, has_asked: bool) -> Option<u64> {
        let mut of_peer = HashMap::<IpAddr, (usize, u64)>::new();
        for (&number, connection) in &self.open {
            if connection.has_asked.load(Relaxed) == has_asked {
                of_peer.entry(connection.peer).or_insert((0, number)).0 += 1;
            }
        }
        // The address with the most connections, then the oldest connection.
        let most = of_peer
            .into_values()
            .max_by_key(|&(count, oldest)| (count, Reverse(oldest)));
        most.map(|(_, oldest)| oldest)
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    fn connection(peer: u8, has_asked: bool, task: AbortHandle) -> Connection {
        Connection {
            peer: IpAddr::from([10, 0, 0, peer]),
            has_asked: Arc::new(AtomicBool::new(has_asked)),
            task,
        }
    }

    /// Adds connections from these addresses in this order, 0 for one of the first address that has sent its
    /// request; returns the numbers of those that stay open.
    fn open_after(most: usize, peers: &[u8]) -> Vec<u64> {
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut connections = Connections::new(most);
        for &peer in peers {
            let task = runtime.spawn(std::future::pending::<()>()).abort_handle();
            connections.admit(connection(peer.max(1), peer == 0, task));
        }
        connections.open.into_keys().collect()
    }

    #[test]
    fn a_new_connection_is_taken_and_the_oldest_makes_room() {
        assert_eq!(open_after(3, &[1, 1, 1]), [0, 1, 2]);
        assert_eq!(open_after(3, &[1, 1, 1, 1, 1]), [2, 3, 4]);
    }

    #[test]
    fn an_address_that_floods_makes_room_and_others_keep_their_connections() {
        assert_eq!(open_after(4, &[2, 1, 1, 1, 1, 1, 3]), [0, 4, 5, 6]);
        assert_eq!(open_after(3, &[1, 2, 3, 4]), [1, 2, 3], "one each: the oldest");
    }

    #[test]
    fn a_connection_that_is_being_answered_stays_while_another_waits_for_its_request() {
        assert_eq!(open_after(3, &[0, 1, 1, 1, 1]), [0, 3, 4]);
        assert_eq!(open_after(2, &[0, 0, 0]), [1, 2], "all are: the oldest");
    }

    #[test]
    fn connections_that_ended_leave_room_whatever_ended_them() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut connections = Connections::new(3);
        runtime.block_on(async {
            let aborted = tokio::spawn(std::future::pending::<()>());
            aborted.abort();
            connections.admit(connection(1, false, aborted.abort_handle()));
            let done = tokio::spawn(async {});
            connections.admit(connection(1, false, done.abort_handle()));
            let open = tokio::spawn(std::future::pending::<()>());
            connections.admit(connection(1, false, open.abort_handle()));
            assert!(aborted.await.is_err() && done.await.is_ok());
        });
        connections.forget_ended();
        assert_eq!(connections.open.into_keys().collect::<Vec<_>>(), [2]);
    }
}
