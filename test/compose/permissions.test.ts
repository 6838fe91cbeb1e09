// Goal: each operation on a guild needs the permissions that the platform's pages name: all of them, and nothing else.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../main.ts';
import { ALL_PERMISSIONS, P } from '../../protocol/permissions.ts';
import { operations, unlisted } from '../../transports/rest/resources/index.ts';
import { type Given, OPEN_TO_MEMBERS, PERMISSION_ROWS, type Row } from '../support/permissionrows.ts';
import { openScene } from '../support/scene.ts';

const MISSING_PERMISSIONS = 50_013;
type Bit = keyof typeof P;

let stage: Awaited<ReturnType<typeof openScene>>;

const codeOf = (answer: Promise<unknown>): Promise<number | null> =>
  answer.then(
    () => null,
    (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      return error.refusal.code || error.refusal.status;
    },
  );

async function open(more: { readonly contract_date?: string } = {}): Promise<void> {
  await stage?.engine.close();
  stage = await openScene(more);
}
beforeAll(() => open(), 60_000);
afterAll(() => stage?.engine.close());

const EVERYTHING = ALL_PERMISSIONS & ~P.ADMINISTRATOR;
/** Permissions that each caller holds besides: without them a caller receives 50001 instead. */
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
  await stage.hold(P.ADMINISTRATOR);
  return given(stage.scene);
}

async function answerTo({ id }: Row, given: Given, bits: bigint): Promise<number | null> {
  await stage.hold(bits);
  return codeOf(stage.call(id, given, stage.scene.bot));
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

describe('after the split of permissions', () => {
  const DAY_BEFORE = '2026-02-22';
  test.each([
    ['create_guild_emoji', 'MANAGE_GUILD_EXPRESSIONS'],
    ['create_guild_sticker', 'MANAGE_GUILD_EXPRESSIONS'],
    ['create_guild_soundboard_sound', 'MANAGE_GUILD_EXPRESSIONS'],
    ['create_guild_scheduled_event', 'MANAGE_EVENTS'],
    ['create_pin', 'MANAGE_MESSAGES'],
    ['delete_pin', 'MANAGE_MESSAGES'],
  ] as const)('%s is rejected with %s alone, which an earlier contract date accepts', async (id, older) => {
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
