// Goal: failed sign-ins from elsewhere do not lock out the owner of a name, and guessing stays slow from any number
// of networks.
import { describe, expect, test } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { createAttempts } from '../../../services/accounts/attempts.ts';
import type { ClientInfo } from '../../../services/accounts/ports.ts';
import { arrangeAccounts, HOME, PASSWORD } from './arrange.ts';

const from = (network: number): ClientInfo => ({ address: `198.51.100.${network}`, agent: '' });
const RIGHT = { login: 'anna', password: PASSWORD };
const WRONG = { login: 'anna', password: 'a wrong password' };

async function arrange() {
  const arranged = arrangeAccounts();
  const { accounts, signUp, clock } = arranged;
  const userId = await signUp();
  const statusOf = async (form: typeof RIGHT, client: ClientInfo) => {
    const reply = await accounts.signIn(form, client);
    return reply.ok ? 200 : reply.refusal.status;
  };
  const guess = async (times: number, client: ClientInfo) => {
    for (let n = 0; n < times; n++) await statusOf(WRONG, client);
  };
  return { ...arranged, userId, statusOf, guess, clock };
}

describe('wrong passwords', () => {
  test('delay one network they come from, not the owner in another one', async () => {
    const { statusOf, guess } = await arrange();
    await guess(8, from(1));
    expect(await statusOf(RIGHT, from(1))).toBe(429);
    expect(await statusOf(RIGHT, from(2))).toBe(200);
  });

  test('never reach the bound over all networks from one network, however long they continue', async () => {
    const { statusOf, clock } = await arrange();
    for (let n = 0; n < 200; n++) {
      await statusOf(WRONG, from(1));
      clock.advance(15 * 60_000);
    }
    expect(await statusOf(RIGHT, from(2))).toBe(200);
  });

  test('delay, from many networks, every network except those the account has signed in from', async () => {
    const { statusOf, guess } = await arrange();
    expect(await statusOf(RIGHT, from(100))).toBe(200);
    for (let network = 1; network <= 10; network++) await guess(5, from(network));
    expect(await statusOf(RIGHT, from(50))).toBe(429);
    expect(await statusOf(RIGHT, HOME)).toBe(200);
    expect(await statusOf(RIGHT, from(100))).toBe(200);
  });

  test('are bounded per day in total over many networks', async () => {
    const { log, clock, statusOf } = await arrange();
    const before = log.verified;
    for (let minute = 0; minute < 24 * 60; minute++) {
      await statusOf(WRONG, from(minute % 250));
      clock.advance(60_000);
    }
    expect(log.verified - before).toBeLessThan(130);
  });

  test('delay a known network too if they come from it', async () => {
    const { statusOf, guess } = await arrange();
    await guess(5, HOME);
    expect(await statusOf(RIGHT, HOME)).toBe(429);
  });

  test('do not delay a known network at its own account if they are for other names', async () => {
    const { accounts, statusOf } = await arrange();
    for (let n = 0; n < 40; n++) await accounts.signIn({ login: `name${n}`, password: 'x' }, HOME);
    expect((await accounts.signIn({ login: 'nobody', password: 'x' }, HOME)).ok).toBe(false);
    expect(await statusOf(RIGHT, HOME)).toBe(200);
  });
});

test('an attempt refused by the bound over all networks does not count against its own network', async () => {
  const attempts = createAttempts({
    ...{ addressLimits: true, routing: HERE, security: () => undefined, monotonic: () => 0 },
  });
  const begin = (network: number) =>
    attempts.begin({
      ...{ kind: 'login', key: 'anna', client: from(network), userId: null, known: false, device: null },
    });
  for (let network = 1; network <= 4; network++)
    for (let guess = 0; guess < 5; guess++) expect((await begin(network)).waitMs).toBe(0);
  for (let attempt = 0; attempt < 20; attempt++) expect((await begin(9)).waitMs).toBe(15_000);
  // The owner signs in from a network that is known: the bound over all networks delays it no more.
  attempts.forgive('anna', from(100));
  expect((await begin(9)).waitMs).toBe(0);
  expect((await begin(1)).waitMs).toBe(15_000);
});

describe('a known browser', () => {
  const NAME_BYTES = 32;
  const nameOf = (userId: string, seed: number): string =>
    `${userId}.${Buffer.alloc(NAME_BYTES, seed).toString('base64url')}`;
  const by = (client: ClientInfo, name: string): ClientInfo => ({ ...client, devices: [name] });

  async function arrangeDevice() {
    const arranged = await arrange();
    const name = nameOf(arranged.userId, 1);
    await arranged.accounts.open(arranged.userId, HOME, name);
    return { ...arranged, name };
  }

  test('signs in while guesses at its name delay its network', async () => {
    const { statusOf, guess, name } = await arrangeDevice();
    await guess(9, from(1));
    expect(await statusOf(RIGHT, from(1))).toBe(429);
    expect(await statusOf(RIGHT, by(from(1), name))).toBe(200);
  });

  test('signs in from a new network while all networks are delayed', async () => {
    const { statusOf, guess, name } = await arrangeDevice();
    for (let network = 1; network <= 10; network++) await guess(5, from(network));
    expect(await statusOf(RIGHT, from(50))).toBe(429);
    expect(await statusOf(RIGHT, by(from(50), name))).toBe(200);
  });

  test('signs in while guesses at many names delay its address', async () => {
    const { accounts, statusOf, name } = await arrangeDevice();
    for (let n = 0; n < 40; n++) await accounts.signIn({ login: `name${n}`, password: 'x' }, from(2));
    expect(await statusOf(RIGHT, from(2))).toBe(429);
    expect(await statusOf(RIGHT, by(from(2), name))).toBe(200);
  });

  test('has a bounded number of guesses, from all networks together', async () => {
    const { statusOf, log, name } = await arrangeDevice();
    const before = log.verified;
    for (let network = 1; network <= 40; network++) await statusOf(WRONG, by(from(network), name));
    expect(log.verified - before).toBe(5);
    expect(await statusOf(RIGHT, by(from(60), name))).toBe(429);
    expect(await statusOf(RIGHT, from(60))).toBe(200);
  });

  test('is not recognised by a device name that it invented or that belongs to another account', async () => {
    const { accounts, statusOf, guess, userId } = await arrangeDevice();
    const eve = await accounts.register({ username: 'eve', email: null, password: PASSWORD }, from(90));
    if (!eve.ok) throw new Error('No sign-up.');
    const eves = nameOf(eve.value, 2);
    await accounts.open(eve.value, from(90), eves);
    await accounts.open(eve.value, from(90), nameOf(userId, 3));
    await guess(9, from(1));
    for (const name of [eves, nameOf(userId, 2), nameOf(userId, 3), `${userId}.`, ''])
      expect(await statusOf(RIGHT, by(from(1), name))).toBe(429);
  });

  test('takes one of the 16 entries that an account keeps for 180 days, however often it signs in', async () => {
    const { accounts, memory, userId, statusOf, guess, clock, name } = await arrangeDevice();
    let last = name;
    for (let seed = 2; seed <= 30; seed++) {
      await accounts.open(userId, by(HOME, last), nameOf(userId, seed));
      last = nameOf(userId, seed);
    }
    expect(memory.accounts.get(userId)!.devices).toHaveLength(1);
    for (let seed = 31; seed <= 70; seed++) await accounts.open(userId, HOME, nameOf(userId, seed));
    const { devices = [] } = memory.accounts.get(userId)!;
    expect(devices).toHaveLength(16);
    expect(JSON.stringify(devices)).not.toContain(nameOf(userId, 70).split('.')[1]);
    await guess(9, from(1));
    expect(await statusOf(RIGHT, by(from(1), nameOf(userId, 50)))).toBe(429);
    expect(await statusOf(RIGHT, by(from(1), nameOf(userId, 60)))).toBe(200);
    clock.advance(181 * 86_400_000);
    await guess(9, from(1));
    expect(await statusOf(RIGHT, by(from(1), nameOf(userId, 60)))).toBe(429);
  });
});

describe('known networks of an account', () => {
  test('are bounded, stored only as digests, and forgotten when unused', async () => {
    const { statusOf, memory, userId, clock, guess } = await arrange();
    for (let network = 1; network <= 40; network++) expect(await statusOf(RIGHT, from(network))).toBe(200);
    const { networks = [] } = memory.accounts.get(userId)!;
    expect(networks).toHaveLength(16);
    expect(JSON.stringify(networks)).not.toContain('198.51.100');
    clock.advance(181 * 86_400_000);
    for (let network = 200; network <= 210; network++) await guess(5, from(network));
    expect(await statusOf(RIGHT, from(30))).toBe(429);
  });
});

describe('the security trail', () => {
  test('records each delay once and each blocked network, and never typed passwords', async () => {
    const { guess, log, accounts, userId } = await arrange();
    await guess(9, from(1));
    const client = { user_id: userId, network: '198.51.100.1', code: false, everywhere: false };
    expect(log.security).toEqual([['sign_in_locked', { ...client, wait_ms: 15_000 }]]);
    for (let n = 0; n < 40; n++) await accounts.signIn({ login: `secret${n}`, password: 'x' }, from(2));
    expect(log.security.filter(([event]) => event === 'address_blocked')).toHaveLength(1);
    await accounts.changePassword(
      userId,
      { current: PASSWORD, password: 'a horse that is correct' },
      null,
      HOME,
    );
    expect(log.security.at(-1)).toEqual(['password_changed', { user_id: userId, by: 'owner' }]);
    const text = JSON.stringify(log.security);
    for (const typed of ['secret', PASSWORD, WRONG.password, 'a horse']) expect(text).not.toContain(typed);
  });
});
