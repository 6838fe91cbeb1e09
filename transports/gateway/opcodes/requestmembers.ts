import { type Static, Type } from 'typebox';
import { LIMITS } from '../../../protocol/limits.ts';
import type { MembersRequest } from '../../../protocol/sessionrequests.ts';
import { idOf, Nullish, Snowflake, sessionOpcode } from './opcode.ts';

const One = <S extends typeof Snowflake>(schema: S) =>
  Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems: 1 })]);

/** Older libraries send the guild as an array of one, and a single user without an array. */
const RequestMembers = Type.Object({
  guild_id: One(Snowflake),
  query: Nullish(Type.String()),
  user_ids: Nullish(Type.Union([Snowflake, Type.Array(Snowflake)])),
  limit: Nullish(Type.Integer({ minimum: 0 })),
  presences: Nullish(Type.Boolean()),
  nonce: Nullish(Type.Union([Type.String(), Type.Integer(), Type.BigInt()])),
});
type RequestMembersData = Static<typeof RequestMembers>;

/** The nonce as a string; null if it is too long, and the chunks then carry no nonce. */
function nonceOf(given: RequestMembersData['nonce']): string | null {
  if (given == null) return null;
  const nonce = String(given);
  return Buffer.byteLength(nonce) <= LIMITS.member_request_nonce_bytes_max ? nonce : null;
}

/** User ids take precedence over a query. A query returns 100 members at most, unless it asks for all. */
function wanted(d: RequestMembersData): Pick<MembersRequest, 'query' | 'userIds' | 'limit'> | null {
  if (d.user_ids != null) {
    const given = Array.isArray(d.user_ids) ? d.user_ids : [d.user_ids];
    const userIds = given.slice(0, LIMITS.member_request_ids_max).map(idOf);
    return { query: null, userIds, limit: userIds.length };
  }
  if (d.query == null) return null;
  const limit = d.limit ?? 0;
  const max = LIMITS.member_query_results_max;
  const all = d.query === '' && limit === 0;
  return { query: d.query, userIds: null, limit: all ? 0 : Math.min(limit === 0 ? max : limit, max) };
}

/** Op 8. */
export const requestMembers = sessionOpcode(RequestMembers, (session, d) => {
  const request = wanted(d);
  if (!request) return false;
  const guildId = Array.isArray(d.guild_id) ? d.guild_id[0] : d.guild_id;
  session.ask({
    name: 'members',
    input: {
      ...request,
      guildId: idOf(guildId as string | number | bigint),
      presences: d.presences ?? false,
      nonce: nonceOf(d.nonce),
    },
  });
  return true;
});
