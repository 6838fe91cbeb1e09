// Goal: the database lets no two people have names that are taken for one another, and an upgrade renames those who do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newUser } from '../../engine/user/user.ts';
import type { UserId } from '../../protocol/ids.ts';
import { migrate } from '../../storage/migrate.ts';
import { MIGRATIONS } from '../../storage/migrations/index.ts';
import { openDriver, storageOver } from '../../storage/open.ts';
import { commit } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const person = (id: string, username: string, bot = false) =>
  newUser({ id: id as UserId, username, globalName: null, bot });

describe.each(databases())('usernames on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const users = () => fresh.storage.users;
  const write = (id: string, ...facts: Parameters<typeof commit>[2][]) =>
    commit(fresh.storage.writer, id as UserId, ...facts);
  const create = (id: string, username: string, bot = false) =>
    write(id, { type: 'userCreated', user: person(id, username, bot) });
  const rename = (id: string, username: string) =>
    write(id, { type: 'userUpdated', user: person(id, username) });

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  test('go to the first of two people who take one at the same time', async () => {
    const outcomes = await Promise.allSettled([
      create('101', 'anna'),
      create('102', 'Аnna'),
      create('103', 'bert'),
      create('104', 'b\u0065rt'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect((await users().get(['101', '102', '103', '104'] as UserId[])).map(({ id }) => id).sort()).toEqual([
      '101',
      '103',
    ]);
  });

  test('are free again once their owner is renamed or deleted', async () => {
    await create('201', 'carla');
    await expect(create('202', 'CARLA')).rejects.toThrow('refused');
    await rename('201', 'carla2');
    await rename('201', 'carla2');
    await create('202', 'carla');
    await expect(rename('201', 'Carla')).rejects.toThrow('refused');
    await write('202', { type: 'provisionalDeleted', userId: '202' as UserId });
    await rename('201', 'Carla');
    expect((await users().get(['201' as UserId]))[0]?.username).toBe('Carla');
  });

  test('may be shared by bots, and stay free for a person', async () => {
    await create('301', 'Lantern', true);
    await create('302', 'Lantern', true);
    await create('303', 'lantern');
    expect(await users().usernameTaken('Lantern', '301' as UserId)).toBe(false);
    expect(await users().usernameTaken('1antern', null)).toBe(true);
    expect(await users().usernameTaken('Lantern', '303' as UserId)).toBe(false);
    expect(await users().usernameTaken('Lantern', '304' as UserId)).toBe(true);
  });
});

describe.each(databases())('an upgrade on $name', (kind) => {
  const BEFORE = MIGRATIONS.slice(
    0,
    MIGRATIONS.findIndex(({ name }) => name === 'usernames'),
  );
  const INSERT = `INSERT INTO users (id, data, username_search)
    SELECT (u->>'id')::bigint, u, lower(u->>'username') FROM jsonb_array_elements($1::jsonb) u`;

  test('renames all but one of the people who share a name, the same way each time, and reports it', {
    timeout: 240_000,
  }, async () => {
    const runs: (readonly string[])[] = [];
    for (let run = 0; run < 2; run++) {
      const database = await kind.create();
      const driver = await openDriver(database.options);
      await migrate(driver, BEFORE);
      const people = [
        person('11', 'Anna'),
        person('12', 'anna'),
        person('13', 'аnnа'),
        person('14', 'anna_2'),
        person('15', 'bot', true),
        person('16', 'bot', true),
        person('17', 'bot'),
        person('18', '\u3164'),
        person('19', 'x'.repeat(32)),
        person('20', 'X'.repeat(32)),
        ...Array.from({ length: 1_140 }, (_, at) => person(String(1_000 + at), `crowd.${at % 1_100}`)),
      ];
      await driver.query(INSERT, [JSON.stringify(people)]);
      const account = { userId: '12', loginName: 'anna', email: null };
      await driver.query('INSERT INTO accounts (user_id, data) VALUES ($1, $2)', [
        '12',
        JSON.stringify(account),
      ]);
      await driver.query('INSERT INTO login_directory (login, user_id) VALUES ($1, $2)', ['name:anna', '12']);
      const report = await migrate(driver);
      runs.push(report);
      const storage = storageOver(driver);
      const named = async (id: string) => (await storage.users.get([id as UserId]))[0]?.username;
      expect(
        await Promise.all(['11', '12', '13', '14', '15', '16', '17', '18', '19', '20'].map(named)),
      ).toEqual([
        'Anna_3',
        'anna',
        'аnnа_4',
        'anna_2',
        'bot',
        'bot',
        'bot',
        'user_2',
        'x'.repeat(32),
        `${'X'.repeat(30)}_2`,
      ]);
      expect(await named('2100')).toMatch(/^crowd\.0_2$/);
      expect(report).toHaveLength(4 + 40);
      expect(report).toContain('User 11 was renamed to "Anna_3": another user has the name "Anna".');
      const kept = 'SELECT count(*)::integer AS count FROM username_renames';
      expect(await driver.query(kept)).toEqual([{ count: report.length }]);
      expect(await storage.accounts.byLogin('name:anna')).toBe('12');
      expect(await migrate(driver)).toEqual([]);
      await storage.close();
      await database.dispose();
    }
    expect(runs[0]).toEqual(runs[1]);
  });

  test('computes stored keys again and renames people whose names the earlier rule distinguished', {
    timeout: 60_000,
  }, async () => {
    const database = await kind.create();
    const driver = await openDriver(database.options);
    await migrate(
      driver,
      MIGRATIONS.slice(
        0,
        MIGRATIONS.findIndex(({ name }) => name === 'username keys'),
      ),
    );
    const people = [
      person('21', 'juniper'),
      person('22', 'JUNIP\u0395R'),
      person('23', 'juni\u0307per'),
      person('24', 'MI\u039aE'),
      person('25', 'mike'),
      person('26', 'ali\u03f2e'),
      person('27', 'Lantern', true),
    ];
    await driver.query(INSERT, [JSON.stringify(people)]);
    const stored = people.map(({ id, username }) => [`earlier ${username}`, id] as const);
    for (const [key, id] of [...stored, ['alioe', '26'] as const])
      await driver.query('INSERT INTO usernames (key, user_id) VALUES ($1, $2)', [key, id]);
    await driver.query('INSERT INTO username_renames (user_id, earlier, username) VALUES ($1, $2, $3)', [
      ...['25', 'Mike', 'mike'],
    ]);
    expect(await migrate(driver)).toEqual([
      'User 22 was renamed to "JUNIP\u0395R_2": another user has the name "JUNIP\u0395R".',
      'User 23 was renamed to "juni\u0307per_3": another user has the name "juni\u0307per".',
      'User 25 was renamed to "mike_2": another user has the name "mike".',
    ]);
    expect(await driver.query('SELECT earlier, username FROM username_renames ORDER BY user_id')).toEqual([
      { earlier: 'JUNIP\u0395R', username: 'JUNIP\u0395R_2' },
      { earlier: 'juni\u0307per', username: 'juni\u0307per_3' },
      { earlier: 'Mike', username: 'mike_2' },
    ]);
    const { users } = storageOver(driver);
    const free = async (username: string) => !(await users.usernameTaken(username, null));
    expect(await Promise.all(['juniper', 'alice', 'mike', 'alioe', 'Lantern'].map(free))).toEqual([
      ...[false, false, false, true, true],
    ]);
    expect(await driver.query("SELECT key FROM usernames WHERE key LIKE 'earlier%'")).toEqual([]);
    expect(await migrate(driver)).toEqual([]);
    await driver.close();
    await database.dispose();
  });
});
