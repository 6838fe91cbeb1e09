import type { SessionClaim, SessionRecord } from '../../engine/session/record.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { SessionBackend } from './backend.ts';
import type { SessionArchive, SessionJournal } from './journal.ports.ts';
import type { MigrationLimiter } from './migrationlimiter.ts';
import type { Principal, SessionIdentity } from './ports.ts';
import { plainOf, principalOf } from './record.ts';
import type { GatewaySessionActor } from './session.shell.ts';

interface MigrationPorts {
  readonly archive: SessionArchive;
  readonly backend: Pick<SessionBackend, 'reopen'>;
  readonly find: (sessionId: string) => GatewaySessionActor | undefined;
  /** Creates a session without a connection. */
  readonly make: (identity: SessionIdentity) => GatewaySessionActor;
  /** Work for the session starts; `settled` reports its end. */
  readonly began: (session: GatewaySessionActor) => void;
  readonly settled: (session: GatewaySessionActor) => void;
  readonly wheel: Wheel;
  /** Bounds concurrent migrations; null: unbounded. */
  readonly limiter: MigrationLimiter | null;
  /** Provides the stream cursors of sessions. */
  readonly journal: SessionJournal | null;
}

/** Shorter than the time that a connection has to identify. */
const REOPEN_MS = 20_000;

type Claim = Omit<SessionClaim, 'principal'> & { readonly principal: Principal };

/**
 * Sessions that migrate here from other shards, or from the journals of crashed ones, when their clients resume them
 * here.
 */
export class Migrations {
  readonly #ports: MigrationPorts;
  /** Work in progress, by session id. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  /** Local sessions whose subscriptions are not all restored yet, because reopening failed. */
  readonly #unopened = new WeakSet<GatewaySessionActor>();

  constructor(ports: MigrationPorts) {
    this.#ports = ports;
  }

  has(sessionId: string): boolean {
    return this.#underWay.has(sessionId);
  }

  /**
   * Returns the session when it is local or was migrated here; its subscriptions are restored then. Undefined when no
   * shard has it, or when some missed dispatches are no longer available.
   *
   * @throws the failure; the session is kept, and may be claimed again. NotServed also for a local session while another shard may
   * have taken it from the journal: if both copies numbered dispatches, those of one would be lost.
   */
  async migrate(claim: Claim): Promise<GatewaySessionActor | 'seqUnknown' | undefined> {
    // The caller that started the earlier work handles its failure.
    for (
      let earlier = this.#underWay.get(claim.sessionId);
      earlier;
      earlier = this.#underWay.get(claim.sessionId)
    )
      await earlier.catch(() => undefined);
    const here = this.#ports.find(claim.sessionId);
    const isBehind = here !== undefined && here.seq < claim.seq;
    const { limiter, archive } = this.#ports;
    if (here && !isBehind && !archive.keepsSessions) {
      here.extendWindow();
      throw new NotServed('This shard is not in the cluster now; another shard may serve the session.');
    }
    if (here && !isBehind && !this.#unopened.has(here)) return here;
    const migrate = () => (here && !isBehind ? this.#open(here) : this.#take(claim, here));
    const migrating = limiter ? limiter.run(migrate) : migrate();
    this.#underWay.set(claim.sessionId, migrating);
    try {
      return await migrating;
    } finally {
      this.#underWay.delete(claim.sessionId);
    }
  }

  /** Restores the subscriptions of a session from its cursors. */
  async reopen(sessionId: string): Promise<void> {
    const session = this.#ports.find(sessionId);
    if (!session || this.#underWay.has(sessionId)) return;
    const opening = this.#open(session);
    this.#underWay.set(sessionId, opening);
    try {
      await opening;
    } finally {
      this.#underWay.delete(sessionId);
    }
  }

  /** @param behind The local copy of a session whose client has seen more: another shard may have continued the session. */
  async #take(
    claim: Claim,
    behind?: GatewaySessionActor,
  ): Promise<GatewaySessionActor | 'seqUnknown' | undefined> {
    const result = await this.#ports.archive.take({ ...claim, principal: plainOf(claim.principal) });
    if (behind && result.kind === 'unknown') return behind.over ? undefined : behind;
    behind?.transferOut();
    if (result.kind === 'seqUnknown') return 'seqUnknown';
    return result.kind === 'taken' ? this.#open(this.#restore(result.record)) : undefined;
  }

  /** @throws NotServed at the timeout: the client has to retry. */
  #withTimeout<T>(job: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new NotServed('The session could not be reopened in time.'));
      const timer = this.#ports.wheel.add(late, REOPEN_MS);
      job.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #restore(record: SessionRecord): GatewaySessionActor {
    const { identity, cursors } = record;
    const session = this.#ports.make({ ...identity, principal: principalOf(identity.principal) });
    this.#ports.journal?.opened(session, cursors, session.restore(record));
    return session;
  }

  async #open(session: GatewaySessionActor): Promise<GatewaySessionActor | undefined> {
    const { backend, began, settled, journal } = this.#ports;
    const cursors = () => journal?.cursors.of(session.handle) ?? [];
    began(session);
    this.#unopened.add(session);
    try {
      const reopening = backend.reopen(session, { presence: session.presence, cursors });
      const isWhole = await this.#withTimeout(reopening);
      this.#unopened.delete(session);
      if (!isWhole) session.end(CLOSE.SESSION_TIMED_OUT);
      return session.over ? undefined : session;
    } finally {
      settled(session);
    }
  }
}
