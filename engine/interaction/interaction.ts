import { MessageFlags, MessageType } from 'discord-api-types/v10';
import { APP_COMMAND, type AppCommandType, type Locale } from '../../protocol/appcommands.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import {
  ANSWER_MS,
  CALLBACK,
  type CallbackType,
  INTERACTION,
  type InteractionType,
  TOKEN_MS,
} from '../../protocol/interactions.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { CommandOption } from '../appcommand/appcommand.ts';
import type { StoredFile, StoredMessage } from '../guild/guild.ts';
import type { FactOf } from '../kernel/aggregate.ts';
import type { Modal } from './modal.ts';

/** The place of an interaction. The guild, or the private channel, owns it: its shard decides. */
export interface InteractionLocation {
  readonly ownerId: string;
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
}

/** The message that an interaction came from. */
interface SourceMessage {
  readonly messageId: MessageId;
  readonly isEphemeral: boolean;
}

/**
 * How far the application has answered. `answering`: its message is being written, or, with `changedMs` (Unix milliseconds, the
 * beginning), the message of its component is being edited; after a crash the stored message shows whether that was done.
 * `isLoading`: the message is shown as being prepared, and the first edit or follow-up completes it.
 */
type InteractionState =
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'answering';
      readonly messageId: MessageId;
      readonly isLoading: boolean;
      readonly changedMs?: number;
    }
  | {
      readonly kind: 'answered';
      /** Null when the answer shows no message. */
      readonly original: SourceMessage | null;
      readonly isLoading: boolean;
    }
  | { readonly kind: 'failed' };

/** One use of a command, a component, an autocomplete or a form, as long as its token may be used. Plain data. */
export interface Interaction extends InteractionLocation {
  readonly id: string;
  readonly type: InteractionType;
  readonly applicationId: ApplicationId;
  /** Null for an application without a bot. */
  readonly botId: UserId | null;
  /** The author of its messages: the bot, or for an application without one an author of its name. */
  readonly author: APIUser;
  readonly applicationName: string;
  readonly applicationIcon: string | null;
  readonly userId: UserId;
  /** The invoker's locales, best first. */
  readonly locales: readonly [Locale, ...Locale[]];
  /** The gateway session that receives its dispatches. */
  readonly sessionId: string;
  readonly nonce: string | null;
  /** Only for commands. */
  readonly command: { readonly type: AppCommandType; readonly name: string } | null;
  /** `interaction_metadata` of its messages. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Deprecated `interaction` of its messages; null for other types than commands. */
  readonly legacy: Readonly<Record<string, unknown>> | null;
  /** The message of a component, or of the component whose form was submitted. */
  readonly source: SourceMessage | null;
  /** Whether the guild, or the bot's private channel, has installed the application. */
  readonly isInstalledHere: boolean;
  /** Whether its answers may notify roles and everyone: the invoker may, or the application is installed there. */
  readonly mentionsEveryone: boolean;
  /** Whether every answer is shown to the invoker only. */
  readonly forcesEphemeral: boolean;
  /** The form that answered it, until it is submitted. */
  readonly modal: Modal | null;
  /** The option that an autocomplete asks about. */
  readonly focused: CommandOption | null;
  /** Files of its options; they end with the token. */
  readonly files: readonly StoredFile[];
  readonly state: InteractionState;
  readonly followUps: number;
  /** Unix milliseconds. */
  readonly createdMs: number;
}

/** A message that only the invoker sees. */
export interface EphemeralMessage {
  readonly ownerId: string;
  /** The interaction whose token it ends with. */
  readonly interactionId: string;
  readonly applicationId: ApplicationId;
  readonly userId: UserId;
  readonly message: StoredMessage;
  /** All files that it ever had; they end with it. */
  readonly files: readonly StoredFile[];
  /** The message was deleted or dismissed. */
  readonly isGone: boolean;
}

/** The state of an interaction. Facts carry it whole, so the latest one wins. */
export type InteractionChange = Pick<Interaction, 'state' | 'modal' | 'followUps'>;

export const changeOf = ({ state, modal, followUps }: Interaction): InteractionChange => ({
  state,
  modal,
  followUps,
});

export type InteractionFacts = {
  interactionWritten: { readonly interaction: Interaction };
  interactionChanged: { readonly id: string; readonly change: InteractionChange };
  ephemeralWritten: { readonly ephemeral: EphemeralMessage };
};
export type InteractionFact = FactOf<InteractionFacts>;

export const answerDueMs = ({ createdMs }: Pick<Interaction, 'createdMs'>): number => createdMs + ANSWER_MS;

export const isExpired = ({ createdMs }: Pick<Interaction, 'createdMs'>, nowMs: number): boolean =>
  nowMs >= createdMs + TOKEN_MS;

/** Whether a message was edited since then; true for a message that only had to be written. */
export const wasChanged = (
  { edited_timestamp: editedAt }: Pick<StoredMessage, 'edited_timestamp'>,
  sinceMs: number | undefined,
): boolean => sinceMs === undefined || (editedAt !== null && Date.parse(editedAt) >= sinceMs);

const { COMMAND, COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT } = INTERACTION;
const ANY_MESSAGE: readonly InteractionType[] = [COMMAND, COMPONENT, MODAL_SUBMIT];
const WITH_SOURCE: readonly InteractionType[] = [COMPONENT, MODAL_SUBMIT];

/** The interactions that each callback may answer. A change of the source message needs such a message. */
const ANSWERS: Readonly<Record<CallbackType, readonly InteractionType[]>> = {
  [CALLBACK.PONG]: [],
  [CALLBACK.MESSAGE]: ANY_MESSAGE,
  [CALLBACK.DEFERRED_MESSAGE]: ANY_MESSAGE,
  [CALLBACK.DEFERRED_UPDATE]: WITH_SOURCE,
  [CALLBACK.UPDATE_MESSAGE]: WITH_SOURCE,
  [CALLBACK.CHOICES]: [AUTOCOMPLETE],
  [CALLBACK.MODAL]: [COMMAND, COMPONENT],
  [CALLBACK.PREMIUM_REQUIRED]: ANY_MESSAGE,
  [CALLBACK.LAUNCH_ACTIVITY]: ANY_MESSAGE,
};
const CHANGES_SOURCE: readonly CallbackType[] = [CALLBACK.DEFERRED_UPDATE, CALLBACK.UPDATE_MESSAGE];

/**
 * Why a callback cannot answer the interaction; null when it can.
 *
 * @returns 40060 when it was answered, 10062 when the time for the answer is over, 50035 for a callback of another type.
 * @source https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction
 */
export function callbackRefusal(interaction: Interaction, type: CallbackType, nowMs: number): Refusal | null {
  if (interaction.state.kind === 'failed') return refusal('UNKNOWN_INTERACTION');
  if (interaction.state.kind !== 'waiting') return refusal('INTERACTION_ALREADY_ACKNOWLEDGED');
  if (nowMs >= answerDueMs(interaction)) return refusal('UNKNOWN_INTERACTION');
  const fits = ANSWERS[type].includes(interaction.type);
  if (fits && (!CHANGES_SOURCE.includes(type) || interaction.source !== null)) return null;
  return invalidField(['type'], 'BASE_TYPE_CHOICES', 'This callback cannot answer the interaction.');
}

/** @returns 40094 when an application that only the user installed has sent all its follow-ups. */
export const followUpRefusal = ({ isInstalledHere, followUps }: Interaction): Refusal | null =>
  !isInstalledHere && followUps >= LIMITS.interaction_follow_ups_max ? refusal('MAXIMUM_FOLLOW_UPS') : null;

/** The type of the message that answers a command first; other answers are replies, or messages like any other. */
export const answerType = ({ command }: Interaction): MessageType =>
  command?.type === APP_COMMAND.CHAT_INPUT ? MessageType.ChatInputCommand : MessageType.ContextMenuCommand;

/** Whether a message with these flags is for the invoker only. */
export const isEphemeral = (interaction: Interaction, flags: number | null | undefined): boolean =>
  interaction.forcesEphemeral || ((flags ?? 0) & MessageFlags.Ephemeral) !== 0;
