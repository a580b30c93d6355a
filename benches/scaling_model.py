"""A model of the stream: batches pass through the threads of a process, which share its cores. Times are in seconds.

A batch is fetched (one thread per broker), consumed (one thread), tagged (as many workers as cores), and encoded (one batch
of a partition at a time, in the order of offsets); after so many notes, a partition waits while its file is written to the
store. Memory, and the caches that cores share, are not in the model: what they cost shows where a measurement falls short
of it.
"""
import heapq
from dataclasses import dataclass, field


@dataclass
class Times:
    """The processor time of a note on each kind of thread, the shares of the runtime and of the broker, and the wait
    for the store of a file."""

    fetch: float
    consume: float
    tag: float
    encode: float
    runtime: float
    broker: float = 0.0
    store: float = 0.0

    def process(self):
        """Returns the processor time of a note in the program itself."""
        return self.fetch + self.consume + self.tag + self.encode + self.runtime


@dataclass
class Setting:
    """A process: its cores, the partitions that it reads, the brokers that these are on, the notes of a batch and of a file."""

    cores: int
    partitions: int
    brokers: int = 1
    batch: int = 32
    file: int = 100_000


@dataclass
class Lane:
    """A partition: the batches begun and encoded, and what its writer is doing."""

    begun: int = 0
    encoded: int = 0
    tagged: set = field(default_factory=set)
    busy: bool = False
    notes: int = 0


class Process:
    """The event loop. Work that others wait for takes a free core first."""

    def __init__(self, times, setting):
        self.times, self.of = times, setting
        self.now, self.number, self.free = 0.0, 0, setting.cores
        self.events, self.ready = [], []
        self.lanes = [Lane() for _ in range(setting.partitions)]
        self.fetching = [False] * setting.brokers
        self.consuming, self.consumable, self.done = False, [], 0

    def later(self, seconds, then):
        self.number += 1
        heapq.heappush(self.events, (self.now + seconds, self.number, then))

    def work(self, rank, seconds, then):
        """Lets a core work for so long, when one is free."""
        self.number += 1
        heapq.heappush(self.ready, (rank, self.number, seconds, then))

    def assign(self):
        while self.free and self.ready:
            _, _, seconds, then = heapq.heappop(self.ready)
            self.free -= 1

            def end(then=then):
                self.free += 1
                then()

            self.later(seconds, end)

    def begin(self):
        """Begins batches: the partition that has begun the fewest is next, if its broker's thread is free."""
        most = 2 * self.of.cores + 2
        for at in sorted(range(len(self.lanes)), key=lambda at: self.lanes[at].begun):
            lane, broker = self.lanes[at], at % self.of.brokers
            if not self.fetching[broker] and lane.begun - lane.encoded < most:
                self.fetching[broker] = True
                batch, lane.begun = lane.begun, lane.begun + 1
                cost = (self.times.fetch + self.times.broker) * self.of.batch
                self.work(0, cost, lambda at=at, broker=broker, batch=batch: self.fetched(at, broker, batch))

    def fetched(self, at, broker, batch):
        self.fetching[broker] = False
        self.consumable.append((at, batch))
        self.consume()

    def consume(self):
        if self.consumable and not self.consuming:
            self.consuming = True
            at, batch = self.consumable.pop(0)
            self.work(0, self.times.consume * self.of.batch, lambda: self.consumed(at, batch))

    def consumed(self, at, batch):
        self.consuming = False
        self.consume()
        cost = (self.times.tag + self.times.runtime) * self.of.batch
        self.work(2, cost, lambda: self.tagged(at, batch))

    def tagged(self, at, batch):
        self.lanes[at].tagged.add(batch)
        self.encode(at)

    def encode(self, at):
        lane = self.lanes[at]
        if not lane.busy and lane.encoded in lane.tagged:
            lane.busy = True
            self.work(1, self.times.encode * self.of.batch, lambda: self.encoded(at))

    def encoded(self, at):
        lane = self.lanes[at]
        lane.tagged.remove(lane.encoded)
        lane.encoded += 1
        lane.notes += self.of.batch
        self.done += 1
        if lane.notes >= self.of.file:
            lane.notes = 0
            self.later(self.times.store, lambda: self.stored(at))
        else:
            self.stored(at)

    def stored(self, at):
        self.lanes[at].busy = False
        self.encode(at)

    def rate(self, batches=4000):
        """Returns notes per second after a start of a tenth of the batches."""
        first, since = batches // 10, None
        while self.done < batches:
            self.begin()
            self.assign()
            self.now, _, then = heapq.heappop(self.events)
            then()
            if since is None and self.done >= first:
                first, since = self.done, self.now
        return (self.done - first) * self.of.batch / (self.now - since)


def rate(times, setting):
    """Returns the notes per second of a process with these times."""
    return Process(times, setting).rate(max(4000, 200 * setting.cores))
