// Goal: the first actor of a new lobby has its state without a read, and no later actor has it.
import { expect, it } from 'vitest';
import { FreshLobbies } from '../../../actors/lobby/fresh.ts';
import { HERE, type Routing } from '../../../actors/placement/routing.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { createEmptyLobby, type LobbyContext } from '../../../services/lobbies/context.ts';

/** Creates a lobby whose commit does this. */
async function created(commit: (fresh: FreshLobbies) => void, routing: Routing = HERE) {
  const fresh = new FreshLobbies();
  const context = {
    ...{ routing, clock: new VirtualClock(), nextId: () => '50', idle: () => undefined, fresh },
    commit: async () => commit(fresh),
  } as unknown as LobbyContext;
  const founding = {
    applicationId: '7' as ApplicationId,
    change: {},
    metadataKey: 'metadata',
    byClient: false,
  } as const;
  const outcome = await createEmptyLobby(context, founding).catch((fault: Error) => fault.message);
  return { fresh, outcome };
}

it('the state of a new lobby is kept for an actor that starts during the commit, and not for a later one', async () => {
  const found: (string | undefined)[] = [];
  const { fresh, outcome } = await created((kept) => found.push(kept.take('50')?.id));
  expect(outcome).toEqual({ ok: true, value: '50' });
  expect([...found, fresh.take('50')]).toEqual(['50', null]);
});

it('the state of a new lobby is kept until the first actor takes it', async () => {
  const { fresh } = await created(() => undefined);
  expect([fresh.take('50')?.id, fresh.take('50')]).toEqual(['50', null]);
});

it('the state of a new lobby is not kept when the commit fails', async () => {
  const { fresh, outcome } = await created(() => {
    throw new Error('The database was lost.');
  });
  expect([outcome, fresh.take('50')]).toEqual(['The database was lost.', null]);
});

it('the state of a new lobby is not kept where another shard owns the lobby', async () => {
  const { fresh } = await created(() => undefined, { ...HERE, owns: () => false });
  expect(fresh.take('50')).toBeNull();
});
