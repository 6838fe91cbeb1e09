// Goal: a call's voice server is reached where it is: over TLS at its endpoint, or in the clear beside such a gateway.
import { expect, test } from 'vitest';
import type { CallMediaOptions } from '../../sdk/call/media.ts';
import type { ClientOptions } from '../../sdk/client/core.ts';
import { LOBBY, ME, readyClient, SILENCE, settle } from '../support/sdk.ts';
import { ScriptedMedia } from './call/scripted.ts';

const createAudio = () => ({ ...SILENCE, open: (options: CallMediaOptions) => new ScriptedMedia(options) });

test.each<[ClientOptions, string]>([
  [{ gatewayUrl: 'wss://server.test' }, 'wss://voice.test:3002'],
  [{ gatewayUrl: 'wss://server.test' }, 'wss://chat.test/voice'],
  [{ gatewayUrl: 'ws://server.test:3000' }, 'ws://server.test:3000/voice/'],
  [{ gatewayUrl: 'ws://server.test', voiceUrl: (endpoint) => `ws://mine/${endpoint}` }, 'ws://mine/v.test'],
])('a client with %j asks %s', async (options, expected) => {
  const lobby = { id: LOBBY, metadata: {}, members: [{ user: { id: ME }, flags: 0 }] };
  const { client, server } = await readyClient({ lobbies: [lobby] }, { createAudio, ...options });
  client.startCall(LOBBY);
  await settle();
  const endpoint = expected.replace(/^ws:\/\/mine\/|^wss:\/\//, '');
  server.dispatch('LOBBY_VOICE_SERVER_UPDATE', { lobby_id: LOBBY, endpoint, token: 'ticket' });
  await settle();
  const { origin, pathname } = new URL(server.socket.url);
  const wanted = new URL(expected);
  expect([origin, pathname]).toEqual([wanted.origin, wanted.pathname]);
  client.destroy();
});
