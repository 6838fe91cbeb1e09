import type { GuildCommands } from '../../../engine/guild/rules.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import { VoiceRegion } from '../../../protocol/schemas/gateway.ts';
import { VoiceState } from '../../../protocol/schemas/member.ts';
import { Bool, Nullable, Obj, Optional, Snowflake, Timestamp } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;

/** The only voice region: this server. A channel may name any region and gets this one. */
const REGIONS = [{ id: 'local', name: 'Local', custom: false, deprecated: false, optimal: true }];

const VoiceStateChange = () => ({
  channel_id: Optional(Nullable(Snowflake<ChannelId>())),
  suppress: Optional(Nullable(Bool())),
});

/** Operations on voice states, and the list of voice regions. */
export const voice = resource({
  list_voice_regions: op({
    method: 'GET',
    path: '/voice/regions',
    auth: 'any',
    bucket: { per: null, limit: 10, windowMs: 10_000 },
    status: 200,
    reply: list(VoiceRegion),
    handle: () => ({ ok: true, value: REGIONS }),
  }),

  list_guild_voice_regions: op({
    method: 'GET',
    path: '/guilds/:guild_id/regions',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: list(VoiceRegion),
    handle: async ({ params, authority }, { guilds }) => {
      const member = await guilds.call(params.guild_id, 'getGuild', { withCounts: false }, authority);
      return member.ok ? { ok: true, value: REGIONS } : member;
    },
  }),

  get_self_voice_state: op({
    method: 'GET',
    path: '/guilds/:guild_id/voice-states/@me',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: VoiceState,
    handle: async ({ params, caller, authority }, { guilds }) => {
      const reply = await guilds.call(params.guild_id, 'getVoiceState', { userId: caller.userId }, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  get_voice_state: op({
    method: 'GET',
    path: '/guilds/:guild_id/voice-states/:user_id',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: VoiceState,
    handle: async ({ params, authority }, { guilds }) => {
      const userId = params.user_id;
      const reply = await guilds.call(params.guild_id, 'getVoiceState', { userId }, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  update_self_voice_state: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/voice-states/@me',
    auth: 'any',
    bucket: WRITES,
    body: Obj({ ...VoiceStateChange(), request_to_speak_timestamp: Optional(Nullable(Timestamp())) }),
    status: 204,
    reply: none,
    handle: async ({ params, body, caller, authority }, { guilds }) => {
      const { request_to_speak_timestamp: requestToSpeak } = body;
      const raised = requestToSpeak === undefined ? {} : { requestToSpeak };
      const input = { userId: caller.userId, ...voiceStateChangeOf(body), ...raised };
      const reply = await guilds.call(params.guild_id, 'updateVoiceState', input, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  update_voice_state: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/voice-states/:user_id',
    auth: 'any',
    bucket: WRITES,
    body: Obj(VoiceStateChange()),
    status: 204,
    reply: none,
    handle: async ({ params, body, authority }, { guilds }) => {
      const input = { userId: params.user_id, ...voiceStateChangeOf(body) };
      const reply = await guilds.call(params.guild_id, 'updateVoiceState', input, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});

type VoiceStateChange = Pick<GuildCommands['updateVoiceState']['input'], 'channelId' | 'suppress'>;

/** A null key means the same as an absent one: the member's current channel and state. */
const voiceStateChangeOf = (body: {
  readonly channel_id?: ChannelId | null;
  readonly suppress?: boolean | null;
}): VoiceStateChange => ({
  ...(body.channel_id == null ? {} : { channelId: body.channel_id }),
  ...(body.suppress == null ? {} : { suppress: body.suppress }),
});
