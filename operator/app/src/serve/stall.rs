//! Notices a connection on which nothing moves: a client that sends nothing, or reads nothing of its response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep};

/// When bytes moved last.
pub(super) struct Progress {
    start: Instant,
    millis: Arc<AtomicU64>,
}

impl Progress {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            millis: Arc::default(),
        }
    }

    /// Waits until nothing has moved for this time.
    pub(super) async fn stalled(&self, most: Duration) {
        loop {
            let idle = (self.start + Duration::from_millis(self.millis.load(Relaxed))).elapsed();
            let Some(left) = most.checked_sub(idle).filter(|left| !left.is_zero()) else {
                return;
            };
            sleep(left).await;
        }
    }
}

/// A connection that records its progress.
pub(super) struct Watched<S> {
    stream: S,
    start: Instant,
    millis: Arc<AtomicU64>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, progress: &Progress) -> Self {
        Self {
            stream,
            start: progress.start,
            millis: Arc::clone(&progress.millis),
        }
    }

    fn moved(&self, bytes: usize) {
        if bytes > 0 {
            let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.millis.store(millis, Relaxed);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, into));
        self.moved(into.filled().len() - before);
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.moved(written.as_ref().map_or(0, |count| *count));
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, parts));
        self.moved(written.as_ref().map_or(0, |count| *count));
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_stalls_once_nothing_moves_in_either_direction() {
        let (near, mut far) = duplex(4);
        let progress = Progress::start();
        let mut near = Watched::new(near, &progress);
        let most = Duration::from_secs(10);
        let client = async {
            for _ in 0..3 {
                sleep(most - Duration::from_secs(1)).await;
                far.write_all(b"a").await.unwrap();
                near.read_u8().await.unwrap();
            }
            std::future::pending::<()>().await;
        };
        let began = Instant::now();
        tokio::select! {
            () = client => {}
            () = progress.stalled(most) => {}
        }
        assert_eq!(began.elapsed().as_secs(), 27 + 10);
    }
}
