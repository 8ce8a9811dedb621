/* A handler that does as little as the interface allows. Both hosts find it by the same symbol. */
#include "xla/ffi/api/c_api.h"

XLA_FFI_Error *NoOp(XLA_FFI_CallFrame *frame) {
  XLA_FFI_Extension_Base *extension = frame->extension_start;
  if (extension != NULL && extension->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
    metadata->api_version.major_version = 0;
    metadata->api_version.minor_version = 1;
  }
  return NULL;
}
