import { isIP } from 'node:net';

/** Paths that load balancers request without a Host header: HTTP/1.0 probes send none; browsers always do. */
const PROBES = new Set(['/livez', '/readyz']);
/** A host, in brackets if it is an IPv6 address, and an optional port. @source RFC 9110, 7.2 */
const HOST = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::\d{1,5})?$/;

/** The name or address in a `Host` header, without port, brackets and final dot; null when it is malformed. */
export function namedHost(header: string): string | null {
  const [, address, name] = HOST.exec(header.toLowerCase()) ?? [];
  return address ?? name?.replace(/\.$/, '') ?? null;
}

/**
 * Whether an admin port may answer a request with this `Host`. A page of another site can make its own name resolve to this
 * machine and read the answers as its own (DNS rebinding), but its browser still sends that name. So names are accepted only
 * when they are this server's; every address is accepted, since addresses cannot be rebound.
 *
 * @param names Names of this server, besides `localhost`.
 */
export function isOwnHost(header: string | undefined, path: string, names: readonly string[]): boolean {
  if (header === undefined || header === '') return PROBES.has(path);
  const host = namedHost(header);
  if (host === null) return false;
  if (isIP(host) !== 0 || host === 'localhost' || host.endsWith('.localhost')) return true;
  return names.some((name) => name.toLowerCase() === host);
}
