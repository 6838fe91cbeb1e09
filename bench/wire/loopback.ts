/** True for an address that cannot leave this machine. Takes `URL.hostname`, which is normal already. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1') return true;
  if (/^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(host)) return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/**
 * Load on a machine of someone else is an attack, so hosts beyond loopback must be claimed.
 *
 * @throws Error that says so.
 */
export function guardHosts(urls: readonly URL[], isOwn: boolean): void {
  if (isOwn) return;
  const strange = urls.find(({ hostname }) => !isLoopback(hostname));
  if (strange)
    throw new Error(
      `${strange.hostname} is not this machine. Only measure servers of your own; if it is one, add --i-own-this-host.`,
    );
}
