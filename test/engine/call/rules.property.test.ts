// Goal: whatever the order of commands, media forward what the rules allow, members can leave, and nothing is left over.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newCallState } from '../../../engine/call/call.ts';
import type { CallDispatch } from '../../../engine/call/dispatch.ts';
import type { CallMember } from '../../../engine/call/member.ts';
import { callRules } from '../../../engine/call/rules.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { CallWorld, codec, memberWith, UDP, videoOf } from './world.ts';

const USERS = ['101', '102', '103', '104'] as UserId[];
const user = fc.constantFrom(...USERS);
const audience = fc.option(fc.subarray(USERS));

/** Media as the dispatches set them. */
class Media {
  readonly gates = new Map<number, { speaks: boolean; receives: boolean }>();
  readonly audiences = new Map<number, readonly number[] | null>();
  encryptedOnly = false;

  take(dispatches: readonly CallDispatch[]): void {
    for (const each of dispatches)
      if (each.kind === 'gate') this.gates.set(each.ssrc, each.gate);
      else if (each.kind === 'audience') this.audiences.set(each.ssrc, each.only);
      else if (each.kind === 'encryptedOnly') this.encryptedOnly = each.encryptedOnly;
      else if (each.kind === 'leave') {
        this.gates.delete(each.ssrc);
        this.audiences.delete(each.ssrc);
      }
  }

  hears(from: number, to: number): boolean {
    const only = this.audiences.get(from) ?? null;
    const isOpen = this.gates.get(from)?.speaks === true && this.gates.get(to)?.receives === true;
    return isOpen && (only === null || only.includes(to));
  }
}

/** Whether one member may hear another, by the voice states alone. */
const mayHear = (from: CallMember, to: CallMember): boolean =>
  !from.voiceMember.silenced &&
  !to.voiceMember.deafened &&
  (from.audience === null || from.audience.has(to.voiceMember.userId));

type Step = (world: CallWorld, ssrc: number) => CallDispatch[];

const ssrcOf = ({ state }: CallWorld, userId: UserId): number => state.members.get(userId)?.ssrc ?? 0;

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(user, audience).map(
    ([userId, ids]): Step =>
      (world, ssrc) =>
        world.enter(userId, ssrc, { audience: ids && new Set(ids) }),
  ),
  user.map(
    (userId): Step =>
      (world) =>
        world.run('leave', { userId }),
  ),
  fc.tuple(user, fc.boolean(), fc.boolean(), fc.boolean()).map(
    ([userId, silenced, deafened, mayStream]): Step =>
      (world) =>
        world.run('changeMember', {
          userId,
          voiceMember: memberWith(userId, { silenced, deafened, mayStream }),
        }),
  ),
  fc.tuple(user, audience).map(
    ([userId, ids]): Step =>
      (world) =>
        world.run('changeAudience', { userId, audience: ids && new Set(ids) }),
  ),
  fc.tuple(user, fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 200 })).map(
    ([userId, flags, waitMs]): Step =>
      (world) => {
        world.nowMs += waitMs;
        return world.run('speak', { userId, flags });
      },
  ),
  fc.tuple(user, fc.boolean()).map(
    ([userId, isReceived]): Step =>
      (world) =>
        world.run('hear', { userId, isReceived }),
  ),
  user.map(
    (userId): Step =>
      (world) =>
        world.run('announceSpeaking', { userId }),
  ),
  user.map(
    (userId): Step =>
      (world) =>
        world.run('film', { userId, update: videoOf(ssrcOf(world, userId)) }),
  ),
  fc.tuple(user, fc.integer({ min: 0, max: 100 })).map(
    ([userId, any]): Step =>
      (world) =>
        world.run('wantLayers', { userId, wants: { any, bySsrc: new Map() } }),
  ),
  fc.tuple(user, fc.constantFrom('VP8', 'H264', 'AV1')).map(
    ([userId, name]): Step =>
      (world) =>
        world.run('offerCodecs', { userId, codecs: [codec(name)] }),
  ),
  user.map(
    (userId): Step =>
      (world) =>
        world.run('selectProtocol', { userId, select: UDP, address: null }),
  ),
  user.map(
    (userId): Step =>
      (world) =>
        world.run('reachMedia', { userId }),
  ),
  user.map(
    (userId): Step =>
      (world) =>
        world.run('introduceOthers', { userId }),
  ),
  fc.constantFrom('plain' as const, 'transitioning' as const, 'secure' as const).map(
    (phase): Step =>
      (world) =>
        world.run('changeEncryption', { phase }),
  ),
);

/** One more than the number of the step: SSRCs are never given twice. Apart by ten, so that layers fit between. */
const freshSsrc = (index: number): number => (index + 1) * 10;

it('media forward audio exactly as the rights and audiences of the members say', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = new CallWorld();
      const media = new Media();
      for (const [index, take] of steps.entries()) {
        media.take(take(world, freshSsrc(index)));
        const members = [...world.state.members.values()];
        for (const from of members)
          for (const to of members)
            if (from !== to) expect(media.hears(from.ssrc, to.ssrc)).toBe(mayHear(from, to));
        expect(media.encryptedOnly).toBe(world.state.encryptedOnly);
      }
    }),
    { numRuns: 150 },
  );
});

it('facts replayed on an empty call give the same state', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = new CallWorld();
      for (const [index, take] of steps.entries()) take(world, freshSsrc(index));
      const replayed = newCallState(false);
      for (const fact of world.history) callRules.apply(replayed, fact);
      expect(replayed).toEqual(world.state);
    }),
    { numRuns: 100 },
  );
});

it('every member can leave, and then the call holds nothing of it', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = new CallWorld();
      const media = new Media();
      for (const [index, take] of steps.entries()) {
        media.take(take(world, freshSsrc(index)));
        const { members, bySsrc } = world.state;
        expect(new Map([...members].map(([userId, { ssrc }]) => [ssrc, userId]))).toEqual(bySsrc);
      }
      for (const userId of USERS) media.take(world.run('leave', { userId }));
      expect(world.state).toMatchObject({ members: new Map(), bySsrc: new Map() });
      expect([media.gates.size, media.audiences.size]).toEqual([0, 0]);
    }),
    { numRuns: 100 },
  );
});
