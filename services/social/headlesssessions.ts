import type { Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { UserSession } from '../../actors/user/user.shell.ts';
import type { Users } from '../../actors/user/users.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { readActivities } from '../../engine/presence/activities.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import type { UserId } from '../../protocol/ids.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { JoinSecrets } from './joinsecrets.ts';
import type { Activities, Person } from './ports.ts';

interface HeadlessSessionPorts {
  readonly users: Pick<Users, 'open' | 'present' | 'presenceOf' | 'close'>;
  readonly joinSecrets: JoinSecrets;
  readonly wheel: Wheel;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Called when the merged presence of the user changes. */
  readonly presenceChanged: (userId: UserId, presence: Presence | null) => void;
}

/**
 * Lifetime of activities without renewal.
 *
 * @source https://docs.discord.food/resources/presence#create-headless-session
 */
const HEADLESS_MS = 20 * 60_000;
/** Most headless sessions of a shard; further ones are refused. Our bound. */
const HEADLESS_MAX = 50_000;
/** A shard that no guild maps to, so that the session receives no dispatch. */
const NO_SHARD = [1, 1] as const;

interface HeadlessSession extends UserSession {
  readonly token: string;
  readonly key: string;
  state: 'open' | 'ended';
  timer: Timer;
}

/** Activities shown without a gateway session, one session per user and application. */
export function createHeadlessSessions(
  ports: HeadlessSessionPorts,
): Pick<Activities, 'startHeadless' | 'endHeadless' | 'takeBack'> {
  const { users, joinSecrets } = ports;
  const byKey = new Map<string, HeadlessSession>();
  const random = () => Buffer.from(ports.randomBytes(16)).toString('hex');
  const keyOf = ({ userId, authorization }: Person) => keyFor(userId, authorization?.applicationId ?? '');

  function end(session: HeadlessSession): void {
    session.state = 'ended';
    session.timer.cancel();
    byKey.delete(session.key);
    joinSecrets.end(session.sessionId);
    const presence = users.close(session);
    if (presence !== undefined) ports.presenceChanged(session.userId, presence);
  }

  const expiryTimer = (session: HeadlessSession): Timer => ports.wheel.add(() => end(session), HEADLESS_MS);

  async function openSession(by: Person): Promise<HeadlessSession> {
    const session = newSession(by, keyOf(by), [random(), random()]);
    byKey.set(session.key, session);
    await users.open(session);
    return session;
  }

  return {
    async startHeadless(by, sent, token) {
      const known = byKey.get(keyOf(by));
      if (token !== null && known?.token !== token) return refused(refusal('UNKNOWN_SESSION'));
      if (!known && byKey.size >= HEADLESS_MAX) return refused(refusal('API_OVERLOADED'));
      const session = known ?? (await openSession(by));
      const source = {
        sessionId: session.sessionId,
        applicationId: by.authorization?.applicationId ?? null,
      };
      const { shown, hidden } = readActivities(sent, false, ports.nowMs(), source);
      if (shown.length === 0) {
        if (!known) end(session);
        return refused(invalidField(['activities', 0], 'ACTIVITY_INVALID', 'Not a valid activity'));
      }
      session.timer.cancel();
      session.timer = expiryTimer(session);
      joinSecrets.set(by.userId, session.sessionId, hidden);
      const isOpen = users.present(session, {
        sessionId: session.sessionId,
        status: 'online',
        platform: 'embedded',
        activities: shown,
        changedMs: ports.monotonicMs(),
      });
      if (isOpen) ports.presenceChanged(by.userId, users.presenceOf(by.userId));
      return { ok: true, value: { token: session.token, activities: shown } };
    },

    async endHeadless(by, token): Promise<Reply<null>> {
      const known = byKey.get(keyOf(by));
      if (known?.token !== token) return refused(refusal('UNKNOWN_SESSION'));
      end(known);
      return { ok: true, value: null };
    },

    takeBack(userId, applicationId) {
      const known = byKey.get(keyFor(userId, applicationId));
      if (known) end(known);
    },
  };
}

const keyFor = (userId: UserId, applicationId: string): string => `${userId}:${applicationId}`;

const newSession = (
  { userId, authorization }: Person,
  key: string,
  [token, sessionId]: readonly [string, string],
): HeadlessSession => ({
  token,
  key,
  sessionId,
  userId,
  intents: 0,
  bot: false,
  authorization,
  shard: NO_SHARD,
  state: 'open',
  get over() {
    return this.state === 'ended';
  },
  deliver: () => {},
  timer: { cancel: () => {} },
});
