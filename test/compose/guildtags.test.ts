// Goal: a guild has a tag that its members show behind their names everywhere, for as long as they are members and the guild has it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Engine } from '../../embedding.ts';
import { shownTag } from '../../engine/guild/tag.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { openInstance } from '../support/instance.ts';
import { dataUri, pngOf } from '../support/media.ts';

const soon = { timeout: 10_000, interval: 20 };
const BADGE = dataUri(pngOf(8, 8));
const CLEARED = { identity_guild_id: null, identity_enabled: null, tag: null, badge: null };
const PUT_AWAY = { ...CLEARED, identity_enabled: false };

let engine: Engine;
let api: string;
let [owner, member, stranger] = [] as unknown as [Person, Person, Person];
let guildId: GuildId;
let elsewhere: GuildId;
interface Person {
  readonly id: UserId;
  readonly token: string;
}

async function person(username: string): Promise<Person> {
  const { user, token } = await engine.admin.createUser({ username });
  return { id: user.id as UserId, token };
}

async function ask(method: string, path: string, { token }: Person, body?: object) {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}
const setTag = (body: object, by = owner) => ask('PATCH', `/guilds/${guildId}/profile`, by, body);
const show = (by: Person, body: object = { identity_guild_id: guildId, identity_enabled: true }) =>
  ask('PUT', '/users/@me/clan', by, body);
const shownBy = async ({ id }: Person, by = owner) =>
  (await ask('GET', `/users/${id}`, by)).body.primary_guild;
const shownIn = async (guild: GuildId, { id }: Person) =>
  (await ask('GET', `/guilds/${guild}/members/${id}`, owner)).body.user.primary_guild;

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  api = `${(await engine.listen()).api}/v10`;
  [owner, member, stranger] = [
    await person('tag.owner'),
    await person('tag.member'),
    await person('tag.guest'),
  ];
  guildId = (await engine.admin.createGuild({ name: 'Harbour', ownerId: owner.id })).id as GuildId;
  elsewhere = (await engine.admin.createGuild({ name: 'Elsewhere', ownerId: owner.id })).id as GuildId;
  for (const guild of [guildId, elsewhere])
    await engine.admin.addMember({ guildId: guild, userId: member.id });
}, 60_000);
afterAll(() => engine?.close());

describe('the tag of a guild', () => {
  test('is set with a badge by members who manage the guild, and adds the feature GUILD_TAGS', async () => {
    expect((await show(member)).body.errors).toHaveProperty('identity_guild_id');
    expect((await setTag({ tag: 'HRBR' }, member)).body.code).toBe(50_013);
    for (const tag of ['', 'HARBR', 'a\u200bb']) expect((await setTag({ tag })).status).toBe(400);
    const made = await setTag({ tag: 'HRBR', badge: BADGE });
    expect(made.body).toMatchObject({
      id: guildId,
      tag: 'HRBR',
      features: expect.arrayContaining(['GUILD_TAGS']),
    });
    const { badge_hash: badge } = made.body;
    const image = await fetch(`${new URL(api).origin}/guild-tag-badges/${guildId}/${badge}.png`);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await ask('GET', `/guilds/${guildId}/profile`, member)).body).toEqual(made.body);
    expect((await ask('GET', `/guilds/${guildId}/profile`, stranger)).status).toBe(404);
    const log = await ask('GET', `/guilds/${guildId}/audit-logs?action_type=1`, owner);
    expect(log.body.audit_log_entries[0].changes.map(({ key }: { key: string }) => key)).toEqual([
      'tag',
      'badge',
    ]);
  });

  test('is shown in every guild for a member who chose it, and rejected for a stranger', async () => {
    expect((await show(stranger)).body.code).toBe(10_004);
    const own = await show(member);
    const tag = {
      identity_guild_id: guildId,
      identity_enabled: true,
      tag: 'HRBR',
      badge: expect.any(String),
    };
    expect([own.status, own.body.primary_guild]).toEqual([200, tag]);
    expect(await shownBy(member)).toEqual(tag);
    await expect.poll(() => shownIn(elsewhere, member), soon).toEqual(tag);
  });

  test('changes for its users when the guild changes it, and is hidden when a user disables it', async () => {
    await setTag({ tag: '⚓' });
    await expect.poll(() => shownBy(member), soon).toMatchObject({ tag: '⚓', badge: expect.any(String) });
    expect((await show(member, { identity_guild_id: null })).body.primary_guild).toEqual(PUT_AWAY);
    await show(member);
    expect(
      (await show(member, { identity_guild_id: guildId, identity_enabled: false })).body.primary_guild,
    ).toEqual(PUT_AWAY);
  });

  test('is cleared for a member who leaves the guild, and for all users when the guild removes it', async () => {
    await show(member);
    await show(owner);
    await ask('DELETE', `/users/@me/guilds/${guildId}`, member);
    await expect.poll(() => shownBy(member), soon).toEqual(CLEARED);
    expect(await shownBy(owner)).toMatchObject({ tag: '⚓' });
    const given = await setTag({ tag: null });
    expect([given.body.tag, given.body.badge_hash]).toEqual([null, null]);
    expect(given.body.features).not.toContain('GUILD_TAGS');
    await expect.poll(() => shownBy(owner), soon).toEqual(CLEARED);
  });

  test('is updated for its users after a crash when it changed, a membership ended or the guild was deleted', async () => {
    const before = await openInstance();
    const { operator, users, guilds, ownerId } = before;
    const by = { by: { ...SYSTEM.by, userId: ownerId, system: undefined }, requires: 0n } as never;
    const made = async (name: string) => {
      const { id } = await operator.createGuild({ name, ownerId });
      const draft = { tag: 'OLD' };
      expect(await guilds.call(id as GuildId, 'setTag', { draft }, by)).toMatchObject({ ok: true });
      return id as GuildId;
    };
    const [kept, left, ended] = [await made('Kept'), await made('Left'), await made('Ended')];
    const showing = async (guild: GuildId) => {
      const userId = (await operator.createUser({ username: `crash.${guild}` })).user.id as UserId;
      await operator.addMember({ guildId: guild, userId });
      await users.update(userId, { primary_guild: shownTag(guild, { tag: 'OLD', badge: null }) });
      return userId;
    };
    const people = [await showing(kept), await showing(left), await showing(ended)] as const;
    const draft = { tag: 'NEW' };
    expect(await guilds.call(kept, 'setTag', { draft }, by)).toMatchObject({ ok: true });
    const kicked = await guilds.call(left, 'kickMember', { userId: people[1] }, SYSTEM);
    expect(kicked).toMatchObject({ ok: true });
    await operator.deleteGuild(ended);
    // No timer has run since: the process ends before it changes a user.
    before.close();

    const after = await openInstance();
    const shown = async () => {
      after.clock.advance(1_000);
      const all = await after.storage.users.get(people);
      return people.map((userId) => all.find(({ id }) => id === userId)?.primary_guild?.tag ?? null);
    };
    expect(await shown()).toEqual(['OLD', 'OLD', 'OLD']);
    await expect.poll(shown, soon).toEqual(['NEW', null, null]);
    await expect.poll(() => after.storage.tags.updates(null, 9), soon).toEqual([]);
    after.close();
  }, 60_000);

  test('has its latest value for a user who chooses it while the guild changes it', async () => {
    await setTag({ tag: 'RACE' });
    await engine.admin.addMember({ guildId, userId: member.id });
    const both = Array.from({ length: 6 }, (_, at) =>
      at % 2 === 0 ? show(member) : setTag({ tag: `R${at}` }),
    );
    await Promise.all(both);
    const { tag } = (await ask('GET', `/guilds/${guildId}/profile`, owner)).body;
    await expect.poll(() => shownBy(member), soon).toMatchObject({ tag });
    await ask('DELETE', `/users/@me/guilds/${guildId}`, member);
    await expect.poll(() => shownBy(member), soon).toEqual(CLEARED);
  });

  test('is cleared for its users when the guild is deleted', async () => {
    await setTag({ tag: 'GONE' });
    await show(owner);
    await engine.admin.deleteGuild(guildId);
    await expect.poll(() => shownBy(owner), soon).toEqual(CLEARED);
  });
});
