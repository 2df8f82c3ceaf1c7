#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the monitor's RWKV-7 on telemetry of sound runs.

    train.py DATA MODEL.safetensors --seed 1 --epochs 20

DATA is a folder of generate.py: runs of split "train" are learned from, those
of split "valid" say when to stop and give the tail of the score, from which the
engine takes its threshold. Lanes read runs one after the other and keep the
state from step to step, as the engine does; it is cleared where a run begins.
Areas have no order: nothing else is augmented.
"""
import argparse
import json
import pathlib
import random
import time

import torch
from torch.nn import functional

import rwkv7
import score
import tokens

RECORDS = 32  # of a step


def read_runs(folder, split, fault=None):
    """[(line of runs.jsonl, records, [n,16] tensor of tokens)]"""
    got = []
    with open(folder / "runs.jsonl", encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if line["split"] != split or fault not in (None, line["fault"]):
                continue
            pairs = list(tokens.texts(folder / line["file"]))
            got.append((line, [r for r, _ in pairs],
                        torch.tensor([t for _, t in pairs])))
    return got


class Lane:
    """One run after the other, in a random order, as pieces of RECORDS."""

    def __init__(self, runs, rng):
        self.runs, self.rng = runs, rng
        self.text, self.at = None, 0

    def next(self):
        """(tokens [RECORDS*16 + 1], whether a run begins here)"""
        begins = False
        n = RECORDS * tokens.PER_RECORD
        if self.text is None or self.at + n + 1 > len(self.text):
            text = self.rng.choice(self.runs)
            # not always from the beginning, so that pieces differ
            skip = self.rng.randrange(RECORDS)
            self.text, self.at = text[skip:].flatten(), 0
            begins = True
        piece = self.text[self.at:self.at + n + 1]
        self.at += n
        return piece, begins


def batch(lanes, state):
    """(input, target [B,T], state with what begins cleared)"""
    pieces, keep = [], []
    for lane in lanes:
        piece, begins = lane.next()
        pieces.append(piece)
        keep.append(0.0 if begins else 1.0)
    text = torch.stack(pieces)
    keep = torch.tensor(keep).view(-1, 1)
    state = [(a.detach() * keep, b.detach() * keep,
              s.detach() * keep.view(-1, 1, 1, 1)) for a, b, s in state]
    return text[:, :-1], text[:, 1:], state


def nats_of(model, text):
    """Surprise of each metric of each record of a run: [n, 15]."""
    flat = text.flatten().unsqueeze(0)
    state, rows = model.zero_state(1), []
    step = RECORDS * tokens.PER_RECORD
    pad = -flat.shape[1] % rwkv7.CHUNK
    flat = torch.cat([flat, flat.new_zeros(1, pad)], 1)
    with torch.no_grad():
        for i in range(0, flat.shape[1], step):
            logits, state = model(flat[:, i:i + step], state)
            rows.append(functional.log_softmax(logits[0], -1))
    logs = torch.cat(rows)[:text.numel()]
    got = -logs[:-1].gather(1, text.flatten()[1:].unsqueeze(1)).squeeze(1)
    # the token after position p is judged by the logits at p; the first
    # token, a separator, by none
    got = torch.cat([torch.zeros(1), got]).view(-1, tokens.PER_RECORD)
    return got[:, 1:]


def validate(model, runs):
    """(nats a token, scores of all warm records)"""
    total, count, scores = 0.0, 0, []
    for _, _, text in runs:
        nats = nats_of(model, text)
        total += nats.sum().item()
        count += nats.numel()
        judge = score.Surprise()
        got = [judge.judge(row) for row in nats.tolist()]
        scores += got[tokens.WARM:]
    return total / max(1, count), scores


def calibrate(path, valid):
    """Writes the tail of the score into a model that is there."""
    model, metadata = rwkv7.load(path)
    nats, scores = validate(model, valid)
    metadata["volley.tail"] = " ".join(f"{x:.6g}" for x in score.tail(scores))
    rwkv7.save(model, path, metadata)
    print(f"validation {nats:.4f} nats a token, {len(scores)} scores, tail "
          f"{metadata['volley.tail']}")


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1500,
                        help="0: only the tail of MODEL is made anew")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--every", type=int, default=100,
                        help="steps between validations")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    valid = read_runs(options.data, "valid", "none")
    if options.steps == 0:
        calibrate(options.model, valid)
        return
    train = [text for _, _, text in read_runs(options.data, "train", "none")
             if len(text) > RECORDS + 40]
    n_records = sum(map(len, train))
    print(f"{len(train)} runs, {n_records} records; "
          f"{len(valid)} runs to validate", flush=True)
    model = rwkv7.Rwkv7(options.width, options.depth).to(options.device)
    print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    optimizer = torch.optim.AdamW(model.groups(options.decay), lr=options.rate,
                                  betas=(0.9, 0.99), eps=1e-10)
    lanes = [Lane(train, random.Random(rng.random()))
             for _ in range(options.lanes)]
    state = model.zero_state(options.lanes)
    began, best, step = time.monotonic(), None, 0
    while step < options.steps:
        spent = (time.monotonic() - began) / 60 / options.minutes
        share = max(step / options.steps, spent)
        if share >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = options.rate * min(1, (step + 1) / 50) * \
                (1 - 0.9 * share)
        inputs, targets, state = batch(lanes, state)
        logits, state = model(inputs, state)
        loss = functional.cross_entropy(
            logits.reshape(-1, tokens.VOCABULARY), targets.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % options.every == 0:
            nats, scores = validate(model, valid)
            tail = score.tail(scores)
            print(f"step {step}: loss {loss.item():.4f}, "
                  f"validation {nats:.4f} nats a token, "
                  f"{(time.monotonic() - began) / 60:.1f} min", flush=True)
            if best is None or nats < best:
                best = nats
                rwkv7.save(model, options.model, {
                    "volley.tail": " ".join(f"{x:.6g}" for x in tail),
                    "volley.tokens": "1",
                    "volley.training": f"seed {options.seed}, step {step}, "
                                       f"{n_records} records, validation "
                                       f"{nats:.4f} nats a token"})


if __name__ == "__main__":
    main()
