import type { APIUser } from 'discord-api-types/v10';
import type { DispatchBody } from '../../engine/fanout/body.ts';
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
    this.#registry.peek(session.userId)?.state?.sessions.delete(session.sessionId);
  }

  /** The open sessions of a user; empty when there is none here. */
  sessions(userId: string): readonly UserSession[] {
    return [...(this.#registry.peek(userId)?.state?.sessions.values() ?? [])];
  }

  guildIds(userId: string): readonly GuildId[] {
    return [...(this.#registry.peek(userId)?.state?.guildIds ?? [])];
  }

  joined(userId: string, guildId: GuildId): void {
    this.#registry.peek(userId)?.state?.guildIds.add(guildId);
  }

  left(userId: string, guildId: GuildId): void {
    this.#registry.peek(userId)?.state?.guildIds.delete(guildId);
  }

  update(userId: UserId, change: UserChange): Promise<Reply<APIUser>> {
    return new Promise((resolve, reject) => {
      this.#registry.workWith(userId, (shell) => shell.update(change, resolve, reject));
    });
  }

  /** Delivers what has no guild to the user's sessions that hold all of `intents`. */
  deliver(userId: string, body: DispatchBody, intents: number): void {
    this.#registry.peek(userId)?.deliver(body, intents);
  }
}
