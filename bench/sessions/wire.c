#include "wire.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUT_BYTES = 1 << 16, TEXT_BYTES_MAX = 1 << 26, LONG_16 = 126, LONG_64 = 127, LENGTH_BITS = 0x7f, FINAL = 0x80, MASKED = 0x80 };

void buffer_add(buffer *to, const char *bytes, size_t length) {
  if (to->length + length + 1 > to->room) {
    to->room = (to->length + length + 1) * 2;
    to->bytes = realloc(to->bytes, to->room);
    if (to->bytes == NULL) abort();
  }
  memcpy(to->bytes + to->length, bytes, length);
  to->length += length;
  to->bytes[to->length] = '\0';
}

void buffer_free(buffer *of) {
  free(of->bytes);
  *of = (buffer){0};
}

void reader_begin(reader *of) {
  *of = (reader){0};
  of->inflates = inflateInit(&of->inflate) == Z_OK;
}

void reader_end(reader *of) {
  if (of->inflates) inflateEnd(&of->inflate);
  buffer_free(&of->text);
  of->inflates = false;
}

/* The memory of a message is given back after it: thousands of sessions keep none. */
static bool inflate_some(reader *of, const uint8_t *bytes, size_t length) {
  static char output[OUTPUT_BYTES];
  of->inflate.next_in = (Bytef *)bytes;
  of->inflate.avail_in = (uInt)length;
  do {
    of->inflate.next_out = (Bytef *)output;
    of->inflate.avail_out = OUTPUT_BYTES;
    const int result = inflate(&of->inflate, Z_SYNC_FLUSH);
    if (result != Z_OK && result != Z_BUF_ERROR) return false;
    buffer_add(&of->text, output, OUTPUT_BYTES - of->inflate.avail_out);
    if (of->text.length > TEXT_BYTES_MAX) return false;
  } while (of->inflate.avail_out == 0);
  return true;
}

static unsigned head_bytes(const reader *of) {
  if (of->head_length < 2) return 2;
  const unsigned length = of->head[1] & LENGTH_BITS;
  return length == LONG_16 ? 4 : length == LONG_64 ? 10 : 2;
}

static uint64_t payload_bytes(const reader *of) {
  const unsigned length = of->head[1] & LENGTH_BITS;
  if (length < LONG_16) return length;
  uint64_t bytes = 0;
  for (unsigned at = 2; at < of->head_length; at += 1) bytes = bytes << 8 | of->head[at];
  return bytes;
}

static bool is_control(const reader *of) { return (of->head[0] & FRAME_CLOSE) != 0; }

static bool frame_ended(reader *of, const reader_events *events) {
  of->in_payload = false;
  of->head_length = 0;
  if (is_control(of)) {
    const unsigned length = of->control_length;
    of->control_length = 0;
    return events->control(events->of, of->head[0] & 0x0f, of->control, length);
  }
  if ((of->head[0] & FINAL) == 0) return true;
  const bool goes_on = events->payload(events->of, of->text.bytes, of->text.length);
  buffer_free(&of->text);
  return goes_on;
}

bool reader_take(reader *of, const uint8_t *bytes, size_t length, const reader_events *events) {
  while (length > 0 || (of->in_payload && of->left == 0)) {
    if (!of->in_payload) {
      of->head[of->head_length++] = *bytes++;
      length -= 1;
      if (of->head_length < head_bytes(of)) continue;
      if (of->head[1] & MASKED) return false;
      of->left = payload_bytes(of);
      of->in_payload = true;
      if (is_control(of) && of->left >= sizeof of->control) return false;
    }
    const size_t now = of->left < length ? (size_t)of->left : length;
    if (is_control(of)) {
      memcpy(of->control + of->control_length, bytes, now);
      of->control_length += (unsigned)now;
    } else if (now > 0 && !inflate_some(of, bytes, now)) {
      return false;
    }
    bytes += now;
    length -= now;
    of->left -= now;
    if (of->left == 0 && !frame_ended(of, events)) return false;
  }
  return true;
}

size_t frame_of(uint8_t *to, int opcode, const char *bytes, size_t length, uint32_t mask) {
  size_t at = 0;
  to[at++] = (uint8_t)(FINAL | opcode);
  if (length < LONG_16) {
    to[at++] = (uint8_t)(MASKED | length);
  } else {
    to[at++] = MASKED | LONG_16;
    to[at++] = (uint8_t)(length >> 8);
    to[at++] = (uint8_t)length;
  }
  if (at + 4 + length > SENT_BYTES_MAX) return 0;
  uint8_t key[4];
  memcpy(key, &mask, sizeof key);
  memcpy(to + at, key, sizeof key);
  at += sizeof key;
  for (size_t each = 0; each < length; each += 1) to[at++] = (uint8_t)bytes[each] ^ key[each & 3];
  return at;
}

/* The end of the string whose quote is at `at`; null when it does not end. */
static const char *string_end(const char *at, const char *end) {
  for (at += 1; at < end; at += 1) {
    if (*at == '\\') at += 1;
    else if (*at == '"') return at + 1;
  }
  return NULL;
}

/* The end of the value at `at`; null when it does not end. */
static const char *value_end(const char *at, const char *end) {
  int depth = 0;
  while (at < end) {
    if (*at == '"') {
      at = string_end(at, end);
      if (at == NULL || depth == 0) return at;
      continue;
    }
    if (*at == '{' || *at == '[') depth += 1;
    else if (*at == '}' || *at == ']') {
      if (depth == 0) return at;
      depth -= 1;
      if (depth == 0) return at + 1;
    } else if (*at == ',' && depth == 0) return at;
    at += 1;
  }
  return NULL;
}

static const char *past_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r' || *at == ',' || *at == ':')) at += 1;
  return at;
}

bool outer_of(const char *json, size_t length, outer *found) {
  const char *end = json + length;
  *found = (outer){.op = -1, .s = -1};
  const char *at = past_space(json, end);
  if (at >= end || *at != '{') return false;
  for (at = past_space(at + 1, end); at < end && *at != '}'; at = past_space(at, end)) {
    if (*at != '"') return false;
    const char *name = at + 1;
    at = string_end(at, end);
    if (at == NULL) return false;
    const size_t name_length = (size_t)(at - 1 - name);
    const char *value = past_space(at, end);
    at = value_end(value, end);
    if (at == NULL) return false;
    if (name_length == 2 && memcmp(name, "op", 2) == 0) found->op = atoi(value);
    if (name_length != 1) continue;
    if (*name == 's' && *value != 'n') found->s = atoll(value);
    if (*name == 't' && *value == '"') {
      found->t = value + 1;
      found->t_length = (size_t)(at - value - 2);
    }
    if (*name == 'd') {
      found->d = value;
      found->d_length = (size_t)(at - value);
    }
  }
  return true;
}

int64_t number_after(const char *text, size_t length, const char *name) {
  const char *found = memmem(text, length, name, strlen(name));
  return found == NULL ? -1 : atoll(found + strlen(name));
}
