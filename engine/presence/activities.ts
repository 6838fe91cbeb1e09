import type { GatewayActivity } from 'discord-api-types/v10';
import type { ApplicationId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { withoutDirectionControls } from '../../protocol/names.ts';
import {
  codePoints,
  flagsIn,
  idIn,
  integerIn,
  link,
  listOf,
  type RawObject,
  recordOf,
  textIn,
} from './fields.ts';

const CUSTOM = 4;
const STREAMING = 1;
/** Type 5 is competing; only people's clients have type 6, hanging out. */
const TYPE_MAX = { bot: 5, person: 6 } as const;
const STREAM_URL = /^https?:\/\/(?:[\w-]+\.)*(?:twitch\.tv|youtube\.com|youtu\.be)\//;
const STREAM_URL_CHARS_MAX = 2_048;
const BUTTONS_MAX = 2;
const PLATFORMS_MAX = 10;
const PLATFORMS = ['desktop', 'xbox', 'samsung', 'ios', 'android', 'embedded', 'ps4', 'ps5'];
const PUBLIC = 1;

/** Bits of `flags`. @source https://docs.discord.com/developers/events/gateway-events#activity-object-activity-flags */
const FLAG = { JOIN: 1 << 1, SPECTATE: 1 << 2 } as const;
const FLAGS_SETTABLE = (1 << 9) - 1;

/** The origin of activities, which others need to join them. */
interface ActivitySource {
  readonly sessionId: string;
  /** The application that acts for the user; it may report only itself. Null for the user's own client. */
  readonly applicationId: ApplicationId | null;
}

/** Parts of an activity that others do not see, but may request. */
export interface HiddenActivity {
  readonly applicationId: ApplicationId;
  readonly partyId: string | null;
  /** Whether friends may join without an invitation. */
  readonly isPublic: boolean;
  readonly secrets: { readonly join: string | null; readonly spectate: string | null };
  /** The buttons' URLs, in order. */
  readonly buttonUrls: readonly string[];
}

interface Activities {
  readonly shown: GatewayActivity[];
  readonly hidden: HiddenActivity[];
}

/**
 * The activities of a presence, as a client sent them with IDENTIFY or Update Presence. Malformed ones are dropped
 * rather than refused, because the platform does not close a connection for them. The result never contains secrets: a
 * flag says that the activity can be joined, and the session's id says where to request the secret.
 *
 * @param sent Untrusted and of any type; the frame bounds its size (`LIMITS.gateway_payload_bytes_max`).
 * @param nowMs Unix milliseconds, for `created_at`.
 * @returns At most `LIMITS.activities_per_presence_max` activities.
 * @source https://docs.discord.com/developers/events/gateway-events#activity-object and
 * https://docs.discord.com/developers/events/gateway-events#update-presence;
 * https://discord.com/developers/docs/social-sdk/classdiscordpp_1_1Activity.html for the bounds
 */
export function readActivities(
  sent: unknown,
  bot: boolean,
  nowMs: number,
  source: ActivitySource | null = null,
): Activities {
  const activities: Activities = { shown: [], hidden: [] };
  if (!Array.isArray(sent)) return activities;
  for (const [index, entry] of sent.slice(0, LIMITS.activities_per_presence_max).entries()) {
    const from = recordOf(entry);
    const base = from && baseOf(from, bot, nowMs, index);
    if (!base) continue;
    if (bot) {
      activities.shown.push(base as unknown as GatewayActivity);
      continue;
    }
    const applicationId = source?.applicationId ?? applicationOf(from);
    const hidden = hiddenOf(from, applicationId);
    const shown = { ...base, ...richFields(from), ...joinable(from, hidden, source) };
    activities.shown.push({
      ...shown,
      ...(applicationId !== null && { application_id: applicationId }),
    } as unknown as GatewayActivity);
    if (hidden) activities.hidden.push(hidden);
  }
  return activities;
}

/** Fields that bots may set too; null for a malformed activity. */
function baseOf(from: RawObject, bot: boolean, nowMs: number, index: number): object | null {
  const { name, type, url, state } = from;
  const isType =
    typeof type === 'number' &&
    Number.isInteger(type) &&
    type >= 0 &&
    type <= (bot ? TYPE_MAX.bot : TYPE_MAX.person);
  if (typeof name !== 'string' || name.length === 0 || !isType) return null;
  // A bot's state and a custom status may be one character long; any other state needs two.
  const isFree = bot || type === CUSTOM;
  const freeState = isFree && typeof state === 'string' ? codePoints(state, LIMITS.activity_chars_max) : null;
  const streamUrl = type === STREAMING ? link(url, STREAM_URL_CHARS_MAX) : null;
  const shownState = freeState ?? textIn(state, 2, LIMITS.activity_chars_max);
  return {
    // Opaque to clients; only distinct among the activities of one user.
    id: type === CUSTOM ? 'custom' : `${nowMs.toString(16)}${index}`,
    name: codePoints(name, LIMITS.activity_chars_max),
    type,
    created_at: nowMs,
    ...(streamUrl !== null && STREAM_URL.test(streamUrl) && { url: streamUrl }),
    ...(shownState !== null && { state: shownState }),
  };
}

/** Further fields for a person's client or a game. */
function richFields(from: RawObject): object {
  const fields: Record<string, unknown> = {
    details: textIn(from.details, 2, LIMITS.activity_chars_max),
    details_url: link(from.details_url, 256),
    state_url: link(from.state_url, 256),
    status_display_type: integerIn(from.status_display_type, 0, 2),
    timestamps: timestampsOf(from.timestamps),
    assets: assetsOf(from.assets),
    party: partyOf(from.party),
    emoji: emojiOf(from.emoji),
    buttons: labelsOf(from.buttons),
    supported_platforms: platformsOf(from.supported_platforms),
    instance: typeof from.instance === 'boolean' ? from.instance : null,
    sync_id: textIn(from.sync_id, 1, LIMITS.activity_chars_max),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Flags for what can be requested, and the session to ask. */
function joinable(from: RawObject, hidden: HiddenActivity | null, source: ActivitySource | null): object {
  const secrets = hidden?.secrets;
  const own = flagsIn(from.flags, FLAGS_SETTABLE) & ~(FLAG.JOIN | FLAG.SPECTATE);
  const flags =
    own | (secrets?.join != null ? FLAG.JOIN : 0) | (secrets?.spectate != null ? FLAG.SPECTATE : 0);
  return { ...(flags !== 0 && { flags }), ...(hidden && source && { session_id: source.sessionId }) };
}

/** The hidden parts; null when nothing is hidden, or without an application that could request it. */
function hiddenOf(from: RawObject, applicationId: ApplicationId | null): HiddenActivity | null {
  if (applicationId === null) return null;
  const secrets = recordOf(from.secrets);
  const join = textIn(secrets?.join, 1, 128, false);
  const spectate = textIn(secrets?.spectate, 1, 128, false);
  const buttonUrls = urlsOf(from);
  if (join === null && spectate === null && buttonUrls.length === 0) return null;
  const party = partyOf(from.party);
  const isPublic = party?.privacy === PUBLIC;
  return { applicationId, partyId: party?.id ?? null, isPublic, secrets: { join, spectate }, buttonUrls };
}

const applicationOf = ({ application_id: id }: RawObject): ApplicationId | null => idIn(id);

function timestampsOf(sent: unknown): object | null {
  const from = recordOf(sent);
  if (!from) return null;
  const start = integerIn(from.start, 0, Number.MAX_SAFE_INTEGER);
  const end = integerIn(from.end, 0, Number.MAX_SAFE_INTEGER);
  return { ...(start !== null && { start }), ...(end !== null && { end }) };
}

function assetsOf(sent: unknown): object | null {
  const from = recordOf(sent);
  if (!from) return null;
  const assets: Record<string, string | null> = {
    invite_cover_image: textIn(from.invite_cover_image, 1, 300, false),
  };
  for (const size of ['large', 'small']) {
    // 13 more characters for the prefix of the media proxy.
    assets[`${size}_image`] = textIn(from[`${size}_image`], 1, 313, false);
    assets[`${size}_text`] = textIn(from[`${size}_text`], 2, LIMITS.activity_chars_max);
    assets[`${size}_url`] = link(from[`${size}_url`], 256);
  }
  return Object.fromEntries(Object.entries(assets).filter(([, value]) => value !== null));
}

interface Party {
  readonly id?: string;
  readonly size?: readonly [number, number];
  readonly privacy?: number;
}

function partyOf(sent: unknown): Party | null {
  const from = recordOf(sent);
  if (!from) return null;
  const id = textIn(from.id, 1, 128, false);
  const size = Array.isArray(from.size) ? from.size : [];
  const current = integerIn(size[0], 1, 2 ** 31 - 1);
  const max = integerIn(size[1], 0, 2 ** 31 - 1);
  const privacy = integerIn(from.privacy, 0, PUBLIC);
  return {
    ...(id !== null && { id }),
    ...(current !== null && max !== null && { size: [current, max] }),
    ...(privacy !== null && { privacy }),
  };
}

function emojiOf(sent: unknown): object | null {
  const from = recordOf(sent);
  const name = textIn(from?.name, 1, 32);
  if (!from || name === null) return null;
  const { animated } = from;
  const id = idIn(from.id);
  return {
    name,
    ...(id !== null && { id }),
    ...(typeof animated === 'boolean' && { animated }),
  };
}

/** Sent as label and URL, or as labels alone with the URLs in `metadata`; only labels are shown. */
function labelsOf(sent: unknown): string[] | null {
  if (!Array.isArray(sent)) return null;
  return sent.slice(0, BUTTONS_MAX).flatMap((button) => {
    const label = textIn(typeof button === 'string' ? button : recordOf(button)?.label, 1, 32);
    const shown = label === null ? '' : withoutDirectionControls(label);
    return shown === '' ? [] : [shown];
  });
}

function urlsOf({ buttons, metadata }: RawObject): string[] {
  const addresses = listOf(buttons)
    .slice(0, BUTTONS_MAX)
    .map((button) => link(recordOf(button)?.url, 512));
  const apart = listOf(recordOf(metadata)?.button_urls)
    .slice(0, BUTTONS_MAX)
    .map((url) => link(url, 512));
  const given = addresses.some((url) => url !== null) ? addresses : apart;
  return given.filter((url) => url !== null);
}

function platformsOf(sent: unknown): string[] | null {
  if (!Array.isArray(sent)) return null;
  const known = sent.slice(0, PLATFORMS_MAX).filter((one): one is string => PLATFORMS.includes(one));
  return [...new Set(known)];
}
