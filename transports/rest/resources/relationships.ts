import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Int, NameText, Nullable, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { GameRelationship, Relationship } from '../../../protocol/schemas/social.ts';
import { type Answer, type Caller, op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 20, windowMs: 10_000, group: 'relationships' } as const;
const WRITE = { per: null, limit: 20, windowMs: 10_000, group: 'relationship changes' } as const;

/** The longest user name, plus `#` and a discriminator as in the old form. */
const NAME_CHARS_MAX = 37;
const NICKNAME_CHARS_MAX = 32;
/** The relationship type with which a client blocks a user; every other type is a friend request. */
const BLOCK = 2;

const Named = Obj({
  username: Str(1, NAME_CHARS_MAX),
  // User names no longer have discriminators; clients still send the key.
  discriminator: Optional(Nullable(Str(0, 4))),
});
// Clients send -1 for the default, a friend request.
const Wanted = Obj({ type: Optional(Nullable(Int(-1, 6))) });

const done = (reply: Reply<null>): Answer => (reply.ok ? { ok: true } : reply);

/** Runs an operation on friendships of a game, which only a game's token may call. */
function asGame(
  { authorization }: Caller,
  run: (applicationId: ApplicationId) => Promise<Answer>,
): Promise<Answer> | Answer {
  if (!authorization) return { ok: false, refusal: refusal('INVALID_OAUTH2_ACCESS_TOKEN') };
  return run(authorization.applicationId);
}

const platform = resource({
  list_relationships: op({
    method: 'GET',
    path: '/users/@me/relationships',
    auth: 'user',
    scope: 'relationships.read',
    bucket: READ,
    status: 200,
    reply: list(Relationship),
    handle: async ({ caller }, { social }) => ({
      ok: true,
      value: await social.relationships.list(caller),
    }),
  }),
  request_friend: op({
    method: 'POST',
    path: '/users/@me/relationships',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    body: Named,
    status: 204,
    reply: none,
    handle: async ({ caller, body }, { social }) =>
      done(await social.relationships.requestNamed(caller, body.username, null)),
  }),
  set_relationship: op({
    method: 'PUT',
    path: '/users/@me/relationships/:user_id',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    body: Wanted,
    status: 204,
    reply: none,
    handle: async ({ caller, params, body }, { social }) => {
      const peerId = params.user_id;
      const { relationships } = social;
      return done(
        body.type === BLOCK
          ? await relationships.block(caller, peerId)
          : await relationships.request(caller, peerId, null),
      );
    },
  }),
  update_relationship: op({
    method: 'PATCH',
    path: '/users/@me/relationships/:user_id',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    body: Obj({ nickname: Nullable(NameText(0, NICKNAME_CHARS_MAX)) }),
    status: 204,
    reply: none,
    handle: async ({ caller, params, body }, { social }) =>
      done(await social.relationships.rename(caller, params.user_id, body.nickname || null)),
  }),
  remove_relationship: op({
    method: 'DELETE',
    path: '/users/@me/relationships/:user_id',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ caller, params }, { social }) =>
      done(await social.relationships.remove(caller, params.user_id, null)),
  }),
});

const ofGame = resource({
  list_game_relationships: op({
    method: 'GET',
    path: '/users/@me/game-relationships',
    auth: 'user',
    scope: 'relationships.read',
    bucket: READ,
    status: 200,
    reply: list(GameRelationship),
    handle: ({ caller }, { social }) =>
      asGame(caller, async (applicationId) => ({
        ok: true,
        value: await social.relationships.listOfGame(caller, applicationId),
      })),
  }),
  request_game_friend: op({
    method: 'POST',
    path: '/users/@me/game-relationships',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    body: Named,
    status: 204,
    reply: none,
    handle: ({ caller, body }, { social }) =>
      asGame(caller, async (applicationId) =>
        done(await social.relationships.requestNamed(caller, body.username, applicationId)),
      ),
  }),
  set_game_relationship: op({
    method: 'PUT',
    path: '/users/@me/game-relationships/:user_id',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    body: Wanted,
    status: 204,
    reply: none,
    handle: ({ caller, params }, { social }) =>
      asGame(caller, async (applicationId) =>
        done(await social.relationships.request(caller, params.user_id, applicationId)),
      ),
  }),
  remove_game_relationship: op({
    method: 'DELETE',
    path: '/users/@me/game-relationships/:user_id',
    auth: 'user',
    scope: 'relationships.write',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ caller, params }, { social }) =>
      asGame(caller, async (applicationId) =>
        done(await social.relationships.remove(caller, params.user_id, applicationId)),
      ),
  }),
});

/**
 * Friends, friend requests and blocks, of the platform and of one game. The platform's OpenAPI does not list these routes.
 *
 * @source https://docs.discord.food/resources/relationships
 */
export const relationships = resource({ ...platform, ...ofGame });
