"""Measures the layer and bucket of bare.rs in PyTorch, on one thread; prints the best of many runs."""
import time

import torch

torch.set_num_threads(1)
layer = torch.nn.LSTM(150, 100, bidirectional=True, batch_first=False)
x = torch.randn(30, 32, 150)
best = [9.0, 9.0]
with torch.no_grad():
    for _ in range(150):
        start = time.perf_counter()
        layer(x)
        best[0] = min(best[0], time.perf_counter() - start)
x.requires_grad_()
for _ in range(50):
    start = time.perf_counter()
    layer(x)[0].sum().backward()
    best[1] = min(best[1], time.perf_counter() - start)
print(f"PyTorch {torch.__version__}: forward {960 / best[0]:.0f} tokens/s, with backward {960 / best[1]:.0f} tokens/s")
