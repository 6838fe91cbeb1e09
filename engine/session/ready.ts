import type { APIUser } from 'discord-api-types/v10';
import type { ApplicationId, GuildId, SessionId } from '../../protocol/ids.ts';
import type { Shard } from './identify.ts';

export interface ReadyFacts {
  readonly version: number;
  readonly user: APIUser;
  readonly application: { readonly id: ApplicationId; readonly flags: number } | null;
  readonly sessionId: SessionId;
  readonly resumeUrl: string;
  readonly shard: Shard;
  /** The guilds of this shard. */
  readonly guildIds: readonly GuildId[];
  readonly privateChannels: readonly object[];
}

/**
 * `d` of READY. Guilds are announced as unavailable and follow one by one. The empty lists are of user accounts;
 * some stock libraries walk them without looking.
 *
 * @source the platform's gateway documentation, "Ready"
 */
export function readyPayload(facts: ReadyFacts): object {
  return {
    v: facts.version,
    user: facts.user,
    guilds: facts.guildIds.map((id) => ({ id, unavailable: true })),
    session_id: facts.sessionId,
    session_type: 'normal',
    resume_gateway_url: facts.resumeUrl,
    shard: facts.shard,
    // Direct messages belong to shard 0, the shard of everything without a guild.
    private_channels: facts.shard[0] === 0 ? facts.privateChannels : [],
    relationships: [],
    presences: [],
    geo_ordered_rtc_regions: [],
    ...(facts.application && { application: facts.application }),
  };
}
