import { once } from 'node:events';
import { connect } from 'node:net';
import { CommandError } from '../cli/world.ts';
import { messageOf } from '../protocol/thrown.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects to a server before a run begins, so that a missing server is reported as such, not as a problem of sign-in.
 *
 * @throws CommandError when nothing answers.
 */
export async function requireServer(api: URL): Promise<void> {
  const port = Number(api.port) || (api.protocol === 'https:' ? 443 : 80);
  const socket = connect({ host: api.hostname.replace(/^\[|\]$/g, ''), port });
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'connect', { signal });
  } catch (error) {
    throw new CommandError(
      `Nothing answers at ${api.origin}: ${messageOf(error)}.`,
      'Start the server, or correct --url (or --api); --spawn has one started.',
    );
  } finally {
    socket.destroy();
  }
}
