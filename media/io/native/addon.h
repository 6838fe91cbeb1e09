/* The media addon: batched UDP, transport encryption, and memory. JavaScript falls back to node:dgram and node:crypto. */
#ifndef GUILDHALL_MEDIA_ADDON_H
#define GUILDHALL_MEDIA_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

/* media/io/batched.ts has the same numbers. */
enum {
  RECEIVE_SLOTS = 64,
  RECEIVE_SLOT_BYTES = 2112,
  RECEIVE_WORDS = 8,
  SEND_SLOTS = 256,
  SEND_WORDS = 16,
  PACKET_BYTES_MAX = 2048,
  WAITING_SLOTS = 1024,
  COUNTERS = 4
};

enum { TAG_BYTES = 16, SUFFIX_BYTES = 4, OVERHEAD_BYTES = TAG_BYTES + SUFFIX_BYTES, KEY_BYTES = 32 };

typedef struct cipher cipher;

/* Ciphers of one environment (the main thread or a worker), by number. A freed number is null. */
typedef struct {
  cipher **ciphers;
  uint32_t count;
} instance;

/* Writes `header | sealed plain | tag | nonce` to `packet`, which has room for it. Returns its length, or -1. */
int cipher_seal(cipher *with, uint8_t *packet, const uint8_t *header, uint32_t header_bytes, const uint8_t *plain,
                uint32_t plain_bytes, uint32_t nonce);
/* Null for a number that no cipher has. */
cipher *cipher_at(const instance *of, uint32_t number);
void ciphers_free(instance *of);

/* An address as words: family (4 or 6), port, four words of address in host order, scope. */
enum { ADDRESS_WORDS = 7 };
void address_to_words(const struct sockaddr_storage *from, uint32_t *words);
/* Returns the length of the address, or 0 if the words are none. */
socklen_t address_from_words(const uint32_t *words, struct sockaddr_storage *to);
/* Reads a numeric address, with a %scope if it is IPv6. Returns the length, or 0. */
socklen_t address_parse(const char *text, uint32_t port, struct sockaddr_storage *to);
/* Writes the address as node:dgram names it. */
bool address_print(const struct sockaddr_storage *from, char *text, size_t size);

enum { ADDRESS_TEXT_BYTES = 96 };

/* Packets that the system does not take at once. Full: the oldest is dropped. */
typedef struct {
  struct sockaddr_storage to;
  socklen_t to_bytes;
  uint32_t length;
  uint8_t bytes[PACKET_BYTES_MAX];
} waiting_packet;

enum { COUNT_FAILED, COUNT_DROPPED, COUNT_WAITING, COUNT_CALLS };

typedef struct {
  /* Holders: the JavaScript handle and the event loop. The last one frees. */
  int holders;
  napi_env env;
  uv_poll_t poll;
  int fd;
  bool closing, torn_down, no_segments;
  napi_ref self, received, closed;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;

  napi_ref memory[5];
  uint8_t *in, *out;
  uint32_t *in_words, *out_words, *counters;
  size_t out_bytes;

  struct mmsghdr in_messages[RECEIVE_SLOTS];
  struct iovec in_parts[RECEIVE_SLOTS];
  struct sockaddr_storage in_from[RECEIVE_SLOTS];

  struct mmsghdr out_messages[SEND_SLOTS];
  struct iovec out_parts[SEND_SLOTS];
  union {
    uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
    struct cmsghdr aligned;
  } out_control[SEND_SLOTS];
  /* The packets of a batch, before they are grouped into messages. */
  struct iovec out_packets[SEND_SLOTS];
  struct sockaddr_storage out_to[SEND_SLOTS];
  socklen_t out_to_bytes[SEND_SLOTS];
  uint8_t sealed[SEND_SLOTS * PACKET_BYTES_MAX];

  waiting_packet *waiting;
  uint32_t waiting_first, waiting_count;
} udp;

/* Seals and sends the first `count` records. */
void udp_send(udp *socket, const instance *of, uint32_t count);
/* Sends what waits, until the system takes no more. */
void udp_send_waiting(udp *socket);
/* Polls for what the socket now waits for. */
void udp_watch(udp *socket);

napi_status udp_define(napi_env env, napi_value exports);
napi_status memory_define(napi_env env, napi_value exports);
napi_status cipher_define(napi_env env, napi_value exports);

/* Returns false with a pending exception when a Node-API call failed. */
bool succeeded(napi_env env, napi_status status);
/* The bytes of a typed array or Buffer; false with a pending exception if it is none. */
bool bytes_of(napi_env env, napi_value value, uint8_t **bytes, size_t *length);
bool number_of(napi_env env, napi_value value, uint32_t *number);
bool define_functions(napi_env env, napi_value exports, const napi_property_descriptor *functions, size_t count);

#endif
