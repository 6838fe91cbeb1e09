// Goal: no message, however malformed or frequent, throws or breaks the group of the other members.
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { readCommit, readKeyPackage, snowflakeBytes } from '../../../media/dave/mls.ts';
import { hasCommitOutline } from '../../../media/dave/skim.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { DaveyCall, DaveyClient, seeded, user } from './daveycall.ts';
import { type Flaw, makePackage } from './mlsguest.ts';
import { expectWhole } from './wholeness.ts';

const { DAVE_MLS_KEY_PACKAGE, DAVE_MLS_COMMIT_WELCOME } = VOICE_OP;
const GUEST = user(77);

vi.setConfig({ testTimeout: 60_000 });

/** A key package of the reference implementation. */
function keyPackage(userId: string): Buffer {
  const client = new DaveyClient(userId);
  client.begin();
  const [message] = client.up;
  if (message === undefined || !('payload' in message)) throw new Error('no key package');
  return message.payload;
}

function callOf(count: number, seed = 1): DaveyCall {
  const call = new DaveyCall(seed);
  for (let index = 0; index < count; index++) call.join(user(index));
  call.rest();
  return call;
}

/** A call of four that a fifth client joins, and the first commit for it, which the server has not received yet. */
function withCommit(seed: number): { call: DaveyCall; commit: Buffer; from: DaveyClient } {
  const call = callOf(4, seed);
  call.join(user(9));
  for (let steps = 0; steps < 1000; steps++) {
    for (const from of call.clients.values()) {
      const [message] = from.up;
      if (message === undefined || !('payload' in message) || message.op !== DAVE_MLS_COMMIT_WELCOME)
        continue;
      from.up.shift();
      return { call, commit: message.payload, from };
    }
    call.step();
  }
  throw new Error('no commit');
}

/** Bytes corrupted in one of five ways: a bit flip, a truncation, extra bytes, an overwrite or a deletion. */
function bend(bytes: Buffer, pick: (below: number) => number): Buffer {
  const bent = Buffer.from(bytes);
  switch (pick(5)) {
    case 0:
      bent[pick(bent.length)]! ^= 1 << pick(8);
      return bent;
    case 1:
      return bent.subarray(0, pick(bent.length));
    case 2:
      return Buffer.concat([bent, Buffer.alloc(1 + pick(64), pick(256))]);
    case 3: {
      const at = pick(bent.length);
      bent.fill(pick(256), at, Math.min(bent.length, at + 1 + pick(16)));
      return bent;
    }
    default: {
      const at = pick(bent.length);
      return Buffer.concat([bent.subarray(0, at), bent.subarray(Math.min(bent.length, at + 1 + pick(40)))]);
    }
  }
}

describe('a key package', () => {
  test('reads the same bare and wrapped in an MLS message', () => {
    const bytes = keyPackage(GUEST);
    const bare = readKeyPackage(bytes, GUEST);
    const wrapped = readKeyPackage(Buffer.concat([Uint8Array.of(0, 1, 0, 5), bytes]), GUEST);
    expect(bare).toEqual(wrapped);
    expect(bare).toHaveProperty('ref');
  });

  test('is accepted from another implementation', async () => {
    const { bytes } = await makePackage(GUEST);
    expect(readKeyPackage(bytes, GUEST)).toHaveProperty('ref');
  });

  const flaws: [Flaw, string][] = [
    [{ identity: snowflakeBytes(user(1)) }, 'the credential of another user'],
    [{ identity: Buffer.from('77') }, 'the credential of another user'],
    [{ notBefore: 1n }, 'a bounded lifetime'],
    [{ notAfter: 1n << 62n }, 'a bounded lifetime'],
    [{ otherSuite: true }, 'another ciphersuite'],
    [{ extensions: true }, 'extensions'],
    [{ leafExtensions: true }, 'extensions'],
    [{ capable: false }, 'too few capabilities'],
  ];
  test.each(flaws)('is rejected with the flaw %o', async (flaw, reason) => {
    const { bytes } = await makePackage(GUEST, flaw);
    expect(readKeyPackage(bytes, GUEST)).toBe(reason);
  });

  test('is rejected when any bit is flipped', () => {
    const bytes = keyPackage(GUEST);
    for (let bit = 0; bit < bytes.length * 8; bit += 3) {
      const bent = Buffer.from(bytes);
      bent[bit >> 3]! ^= 1 << (bit & 7);
      expect(typeof readKeyPackage(bent, GUEST)).toBe('string');
    }
  });

  test('is rejected without a throw when it is random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.boolean(), (tail, isHeaded) => {
        const bytes = isHeaded ? Buffer.concat([Uint8Array.of(0, 1, 0, 2, 0x40, 0x41), tail]) : tail;
        expect(typeof readKeyPackage(bytes, GUEST)).toBe('string');
      }),
      { numRuns: 500 },
    );
  });

  test('closes only its sender when it is invalid', () => {
    const call = callOf(3);
    call.invite(GUEST);
    call.say(GUEST, DAVE_MLS_KEY_PACKAGE, keyPackage(user(78)));
    expect(call.closes()).toEqual([{ userId: GUEST, code: 4020 }]);
    call.say(GUEST, DAVE_MLS_KEY_PACKAGE, keyPackage(GUEST));
    call.rest();
    expect(call.delivery.pendingCount).toBe(1);
    call.carry(call.delivery.leave(GUEST, call.nowMs));
    call.join(user(9));
    call.rest();
    expectWhole(call);
  });

  test('closes its sender when it repeats the keys of another user', async () => {
    const call = callOf(2);
    call.invite(GUEST);
    call.invite(user(78));
    const made = await makePackage(GUEST);
    call.say(GUEST, DAVE_MLS_KEY_PACKAGE, made.bytes);
    const twin = await makePackage(user(78), { keysOf: made });
    call.say(user(78), DAVE_MLS_KEY_PACKAGE, twin.bytes);
    expect(call.closes()).toEqual([{ userId: user(78), code: 4020 }]);
  });

  test('closes its sender with 4021 when it is sent in a flood', () => {
    const call = callOf(3);
    call.invite(GUEST);
    for (let times = 0; times < 20; times++) call.say(GUEST, DAVE_MLS_KEY_PACKAGE, keyPackage(GUEST));
    expect(call.closes()).toEqual([{ userId: GUEST, code: 4021 }]);
    call.carry(call.delivery.leave(GUEST, call.nowMs));
    call.guests.delete(GUEST);
    call.rest();
    call.join(user(9));
    call.rest();
    expectWhole(call);
  });
});

describe('a commit', () => {
  test('leaves the group whole when its bytes are corrupted', () => {
    const bent = { closed: 0, ignored: 0, accepted: 0 };
    for (let seed = 1; seed <= 25; seed++) {
      const { call, commit, from } = withCommit(seed);
      const before = call.effects.length;
      const { epoch } = call.delivery;
      call.say(from.userId, DAVE_MLS_COMMIT_WELCOME, bend(commit, seeded(seed * 2_654_435_761)));
      const isClosed = call.effects.slice(before).some((effect) => effect.type === 'close');
      if (isClosed) bent.closed += 1;
      else if (call.delivery.epoch === epoch) bent.ignored += 1;
      else bent.accepted += 1;
      if (isClosed) call.leave(from.userId);
      call.rest();
      // A bad commit that only the members can detect is reported by them, and its sender is skipped.
      for (const client of call.clients.values()) client.faults.length = 0;
      expectWhole(call, 2);
    }
    expect(bent.closed).toBeGreaterThan(0);
    expect(bent.accepted).toBeGreaterThan(0);
  });

  test('closes its sender when it is random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const call = new DaveyCall(1);
        call.invite(GUEST);
        call.say(GUEST, DAVE_MLS_COMMIT_WELCOME, bytes);
        expect(call.closes()).toEqual([{ userId: GUEST, code: 4020 }]);
      }),
      { numRuns: 100 },
    );
  });

  test('is ignored without a close when it is late', () => {
    const { call, commit, from } = withCommit(3);
    call.rest();
    const { epoch } = call.delivery;
    call.say(from.userId, DAVE_MLS_COMMIT_WELCOME, commit);
    expect(call.delivery.epoch).toBe(epoch);
    expect(call.closes()).toEqual([]);
    expectWhole(call);
  });

  test('is rejected from a member who did not create it', () => {
    const { call, commit, from } = withCommit(4);
    const other = [...call.clients.values()].find((client) => client !== from);
    const { epoch } = call.delivery;
    call.say(other?.userId ?? '', DAVE_MLS_COMMIT_WELCOME, commit);
    expect(call.delivery.epoch).toBe(epoch);
    call.rest();
    expectWhole(call);
  });

  test('is rejected without its Welcome, or when its Welcome is for an unknown key package', () => {
    const { call, commit, from } = withCommit(5);
    const { epoch } = call.delivery;
    const at = commit.lastIndexOf(Buffer.from([0x00, 0x02, 0x40]));
    expect(at).toBeGreaterThan(100);
    call.say(from.userId, DAVE_MLS_COMMIT_WELCOME, commit.subarray(0, at));
    expect(call.closes()).toEqual([]);
    const strange = Buffer.from(commit);
    strange[at + 8]! ^= 1;
    call.say(from.userId, DAVE_MLS_COMMIT_WELCOME, strange);
    expect(call.delivery.epoch).toBe(epoch);
    call.rest();
    expectWhole(call);
  });

  test('closes its sender when it is sent in a flood, and the others keep their group', () => {
    const { call, commit, from } = withCommit(6);
    call.rest();
    for (let times = 0; times < 100; times++) call.say(from.userId, DAVE_MLS_COMMIT_WELCOME, commit);
    expect(call.closes()).toEqual([{ userId: from.userId, code: 4021 }]);
    call.leave(from.userId);
    call.rest();
    expectWhole(call);
  });

  test('closes its sender when it is too large for its group', () => {
    const { call, commit, from } = withCommit(7);
    call.say(from.userId, DAVE_MLS_COMMIT_WELCOME, Buffer.concat([commit, Buffer.alloc(1 << 20)]));
    expect(call.closes()).toEqual([{ userId: from.userId, code: 4020 }]);
  });
});

describe('the outline of a commit', () => {
  const commits = [3, 8].map((seed) => withCommit(seed).commit);
  const vector = (bytes: Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from([0x80, bytes.length >> 16, (bytes.length >> 8) & 0xff, bytes.length & 0xff]),
      bytes,
    ]);

  test('is found in whole commits, and in truncated commits only when they are readable', () => {
    for (const commit of commits) {
      expect(hasCommitOutline(commit, 26)).toBe(true);
      for (let size = 26; size < commit.length; size += 7) {
        const isWhole = readCommit(commit.subarray(0, size), 50) !== null;
        expect(hasCommitOutline(commit.subarray(0, size), 26)).toBe(isWhole);
      }
    }
  });

  test('is not found in lists of thousands of empty elements', () => {
    const commit = commits[0]!;
    const head = commit.subarray(0, 28);
    const many = Buffer.concat([head, vector(Buffer.alloc(50_000, Uint8Array.of(2, 0))), Buffer.alloc(4)]);
    expect(hasCommitOutline(many, 26)).toBe(false);
    const nodes = Buffer.concat([
      head,
      vector(Buffer.alloc(0)),
      Buffer.from([1]),
      vector(Buffer.alloc(50_000)),
    ]);
    expect(hasCommitOutline(nodes, 26)).toBe(false);
  });

  test('is searched for only in the received bytes, whatever length a vector claims', () => {
    const head = commits[0]!.subarray(0, 28);
    // A list that claims 2^30 - 1 bytes, whose first element has an invalid, a truncated or no length.
    const claims = Buffer.of(0x80 | 0x3f, 0xff, 0xff, 0xff);
    for (const rest of [Buffer.of(2, 0xff), Buffer.of(2, 0xbf, 0xff), Buffer.from([])]) {
      const startedMs = performance.now();
      expect(hasCommitOutline(Buffer.concat([head, claims, rest]), 26)).toBe(false);
      expect(performance.now() - startedMs).toBeLessThan(500);
    }
  });

  test('finds the outline, without an exception, in every corrupted commit that is still readable', () => {
    fc.assert(
      fc.property(fc.constantFrom(...commits), fc.nat(), fc.nat(), (commit, seed, times) => {
        const pick = seeded(seed);
        let bent = commit;
        for (let more = times % 4; more >= 0 && bent.length > 40; more--) bent = bend(bent, pick);
        const read = readCommit(bent, 50);
        if (read !== null) expect(hasCommitOutline(bent, 26)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});

test('messages about unknown transitions and unknown members change nothing', () => {
  const call = callOf(3);
  const before = call.effects.length;
  call.carry(call.delivery.transitionReady(user(1), 4242, call.nowMs));
  call.carry(call.delivery.transitionReady(user(55), 1, call.nowMs));
  call.carry(call.delivery.invalidCommitWelcome(user(55), 1, call.nowMs));
  call.carry(call.delivery.received(user(55), DAVE_MLS_KEY_PACKAGE, keyPackage(user(55)), call.nowMs));
  call.carry(call.delivery.leave(user(55), call.nowMs));
  call.carry(call.delivery.tick(call.nowMs));
  expect(call.effects.length).toBe(before);
});
