import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { SessionPresence } from '../../engine/presence/merge.ts';
import {
  type UserAccount,
  type UserChange,
  type UserDispatch,
  type UserUpdated,
  userRules,
} from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { AggregatePorts, Ending, OutgoingDispatch } from '../runtime/aggregate.ports.ts';
import { AggregateShell } from '../runtime/aggregate.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';

/** A session as its user's actor uses it. */
export interface UserSession extends Recipient {
  readonly shard: readonly [id: number, count: number];
  /** True once the session has ended. */
  readonly over: boolean;
  /** True while no shard hosts the session; dispatches sent to it then are lost. */
  readonly away?: boolean;
}

/** An open session of a user, with its presence once it has one. */
interface OpenSession {
  session: UserSession;
  presence: SessionPresence | null;
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

/**
 * Runs the effects of one user's actor. Beside the account it holds what others decide: the user's guilds, and the sessions
 * of the user with their presences.
 */
export class UserShell extends AggregateShell<UserAccount, UserUpdated, UserDispatch, UserId> {
  readonly guildIds = new Set<GuildId>();
  /** By session id. */
  readonly open = new Map<string, OpenSession>();
  readonly #ports: UserPorts;

  constructor(id: string, ports: UserPorts, send: Send<UserAccount>) {
    super(id as UserId, userRules, ports, send);
    this.#ports = ports;
  }

  sessions(): UserSession[] {
    return Array.from(this.open.values(), ({ session }) => session);
  }

  presences(): SessionPresence[] {
    return Array.from(this.open.values()).flatMap(({ presence }) => presence ?? []);
  }

  /** Null while the account is not in memory. */
  get account(): UserAccount | null {
    return this.state;
  }

  /** Work that changes the account and answers when the change is durable. */
  update(
    change: UserChange,
    answer: (reply: Reply<APIUser>) => void,
    fault: (error: Error) => void,
  ): Work<UserAccount> {
    return this.deciding(
      (state) => userRules.needs(state, 'updateUser', change, SYSTEM),
      (state, env) => userRules.decide(state, 'updateUser', change, SYSTEM, env),
      answer,
      fault,
    );
  }

  protected async fetch(): Promise<UserAccount | null> {
    const { users } = this.#ports;
    const id = this.id;
    const [[user], guildIds] = await Promise.all([users.get([id]), users.guildIds(id)]);
    for (const guildId of guildIds) this.guildIds.add(guildId);
    return user ? { user } : null;
  }

  protected read(): null {
    return null;
  }

  protected outgoing(_state: UserAccount, { t, d }: UserDispatch): readonly OutgoingDispatch[] {
    this.tap(t, d);
    return [{ t, d, to: directRecipients(this.sessions(), t) }];
  }

  protected number(): void {}

  protected trim(): void {}

  protected notify(facts: readonly UserUpdated[]): void {
    const guildIds = [...this.guildIds];
    for (const { user } of facts) this.#ports.userListener.userChanged(user, guildIds);
  }

  protected occupied(): boolean {
    return this.open.size > 0;
  }

  protected ended(_state: UserAccount, ending: Ending): void {
    if (ending === 'moved') return;
    const sessions = this.sessions();
    if (sessions.length > 0) this.#ports.userListener.userLost(this.id, sessions);
  }
}
