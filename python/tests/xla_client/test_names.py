"""The names of the modules, compared with those of jaxlib."""

import importlib.metadata

import pytest

from farcall import xla_client
from farcall.xla_client._absent import ABSENT, ABSENT_IN_HLO

#: Names that jaxlib's module only has because it imports them.
IMPORTED = {"Any", "Mapping", "Protocol", "Union", "annotations", "atexit", "contextlib", "enum", "logger", "logging", "os", "threading"}


@pytest.mark.parametrize("module", ["xla_client", "xla_client.hlo"])
def test_names_of_jaxlib(module):
    """Every name of jaxlib 0.10's modules exists here, or is deliberately absent with a reason that the error
    shows."""
    absent = {"xla_client": ABSENT, "xla_client.hlo": ABSENT_IN_HLO}[module]
    ours = {"xla_client": xla_client, "xla_client.hlo": xla_client.hlo}[module]
    for name, why in absent.items():
        with pytest.raises(AttributeError) as e:
            getattr(ours, name)
        assert str(e.value) == f"farcall.{module} has no {name}: {why}"
    jaxlib = pytest.importorskip("jaxlib.xla_client")
    if importlib.metadata.version("jaxlib") != "0.10.2":
        pytest.skip("the names are compared with jaxlib 0.10.2 only")
    theirs = {"xla_client": jaxlib, "xla_client.hlo": jaxlib.hlo}[module]
    names = {name for name in dir(theirs) if not name.startswith("_")} - IMPORTED
    assert {name for name in names if not hasattr(ours, name)} == absent.keys()
