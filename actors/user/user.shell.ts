import type { APIUser } from 'discord-api-types/v10';
import { DispatchBody, type Subscriber } from '../../engine/fanout/body.ts';
import type { Reply } from '../../engine/outcome.ts';
import { decideUserChange, type UserChange } from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { UserStore, Writer } from '../../storage/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import { OrderedCommits } from '../runtime/ordered.ts';
import type { RegisteredShell, Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';

/** A user's sessions on this shard, and the guilds they belong to. */
export interface UserState {
  user: APIUser;
  readonly guildIds: Set<GuildId>;
  readonly sessions: Map<string, UserSession>;
}

/** A session as its user's actor sees it. */
export interface UserSession extends Subscriber {
  readonly shard: readonly [id: number, count: number];
  close(code: number, reason: string): void;
}

export interface UserPorts {
  readonly users: Pick<UserStore, 'get' | 'guildIds'>;
  readonly writer: Writer;
  readonly clock: Clock;
  /** The account has changed and the change is durable: its guilds must hear of it. */
  readonly changed: (user: APIUser, guildIds: readonly GuildId[]) => void;
  /** The actor ended with these sessions: they are to be handed to its successor. */
  readonly lost: (userId: UserId, sessions: readonly UserSession[]) => void;
}

/** Runs the effects of one user's actor: reading the account, storing changes, dispatches to its own sessions. */
export class UserShell implements RegisteredShell<UserState> {
  readonly refusals = { missing: refusal('UNKNOWN_USER'), full: refusal('API_OVERLOADED') };
  readonly #id: UserId;
  readonly #ports: UserPorts;
  readonly #send: Send<UserState>;
  readonly #commits: OrderedCommits;
  #open: Set<Work<UserState>> | null = null;
  state: UserState | null = null;

  constructor(id: string, ports: UserPorts, send: Send<UserState>) {
    this.#id = id as UserId;
    this.#ports = ports;
    this.#send = send;
    this.#commits = new OrderedCommits(ports.writer, id);
  }

  get busy(): boolean {
    return !this.state || this.state.sessions.size > 0 || this.#commits.underWay > 0;
  }

  load(): void {
    const { users } = this.#ports;
    Promise.all([users.get([this.#id]), users.guildIds(this.#id)]).then(
      ([[user], guildIds]) =>
        this.#send(
          user
            ? { type: 'loaded', state: { user, guildIds: new Set(guildIds), sessions: new Map() } }
            : { type: 'missing' },
        ),
      (fault) => this.#send({ type: 'loadFailed', fault }),
    );
  }

  adopt(state: UserState): void {
    this.state = state;
  }

  run(state: UserState, work: Work<UserState>): void {
    work.run(state);
  }

  release(): void {
    this.#end(new Error('The user was released.'));
  }

  crashed(error: Error): void {
    this.#end(error);
  }

  /** Work that changes the account and answers when the change is durable. */
  update(
    change: UserChange,
    answer: (reply: Reply<APIUser>) => void,
    fault: (error: Error) => void,
  ): Work<UserState> {
    const work: Work<UserState> = {
      run: (state) => {
        const outcome = decideUserChange(state.user, change);
        if (!outcome.ok) return answer(outcome);
        const user = outcome.value;
        if (outcome.facts.length === 0) return answer({ ok: true, value: user });
        state.user = user;
        this.#open ??= new Set();
        this.#open.add(work);
        this.#commits.commit(outcome.facts, (failed) => {
          if (!this.#open?.delete(work)) return;
          if (failed) {
            fault(failed);
            this.#send({ type: 'commitFailed', fault: failed });
            return;
          }
          this.deliver(new DispatchBody('USER_UPDATE', user, this.#ports.clock.monotonic()));
          this.#ports.changed(user, [...state.guildIds]);
          answer({ ok: true, value: user });
        });
      },
      refuse: (refused) => answer({ ok: false, refusal: refused }),
      fault,
    };
    return work;
  }

  /** Delivers to the user's sessions that take what has no guild (shard 0). */
  deliver(body: DispatchBody, intents = 0): void {
    for (const session of this.state?.sessions.values() ?? [])
      if (session.shard[0] === 0 && (!session.bot || (session.intents & intents) === intents))
        session.deliver(body);
  }

  #end(error: Error): void {
    const open = [...(this.#open ?? [])];
    this.#open?.clear();
    for (const work of open) work.fault(error);
    const sessions = [...(this.state?.sessions.values() ?? [])];
    this.state = null;
    if (sessions.length > 0) this.#ports.lost(this.#id, sessions);
  }
}
