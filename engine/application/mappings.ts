import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import type { Application, UrlMapping } from '../user/facts.ts';

/** The application flag EMBEDDED: it has an activity. */
export const EMBEDDED_FLAG = 1 << 17;

const ROOT = '/';
/** The platform publishes no bounds; these are ours. */
const MAPPINGS_MAX = 100;
const PREFIX_CHARS_MAX = 256;
const TARGET_CHARS_MAX = 512;
const SEGMENTS_MAX = 16;

/** Whether an application has an activity: something is served at its root. */
export const isEmbedded = ({ activity }: Pick<Application, 'activity'>): boolean =>
  activity?.urlMappings.some(({ prefix }) => prefix === ROOT) ?? false;

const SEGMENT = /^(?:[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9._~!$&'()*+,;=:@-]*|\{[A-Za-z0-9_]{1,32}\})$/;
const PARAM = /\{([A-Za-z0-9_]{1,32})\}/g;
/** A DNS name whose labels may be parameters, or an IPv4 address; or an IPv6 address in brackets. */
const HOST =
  /^(?:(?:\{[A-Za-z0-9_]{1,32}\}|[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.(?:\{[A-Za-z0-9_]{1,32}\}|[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?))*|\[[0-9A-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;
const PORT_MAX = 65_535;
/** Paths that the host of activities answers itself, in every application. */
const RESERVED = '.proxy';

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');
const paramsOf = (text: string): string[] => [...text.matchAll(PARAM)].map(([, name = '']) => name);

/**
 * Why the mappings of an activity cannot be these; null when they can. A root is required, unless there are none at all.
 *
 * @source https://docs.discord.com/developers/activities/development-guides/local-development#url-mapping
 */
export function mappingsRefusal(mappings: readonly UrlMapping[]): Refusal | null {
  const at = 'url_mappings';
  if (mappings.length > MAPPINGS_MAX)
    return invalidField([at], 'BASE_TYPE_MAX_LENGTH', `Must be ${MAPPINGS_MAX} or fewer in length.`);
  const known = new Set<string>();
  for (const [index, { prefix, target }] of mappings.entries()) {
    const segments = segmentsOf(prefix);
    // Two prefixes that differ in the names of their parameters match the same paths.
    const shape = segments.map((segment) => (segment.startsWith('{') ? '{}' : segment)).join('/');
    if (!isPrefix(prefix, segments))
      return invalidField([at, index, 'prefix'], 'URL_MAPPING_PREFIX_INVALID', PREFIX_WRONG);
    if (known.has(shape))
      return invalidField(
        [at, index, 'prefix'],
        'URL_MAPPING_PREFIX_TAKEN',
        'Another mapping has this prefix.',
      );
    known.add(shape);
    const params = paramsOf(prefix);
    if (!isTarget(target) || paramsOf(target).some((name) => !params.includes(name)))
      return invalidField([at, index, 'target'], 'URL_MAPPING_TARGET_INVALID', TARGET_WRONG);
  }
  if (mappings.length > 0 && !known.has(''))
    return invalidField([at], 'URL_MAPPING_ROOT_REQUIRED', 'One mapping must have the prefix /.');
  return null;
}

const PREFIX_WRONG = 'Write a path such as /api or /rooms/{room}: names or {parameters} between slashes.';
const TARGET_WRONG =
  'Write a host without a scheme, as example.com/files; parameters must be those of the prefix.';

function isPrefix(prefix: string, segments: readonly string[]): boolean {
  const params = paramsOf(prefix);
  return (
    prefix.length <= PREFIX_CHARS_MAX &&
    segments.length <= SEGMENTS_MAX &&
    segments[0] !== RESERVED &&
    `/${segments.join('/')}` === (prefix.replace(/\/$/, '') || ROOT) &&
    segments.every((segment) => SEGMENT.test(segment)) &&
    new Set(params).size === params.length
  );
}

function isTarget(target: string): boolean {
  if (target.length > TARGET_CHARS_MAX) return false;
  const slash = target.indexOf('/');
  const [host, path] = slash < 0 ? [target, ''] : [target.slice(0, slash), target.slice(slash)];
  const found = HOST.exec(host);
  const segments = path.replace(/^\//, '').replace(/\/$/, '');
  return (
    found !== null &&
    Number(found[1] ?? 1) >= 1 &&
    Number(found[1] ?? 1) <= PORT_MAX &&
    (segments === '' || segments.split('/').every((segment) => SEGMENT.test(segment)))
  );
}

/** Where a request of an activity goes. */
interface MappedTarget {
  /** With a port, if the mapping names one. */
  readonly host: string;
  /** Begins with a slash; without the query. */
  readonly path: string;
}

/** A label of a host name: what a parameter in a host may be. */
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** Segments that a target would take for another directory, in every spelling that a URL parser knows. */
const isDots = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment);

/**
 * The target of a path of an activity: the longest prefix counts, and a name before a parameter. Null when no mapping
 * leads on, and for a path that would leave the directory of its target.
 */
export function mappedTarget(mappings: readonly UrlMapping[], path: string): MappedTarget | null {
  if (path.split('/').some(isDots) || path.includes('\\')) return null;
  const given = path.split('/').slice(1);
  let best: { readonly mapping: UrlMapping; readonly length: number; readonly names: number } | null = null;
  for (const mapping of mappings) {
    const segments = segmentsOf(mapping.prefix);
    if (!segments.every((segment, at) => matches(segment, given[at] ?? ''))) continue;
    const names = segments.filter((segment) => !segment.startsWith('{')).length;
    const isLonger = !best || segments.length > best.length;
    if (isLonger || (segments.length === best?.length && names > best.names))
      best = { mapping, length: segments.length, names };
  }
  return best && filled(best.mapping, given);
}

const matches = (segment: string, given: string): boolean =>
  given !== '' && (segment.startsWith('{') || segment === given);

function filled({ prefix, target }: UrlMapping, given: readonly string[]): MappedTarget | null {
  const segments = segmentsOf(prefix);
  const values = new Map(segments.map((segment, at) => [segment.slice(1, -1), given[at] ?? '']));
  const slash = target.indexOf('/');
  const hostPart = slash < 0 ? target : target.slice(0, slash);
  if (paramsOf(hostPart).some((name) => !LABEL.test(values.get(name) ?? ''))) return null;
  const fill = (text: string): string => text.replace(PARAM, (_, name: string) => values.get(name) ?? '');
  const directory = slash < 0 ? '' : fill(target.slice(slash)).replace(/\/$/, '');
  const rest = given.slice(segments.length);
  const path = rest.length === 0 ? directory || ROOT : `${directory}/${rest.join('/')}`;
  return { host: fill(hostPart), path };
}
