/* A UDP socket in Node's event loop: one callback for each batch of received packets, none for each packet. */
#include "addon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOCKET_BUFFER_BYTES = 4 << 20 };
enum { MEMORY_IN, MEMORY_IN_WORDS, MEMORY_OUT, MEMORY_OUT_WORDS, MEMORY_COUNTERS, MEMORIES };

static const napi_type_tag UDP_TAG = {0x6775696c6468616c, 0x6c2e6d656469612e};

static void let_go(udp *socket) {
  socket->holders -= 1;
  if (socket->holders > 0) return;
  free(socket->waiting);
  free(socket);
}

static void collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  let_go(data);
}

static void release(udp *socket) {
  napi_env env = socket->env;
  for (int index = 0; index < MEMORIES; index += 1)
    if (socket->memory[index] != NULL) napi_delete_reference(env, socket->memory[index]);
  if (socket->context != NULL) napi_async_destroy(env, socket->context);
  if (socket->received != NULL) napi_delete_reference(env, socket->received);
  if (socket->closed != NULL) napi_delete_reference(env, socket->closed);
  if (socket->self != NULL) napi_delete_reference(env, socket->self);
}

static void call(udp *socket, napi_ref function, uint32_t argument, bool has_argument) {
  napi_env env = socket->env;
  napi_handle_scope scope;
  napi_value target, self, value = NULL;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return;
  if (napi_get_reference_value(env, function, &target) == napi_ok && napi_get_global(env, &self) == napi_ok &&
      (!has_argument || napi_create_uint32(env, argument, &value) == napi_ok)) {
    napi_status status = napi_make_callback(env, socket->context, self, target, has_argument ? 1 : 0, &value, NULL);
    napi_value error;
    if (status == napi_pending_exception && napi_get_and_clear_last_exception(env, &error) == napi_ok)
      napi_fatal_exception(env, error);
  }
  napi_close_handle_scope(env, scope);
}

static void on_closed(uv_handle_t *handle) {
  udp *socket = handle->data;
  close(socket->fd);
  socket->fd = -1;
  if (socket->torn_down) {
    /* The environment is going: it frees its references itself, and runs no JavaScript. */
    napi_remove_async_cleanup_hook(socket->cleanup);
    let_go(socket);
    return;
  }
  napi_remove_async_cleanup_hook(socket->cleanup);
  if (socket->closed != NULL) call(socket, socket->closed, 0, false);
  napi_handle_scope scope;
  bool has_scope = napi_open_handle_scope(socket->env, &scope) == napi_ok;
  napi_env env = socket->env;
  release(socket);
  if (has_scope) napi_close_handle_scope(env, scope);
  let_go(socket);
}

static void shut(udp *socket) {
  if (socket->closing) return;
  socket->closing = true;
  uv_poll_stop(&socket->poll);
  uv_close((uv_handle_t *)&socket->poll, on_closed);
}

static void on_teardown(napi_async_cleanup_hook_handle hook, void *data) {
  (void)hook;
  udp *socket = data;
  socket->torn_down = true;
  shut(socket);
}

/* Fills the receive slots and reports how many. A longer datagram is cut; its length is given as it was. */
static void receive(udp *socket) {
  for (int slot = 0; slot < RECEIVE_SLOTS; slot += 1) {
    socket->in_messages[slot].msg_hdr.msg_namelen = sizeof socket->in_from[slot];
    socket->in_messages[slot].msg_hdr.msg_flags = 0;
  }
  int count = recvmmsg(socket->fd, socket->in_messages, RECEIVE_SLOTS, MSG_DONTWAIT | MSG_TRUNC, NULL);
  if (count <= 0) return;
  for (int slot = 0; slot < count; slot += 1) {
    uint32_t *words = socket->in_words + slot * RECEIVE_WORDS;
    words[0] = socket->in_messages[slot].msg_len;
    address_to_words(&socket->in_from[slot], words + 1);
  }
  call(socket, socket->received, (uint32_t)count, true);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  udp *socket = poll->data;
  if (status < 0) {
    /* An error that belongs to no packet stops the poll. Reading it clears it. */
    int error = 0;
    socklen_t length = sizeof error;
    socket->counters[COUNT_FAILED] += 1;
    if (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0) udp_watch(socket);
    return;
  }
  if (events & UV_WRITABLE) {
    udp_send_waiting(socket);
    if (socket->waiting_count == 0) udp_watch(socket);
  }
  if (events & UV_READABLE) receive(socket);
}

void udp_watch(udp *socket) {
  if (socket->closing) return;
  int events = UV_READABLE | (socket->waiting_count > 0 ? UV_WRITABLE : 0);
  uv_poll_start(&socket->poll, events, on_poll);
}

/* Binds a socket. Returns a negative error number. */
static int bound(const char *address, uint32_t port, const char **step) {
  struct sockaddr_storage at;
  int size = SOCKET_BUFFER_BYTES;
  socklen_t length = address_parse(address, port, &at);
  *step = "bind";
  if (length == 0) return -EINVAL;
  int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    *step = "socket";
    return -errno;
  }
  /* The system may allow less. */
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  if (bind(fd, (struct sockaddr *)&at, length) == 0) return fd;
  int error = -errno;
  close(fd);
  return error;
}

static napi_value cannot(napi_env env, const char *step, int error, const char *address, uint32_t port) {
  char text[ADDRESS_TEXT_BYTES + 80];
  snprintf(text, sizeof text, "%s %s %s:%u", step, uv_err_name(error), address, port);
  napi_throw_error(env, uv_err_name(error), text);
  return NULL;
}

static void prepare(udp *socket) {
  for (int slot = 0; slot < RECEIVE_SLOTS; slot += 1) {
    socket->in_parts[slot] =
        (struct iovec){.iov_base = socket->in + slot * RECEIVE_SLOT_BYTES, .iov_len = RECEIVE_SLOT_BYTES};
    socket->in_messages[slot].msg_hdr =
        (struct msghdr){.msg_name = &socket->in_from[slot], .msg_iov = &socket->in_parts[slot], .msg_iovlen = 1};
  }
}

/* Keeps the memory that is shared with JavaScript, if each part is as large as it must be. */
static bool share(napi_env env, udp *socket, const napi_value *memory) {
  const size_t least[MEMORIES] = {RECEIVE_SLOTS * RECEIVE_SLOT_BYTES, RECEIVE_SLOTS * RECEIVE_WORDS * 4, PACKET_BYTES_MAX,
                                  SEND_SLOTS * SEND_WORDS * 4, COUNTERS * 4};
  uint8_t *bytes[MEMORIES];
  for (int index = 0; index < MEMORIES; index += 1) {
    size_t length = 0;
    if (!bytes_of(env, memory[index], &bytes[index], &length)) return false;
    if (length < least[index] || (index % 2 == 1 && (uintptr_t)bytes[index] % 4 != 0)) {
      napi_throw_range_error(env, NULL, "The shared memory is too small.");
      return false;
    }
    if (index == MEMORY_OUT) socket->out_bytes = length;
    if (!succeeded(env, napi_create_reference(env, memory[index], 1, &socket->memory[index]))) return false;
  }
  socket->in = bytes[MEMORY_IN];
  socket->in_words = (uint32_t *)(void *)bytes[MEMORY_IN_WORDS];
  socket->out = bytes[MEMORY_OUT];
  socket->out_words = (uint32_t *)(void *)bytes[MEMORY_OUT_WORDS];
  socket->counters = (uint32_t *)(void *)bytes[MEMORY_COUNTERS];
  prepare(socket);
  return true;
}

/* Joins the socket to the event loop. From then on `shut` ends it. */
static bool join(napi_env env, udp *socket) {
  uv_loop_t *loop = NULL;
  if (!succeeded(env, napi_get_uv_event_loop(env, &loop))) return false;
  if (!succeeded(env, napi_add_async_cleanup_hook(env, on_teardown, socket, &socket->cleanup))) return false;
  if (uv_poll_init(loop, &socket->poll, socket->fd) == 0) {
    socket->poll.data = socket;
    udp_watch(socket);
    return true;
  }
  napi_remove_async_cleanup_hook(socket->cleanup);
  napi_throw_error(env, NULL, "The socket cannot be polled.");
  return false;
}

/* bind(address, port, in, inWords, out, outWords, counters, received): handle */
static napi_value js_bind(napi_env env, napi_callback_info info) {
  napi_value argument[8], handle = NULL, name = NULL;
  size_t count = 8, length = 0;
  char address[ADDRESS_TEXT_BYTES];
  uint32_t port = 0;
  const char *step = NULL;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL)) ||
      !succeeded(env, napi_get_value_string_utf8(env, argument[0], address, sizeof address, &length)) ||
      !number_of(env, argument[1], &port))
    return NULL;
  udp *socket = calloc(1, sizeof *socket);
  if (socket == NULL) return napi_throw_error(env, NULL, "Out of memory."), NULL;
  socket->env = env;
  socket->holders = 1;
  socket->fd = bound(address, port, &step);
  if (socket->fd < 0) {
    cannot(env, step, socket->fd, address, port);
    let_go(socket);
    return NULL;
  }
  bool is_ready = share(env, socket, argument + 2) &&
                  succeeded(env, napi_create_reference(env, argument[7], 1, &socket->received)) &&
                  succeeded(env, napi_create_string_utf8(env, "GuildhallMedia", NAPI_AUTO_LENGTH, &name)) &&
                  succeeded(env, napi_async_init(env, NULL, name, &socket->context)) &&
                  succeeded(env, napi_create_external(env, socket, collected, NULL, &handle));
  if (is_ready) socket->holders = 2;
  is_ready = is_ready && succeeded(env, napi_type_tag_object(env, handle, &UDP_TAG)) &&
             succeeded(env, napi_create_reference(env, handle, 1, &socket->self)) && join(env, socket);
  if (is_ready) return handle;
  close(socket->fd);
  release(socket);
  let_go(socket);
  return NULL;
}

static udp *handled(napi_env env, napi_value value) {
  bool is_ours = false;
  void *data = NULL;
  napi_valuetype type;
  if (napi_typeof(env, value, &type) == napi_ok && type == napi_external &&
      napi_check_object_type_tag(env, value, &UDP_TAG, &is_ours) == napi_ok && is_ours &&
      napi_get_value_external(env, value, &data) == napi_ok)
    return data;
  napi_throw_type_error(env, NULL, "Expected a media socket.");
  return NULL;
}

/* port(handle): the bound port, 0 when closed */
static napi_value js_port(napi_env env, napi_callback_info info) {
  napi_value argument[1], result = NULL;
  size_t count = 1;
  struct sockaddr_storage at = {0};
  socklen_t length = sizeof at;
  uint32_t words[ADDRESS_WORDS] = {0};
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  udp *socket = handled(env, argument[0]);
  if (socket == NULL) return NULL;
  if (socket->fd >= 0 && getsockname(socket->fd, (struct sockaddr *)&at, &length) == 0) address_to_words(&at, words);
  return succeeded(env, napi_create_uint32(env, words[1], &result)) ? result : NULL;
}

/* source(handle, slot): the text of the address that the packet in a slot came from */
static napi_value js_source(napi_env env, napi_callback_info info) {
  napi_value argument[2], result = NULL;
  size_t count = 2;
  uint32_t slot = 0;
  char text[ADDRESS_TEXT_BYTES] = "";
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  udp *socket = handled(env, argument[0]);
  if (socket == NULL || !number_of(env, argument[1], &slot)) return NULL;
  if (slot < RECEIVE_SLOTS && !address_print(&socket->in_from[slot], text, sizeof text)) text[0] = '\0';
  return succeeded(env, napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result)) ? result : NULL;
}

/* resolve(address, port, words): whether the address is numeric; then its words */
static napi_value js_resolve(napi_env env, napi_callback_info info) {
  napi_value argument[3], result = NULL;
  size_t count = 3, length = 0;
  char address[ADDRESS_TEXT_BYTES];
  uint32_t port = 0;
  uint8_t *words = NULL;
  struct sockaddr_storage at;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL)) ||
      !succeeded(env, napi_get_value_string_utf8(env, argument[0], address, sizeof address, &length)) ||
      !number_of(env, argument[1], &port) || !bytes_of(env, argument[2], &words, &length))
    return NULL;
  bool is_numeric = length >= ADDRESS_WORDS * 4 && (uintptr_t)words % 4 == 0 && address_parse(address, port, &at) > 0;
  if (is_numeric) address_to_words(&at, (uint32_t *)(void *)words);
  return succeeded(env, napi_get_boolean(env, is_numeric, &result)) ? result : NULL;
}

/* send(handle, count): encrypts and sends the first `count` records */
static napi_value js_send(napi_env env, napi_callback_info info) {
  napi_value argument[2];
  size_t count = 2;
  uint32_t records = 0;
  instance *of = NULL;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  udp *socket = handled(env, argument[0]);
  if (socket == NULL || !number_of(env, argument[1], &records)) return NULL;
  if (!succeeded(env, napi_get_instance_data(env, (void **)&of))) return NULL;
  if (records > SEND_SLOTS) return napi_throw_range_error(env, NULL, "Too many packets."), NULL;
  if (!socket->closing) udp_send(socket, of, records);
  return NULL;
}

/* close(handle, closed): `closed` is called when the port is free */
static napi_value js_close(napi_env env, napi_callback_info info) {
  napi_value argument[2];
  size_t count = 2;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  udp *socket = handled(env, argument[0]);
  if (socket == NULL || socket->closing) return NULL;
  if (!succeeded(env, napi_create_reference(env, argument[1], 1, &socket->closed))) return NULL;
  shut(socket);
  return NULL;
}

napi_status udp_define(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"bind", NULL, js_bind, NULL, NULL, NULL, napi_enumerable, NULL},
      {"port", NULL, js_port, NULL, NULL, NULL, napi_enumerable, NULL},
      {"source", NULL, js_source, NULL, NULL, NULL, napi_enumerable, NULL},
      {"resolve", NULL, js_resolve, NULL, NULL, NULL, napi_enumerable, NULL},
      {"send", NULL, js_send, NULL, NULL, NULL, napi_enumerable, NULL},
      {"close", NULL, js_close, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  return define_functions(env, exports, functions, sizeof functions / sizeof *functions) ? napi_ok : napi_generic_failure;
}
