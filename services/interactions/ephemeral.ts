import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { CreateInput, EditInput, Sender, Written } from '../../engine/channel/draft.ts';
import { sharedMessage } from '../../engine/channel/messages.ts';
import { OWN_SESSIONS, type SessionFilter } from '../../engine/fanout/direct.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type {
  EphemeralMessage,
  Interaction,
  InteractionFact,
  InteractionLocation,
} from '../../engine/interaction/interaction.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import { isGuildId, type MessageId, type UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { InteractionStore } from '../../storage/interaction/port.ts';
import type { CommitToInvoker, InvokerDispatch } from './invoker.ts';
import type { Places } from './places.ts';

interface EphemeralPorts {
  readonly places: Pick<Places, 'compose' | 'revise'>;
  readonly store: Pick<InteractionStore, 'ephemeral'>;
  readonly commit: CommitToInvoker;
  /** Commits a change of an interaction with further facts, and sends the dispatches. */
  write(
    interaction: Interaction,
    facts: readonly InteractionFact[],
    dispatches: readonly InvokerDispatch[],
  ): Promise<void>;
  notify(userId: UserId, t: DispatchName, d: object, filter: SessionFilter): void;
  /** Signs the attachment URLs of a dispatch. */
  readonly sign: (t: string, d: object) => object;
}

type From = { readonly from: Sender };

/** An interaction that is answered with a message, and the dispatches that show so after the message. */
export interface Answered {
  readonly answered: Interaction;
  readonly dispatches: readonly InvokerDispatch[];
}

const UNKNOWN: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_MESSAGE') };

const guildField = ({ guildId }: Pick<InteractionLocation, 'guildId'>) =>
  guildId === null ? {} : { guild_id: guildId };

/** The fact of a new message, or of a change of `before`. */
function stored(
  { ownerId, id, applicationId, userId }: Interaction,
  message: StoredMessage,
  before: EphemeralMessage | null = null,
): InteractionFact {
  const interactionId = before?.interactionId ?? id;
  const kept = before?.files ?? [];
  const added = (message.files ?? []).filter((file) => !kept.some((one) => one.id === file.id));
  const files = [...kept, ...added];
  const ephemeral = { ownerId, interactionId, applicationId, userId, message, files, isGone: false };
  return { type: 'ephemeralWritten', ephemeral };
}

/** Messages that only the invoker of an interaction sees. They are in no channel's history and end with the token. */
export class EphemeralMessages {
  readonly #ports: EphemeralPorts;
  /** Serializes what the reader and the application do to one message, so that an edit does not restore a dismissed one. */
  readonly #mutex = keyedMutex<MessageId>();

  constructor(ports: EphemeralPorts) {
    this.#ports = ports;
  }

  async find(ownerId: string, messageId: MessageId): Promise<EphemeralMessage | null> {
    const found = await this.#ports.store.ephemeral(ownerId, messageId);
    return found?.isGone === false ? found : null;
  }

  /** One that this interaction's application has sent to this invoker. */
  async get({ ownerId, applicationId, userId }: Interaction, messageId: MessageId) {
    const found = await this.find(ownerId, messageId);
    return found?.applicationId === applicationId && found.userId === userId ? found : null;
  }

  /** Commits the message together with the interaction as it is then. */
  async create(
    interaction: Interaction,
    sent: Omit<CreateInput, 'from'> & From,
    dispatches: readonly InvokerDispatch[] = [],
  ): Promise<Reply<Written>> {
    const written = await this.#ports.places.compose(interaction, sent);
    if (!written.ok) return written;
    const { message } = written.value;
    const shown = this.#shown(interaction, 'MESSAGE_CREATE', message);
    await this.#ports.write(interaction, [stored(interaction, message)], [shown, ...dispatches]);
    return written;
  }

  /** @param after Committed together with the message; null when the interaction stays as it is. */
  edit(
    interaction: Interaction,
    messageId: MessageId,
    changed: Omit<EditInput, 'from'> & From,
    after: Answered | null,
  ): Promise<Reply<Written>> {
    return this.#mutex(messageId, async () => {
      const before = await this.get(interaction, messageId);
      if (!before) return UNKNOWN;
      const written = await this.#ports.places.revise(interaction, before.message, changed);
      if (!written.ok) return written;
      const { message } = written.value;
      const facts = [stored(interaction, message, before)];
      const shown = this.#shown(interaction, 'MESSAGE_UPDATE', message);
      if (after) await this.#ports.write(after.answered, facts, [shown, ...after.dispatches]);
      else await this.#ports.commit(interaction, facts, [shown]);
      return written;
    });
  }

  remove(interaction: Interaction, messageId: MessageId): Promise<Reply<null>> {
    return this.#mutex(messageId, async () => {
      const found = await this.get(interaction, messageId);
      return found ? this.#end(found, interaction) : UNKNOWN;
    });
  }

  /** Removes a message for its reader. @returns 10008 for any other message. */
  dismiss(place: InteractionLocation, messageId: MessageId, userId: UserId): Promise<Reply<null>> {
    return this.#mutex(messageId, async () => {
      const found = await this.find(place.ownerId, messageId);
      const isOwn = found?.userId === userId && found.message.channel_id === place.channelId;
      return found && isOwn ? this.#end(found, place) : UNKNOWN;
    });
  }

  /** A message has ended and is no longer stored. */
  ended({ ownerId, userId, message, isGone }: EphemeralMessage): void {
    const isPrivate = ownerId === message.channel_id;
    const { t, d } = hidden({ guildId: !isPrivate && isGuildId(ownerId) ? ownerId : null }, message);
    if (!isGone) this.#ports.notify(userId, t, d, OWN_SESSIONS);
  }

  async #end(ephemeral: EphemeralMessage, place: InteractionLocation): Promise<Reply<null>> {
    // Its row and its files end with the token.
    const fact = { type: 'ephemeralWritten', ephemeral: { ...ephemeral, isGone: true } } as const;
    await this.#ports.commit(ephemeral, [fact], [hidden(place, ephemeral.message)]);
    return { ok: true, value: null };
  }

  #shown(
    place: Pick<Interaction, 'guildId'>,
    t: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE',
    message: StoredMessage,
  ): InvokerDispatch {
    const d = { ...sharedMessage(message), ...guildField(place) };
    return { t, d: this.#ports.sign(t, d), to: 'clients' };
  }
}

const hidden = (place: Pick<InteractionLocation, 'guildId'>, message: StoredMessage): InvokerDispatch => ({
  t: 'MESSAGE_DELETE',
  d: { id: message.id, channel_id: message.channel_id, ...guildField(place) },
  to: 'clients',
});
