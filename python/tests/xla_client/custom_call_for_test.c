// A Python module with functions for custom calls in capsules, in the form created by Cython.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

// The oldest interface: pointers to the result and to the operands.
static void test_subtract_f32(void* out, const void** in) {
  float a = *(const float*)in[0];
  float b = *(const float*)in[1];
  *(float*)out = a - b;
}

// With several results, `out` is an array of pointers. The number of elements is an operand.
static void test_sum_and_product(void* out, const void** in) {
  int64_t n = *(const int64_t*)in[0];
  const float* x = (const float*)in[1];
  const float* y = (const float*)in[2];
  float* sum = (float*)((void**)out)[0];
  float* product = (float*)((void**)out)[1];
  for (int64_t i = 0; i < n; ++i) sum[i] = x[i] + y[i], product[i] = x[i] * y[i];
}

static void test_subtract_with_status(void* out, const void** in, void* status) {
  (void)status;
  test_subtract_f32(out, in);
}

static void test_add_input_and_opaque_len(void* out, const void** in, const char* opaque, size_t opaque_len,
                                          void* status) {
  (void)opaque, (void)status;
  *(float*)out = *(const float*)in[0] + (float)opaque_len;
}

static int add(PyObject* targets, const char* name, void* function) {
  PyObject* capsule = PyCapsule_New(function, "xla._CUSTOM_CALL_TARGET", NULL);
  PyObject* key = PyBytes_FromString(name);
  int failed = !capsule || !key || PyDict_SetItem(targets, key, capsule);
  Py_XDECREF(capsule);
  Py_XDECREF(key);
  return failed;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "custom_call_for_test", NULL, -1, NULL};

PyMODINIT_FUNC PyInit_custom_call_for_test(void) {
  PyObject* module = PyModule_Create(&definition);
  PyObject* targets = PyDict_New();
  if (!module || !targets || add(targets, "test_subtract_f32", (void*)test_subtract_f32) ||
      add(targets, "test_sum_and_product", (void*)test_sum_and_product) ||
      add(targets, "test_subtract_with_status", (void*)test_subtract_with_status) ||
      add(targets, "test_add_input_and_opaque_len", (void*)test_add_input_and_opaque_len) ||
      PyModule_AddObject(module, "cpu_custom_call_targets", targets)) {
    return NULL;
  }
  return module;
}
