// Goal: an interaction is answered once or fails once, also when its guild changes owners during the answer.
import { describe, expect, it } from 'vitest';
import type { Interaction, InteractionFact } from '../../../engine/interaction/interaction.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { CALLBACK } from '../../../protocol/interactions.ts';
import { Answering } from '../../../services/interactions/answering.ts';
import type { InvokerDispatch } from '../../../services/interactions/invoker.ts';
import { OpenInteractions } from '../../../services/interactions/open.ts';
import { InteractionOwner } from '../../../services/interactions/owner.ts';

const CREATED_MS = 1_700_000_000_000;
const WAITING = {
  ...{ id: '5', type: 2, ownerId: '7', guildId: '7', channelId: '8', applicationId: '1', userId: '2' },
  ...{ sessionId: 's', nonce: null, createdMs: CREATED_MS, command: { type: 1, name: 'x' }, source: null },
  ...{ metadata: {}, legacy: null, author: { id: '3' }, files: [], modal: null, followUps: 0 },
  ...{ forcesEphemeral: false, isInstalledHere: true, mentionsEveryone: true, state: { kind: 'waiting' } },
} as unknown as Interaction;
const OF_MESSAGE = {
  ...WAITING,
  type: 3,
  command: null,
  source: { messageId: '60', isEphemeral: false },
} as Interaction;
const callback = (type: number) =>
  ({ type, draft: { content: 'hi' }, attachments: [], keep: null, data: null }) as never;

/** One owner of a stored interaction. `onCommit` runs after each commit, `onRead` before each read of the row. */
function arrange(stored: Interaction) {
  const database = { row: stored };
  const log: string[] = [];
  const timers: (() => void)[] = [];
  const hooks = { onCommit: () => {}, onRead: () => {} };
  const faults: Error[] = [];
  const nowMs = () => CREATED_MS + 100;
  const get = async () => {
    hooks.onRead();
    return database.row;
  };
  const open = new OpenInteractions({ get } as never, nowMs);
  const wrote = async () => {
    log.push('message');
    return { ok: true, value: { message: { edited_timestamp: new Date(nowMs() + 1).toISOString() } } };
  };
  const places = { find: async () => null, write: wrote, edit: wrote };
  const answering = new Answering({
    ...{ places, ephemeral: {}, nextId: () => '99', nowMs, forSale: async () => [] },
    write: (interaction: Interaction, dispatches: readonly InvokerDispatch[]) =>
      owner.write(interaction, [], dispatches),
    checkOwned: (interaction: Interaction) => owner.checkOwned(interaction),
    remember: (interaction: Interaction) => owner.remember(interaction),
    answered: (interaction: Interaction) => owner.answered(interaction),
  } as never);
  const owner: InteractionOwner = new InteractionOwner({
    ...{ open, places, answering, nowMs, scope: { over: false, own: () => undefined } },
    wheel: {
      add: (run: () => void) => {
        timers.push(run);
        return { cancel: () => undefined };
      },
    },
    commit: async (_: unknown, facts: readonly InteractionFact[], dispatches: readonly InvokerDispatch[]) => {
      const fault = faults.shift();
      if (fault) throw fault;
      for (const fact of facts)
        if ('change' in fact) database.row = { ...database.row, ...fact.change } as Interaction;
      hooks.onCommit();
      log.push(...dispatches.map(({ t }) => t));
    },
    notifyInvoker: (_: unknown, dispatches: readonly InvokerDispatch[]) =>
      log.push(...dispatches.map(({ t }) => `${t} unrecorded`)),
    onFault: (error: unknown) => log.push(String(error)),
  } as never);
  const moveOnce = () => {
    Object.assign(hooks, { onCommit: () => {}, onRead: () => {} });
    owner.forgetMoved((ownerId) => ownerId === '7');
  };
  const answer = (type: number = CALLBACK.MESSAGE) =>
    owner.run('7', '5', (interaction) => answering.first(interaction, callback(type)));
  return { database, log, timers, hooks, owner, moveOnce, answer, faults };
}

describe('an answered interaction', () => {
  it('stays answered at the next owner when its message was deleted', async () => {
    const first = arrange(WAITING);
    expect(await first.answer()).toMatchObject({ ok: true });
    expect(first.database.row.state.kind).toBe('answered');
    const next = arrange(first.database.row);
    await next.owner.adopt(next.database.row);
    expect([next.timers, next.log]).toEqual([[], []]);
  });
});

describe('an interaction that another shard owns between two steps of its answer', () => {
  it.each([
    ['a message', WAITING, CALLBACK.MESSAGE],
    ['an edit of its message', OF_MESSAGE, CALLBACK.UPDATE_MESSAGE],
  ])('is answered with %s by the next attempt alone', async (_what, stored, type) => {
    const { log, hooks, moveOnce, answer } = arrange(stored);
    hooks.onCommit = moveOnce;
    await expect(answer(type)).rejects.toBeInstanceOf(NotServed);
    expect(log).toEqual([]);
    expect(await answer(type)).toMatchObject({ ok: true });
    expect(log).toEqual(['message', 'INTERACTION_SUCCESS']);
  });

  it('is not answered when another shard owned it while it was read', async () => {
    const { log, hooks, moveOnce, answer } = arrange(WAITING);
    hooks.onRead = moveOnce;
    await expect(answer()).rejects.toBeInstanceOf(NotServed);
    expect(log).toEqual([]);
  });

  it('ignores moves of other owners, and is not checked as owned after its request', async () => {
    const { owner, answer } = arrange(WAITING);
    const answering = answer();
    owner.forgetMoved((ownerId) => ownerId === '8');
    expect(await answering).toMatchObject({ ok: true });
    expect(() => owner.checkOwned(WAITING)).toThrow(NotServed);
  });
});

describe('an interaction whose end cannot be stored', () => {
  const due = async ({ timers }: ReturnType<typeof arrange>): Promise<void> => {
    for (const run of timers.splice(0)) run();
    await new Promise(setImmediate);
  };

  it('fails at the next attempt, unless another shard has ended it by then', async () => {
    const here = arrange(WAITING);
    await here.owner.adopt(WAITING);
    here.faults.push(new Error('The database is gone.'));
    await due(here);
    expect([here.log.splice(0), here.timers.length]).toEqual([['Error: The database is gone.'], 1]);
    await due(here);
    expect([here.log, here.timers, here.database.row.state]).toEqual([
      ['INTERACTION_FAILURE'],
      [],
      { kind: 'failed' },
    ]);
    const moved = arrange(WAITING);
    await moved.owner.adopt(WAITING);
    moved.faults.push(new NotServed('Another shard owns it.'));
    await due(moved);
    expect([moved.log.splice(0).length, moved.timers.length]).toEqual([1, 1]);
    moved.database.row = { ...WAITING, state: { kind: 'failed' } };
    await due(moved);
    expect([moved.log, moved.timers]).toEqual([[], []]);
  });

  it('is shown as answered although only its message could be stored', async () => {
    const { answer, faults, hooks, log } = arrange(WAITING);
    hooks.onCommit = () => void faults.push(new Error('The database is gone.'));
    expect(await answer()).toMatchObject({ ok: true });
    await new Promise(setImmediate);
    expect(log).toEqual(['message', 'INTERACTION_SUCCESS unrecorded']);
  });
});
