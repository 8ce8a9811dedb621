"""The checks of `run`. `listing` names them; `python -m checks NAME` runs one in this process.

Modules that are imported before JAX: `listing`, `report`, `outcome`. To check another op, add its inputs to
`samples`.
"""
