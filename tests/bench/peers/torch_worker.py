#!/usr/bin/python3
"""PyTorch's side of the comparison: the same model, as fast as Debian's PyTorch trains it on a processor.

torch_worker.py THREADS: answers each line of its input with a line of JSON.
    about                         versions, and whether its matrix library is the one that was asked for
    gemm                          a few elements of one known product
    step L C H T V B SECONDS      tokens a second of forward, backward and AdamW
"""
import json
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, C, H, T):
        super().__init__()
        self.H = H
        self.ln1, self.ln2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.qkv, self.proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.fc, self.down = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)
        self.register_buffer("mask", torch.full((T, T), -math.inf).triu(1))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.H, C // self.H).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(C, dim=2))
        # The scale goes onto the smaller tensor, the mask into the product: no pass of their own over the scores.
        scores = torch.baddbmm(self.mask, (q / math.sqrt(C // self.H)).flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
        mixed = torch.bmm(torch.softmax(scores, dim=-1), v.flatten(0, 1)).view(B, self.H, T, -1)
        x = x + self.proj(mixed.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, L, C, H, T, V):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block(C, H, T) for _ in range(L))
        self.lnf = nn.LayerNorm(C)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.lnf(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def trainer(L, C, H, T, V, B, foreach):
    """One step as a function. The rate is so small that the batch is not learnt by heart: see learner.hpp."""
    torch.manual_seed(1)
    model = Model(L, C, H, T, V)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7, betas=(0.9, 0.95), weight_decay=0.1, foreach=foreach)
    tokens, targets = torch.randint(V, (B, T)), torch.randint(V, (B, T))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        return loss

    return step


def rate(step, seconds):
    """Steps a second, over at least the time given."""
    start = time.perf_counter()
    steps, gone = 0, 0.0
    while gone < seconds:
        step()
        steps += 1
        gone = time.perf_counter() - start
    return steps / gone


TRAINERS = {}


def fastest(shape):
    """AdamW tensor by tensor or over lists: whichever is faster here, tried once."""
    if shape not in TRAINERS:
        rates = {}
        for foreach in (False, True):
            step = trainer(*shape, foreach)
            for _ in range(3):
                loss = step().item()
                if not 0 < loss < 1.2 * math.log(shape[4]):
                    raise RuntimeError(f"a loss of {loss} after a few steps")
            rates[foreach] = (rate(step, 0.5), step)
        TRAINERS[shape] = max(rates.values(), key=lambda pair: pair[0])[1]
    return TRAINERS[shape]


def gemm():
    def made(rows, columns, a, b):
        i, j = torch.arange(rows)[:, None], torch.arange(columns)[None, :]
        return ((a * i + b * j) % 1000).float() / 1000 - 0.5

    return {"c": (made(96, 200, 31, 17) @ made(200, 128, 23, 41)).flatten()[::101].tolist()}


def about():
    maps = open("/proc/self/maps").read()
    libraries = sorted({line.split("/")[-1] for line in maps.splitlines() if "blas" in line.split("/")[-1]})
    return {"version": torch.__version__, "threads": torch.get_num_threads(), "libraries": libraries}


def main():
    torch.set_flush_denormal(True)
    torch.set_num_threads(int(sys.argv[1]))
    for line in sys.stdin:
        what, *words = line.split()
        if what == "step":
            shape = tuple(int(word) for word in words[:6])
            step = fastest(shape)
            step()
            answer = {"tokens_per_s": rate(step, float(words[6])) * shape[3] * shape[5]}
        else:
            answer = {"gemm": gemm, "about": about}[what]()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
