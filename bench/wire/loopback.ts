import { CommandError } from '../../cli/world.ts';

/** Whether an address cannot leave this machine. Takes `URL.hostname`, which is normalized. */
function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1') return true;
  if (/^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(host)) return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/**
 * Requires confirmation for hosts other than loopback.
 *
 * @throws CommandError for a host that was not confirmed as the user's own.
 */
export function guardHosts(urls: readonly URL[], isOwn: boolean): void {
  if (isOwn) return;
  const strange = urls.find(({ hostname }) => !isLoopback(hostname));
  if (strange)
    throw new CommandError(
      `${strange.hostname} is not this machine, and load on a machine of someone else is an attack.`,
      'If the server is yours, add --i-own-this-host.',
    );
}
