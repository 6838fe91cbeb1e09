import { ActivityPartyPrivacy, ActivityTypes, type StatusDisplayTypes } from './enums.ts';
import { invalid } from './result.ts';
import { jsonOf, numberOf, textOf } from './store/read.ts';
import { isJson, type Json } from './voice/wire.ts';

export interface ActivityAssets {
  /** URL of an image, or the key of an uploaded image. */
  readonly largeImage?: string;
  readonly largeText?: string;
  readonly largeUrl?: string;
  readonly smallImage?: string;
  readonly smallText?: string;
  readonly smallUrl?: string;
  /** Shown on invites. */
  readonly inviteCoverImage?: string;
}

/** Unix milliseconds. */
export interface ActivityTimestamps {
  readonly start?: number;
  readonly end?: number;
}

export interface ActivityParty {
  readonly id: string;
  readonly currentSize: number;
  readonly maxSize: number;
  readonly privacy?: ActivityPartyPrivacy;
}

/** Join secret and party secrets. The server shows them only to users who accept an invite. */
export interface ActivitySecrets {
  readonly join?: string;
}

export interface ActivityButton {
  readonly label: string;
  readonly url: string;
}

/** A player's activity. Text lengths are counted in characters and limited by `ACTIVITY_LIMITS`. */
export interface Activity {
  /** Default: the name of the application. */
  readonly name?: string;
  readonly type?: ActivityTypes;
  /** The line that is shown next to the user's name. */
  readonly statusDisplayType?: StatusDisplayTypes;
  readonly state?: string;
  readonly stateUrl?: string;
  readonly details?: string;
  readonly detailsUrl?: string;
  /** Default: the application id of the client. */
  readonly applicationId?: string;
  readonly parentApplicationId?: string;
  readonly assets?: ActivityAssets;
  readonly timestamps?: ActivityTimestamps;
  readonly party?: ActivityParty;
  readonly secrets?: ActivitySecrets;
  readonly buttons?: readonly ActivityButton[];
  /** Bits of `ActivityGamePlatforms`. */
  readonly supportedPlatforms?: number;
}

/**
 * Minimum and maximum length in characters, inclusive. Lengths from the headers of the platform's SDK; field names
 * from its gateway documentation.
 */
export const ACTIVITY_LIMITS = {
  name: [1, 128],
  state: [2, 128],
  details: [2, 128],
  url: [2, 256],
  text: [2, 128],
  image: [1, 300],
  party: [2, 128],
  secret: [1, 128],
  label: [1, 32],
  buttonUrl: [1, 512],
  buttons: [0, 2],
} as const satisfies Record<string, readonly [number, number]>;

const PLATFORM_NAMES: Readonly<Record<number, string>> = {
  1: 'desktop',
  2: 'xbox',
  4: 'samsung',
  8: 'ios',
  16: 'android',
  32: 'embedded',
  64: 'ps4',
  128: 'ps5',
};
const PLATFORMS_ALL = 255;

/** @throws ClientError of type ValidationError that names the invalid field. */
export function checkActivity(activity: Activity): void {
  const { name, state, stateUrl, details, detailsUrl, assets = {}, party, secrets, buttons = [] } = activity;
  checkText('name', name, 'name');
  checkText('state', state, 'state');
  checkText('details', details, 'details');
  checkText('stateUrl', stateUrl, 'url');
  checkText('detailsUrl', detailsUrl, 'url');
  checkText('assets.largeImage', assets.largeImage, 'image');
  checkText('assets.smallImage', assets.smallImage, 'image');
  checkText('assets.inviteCoverImage', assets.inviteCoverImage, 'image');
  checkText('assets.largeText', assets.largeText, 'text');
  checkText('assets.smallText', assets.smallText, 'text');
  checkText('assets.largeUrl', assets.largeUrl, 'url');
  checkText('assets.smallUrl', assets.smallUrl, 'url');
  checkText('party.id', party?.id, 'party');
  checkText('secrets.join', secrets?.join, 'secret');
  if (buttons.length > ACTIVITY_LIMITS.buttons[1]) throw invalid('buttons: expected at most 2.');
  for (const { label, url } of buttons) {
    checkText('buttons.label', label, 'label');
    checkText('buttons.url', url, 'buttonUrl');
    if (!URL.canParse(url)) throw invalid('buttons.url is not a URL.');
  }
  if (party !== undefined) checkParty(party);
  if (secrets?.join !== undefined && party === undefined) throw invalid('secrets.join needs a party.');
  const { type = ActivityTypes.Playing, supportedPlatforms = 0, timestamps = {} } = activity;
  if (!Object.values<number>(ActivityTypes).includes(type))
    throw invalid('type is not one of ActivityTypes.');
  if ((supportedPlatforms & ~PLATFORMS_ALL) !== 0) throw invalid('supportedPlatforms has unknown bits.');
  for (const ms of [timestamps.start, timestamps.end])
    if (ms !== undefined && !(Number.isSafeInteger(ms) && ms >= 0))
      throw invalid('timestamps must be integers (Unix milliseconds).');
}

function checkText(field: string, value: string | undefined, limit: keyof typeof ACTIVITY_LIMITS): void {
  if (value === undefined) return;
  const [least, most] = ACTIVITY_LIMITS[limit];
  const chars = typeof value === 'string' ? [...value].length : -1;
  if (chars < least || chars > most) throw invalid(`${field} must have ${least} to ${most} characters.`);
}

function checkParty({ currentSize, maxSize, privacy = ActivityPartyPrivacy.Private }: ActivityParty): void {
  if (!Number.isInteger(currentSize) || currentSize < 1)
    throw invalid('party.currentSize must be at least 1.');
  if (!Number.isInteger(maxSize) || maxSize < 0) throw invalid('party.maxSize must be at least 0.');
  if (maxSize > 0 && currentSize > maxSize) throw invalid('party.currentSize exceeds party.maxSize.');
  if (!Object.values<number>(ActivityPartyPrivacy).includes(privacy))
    throw invalid('party.privacy is not one of ActivityPartyPrivacy.');
}

/** The activity as sent in gateway op 3 (presence update). */
export function activityToWire(
  activity: Activity,
  given: { applicationId: string | null; name: string },
): Json {
  const { assets, timestamps, party, secrets, buttons = [], supportedPlatforms = 0 } = activity;
  const platforms = Object.entries(PLATFORM_NAMES).filter(
    ([bit]) => (supportedPlatforms & Number(bit)) !== 0,
  );
  return pruned({
    name: activity.name ?? given.name,
    type: activity.type ?? ActivityTypes.Playing,
    status_display_type: activity.statusDisplayType,
    state: activity.state,
    state_url: activity.stateUrl,
    details: activity.details,
    details_url: activity.detailsUrl,
    application_id: activity.applicationId ?? given.applicationId ?? undefined,
    parent_application_id: activity.parentApplicationId,
    assets:
      assets &&
      pruned({
        large_image: assets.largeImage,
        large_text: assets.largeText,
        large_url: assets.largeUrl,
        small_image: assets.smallImage,
        small_text: assets.smallText,
        small_url: assets.smallUrl,
        invite_cover_image: assets.inviteCoverImage,
      }),
    timestamps: timestamps && pruned({ start: timestamps.start, end: timestamps.end }),
    party: party && {
      id: party.id,
      size: [party.currentSize, party.maxSize],
      privacy: party.privacy ?? ActivityPartyPrivacy.Private,
    },
    secrets: secrets && pruned({ join: secrets.join }),
    // Button labels are public; URLs are sent only to users who press the button.
    buttons: buttons.length > 0 ? buttons.map(({ label }) => label) : undefined,
    metadata: buttons.length > 0 ? { button_urls: buttons.map(({ url }) => url) } : undefined,
    supported_platforms: platforms.length > 0 ? platforms.map(([, name]) => name) : undefined,
  });
}

const pruned = (fields: Record<string, unknown>): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Parses an activity from a presence dispatch. Missing fields and fields of the wrong type are omitted. */
export function activityFromWire(d: Json): Activity {
  const size = jsonOf(d, 'party')?.size;
  const [currentSize, maxSize] = (Array.isArray(size) ? size : []).map(Number);
  const partyId = textOf(jsonOf(d, 'party') ?? {}, 'id');
  const privacy = numberOf(jsonOf(d, 'party') ?? {}, 'privacy');
  const platforms = Array.isArray(d.supported_platforms) ? d.supported_platforms : [];
  const urls = jsonOf(d, 'metadata')?.button_urls;
  const join = textOf(jsonOf(d, 'secrets') ?? {}, 'join');
  const assets = jsonOf(d, 'assets');
  const times = jsonOf(d, 'timestamps');
  return pruned({
    name: textOf(d, 'name') ?? '',
    type: numberOf(d, 'type') ?? ActivityTypes.Playing,
    statusDisplayType: numberOf(d, 'status_display_type') ?? undefined,
    state: textOf(d, 'state') ?? undefined,
    stateUrl: textOf(d, 'state_url') ?? undefined,
    details: textOf(d, 'details') ?? undefined,
    detailsUrl: textOf(d, 'details_url') ?? undefined,
    applicationId: textOf(d, 'application_id') ?? undefined,
    parentApplicationId: textOf(d, 'parent_application_id') ?? undefined,
    assets: assets === null ? undefined : assetsFromWire(assets),
    timestamps:
      times === null
        ? undefined
        : pruned({ start: numberOf(times, 'start') ?? undefined, end: numberOf(times, 'end') ?? undefined }),
    party:
      partyId === null
        ? undefined
        : pruned({
            id: partyId,
            currentSize: currentSize || 1,
            maxSize: maxSize || 0,
            privacy: privacy ?? undefined,
          }),
    secrets: join === null ? undefined : { join },
    buttons: buttonsFromWire(d, urls),
    supportedPlatforms: platforms.length === 0 ? undefined : bitsOf(platforms),
  });
}

function buttonsFromWire(d: Json, urls: unknown): ActivityButton[] | undefined {
  if (!Array.isArray(d.buttons) || d.buttons.length === 0) return undefined;
  return d.buttons.map((button: unknown, at) => {
    if (isJson(button)) return { label: textOf(button, 'label') ?? '', url: textOf(button, 'url') ?? '' };
    return { label: String(button), url: String((Array.isArray(urls) ? urls : [])[at] ?? '') };
  });
}

const bitsOf = (names: readonly unknown[]): number =>
  Object.entries(PLATFORM_NAMES).reduce(
    (bits, [bit, name]) => (names.includes(name) ? bits | Number(bit) : bits),
    0,
  );

function assetsFromWire(d: Json): ActivityAssets {
  const names = {
    largeImage: 'large_image',
    largeText: 'large_text',
    largeUrl: 'large_url',
    smallImage: 'small_image',
    smallText: 'small_text',
    smallUrl: 'small_url',
    inviteCoverImage: 'invite_cover_image',
  } as const;
  return pruned(
    Object.fromEntries(Object.entries(names).map(([key, name]) => [key, textOf(d, name) ?? undefined])),
  );
}
