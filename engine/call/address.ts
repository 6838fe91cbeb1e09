/** An IP address in canonical spelling: IPv4-mapped IPv6 becomes IPv4, IPv6 is compressed. */
function spelt(address: string): string {
  const ip = address.replace(/^::ffff:(?=[0-9.]+$)/i, '');
  if (!ip.includes(':') || ip.length > 45) return ip;
  const url = `http://[${ip}]`;
  return URL.canParse(url) ? new URL(url).hostname : ip;
}

/** Whether two texts name one IP address. Either may come from a client. */
export const sameAddress = (a: string, b: string): boolean => a === b || spelt(a) === spelt(b);
