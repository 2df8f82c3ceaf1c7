# SPDX-License-Identifier: Apache-2.0
"""Telemetry into tokens, in Python, from the definition in
core/monitor/RECORDS.md. core/monitor/tokens.c is the one that the engine uses;
test_monitor_tokens.sh compares the two.

    tokens.py TELEMETRY.jsonl     a line of 16 tokens for each record
"""
import json
import sys
from datetime import datetime, timezone

METRICS = [("pace", 8), ("burst", 8), ("delivery", 8), ("dynamics", 8),
           ("device", 16), ("rate", 4), ("fan", 4), ("dispersion", 64),
           ("host", 32), ("memory", 32), ("clock", 32), ("checks", 16),
           ("raised", 16), ("lowered", 16), ("silent", 16)]
NAMES = [name for name, _ in METRICS]
BINS = 17
PER_RECORD = 1 + len(METRICS)
VOCABULARY = 256
WARM = 32
MEMORY = 128
FREE = 8
AREA_FLOOR = 8
SPOKEN = 256
FEW = 128
LEFT, LITTLE = 8, 16
BORDERS = [8, 16, 32, 48, 80, 128, 256, 512]


def level(value):
    """0 for 0, else 64 + 64 log2(value), cut to a whole number."""
    if value == 0:
        return 0
    octave = value.bit_length() - 1
    m = value >> (octave - 31) if octave >= 31 else value << (31 - octave)
    places = 0
    for _ in range(6):
        m = (m * m) >> 31
        places *= 2
        if m >> 32:
            m >>= 1
            places += 1
    return 64 + 64 * octave + places


def knows_times(r):
    """Whether other threads of the net waited little."""
    return r["threads_waited_ns"] <= r["run_ns"] // LEFT


def without(r, ns, waited_ns):
    """A time without what was waited for a processor; None if that was nearly
    all of it."""
    rest = max(0, ns - waited_ns)
    return None if rest < ns // LEFT or not knows_times(r) else rest


def knows_phase(r, ns):
    """Whether little was waited beyond the exchange, beside this phase (the
    records do not say in which phase)."""
    return ns > 0 and knows_times(r) and \
        max(0, r["engine_waited_ns"] - r["exchange_ns"]) <= ns // LITTLE


def signed_level(value, unit):
    """Of a size that may be negative, 0 from -unit to unit."""
    got = level(abs(value) // unit)
    return -got if value < 0 else got


def count_level(count):
    """Of a count that should be 0."""
    return 0 if count == 0 else 192 + level(count)


class Running:
    """Centre and spread of late, whole numbers with 8 binary places."""

    def __init__(self, floor):
        self.floor = floor * 256
        self.centre = 0
        self.spread = 0
        self.n = 0

    def z16(self, value):
        """Deviation in sixteenths of the spread."""
        if self.n == 0:
            return 0
        s = max(self.spread, self.floor)
        return max(-4096, min(4096, 16 * (value * 256 - self.centre) // s))

    def learn(self, value):
        """One more record."""
        x = value * 256
        if self.n == 0:
            self.centre, self.spread, self.n = x, self.floor, 1
            return
        s = max(self.spread, self.floor)
        d = x - self.centre
        pull = d if self.n < FREE else max(-4 * s, min(4 * s, d))
        self.centre += pull // (self.n + 1)
        self.spread += (min(abs(d), 2 * s) - self.spread) // (self.n + 1)
        if self.n < MEMORY - 1:
            self.n += 1


def bin_of(z16):
    """-8 to 8."""
    far = sum(abs(z16) >= border for border in BORDERS)
    return -far if z16 < 0 else far


class Tokens:
    """The state of one net that is watched."""

    def __init__(self, n_areas):
        self.n_areas = n_areas
        self.forget()

    def forget(self):
        """As in a run that begins: the net was moved to another backend."""
        n_areas = self.n_areas
        self.metrics = [Running(floor) for _, floor in METRICS]
        self.areas = [Running(AREA_FLOOR) for _ in range(n_areas)]
        self.wall = Running(AREA_FLOOR)
        self.n_records = 0
        self.held = False  # nothing is learned but how long records are
        self.before = (0, 0)  # spikes, bursts
        self.levels = []  # of the last record, its centre where it has none
        self.centres = []  # where they were before it, and by how much
        self.spreads = []  # they varied
        self.z16 = []     # their deviations, 0 where it has none

    def _levels(self, r):
        """Levels of the metrics by name; what has no value is left out."""
        n = r["bursts"]
        got = {"clock": signed_level(r["clock_ms"], 8),
               "checks": count_level(r["lost"] + r["missing"] +
                                     r["wrong_place"])}
        if self.n_records >= FREE:
            got["host"] = signed_level(r["host_growth"], 256)
            got["memory"] = signed_level(r["device_growth"], 256)
        wall = without(r, r["wall_ns"], r["waited_ns"])
        if wall is not None and (n > 0 or r["paused_ns"] == 0):
            got["pace"] = level(wall) - level(max(n, 1))
        if n == 0:
            return got
        run = without(r, r["run_ns"], r["engine_waited_ns"])
        if run is not None:
            got["burst"] = level(run) - level(n)
        if knows_phase(r, r["delivery_ns"]) and r["events"] > 0:
            got["delivery"] = level(r["delivery_ns"]) - level(r["events"])
        if knows_phase(r, r["dynamics_ns"]):
            got["dynamics"] = level(r["dynamics_ns"]) - level(n)
        got["rate"] = level(r["spikes"]) - level(n)
        if r["spikes"] > 0:
            got["fan"] = level(r["events"]) - level(r["spikes"])
        if self.n_records > 0:
            x, y = float(r["spikes"]), float(self.before[0])
            n, m = float(r["bursts"]), float(self.before[1])
            total = (x + y) * n * m
            if total > 0:
                d = x * m - y * n
                f = d * d * 256 / total
                got["dispersion"] = level(int(f) if f < 1e18 else 1 << 60)
        if self.areas:
            got.update(self._area_levels(r))
        return got

    def _area_levels(self, r):
        by = level(r["bursts"])
        z = []
        for late, spikes in zip(self.areas, r["areas"]):
            far = late.z16(level(spikes) - by)
            quiet = far > 0 or late.centre + by * 256 < FEW * 256
            z.append(0 if spikes == 0 and quiet else far)
        silent = sum(late.n >= FREE and spikes == 0 and
                     late.centre + by * 256 >= SPOKEN * 256
                     for late, spikes in zip(self.areas, r["areas"]))
        return {"raised": max(z), "lowered": max(-v for v in z),
                "silent": count_level(silent)}

    def make(self, r):
        """The 16 tokens of a record; None if it is too short."""
        n = r["bursts"]
        if self.wall.n >= FREE and \
                (level(r["wall_ns"]) + 64) * 256 < self.wall.centre:
            return None
        levels = self._levels(r)
        text = [0]
        self.centres = [late.centre // 256 for late in self.metrics]
        self.spreads = [max(late.spread, late.floor) // 256
                        for late in self.metrics]
        self.levels = [levels.get(name, late.centre // 256)
                       for name, late in zip(NAMES, self.metrics)]
        self.absent = {m for m, name in enumerate(NAMES)
                       if name not in levels}
        self.told = [name in levels or late.n > 0
                     for name, late in zip(NAMES, self.metrics)]
        self.z16 = [late.z16(levels[name]) if name in levels else 0
                    for name, late in zip(NAMES, self.metrics)]
        for m, z16 in enumerate(self.z16):
            text.append(1 + m * BINS + BINS // 2 + bin_of(z16))
        if n > 0:
            self.wall.learn(level(r["wall_ns"]))
            self.before = (r["spikes"], n)
            self.n_records += 1
        if n > 0 and not self.held:
            for m, name in enumerate(NAMES):
                if name in levels:
                    self.metrics[m].learn(levels[name])
            by = level(n)
            for late, spikes in zip(self.areas, r["areas"]):
                late.learn(level(spikes) - by)
        return text


def _unix_ms(text):
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    return round(at.replace(tzinfo=timezone.utc).timestamp() * 1000)


SUMS = ["bursts", "wall_ns", "paused_ns", "waited_ns", "engine_waited_ns",
        "threads_waited_ns", "run_ns", "delivery_ns", "dynamics_ns",
        "exchange_ns", "spikes", "squares",
        "events", "host_growth", "device_growth", "lost", "failures", "moves"]


def records(path, asked=None):
    """(areas' names, list of records) of a telemetry file. What the lines give
    per burst is made whole again; the first line's clock is taken as right.
    asked: [[burst, backend]], from where on each was asked for."""
    names, got, before = [], [], None
    with open(path, encoding="utf-8") as file:
        for text in file:
            if not text.endswith("\n"):
                break  # cut: the run was killed
            line = json.loads(text)
            if "telemetry" in line:
                names = list(line["neurons"])
                continue
            if "area_spikes" not in line:
                continue
            got.append(_record(line, before))
            wanted = [b for at, b in asked or [] if at < line["burst"]]
            got[-1]["wrong_place"] |= int(bool(
                wanted and wanted[-1] != line["backend"]))
            before = line
    return names, got


def _record(line, before):
    n = line["bursts"]

    def total(key):
        return round((line.get(key) or 0) * n * 1000)
    areas = list(line["area_spikes"].values())
    past = before or line
    wall = round(line["seconds"] * 1e9)
    paused = round(line.get("paused_s", 0) * 1e9)
    return {
        "burst": line["burst"], "unix_ms": _unix_ms(line["time"]),
        "bursts": n, "wall_ns": max(0, wall - paused), "paused_ns": paused,
        "waited_ns": round(line.get("waited_s", 0) * 1e9),
        "engine_waited_ns": round(line.get(
            "engine_waited_s", line.get("waited_s", 0)) * 1e9),
        "threads_waited_ns": round(line.get("threads_waited_s", 0) * 1e9),
        "run_ns": total("burst_us"), "delivery_ns": total("delivery_us"),
        "dynamics_ns": total("dynamics_us"),
        "exchange_ns": total("exchange_us"), "spikes": line["spikes"],
        "squares": line.get("spikes_squared", 0),
        "events": line["events"], "areas": areas,
        "host_growth": line["host_bytes"] - past["host_bytes"],
        "device_growth": line["device_bytes"] - past["device_bytes"],
        "clock_ms": _unix_ms(line["time"]) - _unix_ms(past["time"]) -
        wall // 1000000 if before else 0,
        "lost": max(0, line["lost"] - past["lost"]),
        "missing": abs(sum(areas) - line["spikes"]) if areas else 0,
        "on_device": past["device_bytes"] > 0,
        "wrong_place": int(line.get("wrong_bursts", 0) > 0),
        "failures": line.get("failures", 0), "moves": line.get("moves", 0)}


def merge(a, b):
    """Two records that follow each other as one."""
    got = dict(b)
    for key in SUMS:
        got[key] = a[key] + b[key]
    got["areas"] = [x + y for x, y in zip(a["areas"], b["areas"])]
    got["missing"] = abs(sum(got["areas"]) - got["spikes"]) \
        if got["areas"] else 0
    got["clock_ms"] = a["clock_ms"] + b["clock_ms"] + \
        a["wall_ns"] // 1000000 + b["wall_ns"] // 1000000 - \
        got["wall_ns"] // 1000000
    got["wrong_place"] = max(a["wrong_place"], b["wrong_place"])
    return got


def texts(path):
    """(record, 16 tokens) of each record of a telemetry file."""
    names, lines = records(path)
    state = Tokens(len(names))
    short = None
    for record in lines:
        if short:
            record = merge(short, record)
            short = None
        if record["moves"]:
            state.forget()
            continue
        text = state.make(record)
        short = None if text else record
        if text:
            yield record, text


def main():
    """The command."""
    for _, text in texts(sys.argv[1]):
        print(*text)


if __name__ == "__main__":
    main()
