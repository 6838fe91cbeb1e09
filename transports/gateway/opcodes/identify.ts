import { Type } from 'typebox';
import { LIMITS } from '../../../protocol/limits.ts';
import { connectionOpcode, Nullish } from './opcode.ts';
import { Presence, presenceOf } from './presenceupdate.ts';

/** `properties` says what the client is; nothing depends on it, so it may have any form, `$os` included. */
const Identify = Type.Object({
  token: Type.String(),
  compress: Nullish(Type.Boolean()),
  large_threshold: Nullish(Type.Integer()),
  shard: Nullish(Type.Array(Type.Number())),
  presence: Nullish(Presence),
  intents: Nullish(Type.Number()),
  capabilities: Nullish(Type.Number()),
});

/** Libraries send the bare token, the Social SDK one with its scheme. */
export const bareToken = (token: string): string => token.replace(/^(?:Bot|Bearer) +/i, '');

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value));

/** Op 2. Intents and shard are judged by the rules, which know whose token it is. */
export const identify = connectionOpcode('unidentified', Identify, (connection, d) => {
  const { large_threshold_min: min, large_threshold_max: max, large_threshold_default: normal } = LIMITS;
  // What is not a pair is not a shard: the rules then refuse it as they refuse [1, 1].
  const shard = d.shard == null ? [0, 1] : d.shard.length === 2 ? d.shard : [-1, 0];
  connection.identify(
    {
      token: bareToken(d.token),
      intents: d.intents ?? null,
      shard: [shard[0] as number, shard[1] as number],
      largeThreshold: clamp(d.large_threshold ?? normal, min, max),
      presence: d.presence ? presenceOf(d.presence) : null,
      capabilities: d.capabilities ?? 0,
    },
    d.compress === true,
  );
});
