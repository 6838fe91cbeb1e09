import type { APIGuildPreview } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL, TEXT_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { APIGuild } from '../../protocol/objects.ts';
import { formatPermissions, P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { standingPermissions } from '../permissions/permissions.ts';
import { auditEntry, changesOf, sameValue } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import { emojisOf } from './emojis.ts';
import type { GuildFact, InfoFacts } from './facts.ts';
import type { Guild, GuildInfo } from './guild.ts';
import { guildObject } from './payloads.ts';
import { stickersOf } from './stickers.ts';
import type { GuildTopic } from './topic.ts';
import { sightOf, visibilityDiff } from './visibility.ts';
import { voiceEnds } from './voice.states.ts';

/** A request's changes of a guild, by the wire's names; images are hashes already. An absent field stays as it is. */
export interface GuildDraft {
  readonly name?: string;
  readonly description?: string | null;
  readonly region?: string | null;
  readonly icon?: string | null;
  readonly splash?: string | null;
  readonly discovery_splash?: string | null;
  readonly banner?: string | null;
  readonly home_header?: string | null;
  readonly verification_level?: number | null;
  readonly default_message_notifications?: number | null;
  readonly explicit_content_filter?: number | null;
  readonly preferred_locale?: string | null;
  readonly afk_timeout?: number | null;
  readonly afk_channel_id?: ChannelId | null;
  readonly system_channel_id?: ChannelId | null;
  readonly system_channel_flags?: number | null;
  readonly rules_channel_id?: ChannelId | null;
  readonly safety_alerts_channel_id?: ChannelId | null;
  readonly public_updates_channel_id?: ChannelId | null;
  readonly premium_progress_bar_enabled?: boolean | null;
  readonly features?: readonly (string | null)[] | null;
}

type GuildWithCounts = APIGuild & {
  readonly approximate_member_count?: number;
  readonly approximate_presence_count?: number;
};

/** @source https://docs.discord.com/developers/resources/user#get-current-user-guilds */
export interface MyGuild {
  readonly id: string;
  readonly name: string;
  readonly icon: string | null;
  readonly banner: string | null;
  readonly owner: boolean;
  /** The caller's permissions in the guild, without channel overwrites. */
  readonly permissions: string;
  readonly features: readonly string[];
  readonly approximate_member_count?: number;
  readonly approximate_presence_count?: number;
}

type InfoCommands = {
  getGuild: { input: { readonly withCounts: boolean }; value: GuildWithCounts };
  /** The guild as an entry in the list of the caller's guilds. */
  myGuild: { input: { readonly withCounts: boolean }; value: MyGuild };
  previewGuild: { input: object; value: APIGuildPreview };
  /** The preview for people who are not members; 10004 for a guild without the feature DISCOVERABLE. */
  previewDiscoverableGuild: { input: object; value: APIGuildPreview };
  updateGuild: { input: { readonly draft: GuildDraft }; value: APIGuild };
  /** Permission check before all members are read from the store. */
  authorizeDeletion: { input: object; value: null };
  /** The caller has read all members. */
  deleteGuild: { input: { readonly memberIds: readonly UserId[] }; value: null };
};

const mayDelete = (guild: Guild, by: By): boolean => by.system || by.userId === guild.info.owner_id;

/** Null for a field that cannot be null restores its default. */
const DEFAULTS = {
  region: 'local',
  verification_level: 0,
  default_message_notifications: 0,
  explicit_content_filter: 0,
  preferred_locale: 'en-US',
  afk_timeout: 300,
  system_channel_flags: 0,
  premium_progress_bar_enabled: false,
} as const satisfies Partial<GuildInfo>;

const NULLABLE = ['description', 'icon', 'home_header'] as const;

/** Images that require a feature; without it the platform leaves them unchanged. */
const IMAGE_FEATURES = {
  splash: 'INVITE_SPLASH',
  discovery_splash: 'DISCOVERABLE',
  banner: 'BANNER',
} as const satisfies Partial<Record<keyof GuildInfo, string>>;

const CHANNEL_FIELDS = [
  'afk_channel_id',
  'system_channel_id',
  'rules_channel_id',
  'safety_alerts_channel_id',
  'public_updates_channel_id',
] as const;

/** Features that a request can switch, and the permission for it. Only the operator switches the others. */
const SWITCHABLE: Readonly<Record<string, bigint>> = {
  COMMUNITY: P.ADMINISTRATOR,
  DISCOVERABLE: P.ADMINISTRATOR,
  INVITES_DISABLED: P.MANAGE_GUILD,
  RAID_ALERTS_DISABLED: P.MANAGE_GUILD,
};

const AUDITED = [
  'name',
  'owner_id',
  'description',
  'region',
  'icon',
  'splash',
  'discovery_splash',
  'banner',
  'home_header',
  'features',
  'verification_level',
  'default_message_notifications',
  'explicit_content_filter',
  'preferred_locale',
  'afk_timeout',
  'system_channel_flags',
  'premium_progress_bar_enabled',
  ...CHANNEL_FIELDS,
] as const satisfies readonly (keyof GuildInfo)[];

function getGuild(guild: Guild, { withCounts }: InfoCommands['getGuild']['input']) {
  return accepted<GuildWithCounts, GuildFact>(
    withCounts ? { ...guildObject(guild), ...countsOf(guild) } : guildObject(guild),
  );
}

const countsOf = (guild: Guild) => ({
  approximate_member_count: guild.memberCount,
  approximate_presence_count: guild.presences.size,
});

function myGuild(
  guild: Guild,
  { withCounts }: InfoCommands['myGuild']['input'],
  by: By,
): Outcome<MyGuild, GuildFact> {
  const { id, name, icon, banner, owner_id, features } = guild.info;
  const owner = owner_id === by.userId;
  const permissions = formatPermissions(standingPermissions(guild, by.userId));
  const counts = withCounts ? countsOf(guild) : {};
  return accepted({ id, name, icon, banner, owner, permissions, features, ...counts });
}

/** Fields of the guild that a preview shows besides its counts. */
const PREVIEWED = [
  'id',
  'name',
  'icon',
  'description',
  'home_header',
  'splash',
  'discovery_splash',
  'features',
  'banner',
] as const satisfies readonly (keyof GuildInfo)[];

function previewGuild(guild: Guild): Outcome<APIGuildPreview, GuildFact> {
  const shown = Object.fromEntries(PREVIEWED.map((key) => [key, guild.info[key]]));
  const preview = { ...shown, emojis: emojisOf(guild), stickers: stickersOf(guild), ...countsOf(guild) };
  return accepted(preview as unknown as APIGuildPreview);
}

function updateGuild(
  guild: Guild,
  { draft }: InfoCommands['updateGuild']['input'],
  by: By,
  env: Env,
): Outcome<APIGuild, GuildFact> {
  const features = featuresOf(guild, draft, by, env.nowMs);
  if (!features.ok) return features;
  const info = { ...guild.info, ...statedFields(guild, draft), features: features.value };
  const no = channelsRefusal(guild, draft) ?? communityRefusal(guild, info);
  if (no) return refused(no);
  const changes = changesOf(guild.info, info, AUDITED);
  const value = { ...guildObject(guild), ...info } as unknown as APIGuild;
  if (changes.length === 0) return accepted(value);
  return accepted(value, [
    { type: 'guildUpdated', info },
    auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes }),
  ]);
}

function statedFields(guild: Guild, draft: GuildDraft): Partial<GuildInfo> {
  const stated: Record<string, unknown> = {};
  if (draft.name !== undefined) stated.name = draft.name;
  for (const key of [...NULLABLE, ...CHANNEL_FIELDS]) {
    if (draft[key] !== undefined) stated[key] = draft[key];
  }
  for (const [key, fallback] of Object.entries(DEFAULTS)) {
    const value = draft[key as keyof typeof DEFAULTS];
    if (value !== undefined) stated[key] = value ?? fallback;
  }
  for (const [key, feature] of Object.entries(IMAGE_FEATURES)) {
    const value = draft[key as keyof typeof IMAGE_FEATURES];
    if (value !== undefined && guild.info.features.includes(feature)) stated[key] = value;
  }
  return stated;
}

/** A request lists all wanted features; those that requests cannot switch stay as they are. */
function featuresOf(
  guild: Guild,
  draft: GuildDraft,
  by: By,
  nowMs: number,
): Outcome<readonly string[], never> {
  const has = guild.info.features;
  if (!draft.features) return accepted(has);
  const wanted = new Set(draft.features);
  const held = bitsOf(guild, by, nowMs);
  const next = new Set(has);
  for (const [feature, needed] of Object.entries(SWITCHABLE)) {
    if (wanted.has(feature) === has.includes(feature)) continue;
    if ((held & needed) === 0n) return refused(refusal('MISSING_PERMISSIONS'));
    if (wanted.has(feature)) next.add(feature);
    else next.delete(feature);
  }
  return accepted(sameValue([...next], has) ? has : [...next]);
}

/** Every channel that a request names must be one of the guild's and of a suitable type. */
function channelsRefusal(guild: Guild, draft: GuildDraft): Refusal | null {
  for (const key of CHANNEL_FIELDS) {
    const id = draft[key];
    if (!id) continue;
    const channel = guild.channels.get(id);
    if (!channel) return refusal('UNKNOWN_CHANNEL');
    // The AFK channel is a voice channel; all others are text channels.
    const serves =
      key === 'afk_channel_id' ? channel.type === CHANNEL.GUILD_VOICE : TEXT_LIKE.has(channel.type);
    if (!serves) {
      return refusal(
        key === 'rules_channel_id' || key === 'public_updates_channel_id'
          ? 'COMMUNITY_CHANNELS_MUST_BE_TEXT'
          : 'CANNOT_EXECUTE_ON_CHANNEL_TYPE',
      );
    }
  }
  return null;
}

/** A community guild requires a rules channel and a channel for the platform's notices: neither can be removed. */
function communityRefusal(guild: Guild, next: GuildInfo): Refusal | null {
  if (!next.features.includes('COMMUNITY')) return null;
  const had = guild.info.features.includes('COMMUNITY');
  const bare = (['rules_channel_id', 'public_updates_channel_id'] as const).find(
    (key) => next[key] === null && !(had && guild.info[key] === null),
  );
  return bare ? invalidField([bare], 'BASE_TYPE_REQUIRED', 'This field is required') : null;
}

function applyGuildCreated(guild: Guild, fact: InfoFacts['guildCreated']): void {
  guild.info = fact.info;
  for (const role of fact.roles) guild.roles.set(role.id, role);
  for (const channel of fact.channels) guild.channels.set(channel.id, channel);
  guild.members.set(fact.owner.user.id, fact.owner);
  guild.memberCount = 1;
  guild.visibilityVersion++;
}

function applyGuildUpdated(guild: Guild, fact: InfoFacts['guildUpdated']): void {
  const sameOwner = guild.info.owner_id === fact.info.owner_id;
  guild.info = fact.info;
  if (!sameOwner) guild.visibilityVersion++;
}

/** The guild itself: its name, its images, its settings. */
export const info: GuildTopic<InfoCommands, keyof InfoFacts> = {
  commands: {
    getGuild: { repeatable: true, decide: getGuild },
    myGuild: { repeatable: true, anyFactor: true, decide: myGuild },
    previewGuild: { decide: previewGuild },
    previewDiscoverableGuild: {
      decide: (guild) =>
        guild.info.features.includes('DISCOVERABLE')
          ? previewGuild(guild)
          : refused(refusal('UNKNOWN_GUILD')),
    },
    updateGuild: { decide: updateGuild },
    authorizeDeletion: {
      decide: (guild, _input, by) =>
        mayDelete(guild, by) ? accepted(null) : refused(refusal('MISSING_PERMISSIONS')),
    },
    deleteGuild: {
      decide: (guild, { memberIds }, by) =>
        mayDelete(guild, by)
          ? accepted(null, [...voiceEnds(guild), { type: 'guildDeleted', memberIds }])
          : refused(refusal('MISSING_PERMISSIONS')),
    },
  },
  facts: {
    guildCreated: {
      apply: applyGuildCreated,
      // Sessions receive a guild when they subscribe; a new guild has no subscribers.
      dispatches: () => [],
    },
    guildUpdated: withBefore({
      voiceMembers: 'everyone',
      before: (guild, { info }) =>
        guild.info.owner_id === info.owner_id
          ? null
          : sightOf(guild, { userIds: [guild.info.owner_id, info.owner_id] }),
      apply: applyGuildUpdated,
      dispatches: (guild, _fact, before) => [
        { t: 'GUILD_UPDATE', d: guildObject(guild), to: { kind: 'guild' }, keepsSight: before === null },
        ...visibilityDiff(guild, before),
      ],
    }),
    guildDeleted: {
      voiceMembers: 'everyone',
      ends: true,
      apply: () => {},
      dispatches: (guild) => [{ t: 'GUILD_DELETE', d: { id: guild.id }, to: { kind: 'guild' } }],
    },
  },
};
