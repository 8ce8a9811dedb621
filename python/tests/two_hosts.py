"""Program that test_two_hosts.py runs in a separate process: `two_hosts.py LIBRARY FIRST SECOND`. FIRST and
SECOND are `ours` and `jaxlib`, in either order.

The first host is used before the second host loads the library, and again after the second host was used.
"""

import ctypes
import sys

import jax
import numpy as np

import farcall

LIBRARY = sys.argv[1]
KEEP = []  # keeps objects alive to which the hosts have pointers


class Extension(ctypes.Structure):
    """The structure XLA_FFI_Metadata_Extension."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("metadata", ctypes.POINTER(ctypes.c_int64)),
    ]


class Frame(ctypes.Structure):
    """The beginning of XLA_FFI_CallFrame, with space for the rest."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.POINTER(Extension)),
        ("api", ctypes.c_void_p),
        ("rest", ctypes.c_int64 * 32),
    ]


Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Frame))


class Host:
    """Base class of the two hosts."""

    def __init__(self):
        self.table = None
        self.registry = farcall.Registry()

    def ask(self):
        """Stores the host's table of functions in `table`. A host passes this table to every handler, here to
        a probe."""

        def asked(frame):
            self.table = frame[0].api
            frame[0].extension[0].metadata[3] = 1 << 32  # XLA_FFI_Metadata.api_version: 0.1
            return None

        KEEP.append(Handler(asked))
        self.register_target(f"probe_{type(self).__name__}", jax.ffi.pycapsule(KEEP[-1]))

    def type_number(self) -> int:
        """Returns the id that the host gave to the state type of `call_count`."""
        metadata = (ctypes.c_int64 * 8)(36, 24)
        extension = Extension(32, 1, None, metadata)
        frame = Frame(ctypes.sizeof(Frame), ctypes.pointer(extension), self.table)
        instantiate = Handler(("call_count_new", ctypes.PyDLL(LIBRARY)))
        assert instantiate(ctypes.byref(frame)) is None
        assert metadata[5] != 0
        return metadata[5]

    def new_type(self, name: str) -> int:
        """Registers a type of this name and returns its id."""
        KEEP.append(ctypes.c_int64(0))
        self.register_type(name, {"type_id": capsule(KEEP[-1]), "type_info": capsule((ctypes.c_int64 * 3)(24))})
        assert KEEP[-2].value != 0
        return KEEP[-2].value

    def count(self, start: int):
        """Compiles a program with one call of `call_count`. Returns a function that runs the program."""
        return self.site("call_count", np.int32, start=start)


class Ours(Host):
    def load(self):
        self.registry.load(LIBRARY)

    def site(self, name, wide, **attributes):
        attributes = ", ".join(f"{k} = {v} : i{8 * wide().itemsize}" for k, v in attributes.items())
        program = f"""func.func @main() -> tensor<i32> {{
          %0 = "stablehlo.custom_call"() {{call_target_name = "{name}", has_side_effect = true,
            api_version = 4 : i32, backend_config = {{{attributes}}}}} : () -> tensor<i32>
          return %0 : tensor<i32>
        }}"""
        compiled = farcall.compile(program, self.registry)
        return lambda: int(compiled()[0])

    def register_target(self, name, capsule):
        self.registry.register(name, capsule, platform="cpu")

    def register_type(self, name, registration):
        farcall.register_type(name, registration)


class Jaxlib(Host):
    def __init__(self):
        super().__init__()
        jax.jit(lambda: 0)()  # JAX 0.12 compiles the first function of a process twice

    def load(self):
        library = ctypes.PyDLL(LIBRARY)
        library.farcall_registrations_v1.restype = ctypes.py_object
        for name, target in library.farcall_registrations_v1(b"cpu").items():
            jax.ffi.register_ffi_target(name, target, platform="cpu")

    def site(self, name, wide, **attributes):
        attributes = {k: wide(v) for k, v in attributes.items()}
        ty = jax.ShapeDtypeStruct((), np.int32)
        compiled = jax.jit(lambda: jax.ffi.ffi_call(name, ty, has_side_effect=True)(**attributes))
        return lambda: int(compiled())

    def register_target(self, name, capsule):
        jax.ffi.register_ffi_target(name, capsule, platform="cpu")

    def register_type(self, name, registration):
        jax.ffi.register_ffi_type(name, registration, platform="cpu")


def capsule(data):
    """Returns a capsule with the address of data."""
    KEEP.append(data)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.addressof(data), None, None)


def knows(host: Host, name: str) -> bool:
    try:
        host.site(name, np.int32)()
    except Exception as error:
        assert name in str(error), error
        return False
    return True


def main():
    first, second = ({"ours": Ours, "jaxlib": Jaxlib}[name]() for name in sys.argv[2:])
    first.load()
    first.ask()
    early = first.count(10)
    assert [early(), early()] == [10, 11]
    number = first.type_number()
    assert not knows(second, "call_count"), "the second host has a target that only the first host registered"

    others = [first.new_type("a"), first.new_type("b")]
    second.ask()
    second.load()
    late = second.count(100)
    assert [late(), early(), late(), early()] == [100, 12, 101, 13], "call sites do not count separately"
    assert first.type_number() == number, "the first host changed the id of a type"
    late_number = second.type_number()
    late_others = [second.new_type("a"), second.new_type("b"), second.new_type("c")]
    for host, types in [(first, {number, *others}), (second, {late_number, *late_others})]:
        assert host.type_number() in types
        assert len(types) == (3 if host is first else 4), "two types have the same id in one host"
    assert (first.type_number(), second.type_number()) == (number, late_number)

    again = first.count(50)
    assert [again(), early(), late(), again()] == [50, 14, 102, 51]
    sites = [host.site("counter", np.int64, index=3) for host in (first, second, first)]
    assert [site() for site in sites] == [0, 1, 2], "the hosts do not share the library's process-wide state"
    print("numbers of the same type:", number, late_number)


main()
