// Goal: a token proves its owner exactly as long as it is stored, and its text is nowhere but in its owner's hands.
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import type { Principal } from '../../../actors/session/ports.ts';
import type { Application, StoredToken } from '../../../engine/user/facts.ts';
import type { FreshId, UserId } from '../../../protocol/ids.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import { Secret } from '../../../protocol/secret.ts';
import { makeApplicationKeys } from '../../../services/identity/applicationkeys.ts';
import { claimedUser, createIdentity, makeToken, TOKENS_MAX } from '../../../services/identity/identity.ts';
import { REDACTION } from '../../../services/identity/redaction.ts';

const BOT = '1100000000000000001' as UserId;
const HUMAN = '1100000000000000002' as UserId;
const NOW_MS = Date.UTC(2026, 10, 21);
const GRANTED = makeToken(HUMAN, NOW_MS, (size) => new Uint8Array(size)).reveal();

/** Bytes that differ with every call and repeat with every test. */
function countingBytes(): (size: number) => Uint8Array {
  let calls = 0;
  return (size) => createHash('sha512').update(String(calls++)).digest().subarray(0, size);
}

function arrange(bounds?: { users_max: number; lookups_max: number }, granted?: Principal) {
  const stored = new Map<UserId, StoredToken[]>();
  const people = new Map<UserId, APIUser>();
  const log = { reads: 0, revoked: [] as UserId[] };
  let application = { id: '1', flags: 7 } as Application;
  let gate: Promise<void> = Promise.resolve();
  let ids = 0;
  const identity = createIdentity(
    {
      users: {
        get: async (userIds) => userIds.flatMap((userId) => people.get(userId) ?? []),
        tokens: async (userIds) => {
          log.reads++;
          const seen = userIds.flatMap((userId) => stored.get(userId) ?? []);
          const held = gate;
          gate = Promise.resolve();
          await held;
          return seen;
        },
      },
      routing: HERE,
      applications: { byBot: async () => application },
      commit: async (userId, facts) => {
        for (const fact of facts) {
          const tokens = stored.get(userId) ?? [];
          if (fact.type === 'tokenIssued') stored.set(userId, [...tokens, fact.token]);
          if (fact.type === 'tokenRevoked') {
            stored.set(
              userId,
              tokens.filter((token) => token.id !== fact.tokenId),
            );
          }
        }
      },
      revoked: (userId) => log.revoked.push(userId),
      nextId: () => String(++ids) as FreshId,
      nowMs: () => NOW_MS,
      randomBytes: countingBytes(),
    },
    bounds,
  );
  identity.acceptGranted(async (token) => (granted && token === GRANTED ? granted : null));
  return {
    identity,
    stored,
    people,
    log,
    setFlags: (flags: number) => {
      application = { ...application, flags };
    },
    /** Holds the next read after it has seen the store, until the returned function is called. */
    hold: () => {
      let open = () => {};
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
  };
}

describe('authenticate', () => {
  test('returns a bot with its application, and a human without one', async () => {
    const { identity } = arrange();
    const bot = await identity.issue(BOT, 'bot');
    const human = await identity.issue(HUMAN, 'user');
    expect(await identity.authenticate(bot.reveal())).toEqual({
      userId: BOT,
      bot: true,
      applicationId: '1',
      applicationFlags: 7,
      authorization: null,
      tokenId: expect.any(String),
    });
    expect(await identity.authenticate(human.reveal())).toEqual({
      userId: HUMAN,
      bot: false,
      applicationId: null,
      applicationFlags: 0,
      authorization: null,
      tokenId: expect.any(String),
    });
  });

  test('looks a bearer token up among the granted ones first, and accepts a token of the user as one', async () => {
    const principal = { userId: HUMAN, bot: false, applicationId: null, applicationFlags: 0 } as Principal;
    const { identity, log } = arrange(undefined, principal);
    expect(await identity.authenticate(GRANTED, true)).toBe(principal);
    expect(log.reads).toBe(0);
    const own = await identity.issue(HUMAN, 'user');
    expect(await identity.authenticate(own.reveal(), true)).toMatchObject({ tokenId: expect.any(String) });
  });

  test('forgets a verified token with every change of its user, also when other tokens were verified before', async () => {
    const { identity } = arrange({ users_max: 2, lookups_max: 10 });
    const tokens = [await identity.issue(BOT, 'bot'), await identity.issue(BOT, 'bot')];
    for (const token of [...tokens, ...tokens])
      expect(await identity.authenticate(token.reveal())).not.toBeNull();
    const [first] = tokens;
    const principal = await identity.authenticate(first!.reveal());
    await identity.revoke(BOT, principal?.tokenId ?? '');
    expect(await identity.authenticate(first!.reveal())).toBeNull();
    expect(await identity.authenticate(tokens[1]!.reveal())).not.toBeNull();
    await identity.revokeAll(BOT);
    for (const token of tokens) expect(await identity.authenticate(token.reveal())).toBeNull();
  });

  test('answers the account of a caller from memory until the user is forgotten', async () => {
    const { identity, people } = arrange();
    const named = (username: string) => ({ id: BOT, username }) as APIUser;
    people.set(BOT, named('before'));
    expect(await identity.account(BOT)).toEqual(named('before'));
    people.set(BOT, named('after'));
    expect(await identity.account(BOT)).toEqual(named('before'));
    identity.forget(BOT);
    expect(await identity.account(BOT)).toEqual(named('after'));
    identity.forgetAll();
    people.delete(BOT);
    expect(await identity.account(BOT)).toBeNull();
  });

  test('rejects a well-formed token with a wrong secret, id or time', async () => {
    const { identity } = arrange();
    const token = (await identity.issue(BOT, 'bot')).reveal();
    const [id, time, secret] = token.split('.') as [string, string, string];
    const other = (await identity.issue(HUMAN, 'user')).reveal().split('.') as [string, string, string];
    for (const forged of [
      `${id}.${time}.${other[2]}`,
      `${other[0]}.${time}.${secret}`,
      `${id}.AAAAAA.${secret}`,
      `${token}A`,
      ` ${token}`,
      '',
    ]) {
      expect(await identity.authenticate(forged), forged).toBeNull();
    }
  });

  test('returns null for any other text, without a read when it is malformed', async () => {
    const { identity, log } = arrange();
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 200 }), async (text) => {
        expect(await identity.authenticate(text)).toBeNull();
      }),
    );
    expect(log.reads).toBe(0);
  });

  test('reads a user once, for valid and invalid tokens', async () => {
    const { identity, log } = arrange();
    const token = (await identity.issue(BOT, 'bot')).reveal();
    const wrong = makeToken(BOT, NOW_MS, countingBytes()).reveal().replace(/.$/, '_');
    log.reads = 0;
    await Promise.all([identity.authenticate(token), identity.authenticate(wrong)]);
    await identity.authenticate(token);
    expect(log.reads).toBe(1);
  });

  test('keeps a bounded number of users and evicts the least recently used', async () => {
    const { identity, log } = arrange({ users_max: 1, lookups_max: 10 });
    const bot = (await identity.issue(BOT, 'bot')).reveal();
    const human = (await identity.issue(HUMAN, 'user')).reveal();
    log.reads = 0;
    for (const token of [bot, human, human, bot]) await identity.authenticate(token);
    expect(log.reads).toBe(3);
  });

  test('fails when too many look-ups are pending', async () => {
    const { identity, hold } = arrange({ users_max: 10, lookups_max: 1 });
    const open = hold();
    const first = identity.authenticate(makeToken(BOT, NOW_MS, countingBytes()).reveal());
    await expect(identity.authenticate(makeToken(HUMAN, NOW_MS, countingBytes()).reveal())).rejects.toThrow(
      'Too many',
    );
    open();
    expect(await first).toBeNull();
  });

  test('returns new application flags after forget', async () => {
    const { identity, setFlags } = arrange();
    const token = (await identity.issue(BOT, 'bot')).reveal();
    await identity.authenticate(token);
    setFlags(0);
    identity.forget(BOT);
    expect((await identity.authenticate(token))?.applicationFlags).toBe(0);
  });
});

describe('revocation', () => {
  test('rotate ends all earlier tokens at once and closes their sessions', async () => {
    const { identity, log } = arrange();
    const first = (await identity.issue(BOT, 'bot')).reveal();
    const second = (await identity.issue(BOT, 'bot')).reveal();
    expect(await identity.authenticate(first)).not.toBeNull();
    const third = (await identity.rotate(BOT, 'bot')).reveal();
    expect(await identity.authenticate(first)).toBeNull();
    expect(await identity.authenticate(second)).toBeNull();
    expect((await identity.authenticate(third))?.userId).toBe(BOT);
    expect(log.revoked).toEqual([BOT]);
  });

  test('revoke ends one token and no other', async () => {
    const { identity, log } = arrange();
    const [first, second] = [await identity.issue(HUMAN, 'user'), await identity.issue(HUMAN, 'user')];
    const principal = await identity.authenticate(first.reveal());
    await identity.revoke(HUMAN, principal!.tokenId!);
    expect(await identity.authenticate(first.reveal())).toBeNull();
    expect(await identity.authenticate(second.reveal())).toMatchObject({ userId: HUMAN });
    expect(log.revoked).toEqual([HUMAN]);
  });

  test('endRevoked closes the sessions of tokens that are not stored', async () => {
    const { identity, log } = arrange();
    const principal = await identity.authenticate((await identity.issue(HUMAN, 'user')).reveal());
    await identity.endRevoked([{ userId: HUMAN, tokenId: principal!.tokenId! }]);
    expect(log.revoked).toEqual([]);
    await identity.endRevoked([{ userId: HUMAN, tokenId: 'revoked' }]);
    expect(log.revoked).toEqual([HUMAN]);
  });

  test('issue keeps a bounded number of tokens and revokes the oldest', async () => {
    const { identity } = arrange();
    const tokens: string[] = [];
    for (let n = 0; n <= TOKENS_MAX; n++) tokens.push((await identity.issue(HUMAN, 'user')).reveal());
    expect(await identity.authenticate(tokens[0]!)).toBeNull();
    expect(await identity.authenticate(tokens[1]!)).not.toBeNull();
    expect(await identity.authenticate(tokens.at(-1)!)).not.toBeNull();
  });

  test('concurrent rotations leave one token', async () => {
    const { identity, stored } = arrange();
    const [a, b] = await Promise.all([identity.rotate(BOT, 'bot'), identity.rotate(BOT, 'bot')]);
    expect(stored.get(BOT)).toHaveLength(1);
    expect(await identity.authenticate(a.reveal())).toBeNull();
    expect(await identity.authenticate(b.reveal())).not.toBeNull();
  });

  test('invalidates a look-up that has already read the old tokens', async () => {
    const { identity, hold } = arrange();
    const token = (await identity.issue(BOT, 'bot')).reveal();
    const open = hold();
    const looking = identity.authenticate(token);
    await identity.revokeAll(BOT);
    open();
    expect(await looking).toBeNull();
    expect(await identity.authenticate(token)).toBeNull();
  });
});

describe('a token', () => {
  test('has three base64url segments of at least 59 characters and begins with the user id', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 63n) - 1n), fc.nat(), (id, nowMs) => {
        const token = makeToken(String(id) as UserId, nowMs, countingBytes()).reveal();
        expect(claimedUser(token)).toBe(String(id));
        expect(token).toMatch(/^[\w-]+\.[\w-]{6}\.[\w-]{43}$/);
        expect(Buffer.from(token.split('.')[0]!, 'base64').toString()).toBe(String(id));
      }),
    );
    expect(makeToken(BOT, NOW_MS, countingBytes()).reveal().length).toBeGreaterThanOrEqual(59);
  });

  test('is stored only as a hash', async () => {
    const { identity, stored } = arrange();
    const token = (await identity.issue(BOT, 'bot')).reveal();
    const kept = JSON.stringify([...stored]);
    for (const part of token.split('.').slice(2)) expect(kept).not.toContain(part);
    expect(stored.get(BOT)![0]!.hash).toBe(createHash('sha256').update(token).digest('hex'));
  });
});

describe('a secret', () => {
  test('prints as [secret] in every way of printing', () => {
    const secret = new Secret('hunter2');
    const prints = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect({ secret }),
      inspect(secret),
    ];
    for (const print of prints) {
      expect(print).toContain('[secret]');
      expect(print).not.toContain('hunter2');
    }
  });

  test('is masked by the logger in every field that holds one', () => {
    const written: string[] = [];
    const logger = pino({ redact: REDACTION }, { write: (line) => written.push(line) });
    logger.info({
      token: 'hunter2',
      req: { authorization: 'hunter2' },
      a: { b: { client_secret: 'hunter2' } },
    });
    expect(written.join()).not.toContain('hunter2');
    expect(written.join().match(/\[secret\]/g)).toHaveLength(3);
  });
});

describe('application keys', () => {
  test('sign what their public key verifies, and differ between applications', () => {
    const randomBytes = countingBytes();
    const keys = makeApplicationKeys(randomBytes);
    const key = createPrivateKey({
      key: Buffer.from(keys.signingKey, 'base64'),
      format: 'der',
      type: 'pkcs8',
    });
    const spki = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(keys.verifyKey, 'hex'),
    ]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    const text = Buffer.from('1700000000{"type":1}');
    expect(verify(null, text, publicKey, sign(null, text, key))).toBe(true);
    expect(keys.verifyKey).toMatch(/^[0-9a-f]{64}$/);
    expect(keys.clientSecret.reveal()).toMatch(/^[\w-]{32}$/);
    expect(makeApplicationKeys(randomBytes).verifyKey).not.toBe(keys.verifyKey);
  });
});
