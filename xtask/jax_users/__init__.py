"""Programs of JAX's users on two backends: see `cargo xtask help`, task `jax-users`.

Each module of `programs` is a small training or sampling program that prints a `record`. `runner` runs it as
a process of its own on XLA:CPU and on farcall, `comparison` compares the records, and `report` prints the
table.
"""
