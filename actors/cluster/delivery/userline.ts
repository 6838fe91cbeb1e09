import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Cursor } from '../../../engine/session/cursors.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { ArgsOf, ReplyOf, ShardAsk } from '../../../protocol/link.ts';
import type { Owner, Ownership, Router } from '../../placement/ports.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession, Opening } from '../../session/backend.ts';
import type { SessionRequest } from '../../session/requests.ts';
import { isSameTenure } from './followed.ts';
import type { HomeSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

type Presence = GatewayPresenceUpdateData;

/** What the owner of a user does for the user's sessions, here as for other shards. */
export interface UserBackend {
  open(session: LiveSession): Promise<Opening>;
  /** In place of what was open under its id. What its user was told beyond its cursors it is delivered first. */
  openAgain(session: LiveSession, presence: Presence | null, cursors: readonly Cursor[]): Promise<Reopened>;
  /** Does what a session asks of its user's owner. */
  ask(session: LiveSession, request: SessionRequest): Promise<void> | void;
  ended(session: LiveSession): void;
}

interface Reopened {
  /** Guilds of its user. */
  readonly guildIds: readonly GuildId[];
  /** False: some of what it has missed cannot be had any more. */
  readonly isWhole: boolean;
}

export interface UserLinePorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly isCurrent: (peer: Peer) => boolean;
  readonly reference: (entered: HomeSession, peer: Peer) => SessionReference;
  /** How far the session has heard what its user is told. */
  readonly cursors: (session: LiveSession) => readonly Cursor[];
  readonly here: UserBackend;
  /** A session was opened anew: these are the guilds of its user now. */
  readonly reopened: (entered: HomeSession, guildIds: readonly GuildId[]) => void;
  /** How long a session that is at no home is kept open, milliseconds. */
  readonly keptMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Things that one session may have asked and that wait for its user's owner. */
const WAITING_MAX = 64;
/** How long they wait, and how often they are tried meanwhile. */
const DEADLINE_MS = 10_000;
const RETRY_MS = { first: 50, most: 2000 };

interface Line {
  readonly entered: HomeSession;
  /** Where the session is open; null: nowhere, or where it is no more. */
  at: Peer | 'here' | null;
  /** Under which the user is owned there. */
  tenure: Owner | null;
  /** It was open once, from this home: it is opened anew whenever it must be. */
  opened: boolean;
  presence: Presence | null;
  waiting: number;
  tail: Promise<unknown> | null;
}

/**
 * The way of each session to the owner of its user, in order: nothing overtakes what was asked before. When the user
 * changes hands, or a link has broken, the session is opened again before anything else.
 */
export class UserLine {
  readonly #ports: UserLinePorts;
  readonly #lines = new Map<HomeSession, Line>();
  readonly #unfollow: () => void;

  constructor(ports: UserLinePorts) {
    this.#ports = ports;
    this.#unfollow = ports.ownership.onChange(({ moved }) => this.#moved(new Set(moved)));
  }

  /** @throws NotServed when the user's owner does not answer in time. */
  open(entered: HomeSession): Promise<Opening> {
    const line: Line = {
      entered,
      at: null,
      tenure: null,
      opened: false,
      presence: null,
      waiting: 0,
      tail: null,
    };
    this.#lines.set(entered, line);
    return this.#inTurn(line, async () => {
      const { here } = this.#ports;
      const opening = (await this.#reach(
        line,
        (session) => here.open(session),
        (peer) => this.#ask(peer, 'remoteSessions.open', [this.#ports.reference(entered, peer)]),
      )) as Opening;
      line.opened = true;
      return opening;
    });
  }

  /** Opens a session that was open from another home. */
  reopen(entered: HomeSession, presence: Presence | null): Promise<Reopened> {
    const known = this.#lines.get(entered);
    const line: Line = known ?? {
      entered,
      at: null,
      tenure: null,
      opened: false,
      presence,
      waiting: 0,
      tail: null,
    };
    this.#lines.set(entered, line);
    line.presence = presence;
    line.at = null;
    return this.#inTurn(line, async () => {
      const reopened = await this.#openAgain(line);
      line.opened = true;
      return reopened;
    });
  }

  presence(entered: HomeSession, presence: Presence): void {
    const line = this.#lines.get(entered);
    if (!line) return;
    line.presence = presence;
    this.#act(line, { name: 'presence', input: presence });
  }

  act(entered: HomeSession, request: SessionRequest): void {
    const line = this.#lines.get(entered);
    if (line) this.#act(line, request);
  }

  /**
   * The session is over, or goes on at another home (`kept`): then it stays open for as long as that may take. Where it
   * is open elsewhere, its home has that shard hear so.
   */
  ended(entered: HomeSession, kept: boolean): void {
    const { here, ownership, wheel, keptMs } = this.#ports;
    const { session } = entered;
    const line = this.#lines.get(entered);
    this.#lines.delete(entered);
    if (line?.at !== 'here') return;
    const end = (): void => {
      if (ownership.owns(session.userId)) here.ended(session);
    };
    if (kept) wheel.after(end, keptMs);
    else end();
  }

  /** Another stood for the session with its user's owner: a home that let it go had asked late. */
  displaced(entered: HomeSession): void {
    this.#ports.wheel.after(() => {
      const line = this.#lines.get(entered);
      if (line && line.at !== null) this.#move(line);
    }, RETRY_MS.first);
  }

  /** A peer's talk is over: what its users' owner knows of our sessions is to be said anew. */
  lost(peer: Peer): void {
    for (const line of this.#lines.values()) if (line.at === peer) this.#move(line);
  }

  close(): void {
    this.#unfollow();
    this.#lines.clear();
  }

  #moved(partitions: ReadonlySet<number>): void {
    const { ownership } = this.#ports;
    if (partitions.size === 0) return;
    for (const line of this.#lines.values()) {
      if (!partitions.has(ownership.partitionOf(line.entered.session.userId))) continue;
      const owner = ownership.ownerOf(line.entered.session.userId);
      if (line.at === null || !isSameTenure(line.tenure, owner)) this.#move(line);
    }
  }

  /** Opens the session with whoever owns its user now, however long that takes. */
  #move(line: Line): void {
    line.at = null;
    if (!line.opened) return;
    const again = async (): Promise<void> => {
      while (line.at === null && this.#isLive(line)) {
        try {
          this.#ports.reopened(line.entered, (await this.#openAgain(line)).guildIds);
        } catch (fault) {
          if (!(fault instanceof NotServed)) this.#ports.onFault(fault, line.entered.session.sessionId);
          await this.#wait(RETRY_MS.most);
        }
      }
    };
    this.#inTurn(line, again).catch((fault) => this.#ports.onFault(fault, line.entered.session.sessionId));
  }

  #isLive({ entered }: Line): boolean {
    return this.#lines.has(entered) && !entered.session.over;
  }

  async #openAgain(line: Line): Promise<Reopened> {
    const { here, reference, cursors } = this.#ports;
    const { presence, entered } = line;
    const reopened = await this.#reach(
      line,
      (session) => here.openAgain(session, presence, cursors(session)),
      (peer) =>
        this.#ask(peer, 'remoteSessions.reopen', [
          reference(entered, peer),
          presence,
          cursors(entered.session),
        ]),
    );
    return reopened as Reopened;
  }

  #act(line: Line, request: SessionRequest): void {
    const { ownership, here, onFault } = this.#ports;
    const { session } = line.entered;
    const failed = (fault: unknown) => onFault(fault, session.sessionId);
    if (line.at === 'here' && line.tail === null && ownership.owns(session.userId)) {
      here.ask(session, request)?.catch(failed);
      return;
    }
    if (line.waiting >= WAITING_MAX) return;
    this.#inTurn(line, () => this.#actInTurn(line, request)).catch(failed);
  }

  /** What is asked may be done twice: it says how things are to be. */
  async #actInTurn(line: Line, request: SessionRequest): Promise<void> {
    const { here, reference, nowMs } = this.#ports;
    const { session } = line.entered;
    const untilMs = nowMs() + DEADLINE_MS;
    while (this.#isLive(line)) {
      if (line.at === null) {
        this.#ports.reopened(line.entered, (await this.#openAgain(line)).guildIds);
        // It was opened with the last presence.
        if (request.name === 'presence') return;
      }
      const { at } = line;
      if (at === 'here') return here.ask(session, request);
      try {
        const { name, input } = request;
        if (at) await this.#ask(at, 'remoteSessions.ask', [reference(line.entered, at), name, [input]]);
        return;
      } catch (fault) {
        if (!isPassing(fault) || nowMs() >= untilMs) throw fault;
        if (line.at === at) await this.#wait(RETRY_MS.first);
      }
    }
  }

  #ask<M extends ShardAsk>(peer: Peer, method: M, args: ArgsOf<M>): Promise<ReplyOf<M>> {
    return this.#ports.router.askShard(peer.shardId, method, args, DEADLINE_MS);
  }

  /** Does it with the owner of the session's user, of whom the session is from then on. */
  async #reach(
    line: Line,
    here: (session: LiveSession) => Promise<unknown>,
    there: (peer: Peer) => Promise<unknown>,
  ): Promise<unknown> {
    const { ownership, nowMs } = this.#ports;
    const { session } = line.entered;
    const untilMs = nowMs() + DEADLINE_MS;
    for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(delayMs * 2, RETRY_MS.most)) {
      const owner = ownership.ownerOf(session.userId);
      const peer =
        owner && owner.instance !== ownership.self?.instance
          ? this.#ports.peer(owner.shardId, owner.instance)
          : null;
      try {
        if (ownership.owns(session.userId)) {
          const answer = await here(session);
          if (this.#settled(line, 'here', owner)) return answer;
        }
        if (peer) {
          const answer = await there(peer);
          if (this.#ports.isCurrent(peer) && this.#settled(line, peer, owner)) return answer;
        }
      } catch (fault) {
        if (!isPassing(fault)) throw fault;
      }
      if (nowMs() >= untilMs) throw new NotServed('Nobody serves the user.');
      await this.#wait(delayMs);
    }
  }

  /** False when the user has changed hands meanwhile. */
  #settled(line: Line, at: Peer | 'here', tenure: Owner | null): boolean {
    if (!isSameTenure(tenure, this.#ports.ownership.ownerOf(line.entered.session.userId))) return false;
    line.at = at;
    line.tenure = tenure;
    return true;
  }

  /** Until the next change of hands, or this long. */
  #wait(delayMs: number): Promise<void> {
    const { ownership, wheel } = this.#ports;
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        timer.cancel();
        resolve();
      };
      const stop = ownership.onChange(done);
      const timer = wheel.add(done, delayMs);
    });
  }

  #inTurn<T>(line: Line, job: () => Promise<T>): Promise<T> {
    line.waiting += 1;
    const run = line.tail === null ? job() : line.tail.then(job, job);
    const tail: Promise<unknown> = run.then(
      () => this.#done(line, tail),
      () => this.#done(line, tail),
    );
    line.tail = tail;
    return run;
  }

  #done(line: Line, tail: Promise<unknown>): void {
    line.waiting -= 1;
    if (line.tail === tail) line.tail = null;
  }
}

/** Another try may do: it was not begun, or may be done twice, as opening may. */
const isPassing = (fault: unknown): boolean =>
  fault instanceof NotServed || (fault instanceof LinkFault && fault.kind !== 'failed');
