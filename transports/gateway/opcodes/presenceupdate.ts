import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { type Static, Type } from 'typebox';
import { Nullish, sessionOpcode } from './opcode.ts';

/** Activities are not validated here: `engine/presence` drops malformed ones. */
export const Presence = Type.Object({
  since: Nullish(Type.Number()),
  activities: Nullish(Type.Array(Type.Object({}))),
  status: Nullish(Type.Enum(['online', 'dnd', 'idle', 'invisible', 'offline'])),
  afk: Nullish(Type.Boolean()),
});

/** Fills in the defaults of a presence. */
export function presenceOf(given: Static<typeof Presence>): GatewayPresenceUpdateData {
  return {
    since: given.since ?? null,
    activities: (given.activities ?? []) as GatewayPresenceUpdateData['activities'],
    status: (given.status ?? 'online') as GatewayPresenceUpdateData['status'],
    afk: given.afk ?? false,
  };
}

/** Op 3. */
export const presenceUpdate = sessionOpcode(Presence, (_session, d, connection) => {
  connection.updatePresence(presenceOf(d));
  return true;
});
