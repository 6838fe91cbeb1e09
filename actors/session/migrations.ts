import type { SessionClaim, SessionRecord } from '../../engine/session/record.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { SessionBackend } from './backend.ts';
import type { SessionArchive, SessionJournal } from './journal.ports.ts';
import type { MigrationLimiter } from './migrationlimiter.ts';
import type { Principal } from './ports.ts';
import { plainOf, principalOf } from './record.ts';
import type { GatewaySessionActor, SessionIdentity } from './session.shell.ts';

interface MigrationPorts {
  readonly archive: SessionArchive;
  readonly backend: Pick<SessionBackend, 'reopen'>;
  readonly find: (sessionId: string) => GatewaySessionActor | undefined;
  /** Makes a session without a connection. */
  readonly make: (identity: SessionIdentity) => GatewaySessionActor;
  /** Something is under way for the session; `settled`: not any more. */
  readonly began: (session: GatewaySessionActor) => void;
  readonly settled: (session: GatewaySessionActor) => void;
  readonly wheel: Wheel;
  /** Lets a bounded number come at a time; none: all at once. */
  readonly limiter: MigrationLimiter | null;
  /** Knows how far they have their streams. */
  readonly journal: SessionJournal | null;
}

/** Shorter than a connection may take to identify. */
const REOPEN_MS = 20_000;

type Claim = Omit<SessionClaim, 'principal'> & { readonly principal: Principal };

/** Sessions that come here from other homes, or from what is left of such, when their clients resume them here. */
export class Migrations {
  readonly #ports: MigrationPorts;
  /** By session, what is under way for it. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  /** Sessions that are here and do not hear all that they heard yet, as that has failed. */
  readonly #unopened = new WeakSet<GatewaySessionActor>();

  constructor(ports: MigrationPorts) {
    this.#ports = ports;
  }

  has(sessionId: string): boolean {
    return this.#underWay.has(sessionId);
  }

  /**
   * The session, when it is here or has come: it hears again what it heard elsewhere. Undefined: nobody has it, or
   * what it missed cannot be had any more.
   *
   * @throws what went wrong; the session is kept, and may be asked for again.
   */
  async migrate(claim: Claim): Promise<GatewaySessionActor | 'seqUnknown' | undefined> {
    // How that goes is for whoever began it.
    for (
      let earlier = this.#underWay.get(claim.sessionId);
      earlier;
      earlier = this.#underWay.get(claim.sessionId)
    )
      await earlier.catch(() => undefined);
    const here = this.#ports.find(claim.sessionId);
    if (here && !this.#unopened.has(here)) return here;
    const { limiter } = this.#ports;
    const migrate = () => (here ? this.#open(here) : this.#take(claim));
    const migrating = limiter ? limiter.run(migrate) : migrate();
    this.#underWay.set(claim.sessionId, migrating);
    try {
      return await migrating;
    } finally {
      this.#underWay.delete(claim.sessionId);
    }
  }

  /** Has a session hear again what it heard, from where it is. */
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

  async #take(claim: Claim): Promise<GatewaySessionActor | 'seqUnknown' | undefined> {
    const result = await this.#ports.archive.take({ ...claim, principal: plainOf(claim.principal) });
    if (result.kind === 'seqUnknown') return 'seqUnknown';
    return result.kind === 'taken' ? this.#open(this.#restore(result.record)) : undefined;
  }

  /** @throws NotServed when it takes too long: the client is to try again. */
  #withTimeout<T>(job: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new NotServed('A session could not be opened again in time.'));
      const timer = this.#ports.wheel.add(late, REOPEN_MS);
      job.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #restore(record: SessionRecord): GatewaySessionActor {
    const { identity, cursors } = record;
    const session = this.#ports.make({ ...identity, principal: principalOf(identity.principal) });
    session.restore(record);
    this.#ports.journal?.opened(session, cursors);
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
