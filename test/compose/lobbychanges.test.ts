// Goal: clients with the capability LOBBY_CHANGES receive changes of lobbies without what did not change, other clients whole lobbies.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { until } from '../support/instance.ts';
import { type LobbyInstance, openLobbyInstance, type Player } from '../support/lobbyinstance.ts';

let setup: LobbyInstance;
beforeAll(async () => {
  setup = await openLobbyInstance();
}, 60_000);
afterAll(() => setup.close());

async function join(player: Player, metadata?: Readonly<Record<string, string>>) {
  const member = metadata ? { metadata } : {};
  const reply = await setup.lobbies.createOrJoin({ secret: 'changes', lobby: {}, member }, player.authority);
  if (!reply.ok) throw new Error(`refused: ${JSON.stringify(reply.refusal)}`);
  return reply.value;
}
const lobbyNames = ({ sink }: { readonly sink: { readonly names: readonly string[] } }) =>
  sink.names.filter((name) => name.startsWith('LOBBY'));

describe('a client with the capability LOBBY_CHANGES', () => {
  test('receives changes without the members and the user, and others receive them whole', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    const [first, second] = [await a.connect(ALL_INTENTS, CAPABILITY.LOBBY_CHANGES), await b.connect()];
    const { id } = await join(a);
    await join(b, { side: 'b' });
    await setup.lobbies.update(id, { change: { metadata: { map: 'dunes' } }, members: null }, setup.bot);
    await join(b, { side: 'a' });
    await until(() => second.sink.names.includes('LOBBY_MEMBER_UPDATE'), 'the member’s change');
    expect(lobbyNames(second)).toEqual(['LOBBY_CREATE', 'LOBBY_UPDATE', 'LOBBY_MEMBER_UPDATE']);
    expect(second.dispatched('LOBBY_UPDATE')).toMatchObject([
      { metadata: { map: 'dunes' }, members: [{}, {}] },
    ]);
    expect(lobbyNames(first)).toEqual(['LOBBY_CREATE', 'LOBBY_MEMBER_ADD']);
    const changes: readonly object[] = first.dispatched('GUILDHALL_LOBBY_UPDATE');
    expect(changes).toMatchObject([{ id, metadata: { map: 'dunes' } }]);
    expect(changes.flatMap(Object.keys)).not.toContain('members');
    expect(first.dispatched('GUILDHALL_LOBBY_MEMBER_UPDATE')).toEqual([
      {
        ...{ lobby_id: id, application_id: setup.applicationId },
        member: { id: b.userId, metadata: { side: 'a' }, flags: 0, connected: true },
      },
    ]);
    expect(second.sink.names.filter((name) => name.startsWith('GUILDHALL'))).toEqual([]);
  });
});
