import type { Guilds } from '../actors/guild/guilds.ts';
import type { Placement } from '../actors/placement/ports.ts';
import type { Routing } from '../actors/placement/routing.ts';
import type { Clock } from '../actors/runtime/clock.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';
import type { Users } from '../actors/user/users.ts';
import type { Config } from '../config/config.ts';
import { GLOBAL_WINDOW_MS, LIMIT_ENTRIES_MAX } from '../config/fixed.ts';
import { nearest } from '../config/nearest.ts';
import { SYSTEM } from '../engine/kernel/authority.ts';
import { INVALID_CALLS, type InvalidCalls, watchInvalidCalls } from '../engine/ratelimit/invalid.ts';
import { createLimiter } from '../engine/ratelimit/limiter.ts';
import type { SecurityTrail } from '../protocol/security.ts';
import { createApplicationAccess } from '../services/applications/access.ts';
import { createAppCommands } from '../services/applications/appcommands.ts';
import { createCommandIndexes } from '../services/applications/commandindex.ts';
import { createCommandNotices } from '../services/applications/commandnotices.ts';
import { committingApplications } from '../services/applications/commits.ts';
import { createApplicationEmojis } from '../services/applications/emojis.ts';
import { type ChannelDirectory, channelCalls, createLinkRefusal } from '../services/channels/channels.ts';
import { createExpressions } from '../services/channels/expressions.ts';
import { createMessageFiles, type UploadedImage } from '../services/channels/messagefiles.ts';
import { createMessageViews } from '../services/channels/messageviews.ts';
import { createUploads } from '../services/channels/uploads.ts';
import { type Authenticate, createAuthorizedJoin } from '../services/guilds/authorizedjoin.ts';
import { createBans } from '../services/guilds/bans.ts';
import { createDeletion } from '../services/guilds/deletion.ts';
import { createExpressionFiles } from '../services/guilds/expressionfiles.ts';
import type { GuildFounding } from '../services/guilds/founding.ts';
import { createInvites } from '../services/guilds/invites.ts';
import { createPrune } from '../services/guilds/prune.ts';
import { createScreening } from '../services/guilds/screening.ts';
import { createTagChoice } from '../services/guilds/tagchoice.ts';
import type { Identity } from '../services/identity/identity.ts';
import { installedBy } from '../services/oauth/install.ts';
import { createGroups } from '../services/privatechannels/groups.ts';
import type { PrivateChannels } from '../services/privatechannels/privatechannels.ts';
import { limitsAtOwners } from '../services/ratelimits.ts';
import { createWebhookAvatars } from '../services/webhooks/avatars.ts';
import { createWebhookMessages } from '../services/webhooks/messages.ts';
import { createWebhookTokens } from '../services/webhooks/tokens.ts';
import { anyTokenMessages, createWebhooks } from '../services/webhooks/webhooks.ts';
import type { Blobs } from '../storage/blob/blobs.ts';
import type { Commit, Storage } from '../storage/ports.ts';
import { wholeBlob } from '../transports/http/cdn.ts';
import type { Pictures } from '../transports/http/pictures.ts';
import { createCatalog } from '../transports/rest/catalog.ts';
import { embeddedCalls } from '../transports/rest/embedded.ts';
import { attachmentKey, expressionKey, saveImageBytes } from '../transports/rest/image.ts';
import { createLimits } from '../transports/rest/limits.ts';
import { createPipeline, type Hooks } from '../transports/rest/pipeline.ts';
import { operations, unlisted } from '../transports/rest/resources/index.ts';
import type { Services } from '../transports/rest/services.ts';
import type { Features } from './context.ts';

/** Counts invalid requests of each network across all endpoints. */
export const watchAddresses = (security: SecurityTrail): InvalidCalls =>
  watchInvalidCalls(LIMIT_ENTRIES_MAX, INVALID_CALLS, (network, forMs) =>
    security('address_blocked', { network, reason: 'invalid_requests', wait_ms: Math.ceil(forMs) }),
  );

interface ApiPorts {
  readonly config: Config;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly cluster: Pick<Placement, 'routing'>;
  readonly services: Services;
  readonly hooks: Hooks;
  readonly invalid: InvalidCalls;
  readonly storage: Pick<Storage, 'users' | 'applications'>;
  readonly publicUrl: () => string;
  /** Signs links to attachments. */
  readonly signUrl: (url: string) => string;
}

/** The operations as served over HTTP and as called by the embedding program, through one pipeline. */
export function createApi(ports: ApiPorts) {
  const { config, clock, services, hooks } = ports;
  const catalog = createCatalog({ ...operations, ...unlisted });
  const global = { limit: config.global_requests_per_sec, windowMs: GLOBAL_WINDOW_MS };
  const limits = config.rate_limits
    ? createLimits(
        {
          take: limitsAtOwners({
            limiter: createLimiter({ global, entriesMax: LIMIT_ENTRIES_MAX }),
            ...{ routing: ports.cluster.routing, wheel: ports.wheel, monotonic: () => clock.monotonic() },
          }),
          invalid: ports.invalid,
        },
        clock,
        config.lobby_development_limits,
      )
    : null;
  const pipeline = createPipeline({ catalog, services, hooks, limits, signUrl: ports.signUrl });

  const calls = embeddedCalls({ ...ports, operationIds: [...catalog.keys()], pipeline, nearest });
  return { catalog, pipeline, ...calls };
}

interface ServicePorts
  extends Pick<Services, 'activityOrigin' | 'nextId' | 'nowMs' | 'rulesMs' | 'gateway' | 'authorizeRequests'>,
    Features {
  readonly authenticate: Authenticate;
  /** Whether an uploaded image is explicit; undefined when the embedding program does not classify images. */
  readonly isExplicit: ((image: UploadedImage) => boolean | Promise<boolean>) | undefined;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly config: Pick<Config, 'webhook_avatar_urls' | 'upload_bytes_max' | 'request_bytes_max'>;
  readonly storage: Storage;
  readonly blobs: Blobs;
  readonly pictures: Pictures;
  readonly guilds: Guilds;
  readonly users: Users;
  readonly channels: ChannelDirectory;
  readonly identity: Pick<Identity, 'account'>;
  readonly inPrivate: PrivateChannels['call'];
  readonly privates: PrivateChannels;
  readonly openPrivate: PrivateChannels['open'];
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly routing: Routing;
  readonly founding: GuildFounding;
  readonly onFault: (error: unknown, where: string) => void;
  /** The server's secret, from which tokens of webhooks are derived. */
  readonly secret: string;
}

const usersOf = (ports: ServicePorts): Services['users'] => ({
  ...{ account: ports.identity.account, openPrivateChannel: ports.openPrivate },
  updateUser: (userId, change) => ports.users.update(userId, change),
  chooseTag: createTagChoice(ports).choose,
});

const ofGuilds = (ports: ServicePorts): Pick<Services, 'guilds' | 'invites' | 'prune' | 'bans'> => {
  const { guilds, storage, nowMs } = ports;
  return {
    guilds: {
      call: (guildId, type, input, authority) => guilds.call(guildId, type, input, authority),
      create: ports.founding.createOwn,
      addAuthorized: createAuthorizedJoin({ ...ports, users: storage.users }),
      delete: createDeletion({ guilds, store: storage.guilds }),
      updateScreening: createScreening({ guilds, store: storage.guilds }),
    },
    invites: createInvites(ports),
    prune: createPrune({ guilds, store: storage.guilds, nowMs }),
    bans: createBans({ guilds, messages: storage.messages, nowMs }),
  };
};

const ofMessages = (
  ports: ServicePorts,
): Pick<Services, 'presentMessages' | 'expressions' | 'expressionFiles' | 'messageFiles' | 'uploads'> => {
  const { guilds, storage } = ports;
  return {
    presentMessages: createMessageViews({ storage }),
    expressions: createExpressions({ guilds, store: storage.expressions }),
    expressionFiles: createExpressionFiles({ ...ports, expressionKey }),
    messageFiles: createMessageFiles({ ...ports, fileKey: attachmentKey }),
    uploads: createUploads(ports),
  };
};

/** The services of REST handlers, made of the actors and stores. */
export function createServices(ports: ServicePorts): Services {
  const { storage, guilds, inPrivate } = ports;
  const store = storage.webhooks;
  const webhooks = createWebhooks({ store, guilds, tokens: createWebhookTokens(ports.secret) });
  const { forButtons } = ports.premium;
  const call = channelCalls(ports);
  const webhookMessages = createWebhookMessages({
    ...{ store, webhooks, guilds, forButtons },
    messages: storage.messages,
  });

  return {
    calls: {
      ring: (channelId, userIds, authority) => inPrivate(channelId, 'ringCall', { userIds }, authority),
      stopRinging: (channelId, userIds, authority) =>
        inPrivate(channelId, 'stopRinging', { userIds }, authority),
    },
    ...ofGuilds(ports),
    ...ofMessages(ports),
    teams: ports.teams,
    channels: { call, owner: async (id) => ports.channels.owner(id) },
    linkRefusal: createLinkRefusal({ channels: { call }, oauth: ports.oauth }),
    groups: createGroups(ports),
    users: usersOf(ports),
    applications: { update: ports.endpoints.update },
    applicationAccess: createApplicationAccess({ applications: storage.applications, teams: ports.teams }),
    commandIndexes: createCommandIndexes({ storage, guilds, installedBy: installedBy(ports.oauth) }),
    applicationEmojis: createApplicationEmojis(ports),
    ...{ premium: ports.premium, catalog: ports.catalog },
    appCommands: createAppCommands({
      ...ports,
      notices: createCommandNotices({ ...ports, onFault: (error) => ports.onFault(error, 'commands') }),
      commitAsOwner: committingApplications(ports.commitAsOwner, (id) => ports.interactions.forget(id)),
    }),
    authorizeRequests: ports.authorizeRequests,
    oauth: ports.oauth,
    accounts: ports.accounts,
    provisional: ports.provisional,
    ...{ lobbies: ports.lobbies, matchmaking: ports.matchmaking },
    social: ports.social,
    runningActivities: ports.runningActivities,
    activityOrigin: ports.activityOrigin,
    interactions: ports.interactions,
    integrations: ports.integrations,
    webhooks,
    webhookAvatars: createWebhookAvatars({
      picture: ports.config.webhook_avatar_urls ? ports.endpoints.picture : async () => null,
      async save(webhookId, bytes) {
        const saved = await saveImageBytes(ports.blobs, 'avatars', webhookId, bytes, 'avatar_url');
        return saved.ok ? saved.value : null;
      },
      nowMs: ports.nowMs,
    }),
    tokenMessages: anyTokenMessages([webhookMessages, ports.interactions.tokenMessages]),
    read: storage,
    blobs: ports.blobs,
    overlay: (png, key, square) =>
      ports.pictures.overlay(png, key, square, () => wholeBlob(ports.blobs, key)),
    nextId: ports.nextId,
    nowMs: ports.nowMs,
    rulesMs: ports.rulesMs,
    gateway: ports.gateway,
    system: SYSTEM,
  };
}
