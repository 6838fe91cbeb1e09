import type { APIAttachment } from 'discord-api-types/v10';
import type { KeptAttachment, MessageDraft, Written } from '../../engine/channel/draft.ts';
import type { InteractionLocation } from '../../engine/interaction/interaction.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Locale } from '../../protocol/appcommands.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { CallbackType, InteractionType } from '../../protocol/interactions.ts';

/** A person's request to an application, after schema validation. Plain data. */
export interface Invocation extends InteractionLocation {
  readonly type: InteractionType;
  readonly applicationId: ApplicationId;
  readonly userId: UserId;
  /** The invoker's session that receives what becomes of it; empty for none. */
  readonly sessionId: string;
  readonly nonce: string | null;
  /** The invoker's locales, best first; at least one. */
  readonly locales: readonly [Locale, ...Locale[]];
  /** The message of a component. */
  readonly messageId: MessageId | null;
  /** Whether that message is shown to the invoker only. */
  readonly isEphemeral: boolean;
  /** `data` of the request. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Files of the request, already stored, by their id in the request. */
  readonly uploads: Readonly<Record<string, APIAttachment>>;
}

/** An application's answer, after schema validation. Plain data. */
export interface Callback {
  readonly type: CallbackType;
  /** The message of types 4, 5 and 7. */
  readonly draft: MessageDraft;
  readonly attachments: readonly APIAttachment[];
  /** Files of the message to keep, for type 7; null keeps all. */
  readonly keep: readonly KeptAttachment[] | null;
  /** `data` of types 8 and 9. */
  readonly data: unknown;
}

/** How a callback has answered. */
export interface CallbackResult {
  readonly type: InteractionType;
  /** The activity that the answer has launched; null without one. */
  readonly activityInstanceId: string | null;
  /** The message that shows the answer; null without one. */
  readonly written: Written | null;
  readonly isLoading: boolean;
  readonly isEphemeral: boolean;
}

/** The body of an endpoint's HTTP response. */
export interface EndpointBody {
  readonly contentType: string | null;
  readonly body: Uint8Array;
}

/**
 * Reads a callback in the body of an HTTP response, stores its files under the channel, and answers with it. Files that the
 * answer does not show are deleted.
 */
export type ReceiveAnswer = (
  sent: EndpointBody,
  /** `fileBytesMax`: bytes of one file. */
  to: { readonly channelId: ChannelId; readonly fileBytesMax: number },
  answer: (callback: Callback) => Promise<Reply<CallbackResult>>,
) => Promise<Reply<CallbackResult>>;

/** Whether an invocation started an interaction or repeats an earlier one. */
export type Begun = 'begun' | 'repeated';

/** Uses of commands, components and forms, and their answers. */
export interface Interactions {
  /**
   * Sends an invocation to its application. Resolves when the interaction is durable.
   *
   * @returns `repeated` for a known nonce; 50035 at `session_id` when the invoker has no such session.
   */
  invoke(invocation: Invocation): Promise<Reply<Begun>>;
  /** @returns 10062 for an unknown token or one of another interaction, 40060 when it was answered. */
  answer(id: string, token: string, callback: Callback): Promise<Reply<CallbackResult>>;
  /** The place and the invoker of an interaction whose token is valid, for storing the answer's files; null otherwise. */
  placeOf(token: string): Promise<(InteractionLocation & { readonly userId: UserId }) | null>;
  /** Hides an ephemeral message from its reader for good. @returns 10008 for any other message. */
  dismiss(place: InteractionLocation, messageId: MessageId, userId: UserId): Promise<Reply<null>>;
}
