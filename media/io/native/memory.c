#include "addon.h"

#include <malloc.h>

/* releaseMemory(): gives pages that were freed in the heaps of C back to the system. Returns whether there were any. */
static napi_value js_release_memory(napi_env env, napi_callback_info info) {
  (void)info;
  bool released = false;
#ifdef __GLIBC__
  released = malloc_trim(0) == 1;
#endif
  napi_value result;
  return succeeded(env, napi_get_boolean(env, released, &result)) ? result : NULL;
}

napi_status memory_define(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"releaseMemory", NULL, js_release_memory, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  return define_functions(env, exports, functions, sizeof functions / sizeof *functions) ? napi_ok : napi_generic_failure;
}
