#include "addon.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void address_to_words(const struct sockaddr_storage *from, uint32_t *words) {
  memset(words, 0, ADDRESS_WORDS * sizeof *words);
  if (from->ss_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)from;
    words[0] = 4;
    words[1] = ntohs(four->sin_port);
    words[2] = ntohl(four->sin_addr.s_addr);
  } else if (from->ss_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
    uint32_t parts[4];
    memcpy(parts, &six->sin6_addr, sizeof parts);
    words[0] = 6;
    words[1] = ntohs(six->sin6_port);
    for (int part = 0; part < 4; part += 1) words[2 + part] = ntohl(parts[part]);
    words[6] = six->sin6_scope_id;
  }
}

socklen_t address_from_words(const uint32_t *words, struct sockaddr_storage *to) {
  if (words[1] > 65535) return 0;
  if (words[0] == 4) {
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    memset(four, 0, sizeof *four);
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)words[1]);
    four->sin_addr.s_addr = htonl(words[2]);
    return sizeof *four;
  }
  if (words[0] != 6) return 0;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
  uint32_t parts[4];
  memset(six, 0, sizeof *six);
  six->sin6_family = AF_INET6;
  six->sin6_port = htons((uint16_t)words[1]);
  for (int part = 0; part < 4; part += 1) parts[part] = htonl(words[2 + part]);
  memcpy(&six->sin6_addr, parts, sizeof parts);
  six->sin6_scope_id = words[6];
  return sizeof *six;
}

socklen_t address_parse(const char *text, uint32_t port, struct sockaddr_storage *to) {
  if (port > 65535) return 0;
  memset(to, 0, sizeof *to);
  struct sockaddr_in *four = (struct sockaddr_in *)to;
  if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    return sizeof *four;
  }
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
  char plain[ADDRESS_TEXT_BYTES];
  const char *scope = strchr(text, '%');
  size_t length = scope == NULL ? strlen(text) : (size_t)(scope - text);
  if (length >= sizeof plain) return 0;
  memcpy(plain, text, length);
  plain[length] = '\0';
  if (inet_pton(AF_INET6, plain, &six->sin6_addr) != 1) return 0;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons((uint16_t)port);
  if (scope != NULL) {
    six->sin6_scope_id = if_nametoindex(scope + 1);
    if (six->sin6_scope_id == 0) six->sin6_scope_id = (uint32_t)strtoul(scope + 1, NULL, 10);
  }
  return sizeof *six;
}

bool address_print(const struct sockaddr_storage *from, char *text, size_t size) {
  if (from->ss_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)from;
    return inet_ntop(AF_INET, &four->sin_addr, text, (socklen_t)size) != NULL;
  }
  if (from->ss_family != AF_INET6) return false;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
  if (inet_ntop(AF_INET6, &six->sin6_addr, text, (socklen_t)size) == NULL) return false;
  if (!IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) || six->sin6_scope_id == 0) return true;
  char name[IF_NAMESIZE];
  size_t length = strlen(text);
  if (if_indextoname(six->sin6_scope_id, name) == NULL) return true;
  return (size_t)snprintf(text + length, size - length, "%%%s", name) < size - length;
}
