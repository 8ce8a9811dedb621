"""Clients, devices, buffers and options."""

import numpy as np
import pytest
from graphs import X, built
from hosts import F32, SCALAR, Shape, run

import farcall
from farcall import xla_client
from farcall.xla_client import ops


def test_programs_that_a_client_takes():
    client = xla_client.make_cpu_client(asynchronous=True, node_id=0)
    stablehlo = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.add %x, %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    hlo = "HloModule double\n\nENTRY %main (x: f32[2]) -> f32[2] {\n  %x = f32[2] parameter(0)\n  ROOT %y = f32[2] add(%x, %x)\n}\n"
    artifact = farcall.convert(stablehlo, "artifact")
    module = xla_client.hlo.hlo_module_from_text(hlo)
    assert module.name == "double" and "ENTRY" in module.to_string()
    computation = xla_client.mlir.mlir_module_to_xla_computation(stablehlo)
    assert "stablehlo.add" in xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    programs = [stablehlo, stablehlo.encode(), hlo, hlo.encode(), artifact, module, computation, xla_client.XlaComputation(hlo)]
    for program in programs:
        executable = client.compile_and_load(program, client.devices(), xla_client.CompileOptions())
        [result] = executable.execute([client.buffer_from_pyval(np.array([1, 2], F32))])
        assert result.to_py().tolist() == [2, 4] and np.asarray(result).dtype == F32
        assert "add(" in executable.get_hlo_text() and executable.program_shape().result_shape() == Shape("f32[2]")
    assert repr(xla_client.XlaComputation(hlo).program_shape()) == "(p0: f32[2]) -> f32[2]"
    with pytest.raises(xla_client.XlaRuntimeError, match="INVALID_ARGUMENT: error"):
        client.compile("HloModule x\n\nENTRY %m () -> f32[] { ROOT %c = f32[] frobnicate() }")
    with pytest.raises(xla_client.XlaRuntimeError, match="serialized HloModuleProto is not supported"):
        xla_client.XlaComputation(b"\x0a\x01")
    with pytest.raises(TypeError, match="not a float"):
        client.compile(1.5)


def test_clients_devices_and_buffers():
    client = xla_client.get_local_backend("cpu")
    assert client is xla_client.get_local_backend()
    [device] = client.devices()
    assert (client.platform, client.device_count(), client.process_index()) == ("cpu", 1, 0)
    assert (device.platform, device.id, device.client, repr(device)) == ("cpu", 0, client, "CpuDevice(id=0)")
    source = np.array([[1, 2]], F32)
    buffer = client.buffer_from_pyval(source)
    source[:] = 0
    assert buffer.to_py().tolist() == [[1, 2]] and buffer.xla_shape() == Shape("f32[1,2]")
    assert (buffer.shape, buffer.dtype, buffer.ndim, buffer.size, buffer.device()) == ((1, 2), F32, 2, 2, device)
    assert buffer in client.live_buffers() and buffer.block_until_ready() is buffer
    assert buffer.clone().unsafe_buffer_pointer() == buffer.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match="read-only"):
        buffer.to_py()[0, 0] = 3
    buffer.delete()
    assert buffer.is_deleted() and buffer not in client.live_buffers()
    executable = client.compile(built("Neg")[0].build())
    for use in (buffer.block_until_ready, buffer.to_py, lambda: executable.execute([buffer])):
        with pytest.raises(xla_client.XlaRuntimeError, match="called on deleted or donated buffer"):
            use()
    assert executable in client.live_executables() and executable.local_devices() == [device]
    assert executable.hlo_modules()[0].to_string().startswith("HloModule Neg")
    assert executable.size_of_generated_code_in_bytes() == -1 and executable.fingerprint is None
    [[result]] = executable.execute_on_local_devices([[X]])
    np.testing.assert_array_equal(result.to_py(), -X)
    [[result]] = executable.execute_sharded_on_local_devices([[X]])
    np.testing.assert_array_equal(xla_client.execute_with_python_values_replicated(executable, [[X]]), [[-X]])
    with pytest.raises(xla_client.XlaRuntimeError, match="NOT_FOUND.*not on gpu"):
        xla_client.get_local_backend("gpu")


def test_options_and_arguments_that_do_not_fit():
    client = xla_client.make_cpu_client()
    c = xla_client.XlaBuilder("wrong")
    ops.Parameter(c, 0, Shape("s32[]"))
    options = xla_client.CompileOptions()
    options.argument_layouts = [SCALAR]
    with pytest.raises(RuntimeError, match=r"Invalid argument shape.*expected s32\[\], got f32\[\]"):
        client.compile(c.build(), compile_options=options)
    options = xla_client.CompileOptions()
    options.num_replicas = 2
    with pytest.raises(xla_client.XlaRuntimeError, match="UNIMPLEMENTED.*num_replicas is 2"):
        client.compile(c.build(), options)
    executable = client.compile(c.build())
    assert [r.to_py() for r in client.execute(executable, [np.int32(4)])] == [4]
    with pytest.raises(TypeError, match="an executable is what Client.compile returns, not a str"):
        client.execute("executable")
    with pytest.raises(xla_client.XlaRuntimeError, match="INVALID_ARGUMENT: .*f32"):
        xla_client.execute_with_python_values(executable, [np.float32(2)], client)
    with pytest.raises(xla_client.XlaRuntimeError, match="INVALID_ARGUMENT: "):
        xla_client.execute_with_python_values(executable, [], client)
    assert xla_client.execute_with_python_values(executable, [3], client) == [3]
    with pytest.raises(xla_client.XlaRuntimeError, match="UNIMPLEMENTED: farcall has one device"):
        xla_client.make_cpu_client(num_devices=2)
    with pytest.raises(xla_client.XlaRuntimeError, match="inputs have dynamic sizes"):
        client.compile("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}")


def test_options_for_other_devices_and_results():
    client = xla_client.make_cpu_client()
    c = xla_client.XlaBuilder("options")
    ops.Parameter(c, 0, Shape("f32[2,3]"))

    def compiled(devices=None, **build):
        options = xla_client.CompileOptions()
        options.device_assignment = build.pop("outer_assignment", None)
        for key, value in build.items():
            setattr(options.executable_build_options, key, value)
        return client.compile(c.build(), devices, options)

    assign = xla_client.DeviceAssignment.create
    other = type("Device", (), {"platform": "gpu", "id": 0})()
    for devices in (None, client.devices()[0], client.devices(), xla_client.DeviceList(client.devices())):
        compiled(devices)
    for fits in (
        {"device_ordinal": -1},
        {"device_ordinal": 0},
        {"device_assignment": assign([[0]]), "outer_assignment": assign([[0]])},
        {"result_layout": Shape("f32[2,3]")},
        {"result_layout": Shape("f32[2,3]{1,0}")},
    ):
        compiled(**fits)
    for wrong, message in [
        ({"device_ordinal": 1}, "device_ordinal is 1"),
        ({"device_assignment": assign([[1]])}, r"device_assignment is DeviceAssignment\(\[\[1\]\]\)"),
        ({"outer_assignment": assign([[0, 1]])}, "device_assignment is "),
        ({"result_layout": Shape("f32[3,2]")}, r"result_layout is f32\[3,2\]\{1,0\}, but the program's results are \(f32\[2,3\]\)"),
        ({"result_layout": Shape("f32[2,3]{0,1}")}, "results are row-major"),
        ({"devices": [other]}, "executable_devices is "),
        ({"devices": client.devices() * 2}, "executable_devices is "),
        ({"devices": []}, "executable_devices is "),
    ]:
        with pytest.raises(xla_client.XlaRuntimeError, match=message):
            compiled(**wrong)


def test_arguments_that_are_tuples():
    c = xla_client.XlaBuilder("tuples")
    pair = ops.Parameter(c, 0, xla_client.shape_from_pyval((X, np.float32(2))))
    ops.Mul(ops.GetTupleElement(pair, 0), ops.GetTupleElement(pair, 1))
    np.testing.assert_array_equal(run(c, (X, np.float32(2))), [2 * X])
