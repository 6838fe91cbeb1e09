// Goal: whatever users and owners do in any order, the media plane holds exactly the members of the call, and every
// connected member has received each other member and its SSRC exactly once.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { VoiceSession, VoiceSink } from '../../../actors/call/ports.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { arrange, opened, RESUME_WINDOW_MS, SERVER, seatOf, UDP } from './harness.ts';

const USERS = ['1', '2', '3', '4'];
const CALLS = ['1000', '1001'];

/** A client that applies every message, and fails on a repeated or unexpected one. */
class Client implements VoiceSink {
  readonly address = '192.0.2.9';
  readonly known = new Set<string>();
  readonly speakers = new Map<number, string>();
  seq = -1;
  session: VoiceSession | null = null;
  /** The socket is there; what is sent otherwise is lost on the way. */
  online = true;

  send(op: number, d: unknown, seq: number | null): void {
    if (!this.online) throw new Error('A closed socket is written to.');
    if (seq !== null) {
      expect(seq).toBe(Math.max(this.seq, 0) + 1);
      this.seq = seq;
    }
    if (op === 11)
      for (const userId of (d as { user_ids: string[] }).user_ids) {
        expect(this.known.has(userId)).toBe(false);
        this.known.add(userId);
      }
    if (op === 13) expect(this.known.delete((d as { user_id: string }).user_id)).toBe(true);
    if (op === 5) {
      const { ssrc, user_id: userId } = d as { ssrc: number; user_id: string };
      expect(this.known.has(userId)).toBe(true);
      this.speakers.set(ssrc, userId);
    }
  }

  sendBinary(): void {
    expect.unreachable('the scripted delivery service is silent');
  }

  close(): void {
    this.online = false;
  }
}

const user = fc.constantFrom(...USERS);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('join' as const), user, call: fc.constantFrom(...CALLS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), user }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('identify' as const), user }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('break' as const), user }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('resume' as const), user }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('quit' as const), user }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('mute' as const), user, silenced: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('speak' as const), user }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('acknowledge' as const), user }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 80_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), call: fc.constantFrom(...CALLS) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function town() {
  const world = arrange();
  const { calls, clock } = world;
  const clients = new Map<string, Client>();
  const voiceMembers = new Map<string, string>();

  const acts: Record<Step['do'], (one: Step & { user: string; call: string }) => void> = {
    join({ user, call }) {
      voiceMembers.set(user, call);
      calls.voiceJoined(seatOf(user, { callId: call as ChannelId }));
    },
    mute(one) {
      const call = voiceMembers.get(one.user);
      const { silenced } = one as { silenced?: boolean };
      if (call)
        calls.voiceJoined(seatOf(one.user, { callId: call as ChannelId, silenced: silenced === true }));
    },
    remove({ user }) {
      voiceMembers.delete(user);
      calls.voiceLeft(SERVER, user as UserId);
    },
    identify({ user }) {
      const client = new Client();
      const outcome = world.identify(user, client);
      if (outcome.kind === 'closed') return;
      client.session = outcome.session;
      client.session.selectProtocol(UDP);
      clients.set(user, client);
    },
    break({ user }) {
      const client = clients.get(user);
      if (client) client.online = false;
      if (client) client.session?.detach(client, true);
    },
    resume({ user }) {
      const client = clients.get(user);
      if (!client || client.online) return;
      client.online = true;
      const outcome = world.resume(user, client, client.seq);
      if (outcome.kind === 'open') client.session = opened(outcome);
      else client.online = false;
    },
    quit({ user }) {
      const client = clients.get(user);
      // A client whose connection was cut sends no close frame.
      if (!client?.online) return;
      client.session?.detach(client, false);
      clients.delete(user);
    },
    speak({ user }) {
      const client = clients.get(user);
      if (client?.online) client.session?.speaking(1, 0);
    },
    acknowledge({ user }) {
      const client = clients.get(user);
      if (client?.online) client.session?.acknowledge(client.seq);
    },
    wait: (one) => clock.advance((one as unknown as { ms: number }).ms),
    end({ call }) {
      for (const [user, at] of voiceMembers) if (at === call) voiceMembers.delete(user);
      calls.ended(call);
    },
  };
  return { world, clients, act: (one: Step) => acts[one.do](one as Step & { user: string; call: string }) };
}

it('holds for any course of events', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { world, clients, act } = town();
      for (const one of steps) {
        act(one);
        const seen = new Set<string>();
        for (const view of world.calls.list()) {
          const connected = view.members.filter(({ ssrc }) => ssrc !== null);
          for (const { userId } of view.members) {
            expect(seen.has(userId)).toBe(false);
            seen.add(userId);
          }
          const room = connected.length > 0 ? world.room(view.callId) : null;
          const inMedia = [...(room?.members ?? [])].map(([ssrc, { userId }]) => `${ssrc} ${userId}`);
          expect(inMedia.sort()).toEqual(connected.map(({ ssrc, userId }) => `${ssrc} ${userId}`).sort());
          for (const { userId, ssrc, silenced, attached } of connected) {
            expect(room?.at(ssrc as number).gate.speaks).toBe(!silenced);
            const client = clients.get(userId);
            expect(client?.online).toBe(attached);
            if (!attached) continue;
            const others = connected.flatMap((other) => (other.userId === userId ? [] : [other.userId]));
            expect([...(client?.known ?? [])].sort()).toEqual(others.sort());
            for (const other of connected)
              if (other.userId !== userId && !other.silenced)
                expect(client?.speakers.get(other.ssrc as number)).toBe(other.userId);
          }
        }
      }
      // Media forgets the absent members, and in the end no call is left.
      world.clock.advance(RESUME_WINDOW_MS);
      world.calls.close();
      expect(world.calls.size).toBe(0);
      expect(world.faults).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
