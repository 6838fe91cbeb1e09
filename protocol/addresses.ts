const MAPPED = /^(?:::|(?:0{1,4}:){5})ffff:(?:([0-9a-f]{1,4}):([0-9a-f]{1,4})|(\d{1,3}(?:\.\d{1,3}){3}))$/i;

/**
 * The text of an address, with IPv4 in dotted form even when an IPv6 socket received it; otherwise all IPv4 clients
 * would count as one IPv6 network.
 *
 * @source RFC 4291, section 2.5.5.2
 */
export function plainAddress(address: string): string {
  if (!address.includes(':')) return address;
  const match = MAPPED.exec(address);
  if (match === null) return address;
  const [, highText = '', lowText = '', dotted] = match;
  if (dotted !== undefined) return dotted;
  const high = Number.parseInt(highText, 16);
  const low = Number.parseInt(lowText, 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/**
 * The part of an address that identifies one customer: the first 64 bits of IPv6, because the customer chooses the
 * rest.
 *
 * @source RFC 6177
 */
export function networkOf(address: string): string {
  const plain = plainAddress(address).toLowerCase();
  if (!plain.includes(':') || plain.includes('.')) return plain;
  const [head = '', tail] = plain.split('%', 1)[0]!.split('::', 2);
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

/** The port of a listening socket; `address` is the result of its `address()`. */
export function portOf(address: string | { readonly port: number } | null): number {
  if (address === null || typeof address === 'string') throw new TypeError('No TCP or UDP port is bound.');
  return address.port;
}
