// Goal: what people ask of streams reaches the engine in its own terms, and nothing of what bots or broken clients do.
import { expect, it } from 'vitest';
import { arrange, IDENTIFY } from './harness.ts';

/** Sends one payload in a session. @returns the close code, and the calls that reach the engine. */
async function sent(op: number, d: object, identify: object) {
  const arranged = arrange();
  const { wire, say } = arranged.connect();
  say(2, { ...IDENTIFY, ...identify });
  await arranged.flush();
  say(op, d);
  await arranged.flush();
  return { closed: wire.ended?.code ?? null, asked: arranged.backend.named('stream') };
}

const BOT = {};
const HUMAN = { token: 'human', intents: undefined };
const STREAM = 'guild:5:6:7';
const GUILD = { type: 'guild', guild_id: '5', channel_id: '6', preferred_region: null };
const CALL = { type: 'call', guild_id: null, channel_id: '6' };

it.each<[number, object, object]>([
  [18, GUILD, { type: 'create', place: { guildId: '5', channelId: '6' } }],
  [18, CALL, { type: 'create', place: { guildId: null, channelId: '6' } }],
  [19, { stream_key: STREAM }, { type: 'delete', streamKey: STREAM }],
  [20, { stream_key: STREAM }, { type: 'watch', streamKey: STREAM }],
  [21, { stream_key: STREAM }, { type: 'ping', streamKey: STREAM }],
  [22, { stream_key: STREAM, paused: true }, { type: 'setPaused', streamKey: STREAM, paused: true }],
])('%i asks for streams, for people only', async (op, d, request) => {
  expect(await sent(op, d, HUMAN)).toEqual({ closed: null, asked: [['stream', request]] });
  expect(await sent(op, d, BOT)).toEqual({ closed: 4001, asked: [] });
});

it.each<[number, object]>([
  [18, { ...GUILD, guild_id: null }],
  [18, { ...GUILD, type: 'lobby' }],
  [18, { ...CALL, channel_id: 'x' }],
  [19, {}],
  [20, { stream_key: 'x'.repeat(129) }],
  [21, { stream_key: 5 }],
  [22, { stream_key: STREAM }],
])('%i with %j is no payload of its', async (op, d) => {
  expect(await sent(op, d, HUMAN)).toEqual({ closed: 4001, asked: [] });
});
