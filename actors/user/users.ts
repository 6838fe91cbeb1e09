import type { Reply } from '../../engine/kernel/aggregate.ts';
import { mergePresences, type Presence, type SessionPresence } from '../../engine/presence/merge.ts';
import type { UserChange } from '../../engine/user/user.ts';
import { USERNAME_TAKEN } from '../../engine/user/usernames.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { Routing } from '../placement/routing.ts';
import type { Registry } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import { missingOr } from '../runtime/work.ts';
import type { UserListener, UserSession, UserShell, UserState } from './user.shell.ts';

/** Data about its user that a session receives when it opens. */
interface OpenedUser {
  readonly user: APIUser;
  readonly guildIds: readonly GuildId[];
}

const TAKEN = { ok: false, refusal: USERNAME_TAKEN } as const;

/** Users with sessions, as the rest of the server reaches them. All methods except `update` are for the owner shard. */
export class Users {
  readonly #registry: Registry<UserState, UserShell>;
  /** Changes an account owned by any shard. Idempotent. */
  readonly update: (userId: UserId, change: UserChange) => Promise<Reply<APIUser>>;
  readonly #onSessionReplaced: UserListener['sessionReplaced'];
  readonly #names: Pick<UserStore, 'usernameTaken'>;

  constructor(
    registry: Registry<UserState, UserShell>,
    routing: Pick<Routing, 'ask'>,
    sessionReplaced: UserListener['sessionReplaced'],
    names: Pick<UserStore, 'usernameTaken'>,
  ) {
    this.#names = names;
    this.#registry = registry;
    this.#onSessionReplaced = sessionReplaced;
    this.update = routing.ask('users.update', (userId, change) => this.#updateHere(userId, change));
  }

  /** Adds a session to its user unless it has ended meanwhile. Null when the user does not exist. */
  open(session: UserSession): Promise<OpenedUser | null> {
    return new Promise((resolve, reject) => {
      const work: Work<UserState> = {
        run: (state) => {
          const { sessions } = state;
          const before = sessions.get(session.sessionId);
          if (!session.over) sessions.set(session.sessionId, session);
          if (before && before !== session && !before.over) this.#onSessionReplaced(before);
          resolve({ user: state.user, guildIds: [...state.guildIds] });
        },
        refuse: missingOr(() => resolve(null), reject),
        fault: reject,
      };
      this.#registry.workWith(session.userId, () => work, { background: true });
    });
  }

  /**
   * Removes a session from its user and returns the presence that results. Undefined when the user had no presence of
   * this session, or the session has returned under the same id from another shard.
   */
  close(session: UserSession): Presence | null | undefined {
    const { userId, sessionId } = session;
    const state = this.#stateOf(userId);
    if (!state || state.sessions.get(sessionId) !== session) return undefined;
    state.sessions.delete(sessionId);
    state.presences.delete(sessionId);
    return mergePresences(state.presences.values());
  }

  /**
   * Whether the session has returned under the same id from another shard, so that this object no longer represents it.
   */
  hasAnother(session: UserSession): boolean {
    const known = this.#stateOf(session.userId)?.sessions.get(session.sessionId);
    return known !== undefined && known !== session;
  }

  /**
   * Stores the presence of a session and returns the user's resulting presence; undefined when the session is not open.
   */
  present({ userId, sessionId }: UserSession, presence: SessionPresence): Presence | null | undefined {
    const state = this.#stateOf(userId);
    if (!state?.sessions.has(sessionId)) return undefined;
    state.presences.set(sessionId, presence);
    return mergePresences(state.presences.values());
  }

  /** The user's visible presence. Null when offline. */
  presenceOf(userId: string): Presence | null {
    return mergePresences(this.#stateOf(userId)?.presences.values() ?? []);
  }

  /** The open sessions of a user on this shard. */
  sessions(userId: string): readonly UserSession[] {
    return [...(this.#stateOf(userId)?.sessions.values() ?? [])];
  }

  /** The user's sessions that receive dispatches without a guild: the sessions of gateway shard 0. */
  listeners(userId: string): readonly UserSession[] {
    return this.sessions(userId).filter((session) => session.shard[0] === 0);
  }

  guildIds(userId: string): readonly GuildId[] {
    return [...(this.#stateOf(userId)?.guildIds ?? [])];
  }

  /**
   * Records a membership in the user's turn, even while its guilds are still being read. `then` receives the sessions
   * that were opened without the guild. It is not called when the user has no session, or when all were opened with it.
   *
   * @param always Call `then` even for a known membership: this shard may have missed that the user left.
   */
  joined(
    userId: string,
    guildId: GuildId,
    always: boolean,
    then: (sessions: readonly UserSession[]) => void,
  ): void {
    this.#note(userId, (state) => {
      if (state.guildIds.has(guildId) && !always) return;
      state.guildIds.add(guildId);
      if (state.sessions.size > 0) then([...state.sessions.values()]);
    });
  }

  left(userId: string, guildId: GuildId): void {
    this.#note(userId, (state) => state.guildIds.delete(guildId));
  }

  /** Users of this shard that are in memory. */
  *resident(): Iterable<UserState> {
    for (const { current } of this.#registry.shells()) if (current) yield current;
  }

  /** Checks a username first. When two users claim one at the same time, the database rejects the second. */
  async #updateHere(userId: UserId, change: UserChange): Promise<Reply<APIUser>> {
    const { username } = change;
    const isTaken = async () => username !== undefined && (await this.#names.usernameTaken(username, userId));
    if (await isTaken()) return TAKEN;
    try {
      return await new Promise((resolve, reject) => {
        this.#registry.workWith(userId, (shell) => shell.update(change, resolve, reject));
      });
    } catch (fault) {
      if (await isTaken()) return TAKEN;
      throw fault;
    }
  }

  #stateOf(userId: string): UserState | null {
    return this.#registry.peek(userId)?.current ?? null;
  }

  #note(userId: string, run: (state: UserState) => void): void {
    if (!this.#registry.peek(userId)) return;
    this.#registry.work(userId, { run, refuse: () => undefined, fault: () => undefined });
  }
}
