// Goal: a lobby for a match takes all of its players, or does not stay.
import { expect, it } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import type { LobbyContext } from '../../../services/lobbies/context.ts';
import { extensionOperations } from '../../../services/lobbies/extensions.ts';

const PLAYERS = ['11', '12'] as UserId[];

const matched = (lobbyId: string) => [{ user_ids: PLAYERS, lobby_id: lobbyId }];

/** Creates a lobby for the players, where calls of the type `failing` fail. */
async function createdWith(failing: string | null) {
  const calls: string[] = [];
  const repeated: Promise<unknown>[] = [];
  const context = {
    ...{ routing: HERE, clock: new VirtualClock(), nextId: () => '50', commit: async () => undefined },
    ...{ fresh: { keep: () => undefined }, idle: () => undefined, attachments: { entering: () => [] } },
    person: async (_: string, id: string) => ({ user: { id }, lobbies: 0 }),
    call: async (_: string, type: string, sent: object) => {
      calls.push(type);
      if (type === 'updateLobby') expect(sent).toMatchObject({ matched: matched('50') });
      if (type === failing && calls.filter((each) => each === type).length === 1)
        throw new NotServed('The lobby has no owner.');
      return { ok: true, value: { members: PLAYERS.map((id) => ({ id })) } };
    },
    repeat: (_: string, run: () => Promise<unknown>) => repeated.push(run().catch(run)),
  } as unknown as LobbyContext;
  const settings = { game: null, host_grace_seconds: null };
  const input = { metadata: null, settings, players: PLAYERS, matched };
  const made = extensionOperations(context).createWith('7' as ApplicationId, input);
  const outcome = await made.catch((fault: Error) => fault.name);
  await Promise.all(repeated);
  return { calls, outcome };
}

it('keeps the lobby when all players are in', async () => {
  const { calls, outcome } = await createdWith(null);
  expect([calls, outcome]).toEqual([
    ['updateLobby', 'setSettings'],
    { ok: true, value: { lobbyId: '50', missing: [] } },
  ]);
});

it('deletes the lobby when players may have entered, or not', async () => {
  const { calls, outcome } = await createdWith('updateLobby');
  expect([calls.at(-1), outcome]).toEqual(['deleteLobby', 'NotServed']);
});

it('keeps a lobby whose players know of their match, and applies its settings until that succeeds', async () => {
  const { calls, outcome } = await createdWith('setSettings');
  expect([calls, outcome]).toEqual([
    ['updateLobby', 'setSettings', 'setSettings'],
    { ok: true, value: { lobbyId: '50', missing: [] } },
  ]);
});
