// Goal: a member that lags, fails, lies or has no encryption delays the others briefly and never breaks their group.
import { describe, expect, test, vi } from 'vitest';
import { snowflakeBytes } from '../../../media/dave/mls.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { DaveyCall, DaveyClient, FRAME, seeded, user } from './daveycall.ts';
import { expectWhole } from './wholeness.ts';

vi.setConfig({ testTimeout: 60_000 });

function callOf(count: number, seed = 1, options = {}): DaveyCall {
  const call = new DaveyCall(seed, options);
  for (let index = 0; index < count; index++) call.join(user(index));
  call.rest();
  return call;
}

/** Ops sent to a user since the call began, or since `from`. */
const sentTo = (call: DaveyCall, userId: string, from = 0): number[] =>
  call.effects
    .slice(from)
    .flatMap((effect) =>
      (effect.type === 'json' || effect.type === 'binary') && effect.to.includes(userId) ? [effect.op] : [],
    );

describe('a transition', () => {
  test('does not wait longer for a silent member than its time-out', () => {
    const call = callOf(3);
    call.client(user(0)).isSilent = true;
    call.join(user(9));
    const from = call.effects.length;
    call.pass(1999);
    expect(sentTo(call, user(1), from)).not.toContain(VOICE_OP.DAVE_EXECUTE_TRANSITION);
    call.pass(2);
    expect(sentTo(call, user(1), from)).toContain(VOICE_OP.DAVE_EXECUTE_TRANSITION);
    expect(call.counted('transition', 'timeout')).toBe(1);
    call.rest();
    expectWhole(call);
  });

  test('does not wait for a member who left', () => {
    const call = callOf(3);
    call.client(user(0)).isSilent = true;
    call.join(user(9));
    call.pass(10);
    call.leave(user(0));
    call.rest();
    expect(call.counted('transition', 'timeout')).toBe(0);
    expectWhole(call);
  });

  test('lets the next round commit within 300 ms while one member is silent', () => {
    const call = callOf(3);
    call.client(user(0)).isSilent = true;
    call.join(user(8));
    call.pass(10);
    const { epoch } = call.delivery;
    call.leave(user(8));
    call.pass(300);
    expect(call.delivery.epoch).toBe((epoch ?? 0n) + 1n);
  });
});

describe('one member alone', () => {
  test('prepares a new group that the next user joins', () => {
    const call = callOf(2);
    const from = call.effects.length;
    call.leave(user(1));
    expect(sentTo(call, user(0), from)).toEqual([
      VOICE_OP.DAVE_PREPARE_EPOCH,
      VOICE_OP.DAVE_PREPARE_TRANSITION,
    ]);
    const [prepareEpoch, prepareTransition] = call.effects.slice(from);
    expect(prepareEpoch).toMatchObject({ d: { protocol_version: 1, epoch: 1 } });
    expect(prepareTransition).toMatchObject({ d: { protocol_version: 1, transition_id: 0 } });
    call.rest();
    expect(call.delivery.epoch).toBeNull();
    call.join(user(2));
    call.rest();
    expect(call.delivery.epoch).toBe(1n);
    expectWhole(call);
  });

  test('is added to a new group when all members leave while it waits for an Add', () => {
    const call = callOf(2);
    call.join(user(5));
    call.leave(user(0));
    call.leave(user(1));
    call.join(user(6));
    call.rest();
    expectWhole(call);
  });
});

describe('a pending member', () => {
  test('has its Add revoked when it leaves before the commit', () => {
    const call = callOf(3);
    const late = call.join(user(5));
    while (late.up.length === 0) call.step();
    while (late.up.length > 0) call.step();
    const from = call.effects.length;
    const { epoch } = call.delivery;
    call.leave(user(5));
    const revokes = call.effects
      .slice(from)
      .filter((effect) => effect.type === 'binary' && effect.op === VOICE_OP.DAVE_MLS_PROPOSALS);
    expect(revokes.map((effect) => effect.type === 'binary' && effect.payload[0])).toEqual([1]);
    call.rest();
    expect(call.delivery.epoch).toBe(epoch);
    expectWhole(call);
    call.join(user(6));
    call.rest();
    expectWhole(call);
  });

  test('is added with its latest key package when it begins again', () => {
    const call = callOf(3);
    const late = call.join(user(5));
    while (late.down.length > 0) call.step();
    late.begin();
    call.rest();
    expectWhole(call);
  });

  test('does not delay others when it never sends a key package', () => {
    const call = callOf(3);
    call.carry(call.delivery.join(user(7), 1, call.nowMs).filter((effect) => effect.type === 'counted'));
    call.join(user(8));
    call.rest();
    expect(call.delivery.pendingCount).toBe(1);
    expect(call.client(user(8)).group.voicePrivacyCode).toBe(call.client(user(0)).group.voicePrivacyCode);
  });
});

describe('a member that cannot use a commit', () => {
  test('is removed and added again, and the others keep their group', () => {
    const call = callOf(4);
    const lost = call.client(user(2));
    const [transitionId] = lost.executed;
    lost.recover(transitionId ?? 0);
    call.rest();
    expectWhole(call);
    expect(call.counted('recovery', 'readded')).toBe(1);
    expect(call.counted('recovery', 'recreated')).toBe(0);
    // Its Remove and its Add came with one commit.
    expect(call.delivery.epoch).toBe(lost.group.epoch);
  });

  test('gets a new group when every member reports the commit as invalid', () => {
    const call = callOf(5);
    const [transitionId] = call.client(user(2)).executed.slice(-1);
    const { epoch } = call.delivery;
    for (const client of call.clients.values()) client.recover(transitionId ?? 0);
    call.rest();
    expect(call.counted('recovery', 'recreated')).toBe(1);
    expect(call.delivery.epoch).not.toBe(epoch);
    expectWhole(call);
  });

  test('is disconnected after too many failures', () => {
    const call = callOf(3);
    for (let times = 0; times < 7; times++)
      call.carry(call.delivery.invalidCommitWelcome(user(1), 0xffff, call.nowMs));
    expect(call.closes()).toEqual([{ userId: user(1), code: 4021 }]);
  });
});

test.each([3, 4, 5, 6])('members that start again at any time converge to one group (seed %i)', (seed) => {
  const call = callOf(3, seed * 2_654_435_761);
  const next = seeded(seed * 40_503);
  for (let change = 0; change < 12; change++) {
    const present = [...call.clients.values()];
    const client = present[next(present.length)]!;
    const what = next(4);
    if (what === 0) call.join(user(10 + change));
    else if (what === 1 && present.length > 2) call.leave(client.userId);
    else if (client.session?.ready === true) client.recover(client.executed.at(-1) ?? 0);
    for (let steps = next(15); steps > 0; steps--) call.step();
    call.pass(1500 + next(2) * 1500);
  }
  call.rest();
  expect(call.closes()).toEqual([]);
  // A commit and an op 31 may cross; the commit is then reported once more.
  for (const client of call.clients.values()) client.faults.length = 0;
  expectWhole(call);
});

describe('a round', () => {
  test('is repeated when no member commits it, and then the group is recreated', () => {
    const call = callOf(3);
    for (const client of call.clients.values()) client.isIdle = true;
    call.leave(user(2));
    call.pass(2100);
    expect(call.counted('commit', 'timeout')).toBe(1);
    expect(call.counted('recovery', 'recreated')).toBe(0);
    call.pass(4100);
    expect(call.counted('recovery', 'recreated')).toBe(1);
    for (const client of call.clients.values()) client.isIdle = false;
    call.rest();
    expectWhole(call);
  });

  test('restarts when it forms a group and no member commits it', () => {
    const call = new DaveyCall(2);
    const clients = [call.join(user(0)), call.join(user(1))];
    for (const client of clients) client.isIdle = true;
    call.pass(2100);
    expect(call.counted('recovery', 'recreated')).toBe(1);
    for (const client of clients) client.isIdle = false;
    call.rest();
    expectWhole(call);
  });

  test('closes, with 4020, the user whose Add no member can commit', () => {
    const call = callOf(3);
    const stranger = user(66);
    const inbox = call.invite(stranger);
    const source = new DaveyClient(stranger);
    source.begin();
    call.join(user(9));
    for (const client of call.clients.values()) client.refused = Buffer.from(snowflakeBytes(stranger));
    for (let turns = 0; turns < 40 && call.closes().length === 0; turns++) {
      for (const message of source.up.splice(0))
        if ('payload' in message) call.say(stranger, message.op, message.payload);
      call.pass(500);
      for (const { op } of inbox.splice(0)) if (op === VOICE_OP.DAVE_PREPARE_EPOCH) source.begin();
    }
    expect(call.closes()).toEqual([{ userId: stranger, code: 4020 }]);
    call.carry(call.delivery.leave(stranger, call.nowMs));
    call.guests.delete(stranger);
    call.rest();
    expectWhole(call);
  });

  test('is committed by the only member that is not idle', () => {
    const call = callOf(4);
    for (const index of [0, 1, 3]) call.client(user(index)).isIdle = true;
    call.join(user(9));
    call.rest();
    expect(call.counted('commit', 'timeout')).toBe(0);
    expectWhole(call);
  });

  test('adds all members who joined during the previous round', () => {
    const call = callOf(2);
    for (let index = 10; index < 30; index++) call.join(user(index));
    call.rest();
    expectWhole(call, 2);
    expect(Number(call.delivery.epoch)).toBeLessThanOrEqual(4);
  });
});

describe('where encryption is not required', () => {
  const optional = { required: false };
  const versions = (call: DaveyCall): number[] => [...call.clients.values()].map(({ version }) => version);

  test('a client without DAVE downgrades the call to version 0, and its leave restores version 1', () => {
    const call = callOf(3, 1, optional);
    expectWhole(call);
    call.join(user(7), 0);
    expect(call.delivery.version).toBe(0);
    call.rest();
    expect(versions(call)).toEqual([0, 0, 0, 0]);
    expect(call.delivery.epoch).toBeNull();
    call.join(user(8));
    call.rest();
    expect(versions(call)).toEqual([0, 0, 0, 0, 0]);
    call.leave(user(7));
    call.rest();
    expect(versions(call)).toEqual([1, 1, 1, 1]);
    expectWhole(call);
  });

  test('a call stays whole at version 1 when a client without DAVE joins and leaves at once', () => {
    const call = callOf(3, 2, optional);
    call.join(user(7), 0);
    call.leave(user(7));
    call.rest();
    expect(versions(call)).toEqual([1, 1, 1]);
    expectWhole(call);
  });

  test('a call that begins with a client without DAVE upgrades when that client leaves', () => {
    const call = new DaveyCall(3, optional);
    call.join(user(7), 0);
    call.join(user(0));
    call.join(user(1));
    call.rest();
    expect(versions(call)).toEqual([0, 0, 0]);
    call.leave(user(7));
    call.rest();
    expect(versions(call)).toEqual([1, 1]);
    expectWhole(call);
  });

  test('a call that became empty begins again at the highest version', () => {
    const call = new DaveyCall(3, optional);
    call.join(user(7), 0);
    call.leave(user(7));
    call.join(user(0));
    call.join(user(1));
    call.rest();
    expect(call.client(user(0)).version).toBe(1);
    expectWhole(call);
  });
});

test('a call that requires DAVE rejects a client without it and continues', () => {
  const call = callOf(2);
  call.carry(call.delivery.join(user(7), 0, call.nowMs));
  expect(call.closes()).toEqual([{ userId: user(7), code: 4017 }]);
  expect(call.delivery.version).toBe(1);
  expectWhole(call);
});

test('a second join of a user replaces the first client, which decrypts no more frames', () => {
  const call = callOf(3);
  const before: DaveyClient = call.client(user(1));
  call.join(user(1));
  call.rest();
  expectWhole(call);
  const sealed = call.client(user(0)).seal(FRAME);
  expect(() => before.open(user(0), sealed)).toThrow();
});
