//! Which connections are open, and which one makes room for a new one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use tokio::task::AbortHandle;

/// Open connections, oldest first, never more than the limit.
pub(super) struct Connections {
    most: usize,
    /// How many were ever taken in: the number of the next one.
    taken: u64,
    open: BTreeMap<u64, (IpAddr, AbortHandle)>,
}

impl Connections {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            taken: 0,
            open: BTreeMap::new(),
        }
    }

    /// Takes a connection in. If there are too many, one is closed: the oldest of the address that has most, so that an
    /// address with one connection keeps it while another floods.
    pub(super) fn admit(&mut self, peer: IpAddr, task: AbortHandle) {
        if self.open.len() >= self.most {
            self.close_oldest();
        }
        self.open.insert(self.taken, (peer, task));
        self.taken += 1;
    }

    /// Forgets the connections that have ended, whatever ended them.
    pub(super) fn forget_ended(&mut self) {
        self.open.retain(|_, (_, task)| !task.is_finished());
    }

    /// Closes the oldest connection of the address that has most of them.
    pub(super) fn close_oldest(&mut self) {
        let mut of_peer = HashMap::<IpAddr, usize>::new();
        for (peer, _) in self.open.values() {
            *of_peer.entry(*peer).or_default() += 1;
        }
        let most = of_peer.values().max().copied().unwrap_or(0);
        let victim = self.open.iter().find(|(_, (peer, _))| of_peer[peer] == most);
        if let Some((&id, _)) = victim
            && let Some((_, task)) = self.open.remove(&id)
        {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// Admits connections from these addresses in this order; returns the numbers of those that stay open.
    fn open_after(most: usize, peers: &[u8]) -> Vec<u64> {
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut connections = Connections::new(most);
        for &peer in peers {
            let task = runtime.spawn(std::future::pending::<()>());
            connections.admit(address(peer), task.abort_handle());
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
    fn connections_that_ended_leave_room_whatever_ended_them() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut connections = Connections::new(3);
        runtime.block_on(async {
            let aborted = tokio::spawn(std::future::pending::<()>());
            aborted.abort();
            connections.admit(address(1), aborted.abort_handle());
            let done = tokio::spawn(async {});
            connections.admit(address(1), done.abort_handle());
            let open = tokio::spawn(std::future::pending::<()>());
            connections.admit(address(1), open.abort_handle());
            assert!(aborted.await.is_err() && done.await.is_ok());
        });
        connections.forget_ended();
        assert_eq!(connections.open.into_keys().collect::<Vec<_>>(), [2]);
    }
}
