"""Programs of realistic sizes, by family: `case(family, name)` returns a function and its arguments."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def case(family, name):
    """Returns the function and the arguments of a case. The random numbers in the arguments are the same in
    each call."""
    global numbers
    numbers = np.random.default_rng(0)
    return FAMILIES[family][name]()


def normal(*shape):
    return numbers.standard_normal(shape, dtype=np.float32)


def of(function, *shapes):
    """Creates a case whose arguments are normally distributed."""
    return lambda: (function, tuple(normal(*shape) for shape in shapes))


def layernorm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * g + b


def attention(q, k, v):
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / np.sqrt(q.shape[-1]).astype(np.float32)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v)


def mlp_step(w1, w2, w3, x, y):
    def loss(w1, w2, w3):
        return ((jnp.tanh(jnp.tanh(x @ w1) @ w2) @ w3 - y) ** 2).mean()

    return [w - 0.01 * g for w, g in zip((w1, w2, w3), jax.grad(loss, (0, 1, 2))(w1, w2, w3))]


def convolution(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def lorenz(state):
    x, y, z = state[0], state[1], state[2]
    return state + 0.01 * jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def scanned(x):
    return lax.scan(lambda s, _: (s * 0.999 + 0.001, s[0]), x, length=10_000)


def lorenz_path(x):
    return lax.scan(lambda s, _: (lorenz(s), s), x, length=10_000)[1]


def counted(x):
    return lax.while_loop(lambda s: s[0] < 100_000, lambda s: (s[0] + 1, s[1] * 0.99999 + 0.1), (0, x))


# whole models


def resnet18(x, weights):
    weights = iter(weights)
    x = pooled(jax.nn.relu(convolution(x, next(weights), 2)))
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            y = jax.nn.relu(convolution(x, next(weights), stride))
            y = convolution(y, next(weights))
            x = jax.nn.relu(y + (convolution(x, next(weights), stride) if stride == 2 else x))
    return x.mean((1, 2)) @ next(weights)


def resnet18_case():
    shapes = [(7, 7, 3, 64)]
    for stage in range(4):
        wide, narrow = 64 << stage, 64 << max(stage - 1, 0)
        for block in range(2):
            first = narrow if block == 0 else wide
            shapes += [(3, 3, first, wide), (3, 3, wide, wide)]
            shapes += [(1, 1, first, wide)] if stage > 0 and block == 0 else []
    shapes.append((512, 1000))
    weights = [normal(*s) / np.sqrt(np.prod(s[:-1])).astype(np.float32) for s in shapes]
    return resnet18, (normal(1, 224, 224, 3), weights)


def transformer(x, layers):
    for wqkv, wo, w1, w2, g1, b1, g2, b2 in layers:
        batch, length, width = x.shape
        q, k, v = jnp.split(layernorm(x, g1, b1) @ wqkv, 3, -1)
        heads = lambda a: a.reshape(batch, length, 8, width // 8).transpose(0, 2, 1, 3).reshape(-1, length, width // 8)
        a = attention(heads(q), heads(k), heads(v)).reshape(batch, 8, length, -1).transpose(0, 2, 1, 3)
        x = x + a.reshape(batch, length, width) @ wo
        x = x + jax.nn.gelu(layernorm(x, g2, b2) @ w1) @ w2
    return x


def transformer_layers(count, width):
    scaled = lambda a, b: normal(a, b) / np.sqrt(a).astype(np.float32)
    ones, zeros = np.ones(width, np.float32), np.zeros(width, np.float32)
    layer = scaled(width, 3 * width), scaled(width, width), scaled(width, 4 * width), scaled(4 * width, width)
    return [(*layer, ones, zeros, ones, zeros) for _ in range(count)]


def training_step(x, layers):
    grads = jax.grad(lambda layers: (transformer(x, layers) ** 2).mean())(layers)
    return jax.tree_util.tree_map(lambda w, g: w - 0.01 * g, layers, grads)


def lstm(x, w, u, b):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], u.shape[0]))
    return lax.scan(step, (zeros, zeros), x)[1]


def lstm_case():
    return lstm, (normal(128, 32, 256), normal(256, 1024) / np.float32(32), normal(256, 1024) / np.float32(32), normal(1024))


def unet(x, down, up, last):
    kept = []
    for w in down:
        x = jax.nn.relu(convolution(x, w))
        kept.append(x)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    for w, y in zip(up, reversed(kept)):
        x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
        x = jax.nn.relu(convolution(jnp.concatenate([x, y], -1), w))
    return convolution(x, last)


def unet_case():
    down = [normal(3, 3, a, b) * np.float32(0.05) for a, b in ((3, 32), (32, 64), (64, 128))]
    up = [normal(3, 3, a, b) * np.float32(0.05) for a, b in ((256, 64), (128, 32), (64, 32))]
    return unet, (normal(1, 128, 128, 3), down, up, normal(1, 1, 32, 2))


def gnn(x, senders, receivers, w1, w2):
    for w in (w1, w2):
        messages = (x @ w)[senders]
        x = jax.nn.relu(jnp.zeros_like(x).at[receivers].add(messages) + x)
    return x


def gnn_case():
    random = np.random.default_rng(0)
    edges = random.integers(0, 2_000, (2, 20_000), dtype=np.int32)
    return gnn, (normal(2_000, 64), edges[0], edges[1], normal(64, 64) / np.float32(8), normal(64, 64) / np.float32(8))


def heat(u):
    def step(_, u):
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, 100, step, u)


def gather_case():
    rows = np.random.default_rng(0).integers(0, 100_000, 100_000, dtype=np.int32)
    return (lambda x, i: x[i]), (normal(100_000, 64), rows)


def scatter_case():
    rows = np.random.default_rng(0).integers(0, 100_000, 100_000, dtype=np.int32)
    return (lambda x, i, y: x.at[i].add(y)), (normal(100_000, 64), rows, normal(100_000, 64))


def fft_case():
    return jnp.fft.fft, ((normal(1 << 20) + 1j * normal(1 << 20)).astype(np.complex64),)


def random_case(draw):
    return lambda: ((lambda seed: draw(jax.random.key(seed))), (np.int32(1),))


def bf16_case():
    product = lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32)
    return product, (normal(1024, 1024).astype(jnp.bfloat16), normal(1024, 1024).astype(jnp.bfloat16))


tanh_chain = lambda a, x, b, c: jnp.tanh(a * x + b) * c + x
layernorm_gradient = jax.grad(lambda x, g, b: (layernorm(x, g, b) ** 2).sum(), (0, 1, 2))
attention_gradient = jax.grad(lambda q, k, v: (attention(q, k, v) ** 2).sum(), (0, 1, 2))

FAMILIES = {
    "elementwise": {
        **{f"tanh(a x + b) c + x, 1e{e}": of(tanh_chain, *[(10**e,)] * 4) for e in (3, 5, 7)},
        "2 x + 1, 1e7": of(lambda x: x * 2 + 1, (10**7,)),
        "sum, 1e7": of(jnp.sum, (10**7,)),
        "softmax, 4096x1024": of(jax.nn.softmax, (4096, 1024)),
        "layernorm, 4096x1024": of(layernorm, (4096, 1024), (1024,), (1024,)),
        "layernorm gradient, 4096x1024": of(layernorm_gradient, (4096, 1024), (1024,), (1024,)),
        "gelu, 4096x1024": of(jax.nn.gelu, (4096, 1024)),
        "sin, 1e6": of(jnp.sin, (10**6,)),
        "exp, 1e6": of(jnp.exp, (10**6,)),
    },
    "products": {
        **{f"matmul, {n}": of(jnp.matmul, (n, n), (n, n)) for n in (256, 512, 1024, 2048)},
        "matmul bf16 to f32, 1024": bf16_case,
        "batched matmul, 64x128": of(jnp.matmul, (64, 128, 128), (64, 128, 128)),
        "matvec, 4096": of(jnp.matmul, (4096, 4096), (4096,)),
        "attention, 8x512x64": of(attention, *[(8, 512, 64)] * 3),
        "attention gradient, 8x512x64": of(attention_gradient, *[(8, 512, 64)] * 3),
        "MLP training step": of(mlp_step, (256, 512), (512, 512), (512, 64), (128, 256), (128, 64)),
    },
    "indexing": {
        "transpose, 4096x4096": of(jnp.transpose, (4096, 4096)),
        "max pooling, 8x112x112x64": of(pooled, (8, 112, 112, 64)),
        "argmax of rows, 4096x1024": of(lambda x: jnp.argmax(x, -1), (4096, 1024)),
        "gather, 1e5x64": gather_case,
        "scatter-add, 1e5x64": scatter_case,
        "cumsum, 1e6": of(jnp.cumsum, (10**6,)),
    },
    "sorting": {
        "sort, 1e6": of(jnp.sort, (10**6,)),
        "argsort, 1e6": of(jnp.argsort, (10**6,)),
        "sort of rows, 4096x1024": of(lambda x: jnp.sort(x, -1), (4096, 1024)),
        "top 64 of 1e6": of(lambda x: lax.top_k(x, 64), (10**6,)),
    },
    "random": {
        "normal, 1e6": random_case(lambda key: jax.random.normal(key, (10**6,))),
        "uniform, 1e6": random_case(lambda key: jax.random.uniform(key, (10**6,))),
    },
    "convolutions": {
        "convolution, 8x56x56x64, 3x3x64": of(convolution, (8, 56, 56, 64), (3, 3, 64, 64)),
        "convolution, 224x224x3, 7x7 by 2": of(lambda x, w: convolution(x, w, 2), (1, 224, 224, 3), (7, 7, 3, 64)),
        "FFT, c64, 2^20": fft_case,
    },
    "loops": {
        "scan, 1e4 steps of 3": of(scanned, (3,)),
        "Lorenz, 1e4 steps": of(lorenz_path, (3,)),
        "while, 1e5 steps": of(counted, ()),
    },
    "models": {
        "ResNet-18, 1x224x224": resnet18_case,
        "transformer, 6 x 512, 8x128": lambda: (transformer, (normal(8, 128, 512), transformer_layers(6, 512))),
        "training step, 6 x 512, 2x256": lambda: (training_step, (normal(2, 256, 512), transformer_layers(6, 512))),
        "LSTM, 128 steps, 32x256": lstm_case,
        "U-Net, 128x128": unet_case,
        "GNN, 20,000 edges": gnn_case,
        "heat equation, 512x512": of(heat, (512, 512)),
    },
}
