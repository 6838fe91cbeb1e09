import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { SessionPresence } from '../../engine/presence/merge.ts';
import { type UserChange, type UserDispatch, type UserUpdated, userRules } from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { AggregatePorts, Ending, OutgoingDispatch } from '../runtime/aggregate.ports.ts';
import { AggregateShell } from '../runtime/aggregate.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';

/** A user, the user's sessions on this shard with their presences, and the user's guilds. */
export interface UserState {
  user: APIUser;
  readonly guildIds: Set<GuildId>;
  readonly sessions: Map<string, UserSession>;
  /** By session id. */
  readonly presences: Map<string, SessionPresence>;
}

/** A session as its user's actor uses it. */
export interface UserSession extends Recipient {
  readonly shard: readonly [id: number, count: number];
  /** True once the session has ended. */
  readonly over: boolean;
  /** True while no shard hosts the session; dispatches sent to it then are lost. */
  readonly away?: boolean;
}

interface UserPorts extends AggregatePorts {
  readonly users: Pick<UserStore, 'get' | 'guildIds'>;
  readonly userListener: UserListener;
}

export interface UserListener {
  /** A durable change of the account: its guilds must be notified. */
  userChanged(user: APIUser, guildIds: readonly GuildId[]): void;
  /** Another object now represents this session; if the session continues, it must be opened again. */
  sessionReplaced(session: UserSession): void;
  /** The actor ended with these sessions open: they must be handed to its successor. */
  userLost(userId: UserId, sessions: readonly UserSession[]): void;
}

/** Runs the effects of one user's actor. */
export class UserShell extends AggregateShell<UserState, UserUpdated, UserDispatch, UserId> {
  readonly #ports: UserPorts;

  constructor(id: string, ports: UserPorts, send: Send<UserState>) {
    super(id as UserId, userRules, ports, send);
    this.#ports = ports;
  }

  get current(): UserState | null {
    return this.state;
  }

  /** Work that changes the account and answers when the change is durable. */
  update(
    change: UserChange,
    answer: (reply: Reply<APIUser>) => void,
    fault: (error: Error) => void,
  ): Work<UserState> {
    return this.deciding(
      (state) => userRules.needs(state, 'updateUser', change, SYSTEM),
      (state, env) => userRules.decide(state, 'updateUser', change, SYSTEM, env),
      answer,
      fault,
    );
  }

  protected async fetch(): Promise<UserState | null> {
    const { users } = this.#ports;
    const id = this.id;
    const [[user], guildIds] = await Promise.all([users.get([id]), users.guildIds(id)]);
    return user ? { user, guildIds: new Set(guildIds), sessions: new Map(), presences: new Map() } : null;
  }

  protected read(): null {
    return null;
  }

  protected outgoing(state: UserState, { t, d }: UserDispatch): readonly OutgoingDispatch[] {
    this.tap(t, d);
    return [{ t, d, to: directRecipients(state.sessions.values(), t) }];
  }

  protected number(): void {}

  protected trim(): void {}

  protected follow(facts: readonly UserUpdated[]): void {
    const guildIds = [...(this.state?.guildIds ?? [])];
    for (const { user } of facts) this.#ports.userListener.userChanged(user, guildIds);
  }

  protected occupied(state: UserState): boolean {
    return state.sessions.size > 0;
  }

  protected ended(state: UserState, ending: Ending): void {
    if (ending === 'moved') return;
    const sessions = [...state.sessions.values()];
    if (sessions.length > 0) this.#ports.userListener.userLost(this.id, sessions);
  }
}
