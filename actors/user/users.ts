import type { Reply } from '../../engine/kernel/outcome.ts';
import { mergePresences, type Presence, type SessionPresence } from '../../engine/presence/merge.ts';
import type { UserChange } from '../../engine/user/user.ts';
import { USERNAME_TAKEN } from '../../engine/user/usernames.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { Ownership, Router } from '../placement/ports.ts';
import type { Registry } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { UserListener, UserSession, UserShell, UserState } from './user.shell.ts';

/** What a session learns about its user when it opens. */
interface OpenedUser {
  readonly user: APIUser;
  readonly guildIds: readonly GuildId[];
}

/** How changes reach users that other shards own. */
interface UserPlacement {
  readonly router: Pick<Router, 'askOwner' | 'serve'>;
  readonly ownership: Pick<Ownership, 'standalone'>;
}

const TAKEN = { ok: false, refusal: USERNAME_TAKEN } as const;

/** Users that have sessions, as everyone else reaches them: all but `update` is for the shard that owns the user. */
export class Users {
  readonly #registry: Registry<UserState, UserShell>;
  /** Null while this process owns all of them. */
  readonly #router: UserPlacement['router'] | null;

  readonly #onSessionReplaced: UserListener['sessionReplaced'];
  readonly #names: Pick<UserStore, 'usernameTaken'>;

  constructor(
    registry: Registry<UserState, UserShell>,
    { router, ownership }: UserPlacement,
    displaced: UserListener['sessionReplaced'],
    names: Pick<UserStore, 'usernameTaken'>,
  ) {
    this.#names = names;
    this.#registry = registry;
    this.#onSessionReplaced = displaced;
    this.#router = ownership.standalone ? null : router;
    this.#router?.serve('users.update', ([userId, change]: [UserId, UserChange]) =>
      this.#updateHere(userId, change),
    );
  }

  /** Enters a session with its user, unless it has ended meanwhile; null when there is no such user. */
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
        refuse: () => resolve(null),
        fault: reject,
      };
      this.#registry.workWith(session.userId, () => work, { patient: true });
    });
  }

  /**
   * Takes a session off its user; answers how the others present the user, undefined when nothing was known of it, or it
   * has come back under the same id from another home.
   */
  close(session: UserSession): Presence | null | undefined {
    const { userId, sessionId } = session;
    const state = this.#stateOf(userId);
    if (!state || state.sessions.get(sessionId) !== session) return undefined;
    state.sessions.delete(sessionId);
    state.presences.delete(sessionId);
    return mergePresences(state.presences.values());
  }

  /** Whether the session has come back under the same id from another home, which this one stood for. */
  hasAnother(session: UserSession): boolean {
    const known = this.#stateOf(session.userId)?.sessions.get(session.sessionId);
    return known !== undefined && known !== session;
  }

  /** Notes what a session says of its user; answers how the user now appears, undefined when the session is not open. */
  present({ userId, sessionId }: UserSession, presence: SessionPresence): Presence | null | undefined {
    const state = this.#stateOf(userId);
    if (!state?.sessions.has(sessionId)) return undefined;
    state.presences.set(sessionId, presence);
    return mergePresences(state.presences.values());
  }

  /** How the user appears to others; null: offline. */
  presenceOf(userId: string): Presence | null {
    return mergePresences(this.#stateOf(userId)?.presences.values() ?? []);
  }

  /** The open sessions of a user; empty when there is none here. */
  sessions(userId: string): readonly UserSession[] {
    return [...(this.#stateOf(userId)?.sessions.values() ?? [])];
  }

  /** Those of them that take what has no guild: of shard 0. */
  listeners(userId: string): readonly UserSession[] {
    return this.sessions(userId).filter((session) => session.shard[0] === 0);
  }

  guildIds(userId: string): readonly GuildId[] {
    return [...(this.#stateOf(userId)?.guildIds ?? [])];
  }

  /**
   * Notes a membership, on the user's turn: also while its guilds are still being read. `then` gets the sessions that
   * were opened without the guild; none is asked for when the user has none, or all were opened with it.
   *
   * @param always Also when it was known: that the user had left meanwhile may not have been heard of here.
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

  /** Changes the account, of whichever shard. The same change twice leaves it as it is. */
  update(userId: UserId, change: UserChange): Promise<Reply<APIUser>> {
    const here = () => this.#updateHere(userId, change);
    if (this.#router === null) return here();
    return this.#router.askOwner('users.update', userId, [userId, change], here);
  }

  /** Users of this shard that are in memory. */
  *resident(): Iterable<UserState> {
    for (const { current } of this.#registry.shells()) if (current) yield current;
  }

  /** A name is looked up first; of two people who take one at the same time the database refuses the second. */
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
