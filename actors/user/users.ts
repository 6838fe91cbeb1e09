import type { APIUser } from 'discord-api-types/v10';
import type { Reply } from '../../engine/outcome.ts';
import type { UserChange } from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Registry } from '../runtime/registry.ts';
import type { UserSession, UserShell, UserState } from './user.shell.ts';

/** What a session learns about its user when it opens. */
export interface OpenedUser {
  readonly user: APIUser;
  readonly guildIds: readonly GuildId[];
}

/** The users of this shard that have sessions, as everyone else reaches them. */
export class Users {
  readonly #registry: Registry<UserState, UserShell>;

  constructor(registry: Registry<UserState, UserShell>) {
    this.#registry = registry;
  }

  /** Enters a session with its user; null when there is no such user. */
  open(session: UserSession): Promise<OpenedUser | null> {
    return new Promise((resolve, reject) => {
      this.#registry.work(session.userId, {
        run: (state) => {
          state.sessions.set(session.sessionId, session);
          resolve({ user: state.user, guildIds: [...state.guildIds] });
        },
        refuse: () => resolve(null),
        fault: reject,
      });
    });
  }

  close(session: UserSession): void {
    this.#registry.peek(session.userId)?.current?.sessions.delete(session.sessionId);
  }

  /** The open sessions of a user; empty when there is none here. */
  sessions(userId: string): readonly UserSession[] {
    return [...(this.#registry.peek(userId)?.current?.sessions.values() ?? [])];
  }

  guildIds(userId: string): readonly GuildId[] {
    return [...(this.#registry.peek(userId)?.current?.guildIds ?? [])];
  }

  joined(userId: string, guildId: GuildId): void {
    this.#registry.peek(userId)?.current?.guildIds.add(guildId);
  }

  left(userId: string, guildId: GuildId): void {
    this.#registry.peek(userId)?.current?.guildIds.delete(guildId);
  }

  update(userId: UserId, change: UserChange): Promise<Reply<APIUser>> {
    return new Promise((resolve, reject) => {
      this.#registry.workWith(userId, (shell) => shell.update(change, resolve, reject));
    });
  }
}
