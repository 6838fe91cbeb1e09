import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { Config } from '../../config/config.ts';
import type { Engine } from '../../embedding.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { createTestEngine } from '../../testing.ts';
import type { Given, Scene } from './permissionrows.ts';

/** After the last of the dated rules. */
const NOW_MS = Date.parse('2026-11-02T00:00:00Z');
interface Made {
  readonly id?: string;
  readonly code?: string;
  readonly sound_id?: string;
  readonly event_exception_id?: string;
}

/** A list, or the items of one that a page holds. */
const itemsOf = (found: unknown): readonly Made[] =>
  Array.isArray(found) ? found : ((found as { readonly items?: readonly Made[] }).items ?? []);

const idOf = ({ id, event_exception_id, sound_id, code }: Made): string =>
  event_exception_id ?? id ?? sound_id ?? code ?? '';

/** Calls an operation of the engine by its id, as the user `as`. */
const callOf =
  ({ api }: Engine) =>
  (operationId: string, given: Given, as: string): Promise<unknown> =>
    (api as unknown as Record<string, (given: object, by: object) => Promise<unknown>>)[operationId]!(given, {
      as,
    });

/** Opens a guild, under the rules of today or of another day. `hold` gives the bot's only role these bits. */
export async function openScene(more: Partial<Config> = {}) {
  const config = { rate_limits: false, ...more };
  const { engine, clock } = await createTestEngine({ clock: new VirtualClock(NOW_MS), config });
  const call = callOf(engine);
  const { admin } = engine;
  const owner = (await admin.createUser({ username: 'owner' })).user.id as UserId;
  const guild = (await admin.createGuild({ name: 'Test', ownerId: owner })).id as GuildId;
  const make = async (operationId: string, given: Given, as: string = owner): Promise<string> =>
    idOf(((await call(operationId, given, as)) as Made | undefined) ?? {});
  const listed = async (operationId: string, given: Given) =>
    itemsOf(await call(operationId, given, owner)).map(idOf);
  let people = 0;
  const newMember = async () => {
    const { user } = await admin.createUser({ username: `member.${people++}` });
    await admin.addMember({ guildId: guild, userId: user.id as UserId });
    return user.id;
  };
  const newIntegration = async () => {
    const list = () => listed('list_guild_integrations', { params: { guild_id: guild } });
    const before = await list();
    const { bot } = await admin.createApplication({ name: `Bot ${people++}` });
    await admin.addMember({ guildId: guild, userId: bot.id as UserId, permissions: 0n });
    return (await list()).find((id) => !before.includes(id)) ?? '';
  };
  const bot = (await admin.createApplication({ name: 'Bot' })).bot.id as UserId;
  await admin.addMember({ guildId: guild, userId: bot, permissions: P.ADMINISTRATOR });
  const params = { guild_id: guild };
  const [own] = (
    (await call('get_guild_member', { params: { ...params, user_id: bot } }, owner)) as {
      roles: string[];
    }
  ).roles;
  const hold = (bits: bigint) =>
    call(
      'update_guild_role',
      { params: { ...params, role_id: own! }, body: { permissions: `${bits}` } },
      owner,
    );
  const everyone = { params: { ...params, role_id: guild }, body: { permissions: '0' } };
  await call('update_guild_role', everyone, owner);
  const role = await make('create_guild_role', { params, body: { name: 'Role', permissions: '0' } });
  await call('bulk_update_guild_roles', { params, body: [{ id: role, position: 1 }] }, owner);
  const channel = (type: number) =>
    make('create_guild_channel', { params, body: { name: `channel-${type}`, type } });
  const scene: Scene = {
    ...{ guild, owner, bot, role, make, listed, newMember, newIntegration },
    ...{
      member: await newMember(),
      text: await channel(0),
      voice: await channel(2),
      stage: await channel(13),
    },
    ...{ forum: await channel(15), news: await channel(5) },
  };
  return { engine, clock, scene, hold, call };
}
