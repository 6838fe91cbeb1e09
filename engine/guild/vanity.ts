import { AUDIT } from '../../protocol/audit.ts';
import { TEXT_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { auditEntry } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel, GuildInfo } from './guild.ts';
import type { GuildTopic } from './topic.ts';

export interface Vanity {
  readonly code: string | null;
  readonly uses: number;
}

type VanityCommands = {
  getVanity: { input: object; value: Vanity };
  /** Null gives the code up. The caller has looked whether another guild has it. */
  setVanity: { input: { readonly code: string | null }; value: Vanity };
};

const FEATURE = 'VANITY_URL';

export const needsVanity = (_input: object, { info }: Guild): Needs => ({
  invites: info.vanity_url_code === null ? [] : [info.vanity_url_code],
});

/** The stored form of a code: the vanity code is found in any case, other codes only as they are written. */
export const storedCode = ({ info }: Pick<Guild, 'info'>, code: string): string =>
  code.toLowerCase() === info.vanity_url_code ? info.vanity_url_code : code;

/** Whether the vanity code leads to this channel. The code is removed with the channel. */
export const leadsTo = ({ info, invites }: Guild, channelId: ChannelId): boolean =>
  info.vanity_url_code !== null && invites.get(info.vanity_url_code)?.channel_id === channelId;

/** The guild's fields with another code. */
export const withVanity = ({ features }: GuildInfo, code: string | null) => {
  const others = features.filter((feature) => feature !== FEATURE);
  return { vanity_url_code: code, features: code === null ? others : [...others, FEATURE] };
};

/** The vanity code: an invite without expiry that leads to the channel where newcomers are greeted. */
export const vanity: GuildTopic<VanityCommands, never> = {
  commands: {
    getVanity: {
      needs: needsVanity,
      decide: ({ info, invites }) => {
        const code = info.vanity_url_code;
        return accepted({ code, uses: code === null ? 0 : (invites.get(code)?.uses ?? 0) });
      },
    },
    setVanity: {
      needs: ({ code }, { info }) => ({
        invites: [code, info.vanity_url_code].filter((each) => each != null),
      }),
      decide: setVanity,
    },
  },
  facts: {},
};

/** The system channel, else the rules, else the first text channel. */
function landing({ info, channels }: Guild): GuildChannel | undefined {
  const named = [info.system_channel_id, info.rules_channel_id].flatMap(
    (id) => (id && channels.get(id)) || [],
  );
  return named[0] ?? [...channels.values()].find(({ type }) => TEXT_LIKE.has(type));
}

function setVanity(
  guild: Guild,
  { code }: VanityCommands['setVanity']['input'],
  by: By,
  env: Env,
): Outcome<Vanity, GuildFact> {
  const { info, invites } = guild;
  const before = info.vanity_url_code;
  const old = before === null ? null : (invites.get(before) ?? null);
  if (code === before && (old || code === null)) return accepted({ code, uses: old?.uses ?? 0 });
  const facts: GuildFact[] = [];
  if (old && old.code !== code)
    facts.push({ type: 'inviteDeleted', code: old.code, channelId: old.channel_id });
  if (code !== null) {
    const channel = landing(guild);
    if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
    if (invites.get(code)) return refused(refusal('INVITE_CODE_INVALID_OR_TAKEN'));
    const invite = {
      ...{ code, channel_id: channel.id, guild_id: guild.id, inviter: null, temporary: false },
      ...{ created_at: isoTimestamp(env.nowMs), expires_at: null, max_age: 0, max_uses: 0, uses: 0 },
    };
    facts.push({ type: 'inviteCreated', invite });
  }
  const changes = [
    {
      key: 'vanity_url_code',
      ...(code !== null && { new_value: code }),
      ...(before !== null && { old_value: before }),
    },
  ];
  return accepted({ code, uses: 0 }, [
    ...facts,
    { type: 'guildUpdated', info: { ...info, ...withVanity(info, code) } },
    auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes }),
  ]);
}
