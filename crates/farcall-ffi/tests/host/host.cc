// A host of XLA's FFI, built from the header of any version. It records the targets that are registered, and
// keeps the state of one call site. -DCPP_SYMBOL exports the C++ function instead of the C function.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "xla/ffi/api/c_api.h"

struct XLA_FFI_Error {
  std::string message;
};

namespace {

std::string notes;
void* state = nullptr;
int64_t state_type = 0;
void (*state_deleter)(void*) = nullptr;
int64_t next_type = XLA_FFI_API_MINOR * 100;

std::string Text(XLA_FFI_ByteSpan span) { return std::string(span.ptr, span.len); }

XLA_FFI_Error* Fail(std::string message) { return new XLA_FFI_Error{std::move(message)}; }

XLA_FFI_Error* ErrorCreate(XLA_FFI_Error_Create_Args* args) { return Fail(args->message); }

void ErrorDestroy(XLA_FFI_Error_Destroy_Args* args) { delete args->error; }

#if XLA_FFI_API_MINOR >= 5
void ErrorText(XLA_FFI_Error_GetDetails_Args* args) {
  args->errc = XLA_FFI_Error_Code_INTERNAL;
#else
void ErrorText(XLA_FFI_Error_GetMessage_Args* args) {
#endif
  args->message = args->error->message.c_str();
}

XLA_FFI_Error* TypeRegister(XLA_FFI_Type_Register_Args* args) {
  if (args->type_id->type_id == 0) args->type_id->type_id = ++next_type;
  state_deleter = args->type_info->deleter;
  return nullptr;
}

const XLA_FFI_Api* Table();

// Requests a handler's metadata, as XLA does when a target is registered.
std::string Metadata(XLA_FFI_Handler* handler) {
  XLA_FFI_Metadata metadata = {};
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = Table();
  if (XLA_FFI_Error* error = handler(&frame)) {
    std::string message = error->message;
    delete error;
    return " error: " + message;
  }
  return " 0." + std::to_string(metadata.api_version.minor_version) + " traits " +
         std::to_string(metadata.traits) + " type " + std::to_string(metadata.state_type_id.type_id);
}

XLA_FFI_Error* HandlerRegister(XLA_FFI_Handler_Register_Args* args) {
  if (args->struct_size != XLA_FFI_Handler_Register_Args_STRUCT_SIZE)
    return Fail("registration of " + std::to_string(args->struct_size) + " bytes");
  notes += Text(args->name) + " " + Text(args->platform) + " traits " + std::to_string(args->traits) + "\n";
  if (args->bundle.instantiate) notes += "  instantiate" + Metadata(args->bundle.instantiate) + "\n";
  if (args->bundle.execute) notes += "  execute" + Metadata(args->bundle.execute) + "\n";
  return nullptr;
}

XLA_FFI_Error* StateSet(XLA_FFI_State_Set_Args* args) {
  if (args->struct_size != XLA_FFI_State_Set_Args_STRUCT_SIZE) return Fail("state_set of another size");
  state = args->state;
  state_type = args->type_id->type_id;
  return nullptr;
}

XLA_FFI_Error* StateGet(XLA_FFI_State_Get_Args* args) {
  if (args->struct_size != XLA_FFI_State_Get_Args_STRUCT_SIZE) return Fail("state_get of another size");
  if (args->type_id->type_id != state_type) return Fail("state of another type");
  args->state = state;
  return nullptr;
}

const XLA_FFI_Api* Table() {
  static XLA_FFI_Api* api = [] {
    auto* api = new XLA_FFI_Api();
    api->struct_size = XLA_FFI_Api_STRUCT_SIZE;
    api->api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
    api->api_version.major_version = XLA_FFI_API_MAJOR;
    api->api_version.minor_version = XLA_FFI_API_MINOR;
    api->XLA_FFI_Error_Create = ErrorCreate;
#if XLA_FFI_API_MINOR >= 5
    api->XLA_FFI_Error_GetDetails = ErrorText;
#else
    api->XLA_FFI_Error_GetMessage = ErrorText;
#endif
    api->XLA_FFI_Error_Destroy = ErrorDestroy;
    api->XLA_FFI_Handler_Register = HandlerRegister;
    api->XLA_FFI_Type_Register = TypeRegister;
    api->XLA_FFI_State_Set = StateSet;
    api->XLA_FFI_State_Get = StateGet;
    return api;
  }();
  return api;
}

}  // namespace

#ifdef CPP_SYMBOL
namespace xla::ffi {
const XLA_FFI_Api* GetXlaFfiApi() { return Table(); }
}  // namespace xla::ffi
#else
extern "C" const XLA_FFI_Api* XLA_FFI_GetApi() { return Table(); }
#endif

// Returns the registrations and errors since the last call.
extern "C" const char* host_notes() {
  static std::string last;
  last = std::move(notes);
  notes.clear();
  return last.c_str();
}

// Instantiates a call site of `start` with the attribute `start`, executes it, and returns the result. If
// either fails, returns -1 and records the error.
extern "C" int64_t host_run(XLA_FFI_Handler* instantiate, XLA_FFI_Handler* execute, int64_t start) {
  XLA_FFI_Scalar scalar = {XLA_FFI_DataType_S64, &start};
  XLA_FFI_ByteSpan name = {"start", 5};
  XLA_FFI_AttrType type = XLA_FFI_AttrType_SCALAR;
  XLA_FFI_ByteSpan* names[] = {&name};
  void* attrs[] = {&scalar};
  int64_t out = -1;
  XLA_FFI_Buffer buffer = {};
  buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
  buffer.dtype = XLA_FFI_DataType_S64;
  buffer.data = &out;
  XLA_FFI_RetType ret_type = XLA_FFI_RetType_BUFFER;
  void* rets[] = {&buffer};

  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = Table();
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  frame.attrs.size = 1;
  frame.attrs.types = &type;
  frame.attrs.names = names;
  frame.attrs.attrs = attrs;
  frame.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  XLA_FFI_Error* error = instantiate(&frame);
  if (!error) {
    frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
    frame.rets.size = 1;
    frame.rets.types = &ret_type;
    frame.rets.rets = rets;
    error = execute(&frame);
  }
  if (state) state_deleter(state);
  state = nullptr;
  if (error) {
    notes += error->message;
    delete error;
    return -1;
  }
  return out;
}
