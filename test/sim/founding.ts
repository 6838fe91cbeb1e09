import type { AppCommand } from '../../engine/appcommand/appcommand.ts';
import { newGuild } from '../../engine/guild/founding.ts';
import { newMember } from '../../engine/guild/members.joining.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { newUser } from '../../engine/user/user.ts';
import { APP_COMMAND } from '../../protocol/appcommands.ts';
import {
  type ApplicationId,
  type FreshId,
  type GuildId,
  snowflakeOf,
  type UserId,
} from '../../protocol/ids.ts';
import { ALL_PRIVILEGED_FLAGS } from '../../protocol/intents.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import { hashOf, makeToken } from '../../services/identity/identity.ts';
import { copied, type Database } from './database.ts';
import type { World } from './world.ts';

export interface SimUser {
  readonly id: UserId;
  readonly name: string;
  readonly bot: boolean;
  readonly token: string;
}

export interface SimGuild {
  readonly id: GuildId;
  readonly ownerId: UserId;
}

const EPOCH_MS = 1_420_070_400_000;
const CHANNELS = [
  { name: 'Text', type: 4 },
  { name: 'general', type: 0 },
  { name: 'secret', type: 0 },
  { name: 'Voice', type: 2 },
];

/** The one command of an application. */
export const commandOf = (applicationId: ApplicationId): AppCommand => ({
  ...{
    id: snowflakeOf(BigInt(applicationId)),
    application_id: applicationId,
    guild_id: null,
    version: applicationId,
  },
  ...{ type: APP_COMMAND.CHAT_INPUT, name: 'ping', description: 'Answers.', options: [], nsfw: false },
  ...{ name_localizations: null, description_localizations: null, default_member_permissions: null },
});

/** Fills the database as a run finds it: people, bots, and guilds that they are in. */
export function found(world: World, database: Database, size: { users: number; guilds: number }) {
  let ids = 0;
  const startedMs = 1_700_000_000_000 - EPOCH_MS - 60_000;
  const nextId = (): FreshId => {
    ids += 1 + world.random.below(1_000);
    return String((BigInt(startedMs) << 22n) | BigInt(ids)) as FreshId;
  };
  const randomBytes = (bytes: number) => Uint8Array.from({ length: bytes }, () => world.random.below(256));
  const commit = (ownerId: string, ...facts: object[]) =>
    database.commit(copied({ ownerId, facts }) as never, 'founding', 0);

  const users = Array.from({ length: size.users }, (_, index): SimUser => {
    const id = nextId() as UserId;
    const bot = index % 3 === 2;
    const name = `${bot ? 'bot' : 'user'}${index}`;
    const token = makeToken(id, 1_700_000_000_000, randomBytes).reveal();
    const user = newUser({ id, username: name, globalName: null, bot });
    const kind = bot ? 'bot' : 'user';
    commit(
      id,
      { type: 'userCreated', user },
      { type: 'tokenIssued', token: { id: nextId(), userId: id, kind, hash: hashOf(token) } },
    );
    if (bot) foundApplication(nextId() as ApplicationId, id, name, commit);
    return { id, name, bot, token };
  });

  const guilds = Array.from({ length: size.guilds }, (_, index): SimGuild => {
    const id = nextId() as GuildId;
    const [owner, ...others] = users.slice(index % users.length).concat(users.slice(0, index % users.length));
    const userOf = (userId: string) => database.users.get(userId) as never;
    const nowMs = 1_700_000_000_000;
    const ownerId = (owner as SimUser).id;
    commit(
      id,
      newGuild({
        id,
        name: `guild${index}`,
        ownerId,
        ownerUser: userOf(ownerId),
        nowMs,
        nextId,
        channels: CHANNELS,
      }),
    );
    const members = others.filter(() => world.chance(0.8));
    commit(
      id,
      ...members.map(({ id: userId }) => ({
        type: 'memberAdded',
        member: newMember({ user: userOf(userId) }, nowMs),
      })),
    );
    return { id, ownerId };
  });
  return { users, guilds };
}

function foundApplication(
  id: ApplicationId,
  botId: UserId,
  name: string,
  commit: (ownerId: string, ...facts: object[]) => void,
): void {
  const application = {
    id,
    bot_id: botId,
    owner_id: botId,
    name,
    icon: null,
    flags: ALL_PRIVILEGED_FLAGS,
    interactions_endpoint_url: null,
  };
  commit(id, { type: 'applicationCreated', application, signingKey: '', clientSecretHash: '' });
}

/** The application of the game, which acts for all players. */
export function gameOf({ applications }: Database): ApplicationId {
  const [application] = applications.values();
  if (!application) throw new Error('No application was founded.');
  return application.id;
}

/** The game acting for a player, or its bot. */
export const inGame = (database: Database, userId: UserId, bot = false): Authority => ({
  by: { userId, bot, applicationId: gameOf(database), applicationFlags: 0, reason: null },
  requires: 0n,
});

const SCOPES = [...expandScopes(['sdk.social_layer'])];

/** Lets the first application act for each person, with a token for a client of the game. */
export function foundPlayers(world: World, database: Database, users: readonly SimUser[]): SimUser[] {
  const [application] = database.applications.values();
  if (!application) return [];
  const randomBytes = (bytes: number) => Uint8Array.from({ length: bytes }, () => world.random.below(256));
  return users
    .filter(({ bot }) => !bot)
    .map((user) => {
      const token = makeToken(user.id, 1_700_000_000_000, randomBytes).reveal();
      const common = { id: application.id, userId: user.id, applicationId: application.id, scopes: SCOPES };
      const chain = { ...common, accessHash: hashOf(token), refreshHash: null, spentHashes: [] };
      database.holdings.set(user.id, {
        grants: [{ ...common, userInstall: false }],
        chains: [{ ...chain, expiresMs: 1_800_000_000_000 }],
        codes: [],
      });
      return { ...user, name: `${user.name}g`, token };
    });
}
