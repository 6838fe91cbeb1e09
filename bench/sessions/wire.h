/* WebSocket frames, a compressed stream of JSON and the outer fields of a payload: what a session reads and writes. */
#ifndef GUILDHALL_BENCH_WIRE_H
#define GUILDHALL_BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* A frame of the client: header, mask and text of at most so many bytes. */
enum { SENT_BYTES_MAX = 1024, FRAME_HEAD_BYTES_MAX = 14 };

enum { FRAME_TEXT = 1, FRAME_CLOSE = 8, FRAME_PING = 9 };

/* Growing bytes. */
typedef struct {
  char *bytes;
  size_t length, room;
} buffer;

void buffer_add(buffer *to, const char *bytes, size_t length);
void buffer_free(buffer *of);

/* Reads the frames of one connection. `text` has what has arrived of a message, `control` what has of a control frame. A text of more than
 * 64 MiB ends the connection. */
typedef struct {
  uint8_t head[FRAME_HEAD_BYTES_MAX];
  unsigned head_length;
  bool in_payload;
  uint64_t left;
  z_stream inflate;
  bool inflates;
  buffer text;
  uint8_t control[126];
  unsigned control_length;
} reader;

/* Called for each payload, and for each control frame. Returning false ends the reading: the connection is closed. */
typedef struct {
  void *of;
  bool (*payload)(void *of, const char *json, size_t length);
  bool (*control)(void *of, int opcode, const uint8_t *bytes, unsigned length);
} reader_events;

void reader_begin(reader *of);
void reader_end(reader *of);
/* Takes bytes as they arrive. False when they are malformed, or when an event has returned false. */
bool reader_take(reader *of, const uint8_t *bytes, size_t length, const reader_events *events);

/* Writes a masked frame to `to`, which has room for SENT_BYTES_MAX. Returns its length, or 0 when it is too long. */
size_t frame_of(uint8_t *to, int opcode, const char *bytes, size_t length, uint32_t mask);

/* The outer fields of a payload. `t` and `d` point into it; a missing one is null. */
typedef struct {
  int op;
  int64_t s;
  const char *t, *d;
  size_t t_length, d_length;
} outer;

/* False when the text is not an object. The fields may come in any order. */
bool outer_of(const char *json, size_t length, outer *found);

/* The number after `name` in a text, or -1. */
int64_t number_after(const char *text, size_t length, const char *name);

#endif
