import type { Judge } from './judge.ts';
import type { Truth } from './truth.ts';

interface ShownChannel {
  readonly id: string;
  readonly type: number;
  readonly name?: string | null;
  readonly recipients?: readonly { readonly id: string }[];
}

interface AboutRecipient {
  readonly channel_id: string;
  readonly user: { readonly id: string };
}

interface ShownVoice {
  readonly user_id: string;
  readonly session_id: string;
  readonly channel_id: string | null;
  readonly guild_id?: string | null;
  readonly self_mute: boolean;
}

interface ShownCall {
  readonly channel_id: string;
  readonly voice_states: readonly ShownVoice[];
}

/** A group as a client knows it. */
interface GroupReplica {
  name: string | null;
  readonly recipients: Set<string>;
}

const GROUP = 3;

/** The groups of one session of a user, and the calls in them, as its client knows them. */
export class GroupView {
  readonly replicas = new Map<string, GroupReplica>();
  /** The call of each user; a user is in one call at a time. */
  readonly calls = new Map<string, ShownVoice>();
  /** Groups that were received by CHANNEL_CREATE and not deleted since. */
  readonly #created = new Set<string>();
  readonly #name: string;
  readonly #userId: string;
  readonly #truth: Truth;
  readonly #judge: Judge;

  constructor(name: string, userId: string, truth: Truth, judge: Judge) {
    this.#name = name;
    this.#userId = userId;
    this.#truth = truth;
    this.#judge = judge;
  }

  heard(t: string, d: object): void {
    this.#acts[t]?.(d as never);
  }

  readonly #acts: Record<string, (d: never) => void> = {
    READY: ({ private_channels: channels }: { readonly private_channels: readonly ShownChannel[] }) => {
      for (const channel of channels) this.#shown(channel);
    },
    CHANNEL_CREATE: (channel: ShownChannel) => {
      if (channel.type !== GROUP) return;
      const isNew = !this.#created.has(channel.id);
      this.#judge.expect(isNew, 'group twice', () => `${this.#name} is told anew of ${channel.id}`);
      this.#created.add(channel.id);
      this.#shown(channel);
    },
    CHANNEL_UPDATE: (channel: ShownChannel) => this.#shown(channel),
    CHANNEL_DELETE: ({ id }: ShownChannel) => {
      this.#created.delete(id);
      this.replicas.delete(id);
    },
    CHANNEL_RECIPIENT_ADD: (about: AboutRecipient) => {
      this.#expectRecipient(about.user.id, about.channel_id);
      this.replicas.get(about.channel_id)?.recipients.add(about.user.id);
    },
    CHANNEL_RECIPIENT_REMOVE: ({ channel_id: id, user }: AboutRecipient) =>
      this.replicas.get(id)?.recipients.delete(user.id),
    CALL_CREATE: ({ channel_id: id, voice_states: voiceStates }: ShownCall) => {
      this.#callOver(id);
      for (const state of voiceStates) this.calls.set(state.user_id, state);
    },
    CALL_DELETE: ({ channel_id: id }: ShownCall) => this.#callOver(id),
    VOICE_STATE_UPDATE: (state: ShownVoice) => {
      if (state.guild_id) return;
      if (state.channel_id === null) this.calls.delete(state.user_id);
      else this.calls.set(state.user_id, state);
    },
  };

  #shown({ id, type, name = null, recipients = [] }: ShownChannel): void {
    if (type !== GROUP) return;
    this.#expectRecipient(this.#userId, id);
    for (const { id: userId } of recipients) this.#expectRecipient(userId, id);
    this.replicas.set(id, {
      name,
      recipients: new Set([this.#userId, ...recipients.map((user) => user.id)]),
    });
  }

  #callOver(channelId: string): void {
    for (const [userId, { channel_id }] of [...this.calls])
      if (channel_id === channelId) this.calls.delete(userId);
  }

  #expectRecipient(userId: string, groupId: string): void {
    const wasIn = this.#truth.joining(userId, groupId) !== null;
    this.#judge.expect(wasIn, 'group', () => `${this.#name} hears that ${userId} is in ${groupId}`);
  }
}
