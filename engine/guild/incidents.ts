import { AUDIT } from '../../protocol/audit.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, changesOf } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { Incidents } from './pages.types.ts';
import type { GuildTopic } from './topic.ts';

type IncidentDraft = Partial<Incidents>;

type IncidentCommands = {
  updateIncidentActions: { input: { readonly draft: IncidentDraft }; value: Incidents };
};

const NONE: Incidents = { invites_disabled_until: null, dms_disabled_until: null };
const FIELDS = ['invites_disabled_until', 'dms_disabled_until'] as const;

/** Measures against a raid: for a while invites admit no user, or strangers cannot send each other direct messages. */
export const incidents: GuildTopic<IncidentCommands, never> = {
  commands: { updateIncidentActions: { decide: updateIncidentActions } },
  facts: {},
};

/** Until when a measure applies, Unix milliseconds; null when it does not. */
export function incidentOf(
  { pages }: Pick<Guild, 'pages'>,
  of: 'invites' | 'dms',
  nowMs: number,
): number | null {
  const until = pages.incidents?.[`${of}_disabled_until`];
  const untilMs = until ? Date.parse(until) : 0;
  return untilMs > nowMs ? untilMs : null;
}

/** A time in the past, or null, ends a measure. An absent field keeps it. */
function updateIncidentActions(
  guild: Guild,
  { draft }: IncidentCommands['updateIncidentActions']['input'],
  by: By,
  env: Env,
): Outcome<Incidents, GuildFact> {
  const before = guild.pages.incidents ?? NONE;
  const stated: Record<string, string | null> = {};
  for (const field of FIELDS) {
    const until = draft[field];
    if (until === undefined) continue;
    const untilMs = until === null ? 0 : Date.parse(until);
    const no = tooLate(field, untilMs, env);
    if (no) return refused(no);
    stated[field] = untilMs > env.nowMs ? isoTimestamp(untilMs) : null;
  }
  const after: Incidents = { ...before, ...stated };
  const changes = changesOf(before, after, FIELDS);
  if (changes.length === 0) return accepted(after);
  return accepted(after, [
    { type: 'pageWritten', page: 'incidents', data: FIELDS.some((field) => after[field]) ? after : null },
    auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes }),
  ]);
}

/** @source https://docs.discord.com/developers/resources/guild#modify-guild-incident-actions; at most 24 hours ahead */
const tooLate = (field: string, untilMs: number, { nowMs }: Env): Refusal | null =>
  untilMs <= nowMs + LIMITS.incident_ms_max
    ? null
    : invalidField([field], 'DATE_TIME_TYPE_MAX', 'The measure must end within 24 hours.');
