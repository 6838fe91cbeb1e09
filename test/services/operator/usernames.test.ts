// Goal: a username is one person's, whichever way the second person tries to get it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seedDemo } from '../../../cli/demo.ts';
import { createEngine } from '../../../compose/engine.ts';
import type { UserId } from '../../../protocol/ids.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
const PASSWORD = 'correct horse battery';
let engine: Engine;
let anna: { readonly id: string };
let bert: { readonly id: string };
let bot: { readonly id: string };

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false, registration: 'open' },
  });
  anna = (await engine.admin.createUser({ username: 'anna.b' })).user;
  bert = (await engine.admin.createUser({ username: 'bert' })).user;
  bot = (await engine.admin.createApplication({ name: 'Lantern' })).bot;
}, 60_000);
afterAll(() => engine.close());

/** The first error code of the field `username`; null when the call went through. */
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: { refusal?: { errors?: { username?: { _errors?: { code: string }[] } } } }) =>
      error.refusal?.errors?.username?._errors?.[0]?.code ?? String(error),
  );
const invoke = (operation: 'register' | 'update_my_user', body: object, as: string | null) =>
  engine.api[operation]({ body } as never, { as } as never);

/** The username that the user has after asking for `username`. */
const nameAfter = async (userId: string, username: string) => {
  const user = await invoke('update_my_user', { username }, userId);
  return (user as { username?: string }).username;
};

const TAKEN = 'USERNAME_ALREADY_TAKEN';
const LENGTH = 'BASE_TYPE_BAD_LENGTH';
const CHARACTERS = 'USERNAME_INVALID_CHARACTERS';
const RESERVED = 'USERNAME_RESERVED';
const HIDDEN = 'NAME_HIDDEN_CHARACTERS';

describe('a name that is taken or looks like a taken one', () => {
  const alike = ['anna.b', 'ANNA.B', 'аnnа.b', 'ａｎｎａ.b', 'anna․b', 'A\u039dNA.\u0412'];

  test('is rejected for accounts that the operator creates', async () => {
    for (const username of ['anna.b', 'ANNA.B', ' Anna.b'])
      expect([username, await refusalOf(engine.admin.createUser({ username }))]).toEqual([username, TAKEN]);
    const person = { username: 'anna.b', password: PASSWORD };
    expect(await refusalOf(engine.admin.createUser(person))).toBe(TAKEN);
  });

  test('is rejected at sign-up, also where only digits replace letters', async () => {
    await engine.admin.createUser({ username: 'carlo', password: PASSWORD });
    for (const username of ['anna.b', 'carlo', 'car1o', 'carl0'])
      expect([username, await refusalOf(invoke('register', { username, password: PASSWORD }, null))]).toEqual(
        [username, TAKEN],
      );
  });

  test('is rejected for a rename, but a user may change the spelling of the own name', async () => {
    for (const username of alike)
      expect([username, await refusalOf(invoke('update_my_user', { username }, bert.id))]).toEqual([
        username,
        TAKEN,
      ]);
    expect(await refusalOf(invoke('update_my_user', { username: 'Anna.B' }, anna.id))).toBeNull();
    expect(await refusalOf(invoke('update_my_user', { username: 'anna.b' }, bot.id))).toBeNull();
  });

  test('is given to one of several simultaneous requests', async () => {
    const looks = ['dora', 'Dora', 'dOra', 'DORA', 'd0ra'];
    const outcomes = await Promise.all(
      looks.map((username) => refusalOf(engine.admin.createUser({ username }))),
    );
    expect(outcomes.sort()).toEqual([TAKEN, TAKEN, TAKEN, TAKEN, null].sort());
    const people = await Promise.all(
      looks.map((_, at) => engine.admin.createUser({ username: `asks${at}x` })),
    );
    const changes = await Promise.all(
      people.map(({ user }, at) =>
        refusalOf(invoke('update_my_user', { username: `e${'e'.repeat(at % 2)}va` }, user.id)),
      ),
    );
    expect(changes.filter((change) => change === null)).toHaveLength(2);
    expect(changes.filter((change) => change === TAKEN)).toHaveLength(3);
    // The refused user is unchanged, and may have another name.
    const [left] = people.filter((_, at) => changes[at] !== null);
    expect(await refusalOf(invoke('update_my_user', { username: 'another.one' }, left!.user.id))).toBeNull();
  });

  test('is free again when its owner has another', async () => {
    const { user } = await engine.admin.createUser({ username: 'frieda' });
    await invoke('update_my_user', { username: 'frieda.f' }, user.id);
    expect(await refusalOf(engine.admin.createUser({ username: 'Frieda' }))).toBeNull();
  });
});

describe('the rule of names', () => {
  const wrong = [
    ['x', LENGTH],
    ['x'.repeat(33), LENGTH],
    ['@everyone', CHARACTERS],
    ['a#b:c', CHARACTERS],
    ['a..b', CHARACTERS],
    ['аnnа', CHARACTERS],
    ['here', RESERVED],
    ['Everyone', RESERVED],
    ['m0derator', RESERVED],
    ['lone\ud800', HIDDEN],
    ['lone\ufffd', CHARACTERS],
  ] as const;

  test('is one for every way in which a person gets a name or changes it', async () => {
    const { user: unsigned } = await engine.admin.createUser({ username: 'hanna' });
    const { user: signed } = await engine.admin.createUser({ username: 'ines', password: PASSWORD });
    for (const [username, code] of wrong) {
      const person = { username, password: PASSWORD };
      const outcomes = [
        await refusalOf(engine.admin.createUser({ username })),
        await refusalOf(engine.admin.createUser(person)),
        await refusalOf(invoke('register', person, null)),
        await refusalOf(invoke('update_my_user', { username }, unsigned.id)),
        await refusalOf(invoke('update_my_user', person, signed.id)),
      ];
      expect([username, ...outcomes]).toEqual([username, code, code, code, code, code]);
    }
  });

  test('stores lower case, whether the name is made or changed', async () => {
    const { user } = await engine.admin.createUser({ username: ' Gerda ' });
    expect(user.username).toBe('gerda');
    expect(await nameAfter(user.id, ' Gerda.B ')).toBe('gerda.b');
    expect(await nameAfter(user.id, 'GERDA.B')).toBe('gerda.b');
  });

  test('leaves bots free to use capitals, spaces, other scripts and reserved names', async () => {
    for (const username of ['Moderator', 'Night Watch', 'Сова'])
      expect(await nameAfter(bot.id, username)).toBe(username);
  });
});

test('a demo that is made once more over the same data has people of its own', async () => {
  const [first, second] = [await seedDemo(engine, { bots: 1 }), await seedDemo(engine, { bots: 1 })];
  expect(first.users.map(({ name }) => name)).toEqual(['juniper', 'rowan']);
  expect(second.users.map(({ name }) => name)).toEqual(['juniper_2', 'rowan_2']);
  expect(new Set([...first.users, ...second.users].map(({ id }) => id as UserId)).size).toBe(4);
});
