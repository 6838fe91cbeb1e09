import type { Authority } from '../../engine/authority.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  type PrivateFact,
  privateRules,
} from '../../engine/channel/private.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Subscriber } from '../../engine/fanout/body.ts';
import type { Dispatch, Needs } from '../../engine/guild/topic.ts';
import type { Reply } from '../../engine/outcome.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { MessageStore, PrivateChannelStore, UserStore } from '../../storage/ports.ts';
import { type AggregatePorts, AggregateShell, type Outgoing } from '../runtime/aggregate.ts';
import { keep, WindowReader } from '../runtime/reader.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import { Window } from '../runtime/window.ts';

export interface PrivateChannelPorts extends AggregatePorts {
  readonly privateChannels: Pick<PrivateChannelStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly messageWindowMax: number;
  /** Sessions of a user that take what has no guild. */
  readonly listeners: (userId: UserId) => readonly Subscriber[];
}

/** Runs the effects of one private channel. */
export class PrivateChannelShell extends AggregateShell<PrivateChannelState, PrivateFact> {
  readonly refusals = { missing: refusal('UNKNOWN_CHANNEL'), full: refusal('API_OVERLOADED') };
  readonly #ports: PrivateChannelPorts;
  readonly #reader = new WindowReader();

  constructor(id: string, ports: PrivateChannelPorts, send: Send<PrivateChannelState>) {
    super(id, ports, send);
    this.#ports = ports;
  }

  /** Work that runs a command through the rules of private channels. */
  command<K extends keyof PrivateCommands>(
    type: K,
    input: PrivateCommands[K]['input'],
    authority: Authority,
    answer: (reply: Reply<PrivateCommands[K]['value']>) => void,
    fault: (error: Error) => void,
  ): Work<PrivateChannelState> {
    return this.deciding(
      (state) => privateRules.needs[type](input, state),
      (state, env) => privateRules.decide[type](state, input, authority.by, env),
      answer,
      fault,
    );
  }

  protected async fetch(): Promise<PrivateChannelState | null> {
    const { privateChannels, users } = this.#ports;
    const channel = await privateChannels.get(this.id as ChannelId);
    if (!channel) return null;
    const recipients = await users.get(channel.recipientIds);
    return {
      channel,
      recipients: new Map(recipients.map((user) => [user.id as UserId, user])),
      messages: new Window(),
      nonces: new Map(),
    };
  }

  protected read(state: PrivateChannelState, needs: Needs): Promise<void> | null {
    const absent = needs.messages?.filter(({ id }) => !state.messages.has(id)) ?? [];
    if (absent.length === 0) return null;
    const fetch = async (keys: readonly string[]) => {
      const fresh = absent.filter(({ id }) => keys.includes(id));
      keep(state.messages, keys, await this.#ports.messages.get(this.id, fresh), ({ id }) => id);
    };
    return this.#reader.read([{ kind: 'message', keys: absent.map(({ id }) => id), fetch }]);
  }

  protected apply(state: PrivateChannelState, fact: PrivateFact): readonly Outgoing[] {
    tableOf(privateRules.apply)[fact.type](state, fact);
    const dispatches = tableOf<readonly Dispatch[]>(privateRules.dispatches)[fact.type](state, fact);
    return dispatches.map(({ t, d, to }) => {
      const userIds = to.kind === 'users' ? to.userIds : state.channel.recipientIds;
      const sessions = userIds.flatMap((userId) => this.#ports.listeners(userId));
      this.tap(t, d);
      return { t, d, to: directRecipients(sessions, t) };
    });
  }

  protected ephemeral(fact: PrivateFact): boolean {
    return fact.type === 'typingStarted';
  }

  protected number(state: PrivateChannelState, commit: number): void {
    windowOf(state).nextCommit = commit;
  }

  protected trim(state: PrivateChannelState): void {
    windowOf(state).trim(this.#ports.messageWindowMax, this.commits.settled, 0, () => false);
  }

  protected follow(): void {}

  protected occupied(): boolean {
    return false;
  }

  protected ended(): void {}
}

type Table<Answer> = Record<PrivateFact['type'], (state: PrivateChannelState, fact: PrivateFact) => Answer>;
const tableOf = <Answer = void>(table: unknown): Table<Answer> => table as Table<Answer>;

/** `fetch` made it one. */
const windowOf = (state: PrivateChannelState) => state.messages as unknown as Window<string, unknown>;
