import type { SessionClaim, SessionRecord } from '../../engine/session/record.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { SessionBackend } from './backend.ts';
import type { SessionArchive, SessionJournal } from './journal.ports.ts';
import type { Passage } from './passage.ts';
import type { Principal } from './ports.ts';
import { plainOf, principalOf } from './record.ts';
import type { GatewaySessionActor, SessionIdentity } from './session.shell.ts';

interface ArrivalPorts {
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
  readonly passage: Passage | null;
  /** Knows how far they have their streams. */
  readonly journal: SessionJournal | null;
}

/** Shorter than a connection may take to identify. */
const REOPEN_MS = 20_000;

type Claim = Omit<SessionClaim, 'principal'> & { readonly principal: Principal };

/** Sessions that come here from other homes, or from what is left of such, when their clients resume them here. */
export class Arrivals {
  readonly #ports: ArrivalPorts;
  /** By session, what is under way for it. */
  readonly #arriving = new Map<string, Promise<unknown>>();
  /** Sessions that are here and do not hear all that they heard yet, as that has failed. */
  readonly #unopened = new WeakSet<GatewaySessionActor>();

  constructor(ports: ArrivalPorts) {
    this.#ports = ports;
  }

  has(sessionId: string): boolean {
    return this.#arriving.has(sessionId);
  }

  /**
   * The session, when it is here or has come: it hears again what it heard elsewhere. Undefined: nobody has it, or
   * what it missed cannot be had any more.
   *
   * @throws what went wrong; the session is kept, and may be asked for again.
   */
  async bring(claim: Claim): Promise<GatewaySessionActor | 'seqUnknown' | undefined> {
    // How that goes is for whoever began it.
    for (let under = this.#arriving.get(claim.sessionId); under; under = this.#arriving.get(claim.sessionId))
      await under.catch(() => undefined);
    const here = this.#ports.find(claim.sessionId);
    if (here && !this.#unopened.has(here)) return here;
    const { passage } = this.#ports;
    const come = () => (here ? this.#open(here) : this.#take(claim));
    const coming = passage ? passage.through(come) : come();
    this.#arriving.set(claim.sessionId, coming);
    try {
      return await coming;
    } finally {
      this.#arriving.delete(claim.sessionId);
    }
  }

  /** Has a session hear again what it heard, from where it is. */
  async again(sessionId: string): Promise<void> {
    const session = this.#ports.find(sessionId);
    if (!session || this.#arriving.has(sessionId)) return;
    const opening = this.#open(session);
    this.#arriving.set(sessionId, opening);
    try {
      await opening;
    } finally {
      this.#arriving.delete(sessionId);
    }
  }

  async #take(claim: Claim): Promise<GatewaySessionActor | 'seqUnknown' | undefined> {
    const taking = await this.#ports.archive.take({ ...claim, principal: plainOf(claim.principal) });
    if (taking.kind === 'seqUnknown') return 'seqUnknown';
    return taking.kind === 'taken' ? this.#open(this.#restore(taking.record)) : undefined;
  }

  /** @throws NotServed when it takes too long: the client is to try again. */
  #inTime<T>(job: Promise<T>): Promise<T> {
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
      const isWhole = await this.#inTime(reopening);
      this.#unopened.delete(session);
      if (!isWhole) session.end(CLOSE.SESSION_TIMED_OUT);
      return session.over ? undefined : session;
    } finally {
      settled(session);
    }
  }
}
