import type { Principal } from '../../actors/session/ports.ts';
import type { Caller } from '../rest/operation.ts';
import type { Scheme } from './api.ts';

/** Resolves tokens to callers. The scheme must match the kind of caller that the token belongs to. */
export const callersBy =
  (authenticate: (token: string) => Promise<Principal | null>) =>
  async (scheme: Scheme, token: string): Promise<Caller | null> => {
    const principal = await authenticate(token);
    if (!principal || principal.bot !== (scheme === 'Bot')) return null;
    // A token that an application was granted is a bearer token (RFC 6750) and valid only as such.
    if (principal.authorization && scheme !== 'Bearer') return null;
    const { bot, ...caller } = principal;
    return { kind: bot ? 'bot' : 'user', ...caller };
  };
