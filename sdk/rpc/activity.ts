import { ACTIVITY_LIMITS } from '../activity.ts';
import { type Args, isObject, RpcError } from './link.ts';

/** Playing, listening, watching and competing. @source https://docs.discord.com/developers/topics/rpc#setactivity */
const TYPES: ReadonlySet<unknown> = new Set([0, 2, 3, 5]);
/** Times below are seconds, as some libraries send; as milliseconds they would be before 1974. */
const SECONDS_BELOW = 1e11;

const wrong = (message: string) => new RpcError('INVALID_PAYLOAD', message);

function textOf(from: Args, key: string, limit: keyof typeof ACTIVITY_LIMITS): string | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  const [least, most] = ACTIVITY_LIMITS[limit];
  const chars = typeof value === 'string' ? [...value].length : -1;
  if (chars < least || chars > most) throw wrong(`${key} must have ${least} to ${most} characters.`);
  return String(value);
}

function objectOf(from: Args, key: string): Args | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw wrong(`${key} must be an object.`);
  return value;
}

const pruned = (fields: Args): Args =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

function timesOf(from: Args): Args | undefined {
  const times = objectOf(from, 'timestamps');
  if (times === undefined) return undefined;
  const ms = (key: string): number | undefined => {
    const value = times[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'number' || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER))
      throw wrong(`timestamps.${key} must be a time.`);
    return Math.floor(value < SECONDS_BELOW ? value * 1_000 : value);
  };
  return pruned({ start: ms('start'), end: ms('end') });
}

function partyOf(from: Args): Args | undefined {
  const party = objectOf(from, 'party');
  if (party === undefined) return undefined;
  const { size } = party;
  const isSize = Array.isArray(size) && size.length === 2 && size.every((one) => Number.isInteger(one));
  if (size !== undefined && size !== null && !(isSize && size[0] >= 1 && size[1] >= size[0]))
    throw wrong('party.size must be [current, maximum].');
  const { privacy } = party;
  if (privacy !== undefined && privacy !== 0 && privacy !== 1) throw wrong('party.privacy must be 0 or 1.');
  return pruned({ id: textOf(party, 'id', 'party'), size: isSize ? size : undefined, privacy });
}

function assetsOf(from: Args): Args | undefined {
  const assets = objectOf(from, 'assets');
  if (assets === undefined) return undefined;
  return pruned({
    large_image: textOf(assets, 'large_image', 'image'),
    large_text: textOf(assets, 'large_text', 'text'),
    large_url: textOf(assets, 'large_url', 'url'),
    small_image: textOf(assets, 'small_image', 'image'),
    small_text: textOf(assets, 'small_text', 'text'),
    small_url: textOf(assets, 'small_url', 'url'),
  });
}

function secretsOf(from: Args): Args | undefined {
  const secrets = objectOf(from, 'secrets');
  if (secrets === undefined) return undefined;
  return pruned({ join: textOf(secrets, 'join', 'secret'), spectate: textOf(secrets, 'spectate', 'secret') });
}

function buttonsOf(from: Args): readonly Args[] | undefined {
  const { buttons } = from;
  if (buttons === undefined || buttons === null) return undefined;
  if (!Array.isArray(buttons) || buttons.length < 1 || buttons.length > ACTIVITY_LIMITS.buttons[1])
    throw wrong('buttons must be a list of one or two.');
  return buttons.map((button: unknown) => {
    if (!isObject(button)) throw wrong('buttons must be objects.');
    const label = textOf(button, 'label', 'label');
    const url = textOf(button, 'url', 'buttonUrl');
    if (label === undefined || url === undefined || !/^https?:\/\//i.test(url))
      throw wrong('A button has a label and a web address.');
    return { label, url };
  });
}

/**
 * Reads the activity of SET_ACTIVITY. Unknown fields are dropped; the application cannot pass for another one.
 *
 * @throws RpcError INVALID_PAYLOAD that names the field.
 */
export function readActivity(given: Args, application: { readonly id: string; readonly name: string }): Args {
  const { type = 0, instance, status_display_type: shown } = given;
  if (!TYPES.has(type)) throw wrong('type must be 0, 2, 3 or 5.');
  const [secrets, buttons] = [secretsOf(given), buttonsOf(given)];
  if (secrets !== undefined && Object.keys(secrets).length > 0 && buttons !== undefined)
    throw wrong('An activity has secrets or buttons, not both.');
  return pruned({
    name: textOf(given, 'name', 'name') ?? application.name,
    ...{ type, application_id: application.id },
    state: textOf(given, 'state', 'state'),
    state_url: textOf(given, 'state_url', 'url'),
    details: textOf(given, 'details', 'details'),
    details_url: textOf(given, 'details_url', 'url'),
    timestamps: timesOf(given),
    assets: assetsOf(given),
    party: partyOf(given),
    ...{ secrets, buttons },
    instance: instance === undefined ? undefined : instance === true,
    status_display_type: shown === 0 || shown === 1 || shown === 2 ? shown : undefined,
    supported_platforms: Array.isArray(given.supported_platforms)
      ? given.supported_platforms.filter((one) => typeof one === 'string').slice(0, 10)
      : undefined,
  });
}
