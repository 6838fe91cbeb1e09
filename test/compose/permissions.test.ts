// Goal: each operation on a guild needs the permissions that the platform's pages name: all of them, and nothing else.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { Engine } from '../../embedding.ts';
import { ApiError } from '../../main.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { ALL_PERMISSIONS, P } from '../../protocol/permissions.ts';
import { createTestEngine } from '../../testing.ts';
import { operations, unlisted } from '../../transports/rest/resources/index.ts';
import {
  type Given,
  OPEN_TO_MEMBERS,
  PERMISSION_ROWS,
  type Row,
  type Scene,
} from '../support/permissionrows.ts';

/** After the last of the dated rules. */
const NOW_MS = Date.parse('2026-11-02T00:00:00Z');
const MISSING_PERMISSIONS = 50_013;
type Bit = keyof typeof P;
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

let engine: Engine;
let scene: Scene;
/** Gives the bot's only role these bits. */
let hold: (bits: bigint) => Promise<unknown>;

const call = (operationId: string, given: Given, as: string): Promise<unknown> =>
  (engine.api as unknown as Record<string, (given: object, by: object) => Promise<unknown>>)[operationId]!(
    given,
    { as },
  );

const codeOf = (answer: Promise<unknown>): Promise<number | null> =>
  answer.then(
    () => null,
    (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      return error.refusal.code || error.refusal.status;
    },
  );

/** Opens a guild, under the rules of today or of another day. */
async function open(more: { readonly contract_date?: string } = {}): Promise<void> {
  await engine?.close();
  const config = { rate_limits: false, ...more };
  ({ engine } = await createTestEngine({ clock: new VirtualClock(NOW_MS), config }));
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
  hold = (bits) =>
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
  scene = {
    ...{ guild, owner, bot, role, make, listed, newMember, newIntegration },
    ...{
      member: await newMember(),
      text: await channel(0),
      voice: await channel(2),
      stage: await channel(13),
    },
    ...{ forum: await channel(15), news: await channel(5) },
  };
}
beforeAll(() => open(), 60_000);
afterAll(() => engine?.close());

const EVERYTHING = ALL_PERMISSIONS & ~P.ADMINISTRATOR;
/** What each caller holds besides: who does not see a channel is answered 50001 instead. */
const SEES = P.VIEW_CHANNEL | P.CONNECT;
const bitsOf = (needs: string) => needs.split(/[+|]/).map((name) => P[name as Bit]);

/** Sets of bits that are too few. */
const lacking = (needs: string): bigint[] =>
  needs.includes('|')
    ? [bitsOf(needs).reduce((left, bit) => left & ~bit, EVERYTHING)]
    : bitsOf(needs).map((bit) => EVERYTHING & ~bit);

/** Sets of bits of which each is enough. */
const sufficing = (needs: string): bigint[] =>
  needs.includes('|')
    ? bitsOf(needs).map((bit) => SEES | bit)
    : [bitsOf(needs).reduce((held, bit) => held | bit, SEES)];

async function targetOf({ given }: Row): Promise<Given> {
  await hold(P.ADMINISTRATOR);
  return given(scene);
}

async function answerTo({ id }: Row, given: Given, bits: bigint): Promise<number | null> {
  await hold(bits);
  return codeOf(call(id, given, scene.bot));
}

describe.each(Object.entries(PERMISSION_ROWS))('%s', (_, rows) => {
  test.each(rows.map((row) => [row.id, row.needs, row] as const))('%s needs %s', async (_id, needs, row) => {
    const target = await targetOf(row);
    for (const bits of lacking(needs))
      expect([row.id, bits, await answerTo(row, target, bits)]).toEqual([
        ...[row.id, bits],
        row.no ?? MISSING_PERMISSIONS,
      ]);
    for (const bits of sufficing(needs)) {
      const code = await answerTo(row, await targetOf(row), bits);
      expect([row.id, bits, code]).toEqual([row.id, bits, row.yes ?? null]);
    }
  });
});

describe('until the permissions were split', () => {
  const DAY_BEFORE = '2026-02-22';
  test.each([
    ['create_guild_emoji', 'MANAGE_GUILD_EXPRESSIONS'],
    ['create_guild_sticker', 'MANAGE_GUILD_EXPRESSIONS'],
    ['create_guild_soundboard_sound', 'MANAGE_GUILD_EXPRESSIONS'],
    ['create_guild_scheduled_event', 'MANAGE_EVENTS'],
    ['create_pin', 'MANAGE_MESSAGES'],
    ['delete_pin', 'MANAGE_MESSAGES'],
  ] as const)('%s was there with %s too, and is not since', async (id, older) => {
    const row = Object.values(PERMISSION_ROWS)
      .flat()
      .find((each) => each.id === id)!;
    const held = SEES | P[older];
    const later = await answerTo(row, await targetOf(row), held);
    await open({ contract_date: DAY_BEFORE });
    const before = await answerTo(row, await targetOf(row), held);
    await open();
    expect([before, later]).toEqual([null, MISSING_PERMISSIONS]);
  });
});

test('every operation on a guild is in the table or listed as open to its members', () => {
  const rows = Object.values(PERMISSION_ROWS).flat();
  const listed = [...rows.map(({ id }) => id), ...OPEN_TO_MEMBERS];
  const all = Object.entries({ ...operations, ...unlisted }).filter(([, { path }]) => OF_GUILDS.test(path));
  expect(all.map(([id]) => id).filter((id) => !listed.includes(id))).toEqual([]);
  expect(OPEN_TO_MEMBERS.filter((id) => rows.some((row) => row.id === id))).toEqual([]);
});

const OF_GUILDS =
  /^\/(?:guilds\/:guild_id|channels\/:channel_id|stage-instances|invites|webhooks\/:webhook_id(?!\/:webhook_token)|users\/@me\/guilds)/;
