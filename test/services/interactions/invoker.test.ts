// Goal: what the invoker of an interaction is sent reaches the session that invoked it, or all clients, after the commit.
import { expect, it } from 'vitest';
import type { DirectDispatch } from '../../../actors/user/notifier.ts';
import { OWN_SESSIONS } from '../../../engine/fanout/direct.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { committing, type InvokerDispatch } from '../../../services/interactions/invoker.ts';

const INVOKER = { ownerId: '7', userId: '2' as UserId, sessionId: 's' };
const DISPATCHES: readonly InvokerDispatch[] = [
  { t: 'MESSAGE_CREATE', d: {}, to: 'clients' },
  { t: 'INTERACTION_SUCCESS', d: {}, to: 'session' },
];

function arrange() {
  const log: string[] = [];
  const sent: DirectDispatch[] = [];
  const commit = committing({
    commitAndNotify: async (ownerId, _facts, notifications, stream) => {
      log.push(`commit ${ownerId} ${stream}`);
      sent.push(...notifications);
      return () => void log.push('send');
    },
    see: (t) => void log.push(`see ${t}`),
  });
  return { log, sent, commit };
}

it('sends to the clients of the invoker and to one session, when the facts are committed', async () => {
  const { log, sent, commit } = arrange();
  await commit(INVOKER, [], DISPATCHES);
  expect(log).toEqual(['commit 7 partition', 'see MESSAGE_CREATE', 'see INTERACTION_SUCCESS', 'send']);
  expect(sent.map(({ filter, userIds }) => [filter, userIds])).toEqual([
    [OWN_SESSIONS, ['2']],
    [{ own: true, applications: 'all', sessionId: 's' }, ['2']],
  ]);
});

it('sends nothing to a session for an invocation without one', async () => {
  const { sent, commit } = arrange();
  await commit({ ...INVOKER, sessionId: '' }, [], DISPATCHES);
  expect(sent.map(({ t }) => t)).toEqual(['MESSAGE_CREATE']);
});
