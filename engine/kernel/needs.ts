import type { ChannelId, MessageId, UserId, WebhookId } from '../../protocol/ids.ts';
import type { RsvpKey } from '../scheduledevent/event.ts';

/** Rows that a command needs in the windows of the state before it is decided. The shell reads absent rows. */
export interface Needs {
  readonly members?: readonly UserId[];
  /** All members, if there are no more than this. */
  readonly everyoneUpTo?: number;
  readonly messages?: readonly { readonly channelId: ChannelId; readonly id: MessageId }[];
  /** Channels whose newest messages are needed. */
  readonly recent?: readonly ChannelId[];
  /** Channels whose pins are needed. */
  readonly pins?: readonly ChannelId[];
  /** Whether a user has reacted to a message with the emoji of `key`. */
  readonly reactions?: readonly {
    readonly messageId: MessageId;
    readonly key: string;
    readonly userId: UserId;
  }[];
  /** Whether a user has voted for an answer of a message's poll. */
  readonly votes?: readonly {
    readonly messageId: MessageId;
    readonly answerId: number;
    readonly userId: UserId;
  }[];
  /** When users last wrote, or created a thread, in channels with a slow mode. */
  readonly slowmode?: readonly {
    readonly channelId: ChannelId;
    readonly userId: UserId;
    readonly counts: 'messages' | 'threads';
  }[];
  /** Threads with their members; channels among them are skipped. */
  readonly threads?: readonly ChannelId[];
  readonly formerMembers?: readonly UserId[];
  readonly bans?: readonly UserId[];
  readonly joinRequests?: readonly UserId[];
  readonly onboardingAnswers?: readonly UserId[];
  readonly users?: readonly UserId[];
  readonly invites?: readonly string[];
  /** Copies that followers in the guild have of published messages. */
  readonly copies?: readonly { readonly sourceId: MessageId; readonly webhookId: WebhookId }[];
  /** Responses of users to scheduled events. */
  readonly rsvps?: readonly RsvpKey[];
  /** All webhooks of the guild. */
  readonly webhooks?: true;
}
