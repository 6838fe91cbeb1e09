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
 * The error in the mappings of an activity; null without one. Mappings need a root, unless the list is empty.
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

/** Paths with segments that a target would take for another directory, in every spelling that a URL parser knows. */
const LEAVES = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)|\\/i;

/** A mapping, prepared for look-ups. */
interface Route {
  readonly segments: readonly string[];
  /** How many of the segments are names and not parameters. */
  readonly names: number;
  readonly host: string;
  readonly hostParams: readonly string[];
  /** The path of the target, without a slash at its end. */
  readonly directory: string;
}

const isParam = (segment: string): boolean => segment.startsWith('{');

function routeOf({ prefix, target }: UrlMapping): Route {
  const segments = segmentsOf(prefix);
  const slash = target.indexOf('/');
  const host = slash < 0 ? target : target.slice(0, slash);
  return {
    ...{ segments, names: segments.filter((segment) => !isParam(segment)).length },
    ...{ host, hostParams: paramsOf(host) },
    directory: slash < 0 ? '' : target.slice(slash).replace(/\/$/, ''),
  };
}

/**
 * Prepares mappings for look-ups of the targets of paths: the longest prefix counts, and a name before a parameter. A look-up
 * returns null when no mapping fits, and for a path that would leave the directory of its target.
 */
export function mappedTargets(mappings: readonly UrlMapping[]): (path: string) => MappedTarget | null {
  const routes = mappings
    .map(routeOf)
    .sort((a, b) => b.segments.length - a.segments.length || b.names - a.names);
  return (path) => {
    if (LEAVES.test(path)) return null;
    const given = path.split('/').slice(1);
    const route = routes.find(({ segments }) => segments.every((one, at) => matches(one, given[at] ?? '')));
    return route ? filled(route, given) : null;
  };
}

const matches = (segment: string, given: string): boolean =>
  given !== '' && (isParam(segment) || segment === given);

function filled(
  { segments, host, hostParams, directory }: Route,
  given: readonly string[],
): MappedTarget | null {
  const rest = segments.length === 0 ? given : given.slice(segments.length);
  const fill = (text: string): string =>
    text.includes('{')
      ? text.replace(PARAM, (_, name: string) => given[segments.indexOf(`{${name}}`)] ?? '')
      : text;
  for (const name of hostParams) if (!LABEL.test(given[segments.indexOf(`{${name}}`)] ?? '')) return null;
  const filledDirectory = fill(directory);
  const path = rest.length === 0 ? filledDirectory || ROOT : `${filledDirectory}/${rest.join('/')}`;
  return { host: fill(host), path };
}
