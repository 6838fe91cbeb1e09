// Goal: a game receives the webhook events of its lobbies from the moment at which it subscribes to them.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Application } from '../../engine/user/facts.ts';
import { type LobbyHouse, openLobbyHouse } from '../support/lobbyhouse.ts';

let house: LobbyHouse;
/** Never acknowledges, so that queued events stay queued. */
let endpoint: Server;
beforeAll(async () => {
  house = await openLobbyHouse();
  endpoint = createServer((_, response) => response.writeHead(500).end());
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
}, 60_000);
afterAll(() => {
  house.close();
  endpoint.closeAllConnections();
  endpoint.close();
});

test('a change of the subscribed webhook events applies to the next message', async () => {
  const { port } = endpoint.address() as AddressInfo;
  const player = await house.player();
  const made = await house.lobbies.createOrJoin({ secret: 'table', lobby: {}, member: {} }, player.authority);
  if (!made.ok) throw new Error(made.refusal.message);
  const say = (content: string) =>
    house.lobbies.send(made.value.id, { content, metadata: null, flags: 0 }, player.authority);
  const change = (more: Partial<Application>) => house.features.endpoints.update(house.applicationId, more);
  const before = (await house.storage.applications.get(house.applicationId))!;
  // The URL is stored directly, because it would not pass the check of URLs.
  const url = { event_webhooks_url: `http://127.0.0.1:${port}/`, event_webhooks_status: 2 };
  const application = { ...before, ...url, event_webhooks_types: [] };
  await house.commit(house.applicationId, [{ type: 'applicationUpdated', application }]);
  await say('not wanted yet');
  await change({ event_webhooks_types: ['LOBBY_MESSAGE_CREATE'] });
  await say('wanted');
  await change({ event_webhooks_types: [] });
  await say('no longer wanted');
  const queued = await house.storage.webhookEvents.pending(house.applicationId, 10);
  expect(queued.map(({ data }) => (data as { content: string }).content)).toEqual(['wanted']);
});
