#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the monitor's RWKV-7 on telemetry of sound runs.

    train.py DATA MODEL.safetensors --seed 1 --minutes 60 [--device cuda]

DATA is a folder of generate.py or a packed file (runs.py): runs of split
"train" are learned from, those of split "valid" say which checkpoint is kept.
Lanes read runs one after the other and keep the state from step to step, as the
engine does; it is cleared where a run begins. With --follow, runs that
generate.py adds to the folder meanwhile are learned from too. On a GPU a step
is one CUDA graph.
"""
import argparse
import pathlib
import random
import time
from concurrent.futures import ProcessPoolExecutor

import torch
from torch.nn import functional

import runs
import rwkv7
import tokens

RECORDS = 32  # of a step
PIECE = RECORDS * tokens.PER_RECORD
LEAST = RECORDS + 40  # records of a run that is learned from


def bytes_of(job):
    """Tokens of a run, none if it has a fault; in a process of its own."""
    line, text = runs.text_of(job)
    return b"".join(map(bytes, text)) if line["fault"] == "none" else b""


class Corpus:
    """Tokens of all runs in one tensor on the device, which grows."""

    def __init__(self, options):
        self.device, self.data = options.device, options.data
        self.flat = torch.zeros(options.capacity, dtype=torch.uint8,
                                device=options.device)
        self.spans, self.used, self.seen = [], 0, 0
        self.pool = ProcessPoolExecutor(options.readers)
        self.waiting = [self.pool.submit(time.sleep, 0.2)
                        for _ in range(options.readers)]  # before CUDA begins

    def _add(self, text):
        n = len(text)
        if n < LEAST * tokens.PER_RECORD or \
                self.used + n > len(self.flat):
            return
        self.flat[self.used:self.used + n] = torch.frombuffer(
            bytearray(text), dtype=torch.uint8).to(self.device)
        self.spans.append((self.used, self.used + n))
        self.used += n

    def look(self, wait=False):
        """Takes what is new; wait: until all that is there is read."""
        todo = []
        if self.seen == 0 or self.data.is_dir():  # a packed file stays
            todo = runs.jobs(self.data, "train")[self.seen:]
        self.seen += len(todo)
        self.waiting += [self.pool.submit(bytes_of, job) for job in todo]
        left = []
        for one in self.waiting:
            if wait or one.done():
                self._add(one.result() or b"")
            else:
                left.append(one)
        self.waiting = left

    def close(self):
        """Ends the readers."""
        self.pool.shutdown()


class Lane:
    """One run after the other, in a random order, as pieces of RECORDS."""

    def __init__(self, corpus, seed):
        self.corpus, self.rng = corpus, random.Random(seed)
        self.at = self.end = 0

    def next(self):
        """(where the piece of PIECE + 1 tokens begins, whether a run does)"""
        begins = self.at + PIECE + 1 > self.end
        if begins:
            first, self.end = self.rng.choice(self.corpus.spans)
            # not always from the beginning, so that pieces differ
            self.at = first + self.rng.randrange(RECORDS) * tokens.PER_RECORD
        self.at += PIECE
        return self.at - PIECE, begins


class Step:
    """A step of training with all it needs in fixed places."""

    def __init__(self, model, corpus, options):
        device = options.device
        self.model, self.corpus = model, corpus
        self.graph = None
        on_gpu = device.startswith("cuda")
        self.rate = torch.tensor(options.rate, device=device) if on_gpu \
            else options.rate
        self.optimizer = torch.optim.AdamW(
            model.groups(options.decay), lr=self.rate, betas=(0.9, 0.99),
            eps=1e-10, capturable=on_gpu)
        self.lanes = [Lane(corpus, options.seed * 1000003 + i)
                      for i in range(options.lanes)]
        n = options.lanes
        self.start = torch.zeros(n, dtype=torch.long, device=device)
        self.keep = torch.zeros(n, device=device)
        self.span = torch.arange(PIECE + 1, device=device)
        self.state = model.zero_state(n)
        self.loss = torch.zeros((), device=device)

    def _work(self):
        text = self.corpus.flat[self.start.unsqueeze(1) + self.span].long()
        keep = self.keep.view(-1, 1)
        state = [(a * keep, b * keep, s * keep.view(-1, 1, 1, 1))
                 for a, b, s in self.state]
        logits, after = self.model(text[:, :-1], state)
        loss = functional.cross_entropy(
            logits.reshape(-1, tokens.VOCABULARY), text[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        with torch.no_grad():
            for old, new in zip(self.state, after):
                for x, y in zip(old, new):
                    x.copy_(y)
            self.loss.copy_(loss)

    def capture(self):
        """Makes a CUDA graph of a step, after three that are not one."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._feed()
                self.optimizer.zero_grad(set_to_none=True)
                self._work()
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._work()
        self.graph = graph

    def _feed(self):
        pieces = [lane.next() for lane in self.lanes]
        self.start.copy_(torch.tensor([at for at, _ in pieces]))
        self.keep.copy_(torch.tensor([0.0 if b else 1.0 for _, b in pieces]))

    def run(self, rate):
        """One step."""
        if torch.is_tensor(self.rate):
            self.rate.fill_(rate)
        else:
            for group in self.optimizer.param_groups:
                group["lr"] = rate
        self._feed()
        if self.graph:
            self.graph.replay()
            return
        self.optimizer.zero_grad(set_to_none=True)
        self._work()


def nats_of(model, texts, side=64, step=4 * PIECE):
    """Surprise of each metric of each record of each run: [[n, 15]]; texts are
    lists of 16 tokens each, `side` runs at a time."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    device = model.get("emb.weight").device
    got = [None] * len(texts)
    for begin in range(0, len(order), side):
        some = order[begin:begin + side]
        longest = max(len(texts[i]) for i in some) * tokens.PER_RECORD
        text = torch.zeros(len(some), longest + -longest % rwkv7.CHUNK + 1,
                           dtype=torch.long, device=device)
        for row, i in zip(text, some):
            flat = torch.tensor(texts[i], device=device).flatten()
            row[:len(flat)] = flat
        rows = _nats(model, text, step)
        for row, i in zip(rows, some):
            n = len(texts[i]) * tokens.PER_RECORD
            got[i] = row[:n].view(-1, tokens.PER_RECORD)[:, 1:].cpu()
    return got


def _nats(model, text, step):
    """[B, T + 1] -> surprise of each token by those before it, 0 of the
    first, a separator."""
    state, parts = model.zero_state(len(text)), []
    with torch.no_grad():
        for i in range(0, text.shape[1] - 1, step):
            piece = text[:, i:i + step + 1]
            logits, state = model(piece[:, :-1], state)
            logs = torch.log_softmax(logits, -1)
            parts.append(-logs.gather(2, piece[:, 1:].unsqueeze(2)).squeeze(2))
    return torch.cat([torch.zeros(len(text), 1, device=text.device), *parts],
                     1)


def validate(model, texts):
    """Nats a token over these runs."""
    rows = nats_of(model, texts)
    count = sum(row.numel() for row in rows)
    return sum(row.double().sum().item() for row in rows) / max(1, count)


def arguments():
    """The command's."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--every", type=float, default=60,
                        help="seconds between validations")
    parser.add_argument("--follow", action="store_true",
                        help="learn from runs that are added meanwhile")
    parser.add_argument("--readers", type=int, default=2,
                        help="processes that read runs")
    parser.add_argument("--capacity", type=int, default=1 << 26,
                        help="tokens at most")
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


def prepare(options):
    """(corpus, texts to validate, model, step)"""
    corpus = Corpus(options)
    corpus.look(wait=True)
    valid = [text for line, text in map(
        runs.text_of, runs.jobs(options.data, "valid"))
             if line["fault"] == "none"]
    if not corpus.spans or not valid:
        raise SystemExit(f"{options.data}: {len(corpus.spans)} sound runs of "
                         f"{LEAST} records to train on, {len(valid)} to "
                         "validate; wanted one of each at least")
    print(f"{len(corpus.spans)} runs, {corpus.used // tokens.PER_RECORD} "
          f"records; {len(valid)} runs to validate", flush=True)
    torch.manual_seed(options.seed)
    model = rwkv7.Rwkv7(options.width, options.depth).to(options.device)
    print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    step = Step(model, corpus, options)
    if options.device.startswith("cuda"):
        try:
            step.capture()
        except RuntimeError as error:
            print(f"no CUDA graph, slower without: {error}", flush=True)
            torch.cuda.synchronize()
            step = Step(model, corpus, options)
    return corpus, valid, model, step


def keep_best(options, corpus, model, nats, count, best):
    """Saves the model if none was better."""
    if best is None or nats < best:
        rwkv7.save(model, options.model, {
            "volley.tokens": "2",
            "volley.training":
                f"seed {options.seed}, step {count} of {options.lanes} times "
                f"{PIECE} tokens, {len(corpus.spans)} runs, "
                f"{corpus.used // tokens.PER_RECORD} records, validation "
                f"{nats:.4f} nats a token"})
        return nats
    return best


def main():
    """The command."""
    options = arguments()
    began = time.monotonic()
    corpus, valid, model, step = prepare(options)
    best, count, told = None, 0, time.monotonic()
    while True:
        share = max(count / options.steps,
                    (time.monotonic() - began) / 60 / options.minutes)
        step.run(options.rate * min(1, (count + 1) / 100) *
                 max(0.02, 1 - share))
        count += 1
        now = time.monotonic()
        if now - told < options.every and share < 1:
            continue
        nats = validate(model, valid)
        print(f"step {count}: loss {step.loss.item():.4f}, validation "
              f"{nats:.4f} nats a token, {corpus.used // tokens.PER_RECORD} "
              f"records, {now - began:.1f} s, rate {share:.2f}", flush=True)
        best = keep_best(options, corpus, model, nats, count, best)
        if options.follow:
            corpus.look()
        if share >= 1:
            break
        told = time.monotonic()
    corpus.close()


if __name__ == "__main__":
    main()
