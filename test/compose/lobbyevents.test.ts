// Goal: a game receives the webhook events of its lobbies from the moment at which it subscribes to them.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Application } from '../../engine/user/facts.ts';
import { type LobbyInstance, openLobbyInstance } from '../support/lobbyinstance.ts';

let instance: LobbyInstance;
/** Never acknowledges, so that queued events stay queued. */
let endpoint: Server;
beforeAll(async () => {
  instance = await openLobbyInstance();
  endpoint = createServer((_, response) => response.writeHead(500).end());
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
}, 60_000);
afterAll(() => {
  instance.close();
  endpoint.closeAllConnections();
  endpoint.close();
});

test('a change of the subscribed webhook events applies to the next message', async () => {
  const { port } = endpoint.address() as AddressInfo;
  const player = await instance.player();
  const made = await instance.lobbies.createOrJoin(
    { secret: 'table', lobby: {}, member: {} },
    player.authority,
  );
  if (!made.ok) throw new Error(made.refusal.message);
  const say = (content: string) =>
    instance.lobbies.send(made.value.id, { content, metadata: null, flags: 0 }, player.authority);
  const change = (more: Partial<Application>) =>
    instance.features.endpoints.update(instance.applicationId, more);
  const before = (await instance.storage.applications.get(instance.applicationId))!;
  // The URL is stored directly, because it would not pass the check of URLs.
  const url = { event_webhooks_url: `http://127.0.0.1:${port}/`, event_webhooks_status: 2 };
  const application = { ...before, ...url, event_webhooks_types: [] };
  await instance.commit(instance.applicationId, [{ type: 'applicationUpdated', application }]);
  await say('not wanted yet');
  await change({ event_webhooks_types: ['LOBBY_MESSAGE_CREATE'] });
  await say('wanted');
  await change({ event_webhooks_types: [] });
  await say('no longer wanted');
  const queued = await instance.storage.webhookEvents.pending(instance.applicationId, 10);
  expect(queued.map(({ data }) => (data as { content: string }).content)).toEqual(['wanted']);
});
