import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import type { ProvisionalPorts } from './provisional.ts';

/** Notifies a user's own sessions and those of some applications (absent: of all), and the embedding program. */
export const playerNotices =
  (notifier: Pick<Notifier, 'notify'>, tap: Pick<Tap, 'see'>): ProvisionalPorts['notify'] =>
  (userId, t, d, among) => {
    notifier.notify(userId, t, d, { own: true, applications: among ?? 'all' });
    tap.see(t, d, userId);
  };
