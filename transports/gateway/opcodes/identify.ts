import { Type } from 'typebox';
import { LIMITS } from '../../../protocol/limits.ts';
import { Nullish } from '../../../protocol/opcodevalues.ts';
import { present } from '../../../protocol/present.ts';
import { Presence, presenceOf } from '../../../protocol/sessionrequests.ts';
import { connectionOpcode } from './opcode.ts';

/** `properties` describes the client. The server does not use it, so any value is accepted. */
const Identify = Type.Object({
  token: Type.String(),
  compress: Nullish(Type.Boolean()),
  large_threshold: Nullish(Type.Integer()),
  shard: Nullish(Type.Array(Type.Number())),
  presence: Nullish(Presence),
  intents: Nullish(Type.Number()),
  capabilities: Nullish(Type.Number()),
});

/** Removes an authorization scheme. Libraries send the bare token; the Social SDK sends it with its scheme. */
export const bareToken = (token: string): string => token.replace(/^(?:Bot|Bearer) +/i, '');

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value));

/** Op 2. The session rules check intents and shard, because they depend on the token's owner. */
export const identify = connectionOpcode('unidentified', Identify, (connection, d) => {
  const { large_threshold_min: min, large_threshold_max: max, large_threshold_default: normal } = LIMITS;
  // An array that is not a pair becomes an invalid shard, which the rules refuse.
  const shard = d.shard == null ? [0, 1] : d.shard.length === 2 ? d.shard : [-1, 0];
  connection.identify(
    {
      token: bareToken(d.token),
      intents: d.intents ?? null,
      shard: [present(shard[0]), present(shard[1])],
      largeThreshold: clamp(d.large_threshold ?? normal, min, max),
      presence: d.presence ? presenceOf(d.presence) : null,
      capabilities: d.capabilities ?? 0,
    },
    d.compress === true,
  );
});
