// Goal: a session leaves the call that it is in, in whatever order the requests of its client are answered.
import { describe, expect, it } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import type { LiveSession } from '../../../actors/session/backend.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import { createVoicePlaces, type PlacePorts } from '../../../services/voice/places.ts';

const [FIRST, SECOND, THIRD] = ['1001', '1002', '1003'] as unknown as [ChannelId, ChannelId, ChannelId];

/** Private channels whose replies to a join the test gives. */
function arrange() {
  const left: string[] = [];
  const joins: { readonly id: string; readonly reply: (reply: object) => void }[] = [];
  const places = createVoicePlaces({
    guilds: { isResident: () => false },
    privateChannels: { peek: () => ({}) },
    inPrivate: (id: string, _type: string, { join }: { readonly join: boolean }) => {
      if (join) return new Promise((reply) => joins.push({ id, reply }));
      left.push(id);
      return Promise.resolve({ ok: true, value: null });
    },
    ...{ routing: HERE, notifier: {}, storage: {} },
    onFault: (error: unknown) => {
      throw error;
    },
  } as unknown as PlacePorts);
  const session = {
    ...{ sessionId: 's1', userId: '1', bot: false, over: false },
    principal: { userId: '1', bot: false, applicationId: null, applicationFlags: 0, authorization: null },
  } as unknown as LiveSession;
  const ask = (channelId: ChannelId | null) =>
    places.ask(session, { guildId: null, channelId, selfMute: false, selfDeaf: false, selfVideo: false });
  /** Replies to the join that was requested at this position, counted from 0. */
  const answer = async (at: number, isIn: boolean) => {
    joins[at]?.reply(isIn ? { ok: true, value: {} } : { ok: false, refusal: {} });
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  return { places, session, ask, answer, left };
}

describe('a session that joins one place after another', () => {
  it('leaves the earlier one when the later one lets it in', async () => {
    const { ask, answer, left } = arrange();
    ask(FIRST);
    await answer(0, true);
    ask(SECOND);
    expect(left).toEqual([]);
    await answer(1, true);
    expect(left).toEqual([FIRST]);
  });

  it.each([[[1, 2, 3]], [[3, 2, 1]], [[2, 3, 1]], [[2, 1, 3]]])(
    'leaves the first at its end when the others refused it in the order %j',
    async (order) => {
      const { places, session, ask, answer, left } = arrange();
      ask(FIRST);
      await answer(0, true);
      ask(SECOND);
      ask(THIRD);
      ask(SECOND);
      for (const at of order) await answer(at, false);
      places.ended(session, []);
      expect(left).toEqual([FIRST]);
    },
  );

  it('leaves what lets it in when it has asked for another meanwhile, or has ended', async () => {
    const { places, session, ask, answer, left } = arrange();
    ask(FIRST);
    ask(SECOND);
    await answer(1, true);
    await answer(0, true);
    expect(left.splice(0)).toEqual([FIRST]);
    ask(THIRD);
    places.ended(session, []);
    expect(left.splice(0)).toEqual([THIRD, SECOND]);
    Object.assign(session, { over: true });
    await answer(2, true);
    expect(left).toEqual([THIRD]);
  });

  it('leaves both when its client leaves before the later one has answered', async () => {
    const { ask, answer, left } = arrange();
    ask(FIRST);
    await answer(0, true);
    ask(SECOND);
    ask(null);
    expect(left).toEqual([SECOND, FIRST]);
  });
});
