#!/usr/bin/python3
"""Writes golden.txt: the model of kernels/model.hpp in PyTorch, float64.

Run by hand (Debian: apt-get install python3-torch), then commit the result:
    tests/kernels/make_golden.py > tests/kernels/golden.txt
Parameters and tokens come from an integer hash, so that no weights need to be stored; each tensor's gradient is
stored as its largest element, its norm and a few elements.
"""
import math

import numpy as np
import torch

MASK = (1 << 64) - 1
CONFIGS = [
    dict(L=2, C=32, H=2, T=16, V=64, B=2),
    dict(L=3, C=40, H=5, T=19, V=53, B=3),
]
STEPS, RATE, DECAY, BETAS, EPSILON = 10, 3e-3, 0.1, (0.9, 0.95), 1e-8
SAMPLES = 12


def mix(v):
    v = (v + 0x9E3779B97F4A7C15) & MASK
    v = ((v ^ (v >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    v = ((v ^ (v >> 27)) * 0x94D049BB133111EB) & MASK
    return v ^ (v >> 31)


def hashed(stream, n, scale, base):
    top = [(mix(stream * 1000003 + i) >> 40) - (1 << 23) for i in range(n)]
    x = np.array(top, dtype=np.float32) * np.float32(2.0**-23)
    return (np.float32(base) + np.float32(scale) * x).astype(np.float64)


def tokens(stream, n, V):
    return torch.tensor([mix(stream * 1000003 + i) % V for i in range(n)])


def shapes(c):
    C = c["C"]
    yield "wte", (c["V"], C)
    yield "wpe", (c["T"], C)
    for l in range(c["L"]):
        for name, shape in [("ln1.w", (C,)), ("ln1.b", (C,)), ("attn.qkv.w", (3 * C, C)), ("attn.qkv.b", (3 * C,)),
                            ("attn.proj.w", (C, C)), ("attn.proj.b", (C,)), ("ln2.w", (C,)), ("ln2.b", (C,)),
                            ("mlp.fc.w", (4 * C, C)), ("mlp.fc.b", (4 * C,)), ("mlp.proj.w", (C, 4 * C)),
                            ("mlp.proj.b", (C,))]:
            yield f"h{l}.{name}", shape
    yield "lnf.w", (C,)
    yield "lnf.b", (C,)


def parameters(c):
    p = {}
    for i, (name, shape) in enumerate(shapes(c)):
        norm = name.endswith(("ln1.w", "ln2.w", "lnf.w"))
        x = hashed(100 + i, math.prod(shape), 0.25 if norm else 0.125, 1.0 if norm else 0.0)
        p[name] = torch.tensor(x).reshape(shape).requires_grad_()
    return p


def loss_of(c, p, inputs, targets):
    F = torch.nn.functional
    B, T, C, H = c["B"], c["T"], c["C"], c["H"]
    hidden = torch.full((T, T), -math.inf, dtype=torch.float64).triu(1)
    x = p["wte"][inputs].view(B, T, C) + p["wpe"]
    for l in range(c["L"]):
        def w(name):
            return p[f"h{l}.{name}"]
        n = F.layer_norm(x, (C,), w("ln1.w"), w("ln1.b"), 1e-5)
        q, k, v = F.linear(n, w("attn.qkv.w"), w("attn.qkv.b")).view(B, T, 3, H, C // H).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2) / math.sqrt(C // H) + hidden).softmax(-1) @ v
        x = x + F.linear(a.transpose(1, 2).reshape(B, T, C), w("attn.proj.w"), w("attn.proj.b"))
        n = F.layer_norm(x, (C,), w("ln2.w"), w("ln2.b"), 1e-5)
        g = F.gelu(F.linear(n, w("mlp.fc.w"), w("mlp.fc.b")), approximate="tanh")
        x = x + F.linear(g, w("mlp.proj.w"), w("mlp.proj.b"))
    x = F.layer_norm(x, (C,), p["lnf.w"], p["lnf.b"], 1e-5)
    return F.cross_entropy(F.linear(x, p["wte"]).view(B * T, -1), targets)


def main():
    print(f"# made by make_golden.py with PyTorch {torch.__version__} in float64")
    print("# config L C H T V B; loss; gradient: name, largest |element|, norm, then index and element; "
          "loss after each AdamW step")
    for c in CONFIGS:
        rows = c["B"] * c["T"]
        inputs, targets = tokens(11, rows, c["V"]), tokens(12, rows, c["V"])
        p = parameters(c)
        print("config", *(c[k] for k in "LCHTVB"))
        loss = loss_of(c, p, inputs, targets)
        loss.backward()
        print("loss", repr(loss.item()))
        for name, t in p.items():
            g = t.grad.flatten()
            picks = sorted({mix(i) % len(g) for i in range(SAMPLES)})
            print("gradient", name, repr(g.abs().max().item()), repr(g.norm().item()),
                  *(f"{i} {g[i].item()!r}" for i in picks))
        step = torch.optim.AdamW(p.values(), lr=RATE, betas=BETAS, eps=EPSILON, weight_decay=DECAY)
        for _ in range(STEPS):
            step.zero_grad()
            loss_of(c, p, inputs, targets).backward()
            step.step()
            print("step", repr(loss_of(c, p, inputs, targets).item()))


if __name__ == "__main__":
    main()
