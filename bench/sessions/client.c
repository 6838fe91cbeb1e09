/*
 * Thousands of gateway sessions in one process, for measuring a server: each connects, identifies, sends heartbeats, checks that
 * `s` has no gap and no repetition, and resumes after its connection has ended. Messages of the run are timed.
 *
 *   client <address> <port> <source address> <file of tokens> <connections per second> <mark of messages>
 *
 * It prints a line of JSON each second. A line "lap" on its standard input prints the delays since the last one and forgets
 * them; the end of the input ends it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

enum {
  EVENTS = 512,
  READ_BYTES = 1 << 18,
  TICK_MS = 50,
  SECOND_MS = 1000,
  /* Connections that are being opened at a time. */
  OPENING_MAX = 256,
  /* How long a connection may take until READY or RESUMED. */
  OPENING_MS = 60000,
  DELAY_MS_MAX = 120000,
  HEARTBEAT_MS_MAX = 3600000,
  ANSWER_BYTES_MAX = 4096,
  INTENTS = 1 | 512
};

/* Numbers of dispatches are integers of JSON. */
static const int64_t S_MAX = INT64_C(1) << 53;

typedef enum { CLOSED, CONNECTING, UPGRADING, GREETED, READY } state;

typedef struct {
  int fd;
  state state;
  bool acknowledged;
  const char *token;
  char id[64];
  int64_t s;
  uint64_t since_ms, beat_ms, every_ms, open_ms;
  reader reader;
} session;

static struct {
  uint64_t identified, resumed, invalid, closed, unanswered, lost, doubled, messages;
} count;

static session *sessions;
static size_t session_count, opening, ready;
static int poll_fd;
static struct sockaddr_in server, source;
static const char *mark;
static uint32_t delays[DELAY_MS_MAX + 1];
static char host[64];

static uint64_t now_micros(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000;
}

static uint64_t now_ms(void) { return now_micros() / 1000; }

static uint64_t at_random(uint64_t below) { return (uint64_t)random() % (below == 0 ? 1 : below); }

static void become(session *of, state next) {
  const bool was_opening = of->state != CLOSED && of->state != READY;
  const bool is_opening = next != CLOSED && next != READY;
  opening += (size_t)is_opening - (size_t)was_opening;
  ready += (size_t)(next == READY) - (size_t)(of->state == READY);
  of->state = next;
}

/* Ends the connection. The session is opened again after a while, by RESUME where it has an id. */
static void drop(session *of, uint64_t wait_ms) {
  if (of->state == CLOSED) return;
  close(of->fd);
  reader_end(&of->reader);
  become(of, CLOSED);
  of->fd = -1;
  of->beat_ms = UINT64_MAX;
  of->open_ms = now_ms() + wait_ms;
}

static bool send_text(session *of, int opcode, const char *text, size_t length) {
  uint8_t frame[SENT_BYTES_MAX];
  const size_t bytes = frame_of(frame, opcode, text, length, (uint32_t)random());
  return bytes > 0 && send(of->fd, frame, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool send_heartbeat(session *of) {
  char text[64];
  const int length = of->s < 0 ? snprintf(text, sizeof text, "{\"op\":1,\"d\":null}")
                               : snprintf(text, sizeof text, "{\"op\":1,\"d\":%lld}", (long long)of->s);
  of->acknowledged = false;
  return send_text(of, FRAME_TEXT, text, (size_t)length);
}

static bool send_first(session *of) {
  char text[SENT_BYTES_MAX];
  const int length =
      of->id[0] == '\0'
          ? snprintf(text, sizeof text,
                     "{\"op\":2,\"d\":{\"token\":\"%s\",\"intents\":%d,\"properties\":{\"os\":\"linux\",\"browser\":\"guildhall\","
                     "\"device\":\"guildhall\"}}}",
                     of->token, INTENTS)
          : snprintf(text, sizeof text, "{\"op\":6,\"d\":{\"token\":\"%s\",\"session_id\":\"%s\",\"seq\":%lld}}", of->token,
                     of->id, (long long)of->s);
  return length > 0 && (size_t)length < sizeof text && send_text(of, FRAME_TEXT, text, (size_t)length);
}

static void keep_id(session *of, const outer *payload) {
  static const char name[] = "\"session_id\":\"";
  const char *found = memmem(payload->d, payload->d_length, name, sizeof name - 1);
  if (found == NULL) return;
  found += sizeof name - 1;
  const size_t left = (size_t)(payload->d + payload->d_length - found);
  const char *quote = memchr(found, '"', left);
  const size_t length = quote == NULL ? sizeof of->id : (size_t)(quote - found);
  if (length >= sizeof of->id) return;
  memcpy(of->id, found, length);
  of->id[length] = '\0';
}

/* A message of the run carries its mark, its number and when it was to be sent, in microseconds. */
static void time_message(const outer *payload) {
  const char *found = memmem(payload->d, payload->d_length, mark, strlen(mark));
  if (found == NULL) return;
  char *number_end;
  strtoull(found + strlen(mark), &number_end, 10);
  const uint64_t sent = strtoull(number_end, NULL, 10), now = now_micros();
  const uint64_t delay_ms = now > sent ? (now - sent) / 1000 : 0;
  delays[delay_ms > DELAY_MS_MAX ? DELAY_MS_MAX : delay_ms] += 1;
  count.messages += 1;
}

static bool is_named(const outer *payload, const char *name) {
  return payload->t_length == strlen(name) && memcmp(payload->t, name, payload->t_length) == 0;
}

static void dispatched(session *of, const outer *payload) {
  const bool is_first = is_named(payload, "READY");
  if (!is_first && payload->s <= of->s) count.doubled += 1;
  if (!is_first && payload->s > of->s + 1) count.lost += (uint64_t)(payload->s - of->s - 1);
  of->s = payload->s;
  if (is_first) {
    keep_id(of, payload);
    count.identified += 1;
    become(of, READY);
  } else if (is_named(payload, "RESUMED")) {
    count.resumed += 1;
    become(of, READY);
  } else if (is_named(payload, "MESSAGE_CREATE")) {
    time_message(payload);
  }
}

static bool on_payload(void *at, const char *json, size_t length) {
  session *of = at;
  outer payload;
  if (!outer_of(json, length, &payload) || payload.d == NULL) return false;
  if (payload.op == 0 && (payload.s < 0 || payload.s > S_MAX)) return false;
  switch (payload.op) {
    case 0:
      dispatched(of, &payload);
      return true;
    case 1:
      return send_heartbeat(of);
    case 7:
      return false;
    case 9:
      count.invalid += 1;
      if (*payload.d != 't') of->id[0] = '\0';
      if (of->id[0] == '\0') of->s = -1;
      return false;
    case 10:
      of->every_ms = (uint64_t)number_after(payload.d, payload.d_length, "\"heartbeat_interval\":");
      if (of->every_ms < SECOND_MS || of->every_ms > HEARTBEAT_MS_MAX) return false;
      of->beat_ms = now_ms() + at_random(of->every_ms);
      of->acknowledged = true;
      return send_first(of);
    case 11:
      of->acknowledged = true;
      return true;
    default:
      return true;
  }
}

static bool on_control(void *at, int opcode, const uint8_t *bytes, unsigned length) {
  session *of = at;
  if (opcode == FRAME_PING) return send_text(of, FRAME_PING + 1, (const char *)bytes, length);
  return opcode != FRAME_CLOSE;
}

static void connect_one(session *of) {
  of->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (of->fd < 0) {
    perror("socket");
    exit(1);
  }
  const int on = 1;
  setsockopt(of->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  /* The port is chosen with the destination, so that one address reaches the server from every free port. */
  setsockopt(of->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  bind(of->fd, (struct sockaddr *)&source, sizeof source);
  become(of, CONNECTING);
  of->since_ms = now_ms();
  reader_begin(&of->reader);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = of};
  epoll_ctl(poll_fd, EPOLL_CTL_ADD, of->fd, &event);
  if (connect(of->fd, (struct sockaddr *)&server, sizeof server) < 0 && errno != EINPROGRESS)
    drop(of, SECOND_MS + at_random(SECOND_MS));
}

static bool upgrade(session *of) {
  char request[512];
  const int length = snprintf(request, sizeof request,
                              "GET /?v=10&encoding=json&compress=zlib-stream HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %016lx%06lx==\r\n\r\n",
                              host, (unsigned long)random(), (unsigned long)random() & 0xffffff);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = of};
  epoll_ctl(poll_fd, EPOLL_CTL_MOD, of->fd, &event);
  become(of, UPGRADING);
  return send(of->fd, request, (size_t)length, MSG_NOSIGNAL) == length;
}

/* Keeps the answer of the upgrade until it is whole. What has come behind it are the first frames. */
static bool answered(session *of, const uint8_t *bytes, size_t length, const reader_events *events) {
  buffer *answer = &of->reader.text;
  buffer_add(answer, (const char *)bytes, length);
  const char *end = memmem(answer->bytes, answer->length, "\r\n\r\n", 4);
  if (end == NULL) return answer->length < ANSWER_BYTES_MAX;
  if (answer->length < 12 || memcmp(answer->bytes, "HTTP/1.1 101", 12) != 0) return false;
  const size_t head = (size_t)(end + 4 - answer->bytes);
  /* The last bytes that were received: all that is behind the head came with them. */
  const size_t rest = answer->length - head;
  buffer_free(answer);
  become(of, GREETED);
  return rest == 0 || reader_take(&of->reader, bytes + length - rest, rest, events);
}

static bool received(session *of) {
  static uint8_t bytes[READ_BYTES];
  const ssize_t length = recv(of->fd, bytes, READ_BYTES, 0);
  if (length < 0) return errno == EAGAIN;
  if (length == 0) return false;
  const reader_events events = {.of = of, .payload = on_payload, .control = on_control};
  if (of->state == UPGRADING) return answered(of, bytes, (size_t)length, &events);
  return reader_take(&of->reader, bytes, (size_t)length, &events);
}

static bool happened(session *of, uint32_t events) {
  if (of->state == CONNECTING) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(of->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 && (events & EPOLLOUT) != 0 && upgrade(of);
  }
  return (events & EPOLLIN) != 0 && received(of);
}

static void closed(session *of) {
  count.closed += of->state == READY ? 1 : 0;
  /* As libraries do: a RESUME soon, an IDENTIFY after one to five seconds. */
  drop(of, of->id[0] == '\0' ? SECOND_MS + at_random(4 * SECOND_MS) : at_random(SECOND_MS));
}

/* Sends heartbeats that are due, ends what does not answer, and opens as many sessions as the pace allows. */
static void tick(double per_second) {
  static double allowed = 0;
  static uint64_t last_ms = 0;
  const uint64_t now = now_ms();
  allowed += per_second * (double)(now - (last_ms == 0 ? now : last_ms)) / SECOND_MS;
  if (allowed > OPENING_MAX) allowed = OPENING_MAX;
  last_ms = now;
  for (size_t at = 0; at < session_count; at += 1) {
    session *of = &sessions[at];
    if (of->state == CLOSED) {
      if (allowed < 1 || opening >= OPENING_MAX || of->open_ms > now) continue;
      allowed -= 1;
      connect_one(of);
    } else if (of->state != READY && now - of->since_ms > OPENING_MS) {
      closed(of);
    } else if (of->beat_ms <= now) {
      of->beat_ms = now + of->every_ms;
      const bool answered = of->acknowledged;
      count.unanswered += answered ? 0 : 1;
      if (!answered || !send_heartbeat(of)) closed(of);
    }
  }
}

static void report(void) {
  printf("{\"ready\":%zu,\"identified\":%lu,\"resumed\":%lu,\"invalid\":%lu,\"closed\":%lu,\"unanswered\":%lu,\"lost\":%lu,"
         "\"doubled\":%lu,\"messages\":%lu}\n",
         ready, count.identified, count.resumed, count.invalid, count.closed, count.unanswered, count.lost, count.doubled,
         count.messages);
  fflush(stdout);
}

static void lap(void) {
  const char *between = "";
  printf("{\"delays\":[");
  for (size_t ms = 0; ms <= DELAY_MS_MAX; ms += 1) {
    if (delays[ms] == 0) continue;
    printf("%s[%zu,%u]", between, ms, delays[ms]);
    between = ",";
    delays[ms] = 0;
  }
  printf("]}\n");
  fflush(stdout);
}

/* False at the end of the input. */
static bool obey(void) {
  char line[64];
  const ssize_t length = read(STDIN_FILENO, line, sizeof line - 1);
  if (length == 0) return false;
  if (length < 0) return errno == EAGAIN;
  line[length] = '\0';
  if (strstr(line, "lap") != NULL) lap();
  return true;
}

static void read_tokens(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  char line[256];
  size_t room = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '\0') continue;
    if (session_count == room) sessions = realloc(sessions, (room = room * 2 + 1024) * sizeof *sessions);
    if (sessions == NULL) abort();
    sessions[session_count++] = (session){.fd = -1, .token = strdup(line), .s = -1, .beat_ms = UINT64_MAX};
  }
  fclose(file);
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: %s <address> <port> <source address> <file of tokens> <connections per second> <mark>\n", argv[0]);
    return 2;
  }
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
  source = (struct sockaddr_in){.sin_family = AF_INET};
  if (inet_pton(AF_INET, argv[1], &server.sin_addr) != 1 || inet_pton(AF_INET, argv[3], &source.sin_addr) != 1) {
    fprintf(stderr, "%s and %s must be IPv4 addresses.\n", argv[1], argv[3]);
    return 2;
  }
  snprintf(host, sizeof host, "%s:%s", argv[1], argv[2]);
  read_tokens(argv[4]);
  const double per_second = atof(argv[5]);
  mark = argv[6];
  poll_fd = epoll_create1(0);
  struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  epoll_ctl(poll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &input);
  srandom((unsigned)now_micros());
  uint64_t next_tick = 0, next_report = now_ms() + SECOND_MS;
  for (;;) {
    static struct epoll_event events[EVENTS];
    const int found = epoll_wait(poll_fd, events, EVENTS, TICK_MS);
    for (int at = 0; at < found; at += 1) {
      session *of = events[at].data.ptr;
      if (of == NULL) {
        if (!obey()) return 0;
      } else if (of->state != CLOSED && !happened(of, events[at].events)) {
        closed(of);
      }
    }
    const uint64_t now = now_ms();
    if (now >= next_tick) {
      next_tick = now + TICK_MS;
      tick(per_second);
    }
    if (now >= next_report) {
      next_report += SECOND_MS;
      report();
    }
  }
}
