// A library without a descriptor: a QR factorization for the older C interface, and lowerings to it.
#include <cmath>
#include <cstddef>

#include "farcall/lowering.h"

// y = QR of a 3x4 matrix, by Householder reflections: q is 3x3, r is 3x4.
extern "C" void QrAlias(void* out, const void** ins) {
  const int m = 3, n = 4;
  const float* x = static_cast<const float*>(ins[0]);
  float* q = static_cast<float**>(out)[0];
  float* r = static_cast<float**>(out)[1];
  for (int i = 0; i < m * n; ++i) r[i] = x[i];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) q[i * m + j] = i == j;
  for (int k = 0; k + 1 < m; ++k) {
    float norm = 0, v[m] = {}, vv = 0;
    for (int i = k; i < m; ++i) norm += r[i * n + k] * r[i * n + k];
    norm = std::sqrt(norm);
    for (int i = k; i < m; ++i) v[i] = r[i * n + k];
    v[k] += v[k] >= 0 ? norm : -norm;
    for (int i = k; i < m; ++i) vv += v[i] * v[i];
    if (vv == 0) continue;
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int i = k; i < m; ++i) sum += v[i] * r[i * n + j];
      for (int i = k; i < m; ++i) r[i * n + j] -= 2 * sum / vv * v[i];
    }
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int j = k; j < m; ++j) sum += q[i * m + j] * v[j];
      for (int j = k; j < m; ++j) q[i * m + j] -= 2 * sum / vv * v[j];
    }
  }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < i; ++j) r[i * n + j] = 0;
}

static void skip(farcall_lower_question* question, const char* reason) {
  question->skip(question->host, farcall_text(reason));
}

// Calls the factorization for a 3x4 matrix of f32 on the host.
static void lower_qr(farcall_lower_question* question) {
  if (!farcall_equal(question->platform, "Host")) return skip(question, "it is for the host");
  if (question->operand_count != 1) return skip(question, "it takes one operand");
  const farcall_template* x = farcall_operand(question, 0);
  if (x->rank != 2 || x->dims[0] != 3 || x->dims[1] != 4) return skip(question, "it takes 3x4 matrices");
  farcall_lower_call call = {};
  call.struct_size = sizeof call;
  call.target = farcall_text("qr_cpu_custom_call_f32_exla_alias");
  farcall_numbered_type to_f32 = {0, FARCALL_F32, 0};
  if (x->dtype == FARCALL_S32) {
    call.operand_types = &to_f32;
    call.operand_type_count = 1;
  } else if (x->dtype != FARCALL_F32) {
    return skip(question, "it takes f32 and integers");
  }
  const int64_t row_major[] = {1, 0};
  farcall_numbered_layout operand_layout = {0, row_major, 2};
  farcall_numbered_layout result_layouts[] = {{0, row_major, 2}, {1, row_major, 2}};
  call.operand_layouts = &operand_layout;
  call.operand_layout_count = 1;
  call.result_layouts = result_layouts;
  call.result_layout_count = 2;
  question->call(question->host, &call);
}

// Gives the wrong answer that the option `as` of the block selects.
static void lower_wrong(farcall_lower_question* question) {
  farcall_span as = farcall_option(question, "as");
  farcall_lower_call call = {};
  call.struct_size = sizeof call;
  call.target = farcall_text("t");
  farcall_named_text attribute = {farcall_text("k"), farcall_text("42 : i64")};
  if (farcall_equal(as, "\"nothing\"")) return;
  if (farcall_equal(as, "\"failure\"")) return question->fail(question->host, farcall_text("out of luck"));
  if (farcall_equal(as, "\"null\"")) return question->call(question->host, nullptr);
  if (farcall_equal(as, "\"short\"")) call.struct_size = 8;
  if (farcall_equal(as, "\"null table\"")) call.operand_type_count = 1;
  if (farcall_equal(as, "\"endless table\"")) {
    call.attributes = &attribute;
    call.attribute_count = ~size_t{0} / 2;
  }
  if (farcall_equal(as, "\"misaligned\"")) {
    call.attributes = reinterpret_cast<farcall_named_text*>(1);
    call.attribute_count = 1;
  }
  farcall_numbered_type type = {0, 999, 0};
  if (farcall_equal(as, "\"no type\"")) {
    call.operand_types = &type;
    call.operand_type_count = 1;
  }
  const int64_t order[] = {-1};
  farcall_numbered_layout layout = {0, order, 1};
  if (farcall_equal(as, "\"negative\"")) {
    call.operand_layouts = &layout;
    call.operand_layout_count = 1;
  }
  if (farcall_equal(as, "\"no text\"")) call.target = {"\xff", 1};
  if (farcall_equal(as, "\"throw\"")) throw 1;
  question->call(question->host, &call);
}

extern "C" const farcall_lowering_table* farcall_lowerings_v1() {
  static farcall_lowering lowerings[] = {
      {farcall_text("my.qr_alias"), {}, lower_qr},
      {farcall_text("my.wrong"), {}, lower_wrong},
  };
  static farcall_lowering_table table = {sizeof table, lowerings, 2, sizeof lowerings[0]};
  return &table;
}

// Returns entry `i` of the list of struct sizes and member offsets in this compiler; 0 after the last entry.
extern "C" size_t Layout(size_t i) {
  const size_t layout[] = {
      sizeof(farcall_lower_question), offsetof(farcall_lower_question, version),
      offsetof(farcall_lower_question, client_options), offsetof(farcall_lower_question, tensor_stride),
      offsetof(farcall_lower_question, platform), offsetof(farcall_lower_question, host),
      offsetof(farcall_lower_question, call), sizeof(farcall_lower_call),
      offsetof(farcall_lower_call, values), offsetof(farcall_lower_call, operand_types),
      offsetof(farcall_lower_call, result_layouts), offsetof(farcall_lower_call, has_side_effect),
      sizeof(farcall_template), offsetof(farcall_template, dims),
      sizeof(farcall_named_text), sizeof(farcall_numbered_type), offsetof(farcall_numbered_type, dtype),
      sizeof(farcall_numbered_layout), offsetof(farcall_numbered_layout, rank),
      sizeof(farcall_alias), sizeof(farcall_lowering), offsetof(farcall_lowering, lower),
      sizeof(farcall_lowering_table), offsetof(farcall_lowering_table, lowering_stride),
      FARCALL_PRED, FARCALL_S8, FARCALL_S16, FARCALL_S32, FARCALL_S64, FARCALL_U8, FARCALL_U16, FARCALL_U32,
      FARCALL_U64, FARCALL_F16, FARCALL_F32, FARCALL_F64, FARCALL_C64, FARCALL_BF16, FARCALL_C128,
  };
  return i < sizeof layout / sizeof *layout ? layout[i] : 0;
}
