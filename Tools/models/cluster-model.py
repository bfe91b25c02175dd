#!/usr/bin/env python3
"""An executable model of the planned cluster store: exactly once over PostgreSQL and ClickHouse.

  Tools/models/cluster-model.py [HISTORIES] [--break RULE] [--seed N]
    HISTORIES       how many random histories to run (default 3000)
    --break RULE    breaks one rule on purpose and stops at the first history with a fault
    --break all     does this for every rule, one after the other
    --seed N        begins with history N; a history's number is its seed

Without --break the model exits with 0 if no history has a fault. With --break it exits with 0 if every broken rule was
caught. Documentation/decisions/cluster-store.md explains the design; RULES below lists what can be broken.

What is modelled
  A device has two streams. It records, drops its oldest records, sends parts, loses answers, ends epochs, and in some
  histories goes back to an old image. Any number of collectors handle its requests. Around them run readers, retention,
  recovery, and fillers of the tables for people.

  Each of these is a generator. It yields before and after everything it does outside itself. Between two steps it can
  stop for ever (a crash) or for long (a frozen process). A write that was under way may still arrive much later.

  PostgreSQL is one state that changes in transactions. A commit's result can be unknown. A failover goes back to an
  older state: it loses the newest commits, although clients were told of them.

  ClickHouse is three replicas. A write is acknowledged once two have it. Its outcome can be unknown, and the third
  replica lags. A replica can be replaced by an empty one, and then what only it had is gone.

How faults are found
  Each chain in PostgreSQL carries its `history`, which a real store would not have: the slices that its mark moved
  over. Every read must give exactly what the history has. At the end, everything that the device was told is stored is
  in a history once, and the tables for people show the same records.
"""

import argparse
import hashlib
import random
import sys
from functools import partial
from typing import NamedTuple

RULES = {
    # The rule for one part.
    "claim": "A claim commits the raised attempt before anything is written.",
    "chain-row": "A claim creates the chain's row if it is missing.",
    "fence": "A move happens only if the attempt is still the newest.",
    "group": "In a group, only the chains that moved are answered `stored`.",
    "key": "A slice's key is the chain's mark before it.",
    "order": "The slice is written before the mark moves.",
    "unknown-insert": "An insert with an unknown outcome does not count as written.",
    "commit": "A commit with an unknown result does not count as committed.",
    # Reading.
    "mark": "Slices at or above the mark do not count.",
    "replica": "A reader checks that the slices tile from floor to mark, and asks another replica if they do not.",
    "counts": "The check compares the marks' counts, not only numbers and links.",
    "day-ends": "A read of one day ends at the numbers that PostgreSQL has for the chain and day.",
    # Failover.
    "timeline": "Every transaction checks that its server and generation are those of the claim.",
    "generation": "Recovery raises the generation.",
    "generation-copy": "The generation is in ClickHouse before PostgreSQL has it.",
    "recover": "Recovery moves each mark forward over the slices that continue it.",
    "recover-alone": "Raising the generation closes the store until that recovery opens it.",
    "recover-quorum": "Recovery reads two replicas.",
    "rewrite": "Recovery writes the slices it moves over again, under its generation.",
    # Closing epochs.
    "close-claim": "Closing raises the attempt.",
    "close-slice": "Closing writes a slice before it is committed.",
    # Days and their removal.
    "day-order": "A slice's day is not before the day of the slice before it.",
    "drop-fence": "A move into a day that is being dropped is refused.",
    "baseline": "The baseline is committed before the partition is dropped.",
    "floor": "Slices below the floor do not count.",
    "floor-copy": "The baseline is in ClickHouse before PostgreSQL has it.",
    "floor-recover": "Recovery counts all slices of dropped days into the floor.",
    "drop-last": "Recovery declares days dropped only once their slices are in the floors.",
    "revive": "A dropped partition that a late write revives is dropped again.",
    # Tables for people.
    "outbox": "The outbox entry is in the transaction that moves the mark.",
    "outbox-early": "The tables for people are filled only after the mark has moved.",
    "outbox-key": "Rows of the tables for people have a key, so a repeated fill shows once.",
    "outbox-order": "An outbox entry is removed after its rows are written.",
    "outbox-check": "A fill takes the slice that the outbox entry describes, or waits.",
    "outbox-recover": "Recovery writes outbox entries for the slices it writes again.",
}

ZERO = bytes(8)
STREAMS = ("event", "sample")
REPLICAS = (1, 2, 4)
ALL_REPLICAS = 7


def link(prior, payload):
    return hashlib.sha256(prior + payload.encode()).digest()[:8]


class Fault(Exception):
    """A promise is broken."""


class Unavailable(Exception):
    """A collector cannot know or cannot do something now. The device hears `unavailable`, or nothing."""


# --- What is sent and stored


class Item(NamedTuple):
    """A record, or a gap if `payload` is None. `link` is the link at `last`."""

    first: int
    last: int
    payload: str | None
    link: bytes


class Part(NamedTuple):
    prior: bytes
    items: tuple


class Close(NamedTuple):
    """Asks to close a chain. `points` are numbers and links that the device knows."""

    points: tuple


class Mark(NamedTuple):
    """`stored` stands for all counts of a mark."""

    number: int = 0
    link: bytes = ZERO
    stored: int = 0


class Slice(NamedTuple):
    """What one part adds to a chain. It names the marks on both sides of it, with their counts."""

    before: Mark
    prior: bytes
    items: tuple
    after: Mark
    closes: bool = False


def decide(part, mark):
    """The collector's decision on a part: a slice, or "conflict", or "already"."""
    first = part.items[0].first
    if first - 1 > mark.number:
        kept, prior = part.items, part.prior
    else:
        links = {first - 1: part.prior, **{item.last: item.link for item in part.items}}
        if links.get(mark.number, mark.link) != mark.link:
            return "conflict"
        kept = tuple(
            item._replace(first=max(item.first, mark.number + 1)) for item in part.items if item.last > mark.number)
        prior = mark.link
        if not kept:
            return "already"
    stored = mark.stored + sum(item.payload is not None for item in kept)
    return Slice(mark, prior, kept, Mark(kept[-1].last, kept[-1].link, stored))


# --- PostgreSQL


class Day(NamedTuple):
    """The marks between which a chain's slices of one day lie."""

    day: int
    begin: Mark
    end: Mark


class Floor(NamedTuple):
    """The baseline of a chain: nothing below `mark` counts any more."""

    mark: Mark = Mark()
    closed: bool = False
    history: tuple = ()


class Chain(NamedTuple):
    attempt: int = 0
    mark: Mark = Mark()
    floor: Mark = Mark()
    days: tuple = ()
    closed: bool = False
    history: tuple = ()  # only for the check: (slice, day) for all that the mark moved over

    def baseline(self, day):
        """The floor once the slices up to a day are removed; None if there are none."""
        ends = [one.end for one in self.days if one.day <= day]
        if not ends:
            return None
        history = tuple(one for one in self.history if one[0].before.number < ends[-1].number)
        return Floor(ends[-1], self.closed and self.days[-1].day <= day, history)

    def without_days(self, day, floor):
        return self._replace(
            floor=max(self.floor, floor.mark), days=tuple(one for one in self.days if one.day > day))

    def moved(self, piece, day):
        """The chain after its mark has moved over a slice."""
        days = self.days
        if days and days[-1].day == day:
            days = days[:-1] + (days[-1]._replace(end=piece.after),)
        else:
            days += (Day(day, piece.before, piece.after),)
        if piece.closes:
            return self._replace(days=days, closed=True)
        return self._replace(days=days, mark=piece.after, history=self.history + ((piece, day),))


class Entry(NamedTuple):
    """An outbox entry. It is kept under (chain, key)."""

    day: int
    after: Mark


class State:
    """All tables of PostgreSQL."""

    def __init__(self):
        self.identity, self.generation = 1, 1
        self.dropping, self.dropped = 0, 0
        self.chains, self.outbox = {}, {}

    def copy(self):
        state = State()
        state.__dict__.update(self.__dict__)
        state.chains, state.outbox = dict(self.chains), dict(self.outbox)
        return state


class Session(NamedTuple):
    """What a collector compares in every transaction: the server and the generation of its claim."""

    identity: int
    generation: int


class Postgres:
    def __init__(self, world):
        self.world, self.state, self.former = world, State(), []
        self.identity = 1  # of the server that runs: system identifier and timeline
        self.today = 1  # its clock

    def session(self):
        if self.world.keeps("timeline") and self.state.identity != self.identity:
            raise Unavailable  # not recovered yet
        return Session(self.identity, self.state.generation)

    def transaction(self, session, change):
        """Runs `change` on the state and commits."""
        if self.world.keeps("timeline") and session != self.session():
            raise Unavailable
        return self.commit(change)

    def commit(self, change):
        state = self.state.copy()
        result = change(state)
        is_unknown = self.world.happens(0.03)
        if not is_unknown or self.world.happens(0.5):
            self.former = (self.former + [self.state])[-6:]
            self.state = state
        if is_unknown and self.world.keeps("commit"):
            raise Unavailable
        return result

    def fail_over(self):
        """A server takes over that has lost up to six commits."""
        if self.former:
            lost = self.world.random.randint(0, len(self.former))
            states = self.former + [self.state]
            self.state, self.former = states[-1 - lost], states[:len(states) - 1 - lost]
        self.identity += 1


# --- ClickHouse


class Row:
    """A slice in ClickHouse: the table is ordered by chain and key, and partitioned by day."""

    def __init__(self, chain, key, version, day, piece):
        self.chain, self.key, self.version, self.day, self.piece = chain, key, version, day, piece
        self.replicas = 0


class ClickHouse:
    def __init__(self, world):
        self.world, self.rows, self.people = world, [], []
        # Small tables, written with quorum and read from two replicas.
        self.generation, self.floors = 1, []

    def insert(self, chain, key, version, day, piece):
        """Returns whether the quorum has acknowledged the row."""
        row = Row(chain, key, version, day, piece)
        is_known = not self.world.happens(0.06)
        replicas = self.world.random.sample(REPLICAS, 2 if is_known else self.world.random.choice((0, 1, 1, 2)))
        row.replicas = ALL_REPLICAS if self.world.is_calm else sum(replicas)
        if row.replicas:
            self.rows.append(row)
        return is_known

    def read(self, chain, replicas):
        return [row for row in self.rows if row.chain == chain and row.replicas & replicas]

    def catch_up(self):
        for row in self.rows:
            row.replicas = ALL_REPLICAS

    def replace(self, replica):
        """An empty replica takes the place of another, and copies what the two others have."""
        self.rows = [row for row in self.rows if row.replicas != replica]
        self.catch_up()

    def merge(self):
        """Each replica removes rows for which it has a greater version in the same partition."""
        best = {}
        for row in sorted(self.rows, key=lambda row: row.version, reverse=True):
            greater = best.get((row.chain, row.key, row.day), 0)
            best[row.chain, row.key, row.day] = greater | row.replicas
            row.replicas &= ~greater
        self.rows = [row for row in self.rows if row.replicas]

    def drop(self, day):
        self.rows = [row for row in self.rows if row.day != day]
        self.people = [row for row in self.people if row[0] != day]

    def attempt(self, write):
        """Returns whether the write was acknowledged. Otherwise it happened, or not."""
        is_known = not self.world.happens(0.06)
        if is_known or self.world.happens(0.5):
            write()
        return is_known

    def write_generation(self, generation):
        def write():
            self.generation = max(self.generation, generation)

        return self.attempt(write)

    def write_floor(self, generation, day, chain=None, floor=None):
        """Writes a day that will be dropped, or the floor of one of its chains."""
        return self.attempt(lambda: self.floors.append((generation, day, chain, floor)))

    def fill(self, chain, day, piece):
        """Writes a row for each record to the tables for people."""
        def write():
            for item in piece.items:
                if item.payload is not None:
                    unique = 0 if self.world.keeps("outbox-key") else len(self.people)
                    self.people.append((day, chain, item.first, item.payload, unique))

        return self.attempt(write)


def greatest_versions(rows):
    best = {}
    for row in rows:
        if row.key not in best or row.version > best[row.key].version:
            best[row.key] = row
    return best


# --- What runs at the same time


class World:
    def __init__(self, seed, broken):
        self.random, self.broken, self.is_calm = random.Random(seed), broken, False
        self.pg, self.ch = Postgres(self), ClickHouse(self)
        self.running, self.late = [], []
        self.device = Device(self, restores=self.happens(0.4))

    def keeps(self, rule):
        return self.broken != rule

    def happens(self, probability):
        return not self.is_calm and self.random.random() < probability

    def start(self, make, *arguments):
        """Starts what can crash between any two of its steps."""
        task = Task()
        task.steps = make(self, task, *arguments)
        self.running.append(task)
        return task

    def step(self, task):
        """One step. Returns False once the task has ended."""
        try:
            next(task.steps)
            return True
        except (StopIteration, Unavailable):
            if task in self.running:
                self.running.remove(task)
            return False

    def finish(self, task):
        while self.step(task):
            pass

    def crash(self, task):
        """What the task was sending may still arrive."""
        self.running.remove(task)
        if task.sending:
            self.late.append(task.sending)
        task.steps.close()


class Task:
    sending = None

    def send(self, write, *arguments):
        """Sends a write to ClickHouse. After a crash here it may arrive at any later time, or never."""
        self.sending = partial(write, *arguments)
        yield
        self.sending = None
        return write(*arguments)

    def send_surely(self, write, *arguments):
        """Gives up unless the write is acknowledged."""
        if not (yield from self.send(write, *arguments)):
            raise Unavailable


# --- Collectors: claim, write, move, answer


class Claim(NamedTuple):
    chain: Chain
    version: tuple
    day: int


def claim(world, state, name, asked):
    """Raises the attempt of one chain and reads its row."""
    is_missing = name not in state.chains
    row = state.chains.get(name, Chain())
    if world.keeps("close-claim") or not isinstance(asked, Close):
        row = row._replace(attempt=row.attempt + 1)
    if world.keeps("claim") and not (is_missing and not world.keeps("chain-row")):
        state.chains[name] = row
    day = max(world.pg.today, state.dropping + 1)
    if row.days and world.keeps("day-order"):
        day = max(day, row.days[-1].day)
    return Claim(row, (state.generation, row.attempt), day)


def move(world, state, name, claimed, piece):
    """Moves one mark. Returns False if another attempt has come between, or the slice's day is being dropped."""
    row = state.chains.get(name, Chain())
    if world.broken == "claim" or (world.broken == "chain-row" and name not in state.chains):
        is_newest = row.attempt < claimed.chain.attempt  # all that is left to compare
    else:
        is_newest = row.attempt == claimed.chain.attempt or not world.keeps("fence")
    if not is_newest or (claimed.day <= state.dropping and world.keeps("drop-fence")):
        return False
    row = row._replace(attempt=max(row.attempt, claimed.chain.attempt))
    state.chains[name] = row.moved(piece, claimed.day)
    if world.keeps("outbox") and not piece.closes:
        state.outbox[name, piece.before.number] = Entry(claimed.day, piece.after)
    return True


def handle(world, task, request):
    """One request: parts, or closes, of several chains."""
    pg, ch = world.pg, world.ch
    session = pg.session()
    claims = pg.transaction(
        session, lambda state: {name: claim(world, state, name, asked) for name, asked in request.items()})
    yield
    pieces, answers = {}, {}
    for name, asked in request.items():
        row = claims[name].chain
        if isinstance(asked, Close):
            slices = yield from read_slices(world, name, row.floor, row.mark)
            if slices is None:
                continue  # unavailable
            answers[name] = ("closed", match(asked.points, row, slices))
            if not row.closed:
                pieces[name] = Slice(row.mark, row.mark.link, (), row.mark, closes=True)
        elif row.closed:
            answers[name] = ("ended", None)
        else:
            piece = decide(asked, row.mark)
            if isinstance(piece, Slice):
                pieces[name], answers[name] = piece, ("stored", piece.after)
            else:
                answers[name] = (piece, row.mark)

    def write():
        for name, piece in list(pieces.items()):
            if piece.closes and not world.keeps("close-slice"):
                continue
            key = piece.before.number if world.keeps("key") or piece.closes else request[name].items[0].first - 1
            day, version = claims[name].day, claims[name].version
            is_known = yield from task.send(ch.insert, name, key, version, day, piece)
            if not is_known and world.keeps("unknown-insert"):
                del pieces[name], answers[name]

    def fill():
        for name, piece in list(pieces.items()):
            yield from task.send(ch.fill, name, claims[name].day, piece)

    if world.keeps("order"):
        yield from write()
    if not world.keeps("outbox-early"):
        yield from fill()
    moved = pg.transaction(
        session,
        lambda state: [name for name, piece in pieces.items() if move(world, state, name, claims[name], piece)])
    yield
    for name in list(pieces):
        if name not in moved and not (moved and not world.keeps("group")):
            del pieces[name], answers[name]
    if not world.keeps("order"):
        yield from write()
    if not world.keeps("outbox"):
        yield from fill()
    for name, answer in answers.items():
        if not world.happens(0.2):
            world.device.heard(name, *answer)


def match(points, row, slices):
    """The greatest point in the chain's history; None if it was removed."""
    links = {0: ZERO, row.floor.number: row.floor.link, row.mark.number: row.mark.link}
    for piece in slices:
        links[piece.items[0].first - 1] = piece.prior
        links.update((item.last, item.link) for item in piece.items)
    for number, at in sorted(points, reverse=True):
        if number <= row.mark.number:
            if 0 < number < row.floor.number:
                return None
            if links.get(number) == at:
                return number
    return 0


# --- Readers


def tile(world, rows, begin, end):
    """The slices among the rows; None if they do not lead from one mark to the other without a hole. A mark that is
    None is not compared."""
    best = greatest_versions(row for row in rows if not row.piece.closes)
    slices = [best[key].piece for key in sorted(best)]
    if not world.keeps("replica"):
        return slices
    at = begin
    for piece in slices:
        if at is not None and not fits(world, at, piece.before):
            return None
        at = piece.after
    return slices if None in (at, end) or fits(world, at, end) else None


def fits(world, one, other):
    return one == other or (one[:2] == other[:2] and not world.keeps("counts"))


def read_slices(world, name, begin, end, day=None):
    """Reads from one replica after the other until the slices tile; None if they do on none of them."""
    lowest, highest = begin.number, end.number
    if not world.keeps("floor") and day is None:
        lowest, begin = 0, None
    if not world.keeps("mark") and day is None:
        highest, end = sys.maxsize, None
    if not world.keeps("day-ends") and day is not None:
        row = world.pg.state.chains[name]
        lowest, highest, begin, end = row.floor.number, row.mark.number, None, None
    for replica in world.random.sample(REPLICAS, 3):
        rows = [
            row for row in world.ch.read(name, replica) if lowest <= row.key < highest and day in (None, row.day)
        ]
        slices = tile(world, rows, begin, end)
        if slices is not None:
            return slices
        yield
    return None


def read(world, task, name, reads_day, must_succeed=False):
    """A query of a whole chain or of one of its days. It must give exactly what the chain's history has."""
    world.pg.session()
    row = world.pg.state.chains.get(name)
    if row is None or (reads_day and not row.days):
        return
    day, begin, end = None, row.floor, row.mark
    if reads_day:
        day, begin, end = world.random.choice(row.days)
    yield
    slices = yield from read_slices(world, name, begin, end, day)
    if slices is None:
        if must_succeed:
            raise Fault(f"{name}: no replica has slices that tile from {begin.number} to {end.number}")
        return
    expected = [
        piece for piece, its_day in row.history if begin.number <= piece.before.number and day in (None, its_day)
    ]
    shown = [(item.first, item.last, item.payload) for piece in slices for item in piece.items]
    if shown != [(item.first, item.last, item.payload) for piece in expected for item in piece.items]:
        raise Fault(f"{name}: a read from {begin.number} to {end.number} shows what was not stored")


# --- Retention


def retire(world, task):
    """Drops the oldest day: fence, baselines to ClickHouse, to PostgreSQL some chains at a time, drop."""
    pg, ch = world.pg, world.ch
    session = pg.session()
    day = pg.state.dropped + 1
    if day >= pg.today:
        return

    def begin(state):
        """From here on no mark moves into the day, so its baseline is final."""
        state.dropping = max(state.dropping, day)
        floors = {name: row.baseline(day) for name, row in state.chains.items()}
        return {name: floor for name, floor in floors.items() if floor}

    def take(name, state):
        state.chains[name] = state.chains[name].without_days(day, floors[name])

    def end(state):
        state.dropped = max(state.dropped, day)

    floors = pg.transaction(session, begin)
    yield
    if world.keeps("floor-copy"):
        yield from task.send_surely(ch.write_floor, session.generation, day)
        for name, floor in floors.items():
            yield from task.send_surely(ch.write_floor, session.generation, day, name, floor)
    if not world.keeps("baseline"):
        yield from task.send(ch.drop, day)
    for name in floors:
        pg.transaction(session, partial(take, name))
        yield
    pg.transaction(session, end)
    yield
    yield from task.send(ch.drop, day)


def drop_again(world):
    if world.keeps("revive"):
        for day in range(1, world.pg.state.dropped + 1):
            world.ch.drop(day)


# --- Recovery after a failover


def recover(world, task):
    pg, ch = world.pg, world.ch
    identity, former = pg.identity, pg.state.generation
    generation = former
    if world.keeps("generation"):
        generation = former + 1
        if world.keeps("generation-copy"):
            generation = max(ch.generation, former) + 1
            yield from task.send_surely(ch.write_generation, generation)

    def state_under(expected):
        if pg.identity != identity or pg.state.generation != expected:
            raise Unavailable  # another failover, or another recovery
        return pg.state

    def transaction(expected, change):
        state_under(expected)
        return pg.commit(change)

    def begin(state):
        state.generation = generation
        if world.keeps("recover-alone"):
            state.identity = 0
        if not world.keeps("drop-last"):
            state.dropped = dropped

    # What ClickHouse has of baselines, also if they are not complete. Their days may have been dropped.
    floors = list(ch.floors)
    dropped = max([pg.state.dropped] + [day for _, day, _, _ in floors])
    transaction(former, begin)
    yield
    replicas = ALL_REPLICAS ^ world.random.choice(REPLICAS)
    if not world.keeps("recover-quorum"):
        replicas = world.random.choice(REPLICAS)
    names = {row.chain for row in ch.rows} | set(pg.state.chains) | {name for _, _, name, _ in floors if name}
    for name in sorted(names):
        if not world.keeps("recover"):
            break
        state = state_under(generation)
        rows = ch.read(name, replicas)
        before = state.chains.get(name, Chain())
        candidates = [(written, floor) for written, _, other, floor in floors if other == name]
        for floor in newest_floors(candidates, rows):
            before = adopt(before, floor)
        chain, again = follow(name, before, rows)
        floor = chain.baseline(dropped) if world.keeps("floor-recover") else None
        if floor:
            chain = chain.without_days(dropped, floor)
            if world.keeps("floor-copy"):
                yield from task.send_surely(ch.write_floor, generation, dropped, name, floor)
        again = [(piece, day) for piece, day in again if day > dropped]
        for piece, day in again:
            if world.keeps("rewrite"):
                # If the outcome is unknown, another recovery begins anew under its own generation.
                yield from task.send_surely(ch.insert, name, piece.before.number, (generation, 0), day, piece)

        def advance(state):
            state.chains[name] = chain._replace(attempt=state.chains.get(name, Chain()).attempt)
            for piece, day in again:
                if world.keeps("outbox-recover") and not piece.closes:
                    state.outbox[name, piece.before.number] = Entry(day, piece.after)

        transaction(generation, advance)
        yield

    def open_again(state):
        """The days count as dropped only now, so that nobody drops a partition whose slices are not in the floors."""
        state.dropping, state.dropped = max(state.dropping, dropped), dropped
        state.identity = identity

    transaction(generation, open_again)


def adopt(row, floor):
    if floor.mark.number > row.floor.number:
        row = row._replace(floor=floor.mark)
    if floor.mark.number > row.mark.number:
        row = row._replace(mark=floor.mark, history=floor.history)
    return row._replace(closed=row.closed or floor.closed)


def newest_floors(candidates, rows):
    """The floors of the newest generation that has valid ones. A floor is not valid if a later generation has a slice
    below it: then it came late, and that generation went on without it."""
    valid = [
        (written, floor) for written, floor in candidates
        if not any(row.key < floor.mark.number and row.version[0] > written for row in rows)
    ]
    newest = max([written for written, _ in valid], default=None)
    return [floor for written, floor in valid if written == newest]


def follow(name, before, rows):
    """Follows a chain from its floor over the greatest versions. Returns the chain, and the slices above its mark in
    PostgreSQL with their days."""
    history = tuple(one for one in before.history if one[0].before.number < before.floor.number)
    chain = before._replace(mark=before.floor, days=(), history=history)
    best, new = greatest_versions(rows), []
    while chain.mark.number in best:
        row = best[chain.mark.number]
        is_new = row.key >= before.mark.number
        # A closed chain moves no more. Its closing slice may have gone with its day, while a lower version is there.
        if row.piece.before != chain.mark or (is_new and before.closed and not row.piece.closes):
            break
        if is_new and not before.closed:
            new.append((row.piece, row.day))
        chain = chain.moved(row.piece, row.day)
        if row.piece.closes:
            break
    if chain.mark.number < before.mark.number:
        raise Fault(f"{name}: recovery finds slices up to {chain.mark.number}, the mark was {before.mark.number}")
    return chain, new


# --- Tables for people


def fill(world, task):
    """Takes one outbox entry to the tables for people."""
    pg, ch = world.pg, world.ch
    session = pg.session()
    if not pg.state.outbox:
        return
    name, key = world.random.choice(sorted(pg.state.outbox))
    entry = pg.state.outbox[name, key]
    is_removed = entry.day <= pg.state.dropped

    def remove(state):
        if state.outbox.get((name, key)) == entry:
            del state.outbox[name, key]

    yield
    row = greatest_versions(ch.read(name, world.random.choice(REPLICAS))).get(key)
    if not is_removed and (row is None or (row.piece.after != entry.after and world.keeps("outbox-check"))):
        return  # this replica lags
    yield
    if not world.keeps("outbox-order"):
        pg.transaction(session, remove)
        yield
    if not is_removed:
        yield from task.send_surely(ch.fill, name, entry.day, row.piece)
    pg.transaction(session, remove)


# --- The device


class Stream:
    def __init__(self):
        self.items, self.number, self.link, self.prior = [], 0, ZERO, (0, ZERO)

    def copy(self):
        stream = Stream()
        stream.__dict__.update(self.__dict__)
        stream.items = list(self.items)
        return stream

    def append(self, payload):
        self.number, self.link = self.number + 1, link(self.link, payload)
        self.items.append(Item(self.number, self.number, payload, self.link))


class Device:
    def __init__(self, world, restores):
        self.world, self.restores, self.epochs, self.payloads = world, restores, 0, 0
        self.produced, self.dropped, self.told = set(), set(), set()
        self.current, self.apart, self.is_restored = {}, {}, False
        self.begin_epoch()
        self.keep_image()

    def begin_epoch(self):
        self.apart.update((name, stream) for name, stream in self.current.items() if stream.number)
        self.epochs += 1
        self.current = {(self.epochs, stream): Stream() for stream in STREAMS}

    def stream(self, name):
        return next(stream for (_, other), stream in self.current.items() if other == name)

    def produce(self):
        self.payloads += 1
        payload = str(self.payloads)
        self.produced.add(payload)
        self.stream(self.world.random.choice(STREAMS)).append(payload)

    def drop_oldest(self):
        stream = self.stream(self.world.random.choice(STREAMS))
        taken = stream.items[:self.world.random.randint(1, 3)]
        if taken:
            self.dropped.update(item.payload for item in taken if item.payload is not None)
            stream.items[:len(taken)] = [Item(taken[0].first, taken[-1].last, None, taken[-1].link)]

    def keep_image(self):
        self.image = (
            {name: stream.copy() for name, stream in self.current.items()},
            {name: stream.copy() for name, stream in self.apart.items()})

    def restore_image(self):
        if self.restores:
            self.is_restored = True
            self.current, self.apart = self.image
            self.keep_image()

    def request(self):
        """Parts of the current epoch, or closes of ended ones; None if there is nothing to send."""
        if self.apart and self.world.random.random() < 0.5:
            return {
                name: Close((stream.prior,) + tuple((item.last, item.link) for item in stream.items))
                for name, stream in sorted(self.apart.items())
            }
        parts = {}
        for name, stream in self.current.items():
            if stream.items and self.world.random.random() < 0.8:
                count = self.world.random.randint(1, min(5, len(stream.items)))
                parts[name] = Part(stream.prior[1], tuple(stream.items[:count]))
        return parts or None

    def heard(self, name, outcome, value):
        if outcome == "closed":
            if name in self.apart:
                self.move_apart(name, value)
        elif name not in self.current:
            pass
        elif outcome == "ended":
            self.diverge()
        elif outcome == "conflict":
            self.diverge()
        else:
            self.acknowledge(self.current[name], value)

    def acknowledge(self, stream, mark):
        """Removes up to the mark, if the own link there is the same."""
        if mark.number > stream.number:
            return self.diverge()
        own = {item.last: item.link for item in stream.items}
        if own.get(mark.number, mark.link) != mark.link:
            return self.diverge()
        while mark.number in own and stream.items and stream.items[0].last <= mark.number:
            item = stream.items.pop(0)
            stream.prior = (item.last, item.link)
            if item.payload is not None:
                self.told.add(item.payload)

    def diverge(self):
        if not self.is_restored:
            raise Fault("histories diverged, and no image was restored")
        self.begin_epoch()

    def move_apart(self, name, point):
        """Queues the records above the point anew. Without a point nobody knows, and they are given up."""
        stream = self.apart.pop(name)
        for item in stream.items:
            if item.payload is None:
                continue
            if point is None:
                self.dropped.add(item.payload)
            elif item.last <= point:
                self.told.add(item.payload)
            else:
                self.stream(name[1]).append(item.payload)

    def waits(self):
        return bool(self.apart) or any(stream.items for stream in self.current.values())


# --- A history


# How often each thing happens, as weights.
EVENTS = {
    "step": 200, "produce": 13, "send": 24, "crash": 11, "late": 8, "drop oldest": 8, "catch up": 4, "merge": 4,
    "replace": 0.6, "keep image": 2, "restore": 0.8, "end epoch": 1.5, "next day": 3, "clock back": 2, "retire": 6,
    "drop again": 6, "fill": 8, "read": 6, "read day": 6, "fail over": 4.5, "recover": 16,
}


def happen(world, event):
    """One thing happens, if it can."""
    r, pg, ch, device = world.random, world.pg, world.ch, world.device
    if event == "step":
        if world.running:
            world.step(r.choice(world.running))
    elif event == "produce":
        device.produce()
    elif event == "send":
        request = device.request()
        if request and len(world.running) < 6:
            world.start(handle, request)
    elif event == "crash":
        if world.running:
            world.crash(r.choice(world.running))
    elif event == "late":
        if world.late:
            world.late.pop(r.randrange(len(world.late)))()
    elif event == "drop oldest":
        device.drop_oldest()
    elif event == "catch up":
        ch.catch_up()
    elif event == "merge":
        ch.merge()
    elif event == "replace":
        ch.replace(r.choice(REPLICAS))
    elif event == "keep image":
        device.keep_image()
    elif event == "restore":
        device.restore_image()
    elif event == "end epoch":
        device.begin_epoch()
    elif event == "next day":
        pg.today += 1
    elif event == "clock back":
        pg.today = max(1, pg.today - 1)
    elif event == "retire":
        world.start(retire)
    elif event == "drop again":
        drop_again(world)
    elif event == "fill":
        world.start(fill)
    elif event in ("read", "read day"):
        if pg.state.chains:
            world.start(read, r.choice(sorted(pg.state.chains)), event == "read day")
    elif event == "fail over":
        pg.fail_over()
    elif event == "recover":
        if pg.state.identity != pg.identity:
            world.start(recover)


def history(seed, broken=None):
    """Runs one history. Returns its fault, or None."""
    world = World(seed, broken)
    try:
        # In some histories much fails; in others more records arrive.
        weights = EVENTS | {"fail over": world.random.choice((0.5, 4.5)), "crash": world.random.choice((2, 11))}
        for event in world.random.choices(list(weights), weights.values(), k=world.random.randint(200, 600)):
            happen(world, event)
        calm_down(world)
        check(world)
    except Fault as fault:
        return str(fault)
    return None


def calm_down(world):
    """Everything that waits is sent, filled and dropped. Late writes arrive meanwhile."""
    for task in list(world.running):
        world.crash(task)
    world.late = [write for write in world.late if world.happens(0.7)]
    world.is_calm = True
    world.random.shuffle(world.late)
    world.ch.catch_up()
    if world.pg.state.identity != world.pg.identity:
        world.finish(world.start(recover))
    for _ in range(200):
        if not world.device.waits():
            break
        request = world.device.request()
        if request:
            world.finish(world.start(handle, request))
        if world.late and world.random.random() < 0.2:
            world.late.pop()()
    for write in world.late:
        write()
    world.ch.catch_up()
    for _ in range(3 * len(world.pg.state.outbox)):
        world.finish(world.start(fill))


def check(world):
    device, state = world.device, world.pg.state
    if device.waits():
        raise Fault("something waits for ever")
    for attempt in ("before", "after"):
        for name in sorted(state.chains):
            world.finish(world.start(read, name, False, True))
            for _ in state.chains[name].days:
                world.finish(world.start(read, name, True, True))
        drop_again(world)
    if world.pg.state.outbox:
        raise Fault("an outbox entry waits for ever")
    times_stored = {}
    for name, row in state.chains.items():
        check_chain(name, row, state.dropping)
        for piece, _ in row.history:
            if piece.items[0].first - 1 != piece.before.number and not device.is_restored:
                raise Fault(f"{name}: numbers from {piece.before.number} on count as lost")
            for item in piece.items:
                if item.payload is not None:
                    times_stored[item.payload] = times_stored.get(item.payload, 0) + 1
    if not device.is_restored:
        for payload in sorted(device.produced):
            times = times_stored.get(payload, 0)
            if times > 1:
                raise Fault(f"record {payload} is stored {times} times")
            if not times and payload in device.told:
                raise Fault(f"record {payload} was told stored and is not there")
            if not times and payload not in device.dropped:
                raise Fault(f"record {payload} is gone")
    check_dropped(world)
    check_people(world)


def check_chain(name, row, dropping):
    """The slices continue each other, their links prove them, and nothing was removed before its day's drop began."""
    at = Mark()
    for piece, day in row.history:
        if piece.before != at:
            raise Fault(f"{name}: a slice behind {piece.before.number} follows the mark {at.number}")
        running = piece.prior
        for item in piece.items:
            running = link(running, item.payload) if item.payload is not None else item.link
        if running != piece.after.link:
            raise Fault(f"{name}: the links do not prove the slice behind {piece.before.number}")
        if piece.before.number < row.floor.number and day > dropping:
            raise Fault(f"{name}: the slice behind {piece.before.number} is removed, its day {day} is not")
        at = piece.after
    if at != row.mark:
        raise Fault(f"{name}: the slices end at {at.number}, the mark is {row.mark.number}")


def check_dropped(world):
    for row in world.ch.rows:
        if row.day <= world.pg.state.dropped:
            raise Fault(f"{row.chain}: a slice of the dropped day {row.day} is there")


def check_people(world):
    """The tables for people show every record that counts, once, and nothing that was not stored."""
    shown = sorted({row[1:] for row in world.ch.people if row[0] > world.pg.state.dropped})
    numbers = [row[:2] for row in shown]
    if len(set(numbers)) != len(numbers):
        raise Fault("the tables for people show a record twice")
    stored, counting = set(), set()
    for name, row in world.pg.state.chains.items():
        for piece, day in row.history:
            records = {(name, item.first, item.payload) for item in piece.items if item.payload is not None}
            stored |= records
            if piece.before.number >= row.floor.number:
                counting |= records
    shown = {row[:3] for row in shown}
    if shown - stored:
        raise Fault("the tables for people show what is not stored")
    if counting - shown:
        raise Fault("the tables for people miss a record")


# --- Command line


def first_fault(seeds, broken):
    for place, seed in enumerate(seeds):
        fault = history(seed, broken)
        if fault:
            return place + 1, seed, fault
    return None


def run(seeds):
    faults = 0
    for seed in seeds:
        fault = history(seed)
        if fault:
            faults += 1
            if faults <= 3:
                print(f"seed {seed}: {fault}")
    print(f"{len(seeds)} histories, {faults} with a fault")
    return faults == 0


def run_broken(rules, seeds):
    missed = []
    for rule in rules:
        found = first_fault(seeds, rule)
        if found:
            print(f"{rule:16} caught in history {found[0]:4} (seed {found[1]}): {found[2]}", flush=True)
        else:
            print(f"{rule:16} NOT CAUGHT in {len(seeds)} histories: {RULES[rule]}", flush=True)
            missed.append(rule)
    print(f"{len(rules) - len(missed)} of {len(rules)} broken rules caught")
    return not missed


def main():
    rules = "\n".join(f"  {name:16} {text}" for name, text in RULES.items())
    parser = argparse.ArgumentParser(
        formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__, epilog="rules:\n" + rules)
    parser.add_argument("histories", nargs="?", type=int, default=3000, metavar="HISTORIES")
    parser.add_argument("--break", dest="broken", choices=[*RULES, "all"], metavar="RULE")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.histories)
    if options.broken:
        is_right = run_broken(list(RULES) if options.broken == "all" else [options.broken], seeds)
    else:
        is_right = run(seeds)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
