/*
 * Sends many packets in few system calls: sendmmsg, and one message for several packets of equal length to one address
 * (UDP_SEGMENT). What the system does not take waits in a bounded queue until the socket is writable.
 */
#include "addon.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { WORD_HEADER_AT, WORD_HEADER_BYTES, WORD_BODY_AT, WORD_BODY_BYTES, WORD_CIPHER, WORD_NONCE, WORD_ADDRESS };
/* No cipher: the packet is sent as it is. */
enum { PLAIN = 0 };
/* Of the kernel (UDP_MAX_SEGMENTS), and of what fits a datagram's length. */
enum { SEGMENTS_MAX = 64, SEGMENTED_BYTES_MAX = 60000 };
/* A segment must fit the route: IPv6 guarantees 1,280 bytes with headers. Longer packets are sent one by one. */
enum { SEGMENT_BYTES_MAX = 1232 };

static void count(udp *socket, int what, uint32_t more) { socket->counters[what] += more; }

static bool within(size_t all, uint32_t at, uint32_t length) { return at <= all && length <= all - at; }

/* Writes the packet of a record to `packet`, which has room for PACKET_BYTES_MAX. Returns its length, or -1. */
static int compose(const udp *socket, const instance *of, const uint32_t *record, uint8_t *packet) {
  uint32_t header_bytes = record[WORD_HEADER_BYTES], body_bytes = record[WORD_BODY_BYTES];
  if (!within(socket->out_bytes, record[WORD_HEADER_AT], header_bytes)) return -1;
  if (!within(socket->out_bytes, record[WORD_BODY_AT], body_bytes)) return -1;
  uint32_t overhead = record[WORD_CIPHER] == PLAIN ? 0 : OVERHEAD_BYTES;
  if ((uint64_t)header_bytes + body_bytes + overhead > PACKET_BYTES_MAX) return -1;
  const uint8_t *header = socket->out + record[WORD_HEADER_AT], *body = socket->out + record[WORD_BODY_AT];
  if (record[WORD_CIPHER] == PLAIN) {
    memcpy(packet, header, header_bytes);
    memcpy(packet + header_bytes, body, body_bytes);
    return (int)(header_bytes + body_bytes);
  }
  cipher *with = cipher_at(of, record[WORD_CIPHER] - 1);
  return with == NULL ? -1 : cipher_seal(with, packet, header, header_bytes, body, body_bytes, record[WORD_NONCE]);
}

static void keep(udp *socket, const struct msghdr *message, const struct iovec *part) {
  if (socket->waiting == NULL) socket->waiting = malloc(WAITING_SLOTS * sizeof *socket->waiting);
  if (socket->waiting == NULL || part->iov_len > PACKET_BYTES_MAX) {
    count(socket, COUNT_FAILED, 1);
    return;
  }
  if (socket->waiting_count == WAITING_SLOTS) {
    socket->waiting_first = (socket->waiting_first + 1) % WAITING_SLOTS;
    socket->waiting_count -= 1;
    count(socket, COUNT_DROPPED, 1);
  }
  waiting_packet *packet = &socket->waiting[(socket->waiting_first + socket->waiting_count) % WAITING_SLOTS];
  memcpy(&packet->to, message->msg_name, message->msg_namelen);
  packet->to_bytes = message->msg_namelen;
  packet->length = (uint32_t)part->iov_len;
  memcpy(packet->bytes, part->iov_base, part->iov_len);
  socket->waiting_count += 1;
  socket->counters[COUNT_WAITING] = socket->waiting_count;
}

static bool is_full(void) { return errno == EAGAIN || errno == EWOULDBLOCK; }

/* Sends the segments of a message one by one, as the system does not take them together. */
static void send_parts(udp *socket, const struct msghdr *segmented) {
  for (size_t index = 0; index < segmented->msg_iovlen; index += 1) {
    struct iovec part = segmented->msg_iov[index];
    struct msghdr single = {
        .msg_name = segmented->msg_name, .msg_namelen = segmented->msg_namelen, .msg_iov = &part, .msg_iovlen = 1};
    if (socket->waiting_count > 0) keep(socket, &single, &part);
    else if (sendmsg(socket->fd, &single, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (is_full()) keep(socket, &single, &part);
      else count(socket, COUNT_FAILED, 1);
    }
    count(socket, COUNT_CALLS, 1);
  }
}

/* Sends messages until the system takes no more. A message that fails counts and hurts no other. Returns how many are done. */
static uint32_t submit(udp *socket, struct mmsghdr *messages, uint32_t length) {
  uint32_t done = 0;
  while (done < length && socket->fd >= 0) {
    int sent = sendmmsg(socket->fd, messages + done, length - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    count(socket, COUNT_CALLS, 1);
    if (sent > 0) done += (uint32_t)sent;
    else if (is_full()) break;
    else if (errno != EINTR) {
      if (messages[done].msg_hdr.msg_iovlen > 1) {
        /* Neither the device nor the system segments, or the route is too narrow. */
        socket->no_segments = socket->no_segments || errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT;
        send_parts(socket, &messages[done].msg_hdr);
      } else count(socket, COUNT_FAILED, 1);
      done += 1;
    }
  }
  return done;
}

void udp_send_waiting(udp *socket) {
  while (socket->waiting_count > 0) {
    uint32_t batch = 0;
    for (; batch < socket->waiting_count && batch < SEND_SLOTS; batch += 1) {
      waiting_packet *packet = &socket->waiting[(socket->waiting_first + batch) % WAITING_SLOTS];
      socket->out_parts[batch] = (struct iovec){.iov_base = packet->bytes, .iov_len = packet->length};
      socket->out_messages[batch] = (struct mmsghdr){.msg_hdr = {.msg_name = &packet->to,
                                                                 .msg_namelen = packet->to_bytes,
                                                                 .msg_iov = &socket->out_parts[batch],
                                                                 .msg_iovlen = 1}};
    }
    uint32_t done = submit(socket, socket->out_messages, batch);
    socket->waiting_first = (socket->waiting_first + done) % WAITING_SLOTS;
    socket->waiting_count -= done;
    socket->counters[COUNT_WAITING] = socket->waiting_count;
    if (done < batch) break;
  }
}

/* Seals all records. Returns how many could be; their packets, lengths and addresses are in the socket's tables. */
static uint32_t compose_all(udp *socket, const instance *of, uint32_t records) {
  uint32_t packets = 0;
  size_t used = 0;
  for (uint32_t index = 0; index < records; index += 1) {
    const uint32_t *record = socket->out_words + index * SEND_WORDS;
    uint8_t *packet = socket->sealed + used;
    socklen_t to_bytes = address_from_words(record + WORD_ADDRESS, &socket->out_to[packets]);
    int length = to_bytes == 0 ? -1 : compose(socket, of, record, packet);
    if (length < 0) {
      count(socket, COUNT_FAILED, 1);
      continue;
    }
    socket->out_packets[packets] = (struct iovec){.iov_base = packet, .iov_len = (size_t)length};
    socket->out_to_bytes[packets] = to_bytes;
    packets += 1;
    used += ((size_t)length + 15) & ~(size_t)15;
  }
  return packets;
}

/* The packets of a batch to one address that are sent as one message, in order. */
typedef struct {
  uint16_t first, last, packets;
  size_t segment, bytes;
  bool is_ended;
} group;

enum { BUCKETS = 2 * SEND_SLOTS, NONE = SEND_SLOTS };

static bool joins(const udp *socket, const group *to, uint32_t packet) {
  size_t length = socket->out_packets[packet].iov_len;
  return !socket->no_segments && !to->is_ended && length <= to->segment && to->segment <= SEGMENT_BYTES_MAX && length > 0 &&
         to->packets < SEGMENTS_MAX && to->bytes + length <= SEGMENTED_BYTES_MAX;
}

static uint32_t bucket_of(const struct sockaddr_storage *to, socklen_t length) {
  const uint8_t *bytes = (const uint8_t *)to;
  uint32_t hash = 2166136261u;
  for (socklen_t index = 0; index < length; index += 1) hash = (hash ^ bytes[index]) * 16777619u;
  return (hash ^ hash >> 15) % BUCKETS;
}

/* Groups packets by address: `next` links the packets of a group. A packet that cannot join begins another group behind. */
static uint32_t group_all(const udp *socket, uint32_t packets, group *groups, uint16_t *next) {
  uint16_t latest[BUCKETS];
  uint32_t count = 0;
  for (uint32_t bucket = 0; bucket < BUCKETS; bucket += 1) latest[bucket] = NONE;
  for (uint32_t packet = 0; packet < packets; packet += 1) {
    const struct sockaddr_storage *to = &socket->out_to[packet];
    socklen_t length = socket->out_to_bytes[packet];
    uint32_t bucket = bucket_of(to, length);
    next[packet] = NONE;
    /* At most SEND_SLOTS of twice as many buckets are taken, so the search ends. */
    while (latest[bucket] != NONE) {
      uint16_t first = groups[latest[bucket]].first;
      if (socket->out_to_bytes[first] == length && memcmp(&socket->out_to[first], to, length) == 0) break;
      bucket = (bucket + 1) % BUCKETS;
    }
    group *found = latest[bucket] == NONE ? NULL : &groups[latest[bucket]];
    size_t bytes = socket->out_packets[packet].iov_len;
    if (found != NULL && joins(socket, found, packet)) {
      next[found->last] = (uint16_t)packet;
      found->last = (uint16_t)packet;
      found->packets += 1;
      found->bytes += bytes;
      found->is_ended = bytes < found->segment;
    } else {
      groups[count] = (group){
          .first = (uint16_t)packet, .last = (uint16_t)packet, .packets = 1, .segment = bytes, .bytes = bytes};
      latest[bucket] = (uint16_t)count;
      count += 1;
    }
  }
  return count;
}

/* Makes one message of a group, whose parts begin at `part`. */
static void message_of(udp *socket, const group *of, const uint16_t *next, uint32_t message, uint32_t part) {
  uint32_t at = part;
  for (uint32_t packet = of->first; packet != NONE; packet = next[packet])
    socket->out_parts[at++] = socket->out_packets[packet];
  struct msghdr *header = &socket->out_messages[message].msg_hdr;
  *header = (struct msghdr){.msg_name = &socket->out_to[of->first],
                            .msg_namelen = socket->out_to_bytes[of->first],
                            .msg_iov = &socket->out_parts[part],
                            .msg_iovlen = of->packets};
  if (of->packets == 1) return;
  uint16_t segment = (uint16_t)of->segment;
  header->msg_control = socket->out_control[message].bytes;
  header->msg_controllen = CMSG_SPACE(sizeof segment);
  struct cmsghdr *control = CMSG_FIRSTHDR(header);
  control->cmsg_level = IPPROTO_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof segment);
  memcpy(CMSG_DATA(control), &segment, sizeof segment);
}

void udp_send(udp *socket, const instance *of, uint32_t records) {
  group groups[SEND_SLOTS];
  uint16_t next[SEND_SLOTS];
  uint32_t packets = compose_all(socket, of, records);
  uint32_t messages = group_all(socket, packets, groups, next);
  for (uint32_t message = 0, part = 0; message < messages; part += groups[message].packets, message += 1)
    message_of(socket, &groups[message], next, message, part);
  /* Packets stay in order: while others wait, these wait behind them. */
  uint32_t done = socket->waiting_count > 0 ? 0 : submit(socket, socket->out_messages, messages);
  for (uint32_t message = done; message < messages; message += 1) {
    const struct msghdr *header = &socket->out_messages[message].msg_hdr;
    for (size_t part = 0; part < header->msg_iovlen; part += 1) keep(socket, header, &header->msg_iov[part]);
  }
  if (socket->waiting_count > 0) udp_watch(socket);
}
