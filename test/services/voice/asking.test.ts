// Goal: a voice request that a place cannot answer for a while is not lost, and nothing is repeated that is no longer wanted.
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../actors/session/backend.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ChannelId, GuildId } from '../../../protocol/ids.ts';
import { type AskPorts, askingRepeatedly, NOWHERE, type VoicePlace } from '../../../services/voice/asking.ts';

const PLACE: VoicePlace = { kind: 'guild', id: '2001' as GuildId };
const OTHER: VoicePlace = { kind: 'private', id: '1002' as ChannelId };
const JOIN = { ...NOWHERE, channelId: '1001' as ChannelId };
const IN_VOICE = { ok: true, value: {} };

function arrange(fault: Error = new NotServed('The database is gone.')) {
  const clock = new VirtualClock();
  const place = { isAway: true };
  const asked: string[] = [];
  const session = {
    ...{ sessionId: 's1', over: false },
    principal: { userId: '1', bot: false, applicationId: null, applicationFlags: 0, authorization: null },
  };
  const command = async (id: string, _type: string, input: { channelId?: string | null; join?: boolean }) => {
    asked.push(`${id} ${input.channelId || input.join ? 'join' : 'leave'}`);
    if (place.isAway) throw fault;
    return IN_VOICE;
  };
  const ask = askingRepeatedly({
    ...{ guilds: { call: command }, inPrivate: command, clock, wheel: new TimerWheel(clock) },
  } as unknown as AskPorts);
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 500) {
      await new Promise(setImmediate);
      clock.advance(500);
    }
    await new Promise(setImmediate);
  };
  return {
    ...{ place, asked, session, pass },
    ask: (...of: [VoicePlace, typeof NOWHERE, (() => boolean)?]) => {
      const reply = ask(session as unknown as LiveSession, ...of);
      // The test looks at it later.
      reply.catch(() => undefined);
      return reply;
    },
  };
}

it('a request is repeated each second until its place answers', async () => {
  const { ask, asked, pass, place } = arrange();
  const reply = ask(PLACE, JOIN);
  await pass(10_000);
  expect(asked.length).toBeGreaterThan(8);
  place.isAway = false;
  await pass(1_500);
  expect(await reply).toBe(IN_VOICE);
  asked.length = 0;
  await pass(10_000);
  expect(asked).toEqual([]);
});

it('a request is given up after a minute', async () => {
  const { ask, asked, pass } = arrange();
  const reply = ask(PLACE, JOIN);
  await pass(62_000);
  await expect(reply).rejects.toThrow('The database is gone.');
  asked.length = 0;
  await pass(10_000);
  expect(asked).toEqual([]);
});

it('a request is given up for a later one to the same place, and not for one to another', async () => {
  const { ask, asked, pass, place } = arrange();
  const first = ask(PLACE, JOIN);
  const other = ask(OTHER, JOIN);
  await pass(2_000);
  const second = ask(PLACE, NOWHERE);
  await expect(Promise.all([first, pass(2_000)])).rejects.toThrow('The database is gone.');
  place.isAway = false;
  asked.length = 0;
  await pass(2_000);
  expect([await second, await other]).toEqual([IN_VOICE, IN_VOICE]);
  expect(asked.sort()).toEqual(['1002 join', '2001 leave']);
});

it('a request is given up when its session ends, and when it is no longer wanted', async () => {
  const { ask, asked, pass, session } = arrange();
  const wanted = { is: true };
  const first = ask(PLACE, JOIN, () => wanted.is);
  await pass(2_000);
  wanted.is = false;
  await pass(2_000);
  await expect(first).rejects.toThrow('The database is gone.');
  const second = ask(PLACE, JOIN);
  await pass(2_000);
  session.over = true;
  asked.length = 0;
  await pass(3_000);
  await expect(second).rejects.toThrow('The database is gone.');
  expect(asked).toEqual([]);
});

it('a request that meets a mistake in the server is not repeated', async () => {
  const { ask, asked, pass } = arrange(new TypeError('undefined is not a function'));
  const reply = ask(PLACE, JOIN);
  await pass(5_000);
  await expect(reply).rejects.toThrow('undefined is not a function');
  expect(asked).toHaveLength(1);
});
