// Goal: lobbies as sessions, guilds, the database and time meet them: nothing lost, nothing twice, nobody else hears.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LobbyObject } from '../../engine/lobby/objects.ts';
import type { Reply } from '../../engine/outcome.ts';
import { until } from '../support/house.ts';
import { type LobbyHouse, openLobbyHouse } from '../support/lobbyhouse.ts';

const must = <T>(reply: Reply<T>): T => {
  if (!reply.ok) throw new Error(`refused: ${JSON.stringify(reply.refusal)}`);
  return reply.value;
};

describe('lobbies', () => {
  let house: LobbyHouse;
  beforeAll(async () => {
    house = await openLobbyHouse();
  });
  afterAll(() => house.close());

  test('two players meet by secret, and hear each other', async () => {
    const [a, b] = [await house.player(), await house.player()];
    const [first, second] = [await a.connect(), await b.connect()];
    const join = { secret: 'meeting', lobby: { metadata: { mode: 'duel' } }, member: {} };
    const made: LobbyObject = must(await house.lobbies.createOrJoin(join, a.authority));
    expect(made.metadata).toEqual({ mode: 'duel' });
    const joined = must(
      await house.lobbies.createOrJoin(
        { ...join, lobby: {}, member: { metadata: { side: 'b' } } },
        b.authority,
      ),
    );
    expect(joined.id).toBe(made.id);
    expect(joined.members.map(({ id }) => id)).toEqual([a.userId, b.userId]);
    expect(first.sink.names.filter((name) => name.startsWith('LOBBY'))).toEqual([
      'LOBBY_CREATE',
      'LOBBY_MEMBER_ADD',
    ]);
    expect(first.dispatched('LOBBY_MEMBER_ADD')).toEqual([
      expect.objectContaining({
        lobby_id: made.id,
        application_id: house.applicationId,
        member: expect.objectContaining({ connected: true, metadata: { side: 'b' } }),
      }),
    ]);
    const said = must(
      await house.lobbies.send(made.id, { content: 'hello', metadata: { k: 'v' }, flags: 0 }, a.authority),
    );
    await until(() => second.sink.names.includes('LOBBY_MESSAGE_CREATE'));
    expect(second.dispatched('LOBBY_MESSAGE_CREATE')).toEqual([said]);
    const [kept] = must(await house.lobbies.history(made.id, 50, b.authority));
    const { metadata: _, ...rest } = said;
    expect(kept).toEqual(rest);
  });
});
