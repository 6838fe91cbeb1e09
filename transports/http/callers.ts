import type { Principal } from '../../actors/session/ports.ts';
import type { Caller } from '../rest/operation.ts';
import type { Scheme } from './api.ts';

/** The scheme says what kind of caller the token must belong to. */
export const callersBy =
  (authenticate: (token: string) => Promise<Principal | null>) =>
  async (scheme: Scheme, token: string): Promise<Caller | null> => {
    const principal = await authenticate(token);
    if (!principal || principal.bot !== (scheme === 'Bot')) return null;
    // A token that an application was granted is a bearer token (RFC 6750), and counts as one only.
    if (principal.authorization && scheme !== 'Bearer') return null;
    const { bot, ...caller } = principal;
    return { kind: bot ? 'bot' : 'user', ...caller };
  };
