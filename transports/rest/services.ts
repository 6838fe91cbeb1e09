import type { AuthorizeRequests } from '../../actors/cluster/routing/authorizerequests.ts';
import type { FoundingChoice } from '../../engine/guild/founding.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Application, PrivateChannel } from '../../engine/user/facts.ts';
import type { UserChange } from '../../engine/user/user.ts';
import type { ApplicationId, ChannelId, FreshId, GuildId, UserId } from '../../protocol/ids.ts';
import type { APIGuild, APIUser } from '../../protocol/objects.ts';
import type { Accounts } from '../../services/accounts/ports.ts';
import type { RunningActivities } from '../../services/activities/ports.ts';
import type { ApplicationAccess } from '../../services/applications/access.ts';
import type { AppCommands } from '../../services/applications/appcommands.ts';
import type { CommandIndexes } from '../../services/applications/commandindex.ts';
import type { ApplicationEmojis } from '../../services/applications/emojis.ts';
import type { Teams } from '../../services/applications/teams.ts';
import type { ChannelCall, LinkRefusal } from '../../services/channels/channels.ts';
import type { Expressions } from '../../services/channels/expressions.ts';
import type { MessageFiles } from '../../services/channels/messagefiles.ts';
import type { PresentMessages } from '../../services/channels/messageviews.ts';
import type { Uploads } from '../../services/channels/uploads.ts';
import type { AddAuthorized } from '../../services/guilds/authorizedjoin.ts';
import type { Bans } from '../../services/guilds/bans.ts';
import type { DeleteGuild } from '../../services/guilds/deletion.ts';
import type { ExpressionFiles } from '../../services/guilds/expressionfiles.ts';
import type { Integrations } from '../../services/guilds/integrations.ts';
import type { Invites } from '../../services/guilds/invites.ts';
import type { Prune } from '../../services/guilds/prune.ts';
import type { UpdateScreening } from '../../services/guilds/screening.ts';
import type { TagChoice } from '../../services/guilds/tagchoice.ts';
import type { Interactions } from '../../services/interactions/ports.ts';
import type { Lobbies } from '../../services/lobbies/ports.ts';
import type { Matchmaking } from '../../services/matchmaking/ports.ts';
import type { OAuth } from '../../services/oauth/ports.ts';
import type { Provisional } from '../../services/players/ports.ts';
import type { Catalog } from '../../services/premium/catalog.ts';
import type { Premium } from '../../services/premium/premium.ts';
import type { Groups } from '../../services/privatechannels/groups.ts';
import type { Social } from '../../services/social/ports.ts';
import type { WebhookAvatars } from '../../services/webhooks/avatars.ts';
import type { TokenMessages, Webhooks } from '../../services/webhooks/ports.ts';
import type { AppCommandStore, ApplicationStore, TeamStore } from '../../storage/application/port.ts';
import type { Blobs } from '../../storage/blob/blobs.ts';
import type { ExpressionStore, GuildStore } from '../../storage/guild/port.ts';
import type { MessageStore, SearchStore } from '../../storage/message/port.ts';
import type { DirectoryStore } from '../../storage/ports.ts';
import type { PremiumStore } from '../../storage/premium/port.ts';
import type { PrivateChannelStore } from '../../storage/privatechannel/port.ts';
import type { ScheduledEventStore } from '../../storage/scheduledevent/port.ts';
import type { ThreadStore } from '../../storage/thread/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { WebhookStore } from '../../storage/webhook/port.ts';
import type { Square } from './image.ts';

type Input<K extends keyof GuildCommands> = GuildCommands[K]['input'];
type Value<K extends keyof GuildCommands> = GuildCommands[K]['value'];

/**
 * The services that handlers use. Commands are sent to the aggregate's owner, which checks the authority. Reads that are
 * too large for a command's reply use the stores, after a command has confirmed that the caller may read.
 */
export interface Services {
  readonly guilds: {
    call<K extends keyof GuildCommands>(
      guildId: GuildId,
      type: K,
      input: Input<K>,
      authority: Authority,
    ): Promise<Reply<Value<K>>>;
    /** Creates a guild owned by the user. Refused with 30001 when the user is in, or owns, as many guilds as allowed. */
    create(ownerId: UserId, id: GuildId, name: string, chosen: FoundingChoice): Promise<Reply<APIGuild>>;
    readonly addAuthorized: AddAuthorized;
    readonly delete: DeleteGuild;
    readonly updateScreening: UpdateScreening;
  };
  readonly invites: Invites;
  readonly prune: Prune;
  readonly bans: Bans;
  readonly channels: {
    readonly call: ChannelCall;
    /** The aggregate that owns the channel; null for an unknown one. */
    owner(channelId: ChannelId): Promise<{ readonly guildId: GuildId } | { readonly private: true } | null>;
  };
  /** Calls of private channels. A null `userIds` means every member not in the call, or the caller who declines. */
  readonly calls: {
    ring(channelId: ChannelId, userIds: readonly UserId[] | null, authority: Authority): Promise<Reply<null>>;
    stopRinging(
      channelId: ChannelId,
      userIds: readonly UserId[] | null,
      authority: Authority,
    ): Promise<Reply<null>>;
  };
  readonly presentMessages: PresentMessages;
  readonly messageFiles: MessageFiles;
  readonly linkRefusal: LinkRefusal;
  readonly expressions: Expressions;
  readonly expressionFiles: ExpressionFiles;
  readonly groups: Groups;
  readonly users: {
    /** The caller's account; null for one that is gone. */
    account(userId: UserId): Promise<APIUser | null>;
    updateUser(userId: UserId, change: UserChange): Promise<Reply<APIUser>>;
    readonly chooseTag: TagChoice['choose'];
    /** Finds or creates the private channel of two users. */
    openPrivateChannel(a: UserId, b: UserId): Promise<Reply<PrivateChannel>>;
  };
  readonly applications: {
    update(id: ApplicationId, change: Partial<Application>): Promise<Reply<Application>>;
  };
  readonly applicationAccess: ApplicationAccess;
  readonly teams: Teams;
  readonly uploads: Uploads;
  readonly applicationEmojis: ApplicationEmojis;
  readonly appCommands: AppCommands;
  readonly premium: Premium;
  readonly catalog: Catalog;
  readonly integrations: Integrations;
  readonly commandIndexes: CommandIndexes;
  readonly authorizeRequests: AuthorizeRequests;
  readonly oauth: OAuth;
  readonly accounts: Accounts;
  readonly provisional: Provisional;
  readonly lobbies: Lobbies;
  readonly matchmaking: Matchmaking;
  readonly social: Social;
  readonly runningActivities: RunningActivities;
  /** The origin of an application's activity; null where no activities are served. */
  readonly activityOrigin: (id: ApplicationId) => string | null;
  readonly interactions: Interactions;
  readonly webhooks: Webhooks;
  /** Targets of tokens in paths: webhooks and answers to interactions. */
  readonly webhookAvatars: WebhookAvatars;
  readonly tokenMessages: TokenMessages;
  /** Read-only views of the stores. */
  readonly read: {
    readonly guilds: GuildStore;
    readonly messages: MessageStore;
    readonly users: UserStore;
    readonly applications: ApplicationStore;
    readonly teams: Pick<TeamStore, 'ofUser'>;
    readonly appCommands: AppCommandStore;
    readonly premium: PremiumStore;
    readonly privateChannels: PrivateChannelStore;
    readonly directory: DirectoryStore;
    readonly expressions: ExpressionStore;
    readonly webhooks: Pick<WebhookStore, 'ofGuild'>;
    readonly scheduledEvents: Pick<ScheduledEventStore, 'users' | 'answerCounts'>;
    readonly threads: Pick<ThreadStore, 'archived' | 'search' | 'listed'>;
    readonly search: Pick<SearchStore, 'find' | 'isIndexed'>;
  };
  readonly blobs: Blobs;
  /** Draws a stored image onto a square of a PNG; null where images cannot be drawn. */
  readonly overlay: (png: Uint8Array, key: string, square: Square) => Promise<Uint8Array | null>;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
  /** Unix milliseconds by which dated rules apply; see `protocol/dates.ts`. */
  readonly rulesMs: () => number;
  /** The server itself, for calls where a path or a code is the permission and the caller may be unauthenticated. */
  readonly system: Authority;
  /** URL of the gateway (`ws://…`), and the content of `GET /gateway/bot` for a caller. */
  readonly gateway: {
    readonly url: string;
    sessionStart(userId: UserId): Promise<{
      total: number;
      remaining: number;
      reset_after: number;
      max_concurrency: number;
    }>;
  };
}
