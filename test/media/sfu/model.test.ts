// Goal: after any run of commands, a member's audio goes to exactly the members that the rule allows; the expected members
// are computed from the commands alone.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Gate } from '../../../media/plane.ts';
import { Arranged, type Client, GCM, XCHACHA } from './harness.ts';

/** One member as the rule sees it. */
interface Known {
  readonly client: Client;
  readonly callId: string;
  gate: Gate;
  audience: readonly number[] | null;
  refused: readonly number[];
  reachable: boolean;
}

interface World {
  readonly arranged: Arranged;
  readonly members: Known[];
}

const CALLS = ['call', 'other'];
const pick = <T>(from: readonly T[], index: number): T | undefined => from[index % from.length];

type Step = (world: World) => void;
const index = fc.nat({ max: 7 });
const some = fc.array(index, { maxLength: 4 });
const gate = fc.record({ speaks: fc.boolean(), streams: fc.boolean(), receives: fc.boolean() });
const open = fc.constant({ speaks: true, streams: true, receives: true });

const join = fc.tuple(fc.constantFrom(...CALLS), fc.constantFrom(GCM, XCHACHA, 'peer' as const)).map(
  ([callId, mode]): Step =>
    ({ arranged, members }) => {
      if (members.length >= 8) return;
      const client = arranged.client(mode, { callId });
      const opened: Gate = { speaks: true, streams: true, receives: true };
      members.push({ client, callId, gate: opened, audience: null, refused: [], reachable: true });
    },
);
const leave = index.map(
  (at): Step =>
    ({ arranged, members }) => {
      const [gone] = members.length > 0 ? members.splice(at % members.length, 1) : [];
      if (gone) arranged.forwarder.leave(gone.client.ssrc);
    },
);
const onMember =
  (how: (known: Known, world: World) => void, at: number): Step =>
  (world) => {
    const known = pick(world.members, at);
    if (known) how(known, world);
  };
const ssrcs = (world: World, of: readonly number[]): number[] =>
  of.flatMap((at) => pick(world.members, at)?.client.ssrc ?? []);

const setGate = fc.tuple(index, fc.oneof(open, gate)).map(([at, to]) =>
  onMember((known, { arranged }) => {
    known.gate = to;
    arranged.forwarder.setGate(known.client.ssrc, to);
  }, at),
);
const setAudience = fc.tuple(index, fc.option(some)).map(([at, only]) =>
  onMember((known, world) => {
    known.audience = only && ssrcs(world, only);
    world.arranged.forwarder.setAudience(known.client.ssrc, known.audience);
  }, at),
);
const refuse = fc.tuple(index, some).map(([at, whom]) =>
  onMember((known, world) => {
    known.refused = ssrcs(world, whom);
    const wants = new Map(known.refused.map((ssrc) => [ssrc, 0]));
    world.arranged.forwarder.setSinkWants(known.client.ssrc, 100, wants, world.arranged.nowMs);
  }, at),
);
const disconnect = index.map((at) =>
  onMember((known, { arranged }) => {
    known.reachable = false;
    arranged.forwarder.disconnect(known.client.ssrc);
  }, at),
);
const speak = index.map((at) =>
  onMember((known, { arranged, members }) => {
    arranged.forget();
    arranged.nowMs += 20;
    const payload = known.client.speak();
    for (const other of members) {
      const heard = other.client.take();
      const hears =
        known.reachable &&
        other.reachable &&
        other !== known &&
        other.callId === known.callId &&
        known.gate.speaks &&
        other.gate.receives &&
        (known.audience?.includes(other.client.ssrc) ?? true) &&
        !other.refused.includes(known.client.ssrc);
      expect(heard.map((one) => [one.ssrc, one.payload])).toEqual(
        hears ? [[known.client.ssrc, payload]] : [],
      );
    }
  }, at),
);

test('each member receives exactly the audio of the members that the rule allows, after any run of commands', () => {
  const step = fc.oneof(
    { arbitrary: speak, weight: 8 },
    { arbitrary: join, weight: 3 },
    ...[leave, setGate, setAudience, refuse, disconnect].map((arbitrary) => ({ arbitrary, weight: 1 })),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 80 }), (steps) => {
      const arranged = new Arranged();
      arranged.forwarder.open('other');
      const world: World = { arranged, members: [] };
      for (const take of steps) take(world);
      expect(arranged.astray).toEqual([]);
    }),
    { numRuns: 200 },
  );
});
