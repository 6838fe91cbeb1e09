import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Metric } from '../../protocol/metrics.ts';
import type { Accounts } from './ports.ts';

/** Labels of refused sign-ins, by the status of the refusal. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'wrong',
  403: 'banned',
  429: 'too_many',
  503: 'busy',
};

/** Counts refused sign-ins; many wrong ones indicate password guessing. */
export function countingRefusals(accounts: Accounts, metrics: Metric[]): Accounts {
  const counts = new Map(Object.values(REASONS).map((reason) => [reason, 0]));
  for (const reason of counts.keys())
    metrics.push({
      name: 'guildhall_sign_ins_refused',
      help: 'Passwords and codes rejected since the start, by reason.',
      labels: { reason },
      read: () => counts.get(reason) ?? 0,
    });
  function counted<Value>(reply: Reply<Value>): Reply<Value> {
    const reason = reply.ok ? undefined : REASONS[reply.refusal.status];
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return reply;
  }
  return {
    ...accounts,
    get registrationOpen() {
      return accounts.registrationOpen;
    },
    signIn: async (...given) => counted(await accounts.signIn(...given)),
    secondFactor: async (...given) => counted(await accounts.secondFactor(...given)),
  };
}
