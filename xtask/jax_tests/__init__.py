"""JAX's own test files as tests of a JAX backend: see `cargo xtask help`, task `jax-tests`.

`runner` starts a `worker` process for each test file and backend. The worker is pytest with the plugin
`streaming`, which appends each result to a file of the store (`results`) as soon as it is known. `comparison`
sets the results of a backend against XLA:CPU's and the list of expected failures (`expected`), and `report`
prints the outcome. `backends` is the table of backends.
"""
