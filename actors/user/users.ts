import type { Reply } from '../../engine/kernel/aggregate.ts';
import { mergePresences, type Presence, type SessionPresence } from '../../engine/presence/merge.ts';
import type { UserAccount, UserChange } from '../../engine/user/user.ts';
import { USERNAME_TAKEN } from '../../engine/user/usernames.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { Routing } from '../placement/routing.ts';
import type { Registry } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import { missingOr } from '../runtime/work.ts';
import type { UserListener, UserSession, UserShell } from './user.shell.ts';

/** Data about its user that a session receives when it opens. */
interface OpenedUser {
  readonly user: APIUser;
  readonly guildIds: readonly GuildId[];
}

/** A user whose account is in memory on this shard. */
export interface ResidentUser {
  readonly user: APIUser;
  readonly guildIds: ReadonlySet<GuildId>;
  readonly presences: () => readonly SessionPresence[];
}

const TAKEN = { ok: false, refusal: USERNAME_TAKEN } as const;

/** Users with sessions, as the rest of the server reaches them. All methods except `update` are for the owner shard. */
export class Users {
  readonly #registry: Registry<UserAccount, UserShell>;
  /** Changes an account owned by any shard. Idempotent. */
  readonly update: (userId: UserId, change: UserChange) => Promise<Reply<APIUser>>;
  readonly #onSessionReplaced: UserListener['sessionReplaced'];
  readonly #names: Pick<UserStore, 'usernameTaken'>;

  constructor(
    registry: Registry<UserAccount, UserShell>,
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
      const work = ({ open, guildIds }: UserShell): Work<UserAccount> => ({
        run: ({ user }) => {
          const known = open.get(session.sessionId);
          const before = known?.session;
          if (!session.over) open.set(session.sessionId, { session, presence: known?.presence ?? null });
          if (before && before !== session && !before.over) this.#onSessionReplaced(before);
          resolve({ user, guildIds: [...guildIds] });
        },
        refuse: missingOr(() => resolve(null), reject),
        fault: reject,
      });
      this.#registry.workWith(session.userId, work, { background: true });
    });
  }

  /**
   * Removes a session from its user and returns the presence that results. Undefined when the user had no presence of
   * this session, or the session has returned under the same id from another shard.
   */
  close(session: UserSession): Presence | null | undefined {
    const { userId, sessionId } = session;
    const shell = this.#shellOf(userId);
    if (!shell || shell.open.get(sessionId)?.session !== session) return undefined;
    shell.open.delete(sessionId);
    return mergePresences(shell.presences());
  }

  /**
   * Whether the session has returned under the same id from another shard, so that this object no longer represents it.
   */
  hasAnother(session: UserSession): boolean {
    const known = this.#shellOf(session.userId)?.open.get(session.sessionId);
    return known !== undefined && known.session !== session;
  }

  /** Stores the presence of a session. @returns false when the session is not open. */
  present({ userId, sessionId }: UserSession, presence: SessionPresence): boolean {
    const known = this.#shellOf(userId)?.open.get(sessionId);
    if (known) known.presence = presence;
    return known !== undefined;
  }

  /** The user's visible presence, merged from all sessions. Null when offline. */
  presenceOf(userId: string): Presence | null {
    return mergePresences(this.#shellOf(userId)?.presences() ?? []);
  }

  /** The open sessions of a user on this shard. */
  sessions(userId: string): readonly UserSession[] {
    return this.#shellOf(userId)?.sessions() ?? [];
  }

  /** The user's sessions that receive dispatches without a guild: the sessions of gateway shard 0. */
  listeners(userId: string): readonly UserSession[] {
    return this.sessions(userId).filter((session) => session.shard[0] === 0);
  }

  guildIds(userId: string): readonly GuildId[] {
    return [...(this.#shellOf(userId)?.guildIds ?? [])];
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
    this.#note(userId, (shell) => {
      const { guildIds, open } = shell;
      if (guildIds.has(guildId) && !always) return;
      guildIds.add(guildId);
      if (open.size > 0) then(shell.sessions());
    });
  }

  left(userId: string, guildId: GuildId): void {
    this.#note(userId, ({ guildIds }) => guildIds.delete(guildId));
  }

  /** Users of this shard that are in memory. */
  *resident(): Iterable<ResidentUser> {
    for (const shell of this.#registry.shells()) {
      const { account, guildIds } = shell;
      if (account) yield { user: account.user, guildIds, presences: () => shell.presences() };
    }
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

  /** Null while the account is not in memory. */
  #shellOf(userId: string): UserShell | null {
    const shell = this.#registry.peek(userId);
    return shell?.account ? shell : null;
  }

  #note(userId: string, run: (shell: UserShell) => void): void {
    if (!this.#registry.peek(userId)) return;
    this.#registry.workWith(userId, (shell) => ({
      run: () => run(shell),
      refuse: () => undefined,
      fault: () => undefined,
    }));
  }
}
