/*
 * Transport encryption as media/crypto/transport.ts describes it, by the OpenSSL that is part of Node. A key is expanded once.
 *
 * The cipher's nonce is the packet's 32-bit nonce, big-endian, followed by zeros. OpenSSL compares tags in constant time.
 */
#include "addon.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { CIPHERS_MAX = 1 << 17, CIPHERS_STEP = 64, NONCE_BYTES = 12, HEADER_BYTES_MAX = 2048 };

struct cipher {
  uint32_t number;
  bool is_xchacha;
  uint8_t key[KEY_BYTES];
  EVP_CIPHER_CTX *sealing, *opening;
};

static void store_big_endian(uint8_t *to, uint32_t value) {
  to[0] = (uint8_t)(value >> 24);
  to[1] = (uint8_t)(value >> 16);
  to[2] = (uint8_t)(value >> 8);
  to[3] = (uint8_t)value;
}

static uint32_t load_little_endian(const uint8_t *from) {
  return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void store_little_endian(uint8_t *to, uint32_t value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
  to[2] = (uint8_t)(value >> 16);
  to[3] = (uint8_t)(value >> 24);
}

static inline uint32_t rotated(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

static inline void quarter(uint32_t *x, int a, int b, int c, int d) {
  x[a] += x[b], x[d] = rotated(x[d] ^ x[a], 16);
  x[c] += x[d], x[b] = rotated(x[b] ^ x[c], 12);
  x[a] += x[b], x[d] = rotated(x[d] ^ x[a], 8);
  x[c] += x[d], x[b] = rotated(x[b] ^ x[c], 7);
}

/* HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2) with the nonce of a packet: four bytes, then zeros. */
static void hchacha(uint8_t *subkey, const uint8_t *key, uint32_t nonce) {
  uint8_t first[4];
  uint32_t x[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  store_big_endian(first, nonce);
  for (int word = 0; word < 8; word += 1) x[4 + word] = load_little_endian(key + 4 * word);
  x[12] = load_little_endian(first);
  for (int round = 0; round < 10; round += 1) {
    quarter(x, 0, 4, 8, 12);
    quarter(x, 1, 5, 9, 13);
    quarter(x, 2, 6, 10, 14);
    quarter(x, 3, 7, 11, 15);
    quarter(x, 0, 5, 10, 15);
    quarter(x, 1, 6, 11, 12);
    quarter(x, 2, 7, 8, 13);
    quarter(x, 3, 4, 9, 14);
  }
  for (int word = 0; word < 4; word += 1) {
    store_little_endian(subkey + 4 * word, x[word]);
    store_little_endian(subkey + 16 + 4 * word, x[12 + word]);
  }
  OPENSSL_cleanse(x, sizeof x);
}

/* Gives the context the nonce of the next packet; XChaCha has another key for each nonce. */
static bool begin(cipher *with, EVP_CIPHER_CTX *context, uint32_t nonce, int sealing) {
  uint8_t iv[NONCE_BYTES] = {0};
  if (!with->is_xchacha) {
    store_big_endian(iv, nonce);
    return EVP_CipherInit_ex(context, NULL, NULL, NULL, iv, sealing) == 1;
  }
  uint8_t subkey[KEY_BYTES];
  hchacha(subkey, with->key, nonce);
  bool begun = EVP_CipherInit_ex(context, NULL, NULL, subkey, iv, sealing) == 1;
  OPENSSL_cleanse(subkey, sizeof subkey);
  return begun;
}

int cipher_seal(cipher *with, uint8_t *packet, const uint8_t *header, uint32_t header_bytes, const uint8_t *plain,
                uint32_t plain_bytes, uint32_t nonce) {
  EVP_CIPHER_CTX *context = with->sealing;
  uint8_t *sealed = packet + header_bytes;
  int written = 0;
  if (!begin(with, context, nonce, 1)) return -1;
  if (header_bytes > 0 && EVP_EncryptUpdate(context, NULL, &written, header, (int)header_bytes) != 1) return -1;
  if (plain_bytes > 0 && EVP_EncryptUpdate(context, sealed, &written, plain, (int)plain_bytes) != 1) return -1;
  if (EVP_EncryptFinal_ex(context, sealed + plain_bytes, &written) != 1) return -1;
  if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, sealed + plain_bytes) != 1) return -1;
  if (header_bytes > 0) memcpy(packet, header, header_bytes);
  store_big_endian(sealed + plain_bytes + TAG_BYTES, nonce);
  return (int)(header_bytes + plain_bytes + OVERHEAD_BYTES);
}

/* Decrypts a packet of at least header and overhead. Returns the length of the plaintext, or -1 if it is not authentic. */
static int cipher_open(cipher *with, uint8_t *packet, uint32_t length, uint32_t header_bytes, uint8_t *plain) {
  EVP_CIPHER_CTX *context = with->opening;
  uint32_t plain_bytes = length - OVERHEAD_BYTES - header_bytes;
  uint8_t *sealed = packet + header_bytes, *tag = sealed + plain_bytes, *suffix = tag + TAG_BYTES;
  uint32_t nonce = (uint32_t)suffix[0] << 24 | (uint32_t)suffix[1] << 16 | (uint32_t)suffix[2] << 8 | suffix[3];
  int written = 0;
  if (!begin(with, context, nonce, 0)) return -1;
  if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) != 1) return -1;
  if (header_bytes > 0 && EVP_DecryptUpdate(context, NULL, &written, packet, (int)header_bytes) != 1) return -1;
  bool opened = plain_bytes == 0 || EVP_DecryptUpdate(context, plain, &written, sealed, (int)plain_bytes) == 1;
  if (opened && EVP_DecryptFinal_ex(context, plain + plain_bytes, &written) == 1) return (int)plain_bytes;
  OPENSSL_cleanse(plain, plain_bytes);
  /* Whoever uses OpenSSL next on this thread must not find this packet's error. */
  ERR_clear_error();
  return -1;
}

static void cipher_free(cipher *old) {
  EVP_CIPHER_CTX_free(old->sealing);
  EVP_CIPHER_CTX_free(old->opening);
  OPENSSL_cleanse(old->key, sizeof old->key);
  free(old);
}

cipher *cipher_at(const instance *of, uint32_t number) {
  return number < of->count ? of->ciphers[number] : NULL;
}

void ciphers_free(instance *of) {
  for (uint32_t number = 0; number < of->count; number += 1)
    if (of->ciphers[number] != NULL) cipher_free(of->ciphers[number]);
  free(of->ciphers);
  of->ciphers = NULL;
  of->count = 0;
}

/* Gives a cipher a free number. False when there are too many. */
static bool number_cipher(instance *of, cipher *fresh) {
  for (uint32_t number = 0; number < of->count; number += 1)
    if (of->ciphers[number] == NULL) {
      fresh->number = number;
      of->ciphers[number] = fresh;
      return true;
    }
  if (of->count >= CIPHERS_MAX) return false;
  cipher **more = realloc(of->ciphers, (of->count + CIPHERS_STEP) * sizeof *more);
  if (more == NULL) return false;
  memset(more + of->count, 0, CIPHERS_STEP * sizeof *more);
  fresh->number = of->count;
  of->ciphers = more;
  of->count += CIPHERS_STEP;
  of->ciphers[fresh->number] = fresh;
  return true;
}

static EVP_CIPHER_CTX *keyed(const cipher *fresh, int sealing) {
  const EVP_CIPHER *kind = fresh->is_xchacha ? EVP_chacha20_poly1305() : EVP_aes_256_gcm();
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  if (context == NULL) return NULL;
  const uint8_t *key = fresh->is_xchacha ? NULL : fresh->key;
  if (EVP_CipherInit_ex(context, kind, NULL, key, NULL, sealing) == 1) return context;
  EVP_CIPHER_CTX_free(context);
  return NULL;
}

static void collected(napi_env env, void *data, void *hint) {
  (void)hint;
  instance *of = NULL;
  cipher *old = data;
  if (napi_get_instance_data(env, (void **)&of) != napi_ok || of == NULL) return;
  if (cipher_at(of, old->number) != old) return;
  of->ciphers[old->number] = NULL;
  cipher_free(old);
}

/* cipher(owner, isXChaCha, key): number. The cipher is freed when the owner is collected. */
static napi_value js_cipher(napi_env env, napi_callback_info info) {
  napi_value argument[3], result = NULL;
  size_t count = 3, key_bytes = 0;
  uint8_t *key = NULL;
  bool is_xchacha = false;
  instance *of = NULL;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  if (!succeeded(env, napi_get_value_bool(env, argument[1], &is_xchacha))) return NULL;
  if (!bytes_of(env, argument[2], &key, &key_bytes)) return NULL;
  if (key_bytes != KEY_BYTES) return napi_throw_range_error(env, NULL, "A transport key must have 32 bytes."), NULL;
  if (!succeeded(env, napi_get_instance_data(env, (void **)&of))) return NULL;
  cipher *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return napi_throw_error(env, NULL, "Out of memory."), NULL;
  fresh->is_xchacha = is_xchacha;
  memcpy(fresh->key, key, KEY_BYTES);
  fresh->sealing = keyed(fresh, 1);
  fresh->opening = keyed(fresh, 0);
  if (fresh->sealing == NULL || fresh->opening == NULL || !number_cipher(of, fresh)) {
    cipher_free(fresh);
    return napi_throw_error(env, NULL, "No further cipher can be created."), NULL;
  }
  if (!succeeded(env, napi_wrap(env, argument[0], fresh, collected, NULL, NULL))) {
    of->ciphers[fresh->number] = NULL;
    cipher_free(fresh);
    return NULL;
  }
  return succeeded(env, napi_create_uint32(env, fresh->number, &result)) ? result : NULL;
}

static cipher *numbered(napi_env env, napi_value value) {
  uint32_t number = 0;
  instance *of = NULL;
  if (!number_of(env, value, &number) || !succeeded(env, napi_get_instance_data(env, (void **)&of))) return NULL;
  cipher *found = cipher_at(of, number);
  if (found == NULL) napi_throw_range_error(env, NULL, "No cipher has this number.");
  return found;
}

static napi_value int_value(napi_env env, int value) {
  napi_value result = NULL;
  return succeeded(env, napi_create_int32(env, value, &result)) ? result : NULL;
}

/* seal(number, packet, offset, header, plain, nonce): length of the packet */
static napi_value js_seal(napi_env env, napi_callback_info info) {
  napi_value argument[6];
  size_t count = 6, packet_bytes = 0, header_bytes = 0, plain_bytes = 0;
  uint8_t *packet = NULL, *header = NULL, *plain = NULL;
  uint32_t offset = 0, nonce = 0;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  cipher *with = numbered(env, argument[0]);
  if (with == NULL || !bytes_of(env, argument[1], &packet, &packet_bytes) || !number_of(env, argument[2], &offset) ||
      !bytes_of(env, argument[3], &header, &header_bytes) || !bytes_of(env, argument[4], &plain, &plain_bytes) ||
      !number_of(env, argument[5], &nonce))
    return NULL;
  bool fits = header_bytes <= HEADER_BYTES_MAX && plain_bytes <= INT32_MAX / 2 && offset <= packet_bytes &&
              header_bytes + plain_bytes + OVERHEAD_BYTES <= packet_bytes - offset;
  if (!fits) return napi_throw_range_error(env, NULL, "The packet does not fit."), NULL;
  int length = cipher_seal(with, packet + offset, header, (uint32_t)header_bytes, plain, (uint32_t)plain_bytes, nonce);
  if (length < 0) return napi_throw_error(env, NULL, "The packet could not be encrypted."), NULL;
  return int_value(env, length);
}

/* open(number, packet, length, headerBytes, plain): length of the plaintext, or -1 */
static napi_value js_open(napi_env env, napi_callback_info info) {
  napi_value argument[5];
  size_t count = 5, packet_bytes = 0, plain_bytes = 0;
  uint8_t *packet = NULL, *plain = NULL;
  uint32_t length = 0, header_bytes = 0;
  if (!succeeded(env, napi_get_cb_info(env, info, &count, argument, NULL, NULL))) return NULL;
  cipher *with = numbered(env, argument[0]);
  if (with == NULL || !bytes_of(env, argument[1], &packet, &packet_bytes) || !number_of(env, argument[2], &length) ||
      !number_of(env, argument[3], &header_bytes) || !bytes_of(env, argument[4], &plain, &plain_bytes))
    return NULL;
  bool fits = length <= packet_bytes && length <= INT32_MAX / 2 && length >= OVERHEAD_BYTES &&
              header_bytes <= length - OVERHEAD_BYTES && length - OVERHEAD_BYTES - header_bytes <= plain_bytes;
  if (!fits) return napi_throw_range_error(env, NULL, "The packet does not fit."), NULL;
  return int_value(env, cipher_open(with, packet, length, header_bytes, plain));
}

napi_status cipher_define(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"cipher", NULL, js_cipher, NULL, NULL, NULL, napi_enumerable, NULL},
      {"seal", NULL, js_seal, NULL, NULL, NULL, napi_enumerable, NULL},
      {"open", NULL, js_open, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  return define_functions(env, exports, functions, sizeof functions / sizeof *functions) ? napi_ok : napi_generic_failure;
}
