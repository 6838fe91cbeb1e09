import { createHmac, timingSafeEqual } from 'node:crypto';
import { isSnowflake } from '../../protocol/ids.ts';

/** The interaction of a token, and the guild or private channel that owns it. */
interface TokenSubject {
  readonly id: string;
  readonly ownerId: string;
}

export interface InteractionTokens {
  /** The token of an interaction: a secret of its application. */
  of(subject: TokenSubject): string;
  /** The subject of a token; null for a text that this server did not make. Compares in constant time. */
  read(token: string): TokenSubject | null;
}

const MAC_BYTES = 36;
const TOKEN_CHARS_MAX = 256;

/**
 * Tokens that name their interaction and its owner, so that any shard can route them without a look-up; authenticated with
 * the server's secret, so that none can be guessed and nothing is stored.
 */
export function createInteractionTokens(secret: string): InteractionTokens {
  const of: InteractionTokens['of'] = ({ id, ownerId }) => {
    const named = `${id}:${ownerId}`;
    const mac = createHmac('sha512', secret).update(`interaction ${named}`).digest().subarray(0, MAC_BYTES);
    return Buffer.from(`${named}:${mac.toString('base64url')}`).toString('base64url');
  };
  return {
    of,
    read(token) {
      if (token.length > TOKEN_CHARS_MAX) return null;
      const [id, ownerId] = Buffer.from(token, 'base64url').toString('latin1').split(':');
      if (!isSnowflake(id) || !isSnowflake(ownerId)) return null;
      // The whole text is compared, as several texts decode to the same bytes.
      const [right, shown] = [Buffer.from(of({ id, ownerId })), Buffer.from(token)];
      return right.length === shown.length && timingSafeEqual(right, shown) ? { id, ownerId } : null;
    },
  };
}
