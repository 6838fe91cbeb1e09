import type { CreateInput, EditInput, Sender, Written } from '../../engine/channel/draft.ts';
import { sharedMessage } from '../../engine/channel/wire.ts';
import { OWN_SESSIONS, type SessionFilter } from '../../engine/fanout/direct.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type {
  EphemeralMessage,
  Interaction,
  InteractionFact,
  InteractionPlace,
} from '../../engine/interaction/interaction.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { InteractionStore } from '../../storage/interaction/port.ts';
import type { Places } from './places.ts';

interface EphemeralPorts {
  readonly places: Pick<Places, 'compose' | 'revise'>;
  readonly store: Pick<InteractionStore, 'ephemeral'>;
  commitAsOwner(ownerId: string, facts: readonly InteractionFact[]): Promise<void>;
  /** Commits a change of an interaction with further facts. */
  write(interaction: Interaction, facts: readonly InteractionFact[]): Promise<void>;
  notify(userId: UserId, t: DispatchName, d: object, ears: SessionFilter): void;
  /** Signs the attachment URLs of a dispatch. */
  readonly sign: (t: string, d: object) => object;
}

type From = { readonly from: Sender };

/** Messages that only the invoker of an interaction sees. They are in no channel's history and end with the token. */
export interface EphemeralMessages {
  find(ownerId: string, messageId: MessageId): Promise<EphemeralMessage | null>;
  /** One that this interaction's application has sent to this invoker. */
  get(interaction: Interaction, messageId: MessageId): Promise<StoredMessage | null>;
  /** Commits the message together with the interaction as it is then. */
  create(interaction: Interaction, sent: Omit<CreateInput, 'from'> & From): Promise<Reply<Written>>;
  edit(
    interaction: Interaction,
    messageId: MessageId,
    changed: Omit<EditInput, 'from'> & From,
  ): Promise<Reply<Written>>;
  remove(interaction: Interaction, messageId: MessageId): Promise<Reply<null>>;
  /** Removes a message for its reader. @returns 10008 for any other message. */
  dismiss(place: InteractionPlace, messageId: MessageId, userId: UserId): Promise<Reply<null>>;
  /** A message has ended and is no longer stored. */
  ended(ephemeral: EphemeralMessage): void;
}

const UNKNOWN: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_MESSAGE') };

export function createEphemeralMessages(ports: EphemeralPorts): EphemeralMessages {
  const { places, store, commitAsOwner } = ports;

  const guildField = ({ guildId }: Pick<InteractionPlace, 'guildId'>) =>
    guildId === null ? {} : { guild_id: guildId };

  function show(
    { userId, guildId }: Pick<Interaction, 'userId' | 'guildId'>,
    t: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE',
    message: StoredMessage,
  ): void {
    const d = { ...sharedMessage(message), ...guildField({ guildId }) };
    ports.notify(userId, t, ports.sign(t, d), OWN_SESSIONS);
  }

  function hide(userId: UserId, place: Pick<InteractionPlace, 'guildId'>, message: StoredMessage): void {
    const d = { id: message.id, channel_id: message.channel_id, ...guildField(place) };
    ports.notify(userId, 'MESSAGE_DELETE', d, OWN_SESSIONS);
  }

  /** The fact of a new message, or of a change of `before`. */
  const stored = (
    { ownerId, id, applicationId, userId }: Interaction,
    message: StoredMessage,
    before: EphemeralMessage | null = null,
  ): InteractionFact => {
    const interactionId = before?.interactionId ?? id;
    const kept = before?.files ?? [];
    const files = [
      ...kept,
      ...(message.files ?? []).filter((file) => !kept.some((one) => one.id === file.id)),
    ];
    const ephemeral = { ownerId, interactionId, applicationId, userId, message, files, isGone: false };
    return { type: 'ephemeralWritten', ephemeral };
  };

  async function find(ownerId: string, messageId: MessageId): Promise<EphemeralMessage | null> {
    const found = await store.ephemeral(ownerId, messageId);
    return found?.isGone === false ? found : null;
  }

  async function own({ ownerId, applicationId, userId }: Interaction, messageId: MessageId) {
    const found = await find(ownerId, messageId);
    return found?.applicationId === applicationId && found.userId === userId ? found : null;
  }

  async function end(ephemeral: EphemeralMessage, place: InteractionPlace): Promise<Reply<null>> {
    // Its row and its files end with the token.
    const fact = { type: 'ephemeralWritten', ephemeral: { ...ephemeral, isGone: true } } as const;
    await commitAsOwner(ephemeral.ownerId, [fact]);
    hide(ephemeral.userId, place, ephemeral.message);
    return { ok: true, value: null };
  }

  return {
    find,
    get: async (interaction, messageId) => (await own(interaction, messageId))?.message ?? null,
    async create(interaction, sent) {
      const written = await places.compose(interaction, sent);
      if (!written.ok) return written;
      const { message } = written.value;
      await ports.write(interaction, [stored(interaction, message)]);
      show(interaction, 'MESSAGE_CREATE', message);
      return written;
    },
    async edit(interaction, messageId, changed) {
      const before = await own(interaction, messageId);
      if (!before) return UNKNOWN;
      const written = await places.revise(interaction, before.message, changed);
      if (!written.ok) return written;
      const { message } = written.value;
      await commitAsOwner(interaction.ownerId, [stored(interaction, message, before)]);
      show(interaction, 'MESSAGE_UPDATE', message);
      return written;
    },
    async remove(interaction, messageId) {
      const found = await own(interaction, messageId);
      return found ? end(found, interaction) : UNKNOWN;
    },
    async dismiss(place, messageId, userId) {
      const found = await find(place.ownerId, messageId);
      const isOwn = found?.userId === userId && found.message.channel_id === place.channelId;
      return found && isOwn ? end(found, place) : UNKNOWN;
    },
    ended: ({ ownerId, userId, message }) => {
      const isPrivate = ownerId === message.channel_id;
      hide(userId, { guildId: isPrivate ? null : (ownerId as GuildId) }, message);
    },
  };
}
