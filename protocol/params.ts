import type {
  ApplicationId,
  AuthorizationId,
  AutoModerationRuleId,
  ChannelId,
  CommandId,
  EmojiId,
  EntitlementId,
  EventExceptionId,
  GuildId,
  InteractionId,
  JoinRequestId,
  MessageId,
  OverwriteId,
  RoleId,
  ScheduledEventId,
  SkuId,
  SoundId,
  StickerId,
  StickerPackId,
  SubscriptionId,
  TeamId,
  TicketId,
  UserId,
  WebhookId,
} from './ids.ts';

/** The id type of each path parameter. Handlers receive parameters of these types, already validated as snowflakes. */
interface PathIds {
  readonly application_id: ApplicationId;
  readonly channel_id: ChannelId;
  readonly command_id: CommandId;
  readonly emoji_id: EmojiId;
  readonly entitlement_id: EntitlementId;
  readonly exception_id: EventExceptionId;
  readonly guild_id: GuildId;
  readonly guild_scheduled_event_exception_id: EventExceptionId;
  readonly guild_scheduled_event_id: ScheduledEventId;
  /** The integration of an application has its id. */
  readonly integration_id: ApplicationId;
  readonly interaction_id: InteractionId;
  /** A lobby is a channel. */
  readonly lobby_id: ChannelId;
  readonly message_id: MessageId;
  /** An overwrite has the id of its role or member. */
  readonly overwrite_id: OverwriteId;
  readonly pack_id: StickerPackId;
  readonly request_id: JoinRequestId;
  readonly role_id: RoleId;
  readonly rule_id: AutoModerationRuleId;
  readonly sku_id: SkuId;
  readonly sound_id: SoundId;
  readonly sticker_id: StickerId;
  readonly subscription_id: SubscriptionId;
  readonly team_id: TeamId;
  readonly ticket_id: TicketId;
  readonly token_id: AuthorizationId;
  readonly user_id: UserId;
  /** A webhook, or the application of the interaction whose token follows. */
  readonly webhook_id: WebhookId;
}

/** The type of a path parameter: a branded id, or text. */
export type PathParam<Name extends string> = Name extends keyof PathIds ? PathIds[Name] : string;
