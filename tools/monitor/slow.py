# SPDX-License-Identifier: Apache-2.0
"""Cycles of a series that are lost and means that went elsewhere, the second
implementation of core/monitor/series_slow.c."""
import math

LEARN_MOST, LEARN_LEAST, PERIOD_LEAST, PERIOD_MAX = 4096, 128, 4, 256
BLOCKS, BLOCK_MOST, WINDOW_LEAST = 16, 64, 64
CUT, CUT_MOST = 3, 0.25
LIKE_ONCE, LIKE_TWICE, UNLIKE, NEARLY = 0.7, 0.5, 0.2, 0.95
QUARTER_LEAST, VARIANCE_LEAST = 0.1, 0.2
STAYS, MEAN_QUARTER = 0.5, 2
FAR_LEAST, FAR_BACK = 4, 2


class Once:
    """Told once, and again when it has been back."""

    def __init__(self):
        self.told = False

    def judge(self, far):
        """far, or 0 where it is not told."""
        if far < FAR_BACK:
            self.told = False
        if not far >= FAR_LEAST or self.told:
            return 0.0
        self.told = True
        return far


class Slow:
    """What is usual, from the first values; then one value after the other."""

    def __init__(self, first):
        first = first[:LEARN_MOST]
        self.learn = len(first)
        total = squares = 0.0  # sum() of newer versions rounds otherwise
        for x in first:
            total += x
        self.middle = total / len(first)
        for x in first:
            squares += (x - self.middle) * (x - self.middle)
        self.deviation = math.sqrt(squares / len(first))
        self.low = self.middle - CUT * self.deviation
        self.high = self.middle + CUT * self.deviation
        self.values, self.sum = [], 0.0
        self.period = self.window = self.mean_window = 0
        self.likes = None
        self.lost, self.away = Once(), Once()
        if (len(first) < LEARN_LEAST or not math.isfinite(self.deviation) or
                not self.deviation > 1e-9 * abs(self.middle)):
            return
        first = [self.cut(x) for x in first]
        self.period = self._period(first)
        self.window = max(self.period, WINDOW_LEAST)
        block = min(len(first) // BLOCKS, BLOCK_MOST)
        if self.period > 0:
            block = (block + self.period - 1) // self.period * self.period
        self.mean_unit = self._mean_unit(first, block)
        self.mean_window = block if self.mean_unit > 0 else 0

    def cut(self, value):
        """The value, or the bound that it is beyond."""
        return max(self.low, min(self.high, value))

    def _like(self, first, lag):
        both = now = then = 0.0
        for i in range(lag, len(first)):
            a, b = first[i] - self.middle, first[i - lag] - self.middle
            both += a * b
            now += a * a
            then += b * b
        size = math.sqrt(now) * math.sqrt(then)
        return both / size if size > 0 else 0.0

    def _period(self, first):
        most = min(len(first) // 3, PERIOD_MAX)
        like = [1.0] + [self._like(first, k) for k in range(1, most + 1)]
        behind = 1
        while behind <= most and like[behind] > UNLIKE:
            behind += 1
        highest = max(like[behind:], default=0.0)
        if highest < LIKE_ONCE:
            return 0
        top = max(behind, PERIOD_LEAST)
        while top <= most and like[top] < NEARLY * highest:
            top += 1
        if top > most:
            return 0
        for lag in range(top, min(top + top // 8, most) + 1):
            top = lag if like[lag] > like[top] else top
        return top if self._like(first, 2 * top) >= LIKE_TWICE else 0

    def _mean_unit(self, first, block):
        blocks = len(first) // block
        total = squares = 0.0
        for b in range(blocks):
            mean = 0.0
            for x in first[b * block:(b + 1) * block]:
                mean += x - self.middle
            mean /= block
            total += mean
            squares += mean * mean
        total /= blocks
        variance = squares / blocks - total * total
        seen = math.sqrt(max(variance, 0.0))
        if not seen <= STAYS * self.deviation:
            return 0.0
        return max(seen, self.deviation / math.sqrt(block))

    def judge(self, value):
        """Quarters of a range, 0 below 4 and where it is told; learns it."""
        self.values.append(self.cut(value))
        lost = self.lost.judge(self._cycle())
        return max(lost, self.away.judge(abs(self._mean())))

    def _likeness(self):
        n = self.window
        last = self.values[:-n - 1:-1]
        before = self.values[-1 - self.period:-n - self.period - 1:-1]
        bounds = (self.low, self.high)
        if sum(x in bounds for x in last + before) > CUT_MOST * 2 * n:
            return math.nan
        now = then = both = sizes = 0.0
        for a, b in zip(last, before):
            now += a
            then += b
        now, then = now / n, then / n
        for a, b in zip(last, before):
            a, b = a - now, b - then
            both += a * b
            sizes += a * a + b * b
        least = 2 * VARIANCE_LEAST * n * self.deviation * self.deviation
        return 2 * both / max(sizes, least)

    def _cycle(self):
        n = len(self.values)
        if self.period == 0 or n <= self.window + self.period:
            return 0.0
        like = self._likeness()
        if n <= self.learn:
            if not math.isnan(like):
                low, high = self.likes or (like, like)
                self.likes = (min(low, like), max(high, like))
            return 0.0
        if self.likes is None:
            return 0.0
        low, high = self.likes
        return (low - like) / max((high - low) / 4, QUARTER_LEAST)

    def _mean(self):
        n = len(self.values)
        if self.mean_window == 0:
            return 0.0
        self.sum += self.values[-1] - self.middle
        if n > self.mean_window:
            self.sum -= self.values[-1 - self.mean_window] - self.middle
        if n <= self.learn:
            return 0.0
        return self.sum / self.mean_window / self.mean_unit / MEAN_QUARTER

    def reach(self):
        """Rows that what is told looks back on."""
        cycle = self.window + self.period if self.period > 0 else 0
        return max(cycle, self.mean_window)
