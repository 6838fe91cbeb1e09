// Goal: no step of an answer relies on an earlier one that another owner may have undone.
import { expect, it } from 'vitest';
import type { Interaction } from '../../../engine/interaction/interaction.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { InteractionOwner } from '../../../services/interactions/owner.ts';

const ID = '5';
const OWNER_ID = '7';
const interaction = { id: ID, ownerId: OWNER_ID, state: { kind: 'waiting' } } as unknown as Interaction;

function arrange() {
  const forgotten: string[] = [];
  const open = {
    known: () => interaction,
    forget: (id: string) => forgotten.push(id),
    forgetMoved: () => undefined,
  };
  const owner = new InteractionOwner({ open, scope: { over: false, own: () => undefined } } as never);
  /** A request during which the interaction of this owner moves to another shard, and back. */
  const runWhile = (movedId: string | null) =>
    owner.run(OWNER_ID, ID, async (found) => {
      await Promise.resolve();
      if (movedId !== null) owner.forgetMoved((ownerId) => ownerId === movedId);
      owner.checkOwned(found);
      return { ok: true, value: 'answered' };
    });
  return { owner, forgotten, runWhile };
}

it('refuses to go on with a request when others owned the interaction meanwhile, and reads it again for the next', async () => {
  const { forgotten, runWhile } = arrange();
  await expect(runWhile(OWNER_ID)).rejects.toBeInstanceOf(NotServed);
  expect(forgotten).toEqual([ID]);
  expect(await runWhile(null)).toEqual({ ok: true, value: 'answered' });
});

it('goes on with a request when only others have moved', async () => {
  const { runWhile } = arrange();
  expect(await runWhile('8')).toEqual({ ok: true, value: 'answered' });
});
