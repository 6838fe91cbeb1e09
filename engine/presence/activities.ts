import type { GatewayActivity } from 'discord-api-types/v10';
import { LIMITS } from '../../protocol/limits.ts';

const CUSTOM = 4;
const STREAMING = 1;
const TYPE_MAX = 5;
const STREAM_URL = /^https?:\/\/(?:[\w-]+\.)*(?:twitch\.tv|youtube\.com|youtu\.be)\//;
const BUTTONS_MAX = 2;

/** Fields a bot may set; a person's client may set the rest too, and they pass as they are. */
const BOT_FIELDS = ['state'] as const;
const USER_FIELDS = [
  ...BOT_FIELDS,
  'details',
  'details_url',
  'state_url',
  'timestamps',
  'application_id',
  'status_display_type',
  'emoji',
  'party',
  'assets',
  'secrets',
  'instance',
  'flags',
] as const;

/**
 * The activities others see, from those a client sent with IDENTIFY or Update Presence. What is malformed is left
 * out rather than refused: the platform does not close a connection for it.
 *
 * @param sent  Anything at all; the frame bounds its size (`LIMITS.gateway_payload_bytes_max`).
 * @param nowMs Unix milliseconds, for `created_at`.
 * @returns At most `LIMITS.activities_per_presence_max`.
 * @source the platform's gateway events page, "Activity Object" and "Update Presence"
 */
export function shownActivities(sent: unknown, bot: boolean, nowMs: number): GatewayActivity[] {
  if (!Array.isArray(sent)) return [];
  return sent.slice(0, LIMITS.activities_per_presence_max).flatMap((entry: unknown, index) => {
    const activity = shown(entry, bot, nowMs, index);
    return activity ? [activity] : [];
  });
}

function shown(entry: unknown, bot: boolean, nowMs: number, index: number): GatewayActivity | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const from = entry as Readonly<Record<string, unknown>>;
  const { name, type, url, buttons } = from;
  if (typeof name !== 'string' || name.length === 0) return null;
  if (typeof type !== 'number' || !Number.isInteger(type) || type < 0 || type > TYPE_MAX) return null;
  const activity: Record<string, unknown> = {
    // Opaque to clients; it only has to differ between the activities of one user.
    id: type === CUSTOM ? 'custom' : `${nowMs.toString(16)}${index}`,
    name: name.slice(0, LIMITS.activity_chars_max),
    type,
    created_at: nowMs,
  };
  if (type === STREAMING && typeof url === 'string' && STREAM_URL.test(url)) activity.url = url;
  for (const field of bot ? BOT_FIELDS : USER_FIELDS) {
    const value = from[field];
    if (value === undefined || value === null) continue;
    const prose = typeof value === 'string' && !field.endsWith('_url');
    activity[field] = prose ? value.slice(0, LIMITS.activity_chars_max) : value;
  }
  // Sent as label and address, shown as labels alone: the address is for whoever presses the button.
  if (!bot && Array.isArray(buttons)) activity.buttons = buttons.slice(0, BUTTONS_MAX).flatMap(labelOf);
  return activity as unknown as GatewayActivity;
}

function labelOf(button: unknown): string[] {
  if (typeof button !== 'object' || button === null || !('label' in button)) return [];
  return typeof button.label === 'string' ? [button.label.slice(0, 32)] : [];
}
