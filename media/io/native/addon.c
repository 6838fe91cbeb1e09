#include "addon.h"

#include <stdlib.h>

bool succeeded(napi_env env, napi_status status) {
  if (status == napi_ok) return true;
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (!pending) napi_throw_error(env, NULL, "A call of the media addon failed.");
  return false;
}

bool bytes_of(napi_env env, napi_value value, uint8_t **bytes, size_t *length) {
  napi_typedarray_type type;
  void *data = NULL;
  bool is_array = false;
  size_t count = 0;
  if (!succeeded(env, napi_is_typedarray(env, value, &is_array))) return false;
  if (!is_array) {
    napi_throw_type_error(env, NULL, "Expected a typed array.");
    return false;
  }
  if (!succeeded(env, napi_get_typedarray_info(env, value, &type, &count, &data, NULL, NULL))) return false;
  *bytes = data;
  *length = type == napi_uint32_array ? count * 4 : count;
  if (type == napi_uint32_array || type == napi_uint8_array) return true;
  napi_throw_type_error(env, NULL, "Expected bytes or 32-bit words.");
  return false;
}

bool number_of(napi_env env, napi_value value, uint32_t *number) {
  return succeeded(env, napi_get_value_uint32(env, value, number));
}

bool define_functions(napi_env env, napi_value exports, const napi_property_descriptor *functions, size_t count) {
  return succeeded(env, napi_define_properties(env, exports, count, functions));
}

static void instance_free(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  ciphers_free(data);
  free(data);
}

NAPI_MODULE_INIT() {
  instance *of = calloc(1, sizeof *of);
  if (of == NULL) {
    napi_throw_error(env, NULL, "Out of memory.");
    return NULL;
  }
  if (napi_set_instance_data(env, of, instance_free, NULL) != napi_ok) {
    free(of);
    napi_throw_error(env, NULL, "The media addon cannot be loaded here.");
    return NULL;
  }
  if (udp_define(env, exports) != napi_ok || cipher_define(env, exports) != napi_ok) return NULL;
  if (memory_define(env, exports) != napi_ok) return NULL;
  return exports;
}
